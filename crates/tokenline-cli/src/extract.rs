//! `tokenline extract`: a prompt in, records or tool calls out, as the model writes them.

mod continued;

use std::path::Path;
use std::pin::pin;

use futures_util::StreamExt as _;
use tokenline::llm::ResponseError;
use tokenline::llm::client::StreamRequest;
use tokenline::llm::request::{ChatRequest, JsonFormat, ResponseFormat};

use crate::args::{ExtractArgs, Format, ModelArgs};
use crate::emit::Emitter;
use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::output_file::OutputFile;
use crate::parse::{Rules, conclude, output_files, rule_files};
use crate::progress::Progress;
use crate::{answer, load, model, output_file};

pub(crate) async fn run(args: &ExtractArgs) -> Result<Verdict, Failure> {
    // Whatever can be wrong with the command is found before anything is sent.
    let rules = Rules::new(&args.reading)?;
    rules.check_for_answers()?;
    if args.continuations.is_some() && rules.tools.is_some() | rules.wants_calls() {
        let message = "--continue is for records: an answer that calls tools is not gone on with";
        return Err(Failure::Usage(message.to_owned()));
    }
    let request = request(args, &rules)?;
    let mut read: Vec<&Path> = rule_files(&args.reading).chain(args.messages.as_deref()).collect();
    if args.prompt.as_deref() == Some("-") {
        read.push(Path::new("-"));
    }
    output_file::refuse_as_stdout(&read)?;
    let outputs = output_files(&args.reading, &read)?;
    match args.continuations {
        Some(most) => continued::run(args, &rules, &request, most, outputs).await,
        None => extract(&rules, &args.model, &request, Some(args), outputs).await,
    }
}

/// Asks a model, and writes what the rules make of its answer.
pub(crate) async fn extract(
    rules: &Rules,
    model: &ModelArgs,
    request: &ChatRequest,
    args: Option<&ExtractArgs>,
    (report_file, reject_file): (Option<OutputFile>, Option<OutputFile>),
) -> Result<Verdict, Failure> {
    let request = model::client(model)?.stream(request).map_err(|error| model::failure(&error))?;
    let request =
        request.map_parser(|parser| answer::configure(parser.with_options(rules.options.clone()), rules));
    let interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;

    let progress = Progress::start(&model.model);
    let mut emitter =
        Emitter::new(rules.what, &*model.model).with_progress(progress.clone()).with_reject_file(reject_file);
    if let Some(args) = args {
        emitter = emitter.with_quota(&args.reading);
        remark_unsent_schema(args, &emitter);
    }
    rules.remark(&emitter);
    let outcome = ask(request, interrupt, progress.clone(), &mut emitter).await;
    progress.finish();
    conclude(outcome, &mut emitter, report_file, args.is_some_and(|args| args.reading.deny))
}

/// Says that the model does not see the schema: a model that does writes fewer rejects.
fn remark_unsent_schema(args: &ExtractArgs, emitter: &Emitter) {
    if args.reading.schema.is_some() && args.response_format != Format::Schema {
        emitter.remark("--schema was not sent to the model: --response-format schema sends it");
    }
}

/// Sends the request and writes what comes of it.
async fn ask(
    request: StreamRequest,
    mut interrupt: Interrupt,
    mut progress: Progress,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let answer = tokio::select! {
        answer = request.send() => answer.map_err(|error| model::failure(&error))?,
        () = interrupt.wait() => return Err(Failure::Source("interrupted before an answer".to_owned())),
    };
    progress.begin();
    let mut answer = pin!(answer);
    let mut was_interrupted = false;
    loop {
        let event = tokio::select! {
            event = answer.next() => event,
            () = interrupt.wait(), if !was_interrupted => {
                // The connection is closed; what was complete is still to come.
                answer.as_mut().close();
                was_interrupted = true;
                continue;
            }
            () = progress.due(), if !was_interrupted => {
                progress.update(answer.parser());
                continue;
            }
        };
        match event {
            Some(Ok(event)) => answer::handle(&event, emitter)?,
            Some(Err(ResponseError::Source(error))) => return Err(model::failure(&error)),
            Some(Err(error)) => return Err(Failure::Source(error.to_string())),
            None => break,
        }
        if emitter.is_done() {
            // With the answer its connection goes.
            return Ok(());
        }
        // What is complete is out before more is waited for.
        emitter.flush()?;
        if !was_interrupted {
            progress.update(answer.parser());
        }
    }
    match was_interrupted && !answer.parser().is_complete() {
        true => Err(Failure::Source("interrupted: the answer is incomplete".to_owned())),
        false => answer::complete(answer.parser(), emitter),
    }
}

fn request(args: &ExtractArgs, rules: &Rules) -> Result<ChatRequest, Failure> {
    let mut request = model::request(&args.model)?;
    if let Some(system) = &args.system {
        request = request.system(system);
    }
    if let Some(file) = &args.messages {
        if file.as_os_str() == "-" && args.prompt.as_deref() == Some("-") {
            return Err(Failure::Usage("--prompt and --messages cannot both be standard input".to_owned()));
        }
        request = request.messages(load::messages(file)?);
    }
    match args.prompt.as_deref() {
        Some("-") => request = request.user(load::stdin("the prompt")?),
        Some(prompt) => request = request.user(prompt),
        None => {}
    }
    if let Some(tools) = &rules.tools {
        request = request.tools(tools.definitions().iter().cloned());
    }
    request.response_format = response_format(args)?;
    Ok(request)
}

fn response_format(args: &ExtractArgs) -> Result<ResponseFormat, Failure> {
    match (args.response_format, &args.reading.schema) {
        (Format::Text, _) => Ok(ResponseFormat::Text),
        (Format::Json, _) => Ok(ResponseFormat::Json),
        (Format::Schema, Some(path)) => {
            let schema = load::json(path)?;
            Ok(match &args.reading.items {
                // The schema is that of one item.
                Some(pointer) => JsonFormat::list("answer", &schema, pointer).into(),
                None => ResponseFormat::json_schema("answer", schema),
            })
        }
        (Format::Schema, None) => Err(Failure::Usage("--response-format schema needs --schema".to_owned())),
    }
}
