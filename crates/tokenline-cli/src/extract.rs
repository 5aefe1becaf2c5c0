//! `tokenline extract`: a prompt in, records or tool calls out, as the model writes them.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokenline::llm::AnswerError;
use tokenline::llm::client::{ApiKey, ClientError, ClientErrorKind, LlmClient, StreamRequest};
use tokenline::llm::request::{ChatRequest, ResponseFormat};

use crate::args::{ExtractArgs, Format};
use crate::emit::Emitter;
use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::parse::{Rules, conclude};
use crate::progress::Progress;
use crate::report_file::ReportFile;
use crate::{answer, load};

pub(crate) async fn run(args: &ExtractArgs) -> Result<Verdict, Failure> {
    // Whatever can be wrong with the command is found before anything is sent.
    let rules = Rules::new(&args.reading)?;
    rules.check_for_answers()?;
    let client = client(args)?;
    let request = request(args, &rules)?;
    let request = client.stream(&request).map_err(|error| failure(&error))?;
    let request =
        request.map_parser(|parser| answer::configure(parser.with_options(rules.options.clone()), &rules));
    let report_file =
        ReportFile::asked_for(&args.reading, args.messages.as_deref().unwrap_or(Path::new("")))?;
    let interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;

    let progress = Progress::start(&args.model);
    let mut emitter =
        Emitter::new(rules.what, &*args.model).with_progress(progress.clone()).with_quota(&args.reading);
    rules.remark(&emitter);
    let outcome = ask(request, interrupt, progress.clone(), &mut emitter).await;
    progress.finish();
    conclude(outcome, &mut emitter, report_file, args.reading.deny)
}

/// Sends the request and writes what comes of it.
async fn ask(
    request: StreamRequest,
    mut interrupt: Interrupt,
    mut progress: Progress,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let answer = tokio::select! {
        answer = request.send() => answer.map_err(|error| failure(&error))?,
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
            Some(Err(AnswerError::Source(error))) => return Err(failure(&error)),
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

fn client(args: &ExtractArgs) -> Result<LlmClient, Failure> {
    let mut builder = LlmClient::builder(args.provider)
        .read_timeout(Duration::from_secs(u64::from(args.read_timeout)))
        .retries(args.retries)
        .http(|http| http.user_agent(concat!("tokenline/", env!("CARGO_PKG_VERSION"))));
    if let Some(base_url) = &args.base_url {
        builder = builder.base_url(base_url);
    }
    if let Some(variable) = &args.api_key_env {
        builder = builder.api_key(ApiKey::from_env(variable).map_err(|error| failure(&error))?);
    }
    for header in &args.header {
        let (name, value) = header_of(header)?;
        builder = builder.header(name, value);
    }
    builder.build().map_err(|error| failure(&error))
}

/// A header, `NAME: VALUE` or `NAME: @VARIABLE`.
fn header_of(header: &str) -> Result<(&str, String), Failure> {
    let (name, value) =
        header.split_once(':').ok_or_else(|| Failure::Usage("--header needs NAME: VALUE".to_owned()))?;
    let value = match value.trim().strip_prefix('@') {
        Some(variable) => std::env::var(variable)
            .map_err(|_| Failure::Usage(format!("--header {name}: the variable {variable} is not set")))?,
        None => value.trim().to_owned(),
    };
    Ok((name.trim(), value))
}

fn request(args: &ExtractArgs, rules: &Rules) -> Result<ChatRequest, Failure> {
    let mut request = ChatRequest::new(&args.model);
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
        Some("-") => request = request.user(load::stdin()?),
        Some(prompt) => request = request.user(prompt),
        None => {}
    }
    if let Some(tools) = &rules.tools {
        request = request.tools(tools.definitions().iter().cloned());
    }
    request.response_format = response_format(args)?;
    (request.max_tokens, request.temperature, request.seed) = (args.max_tokens, args.temperature, args.seed);
    for member in &args.set {
        let (name, value) = member_of(member)?;
        request = request.extra(name, value);
    }
    Ok(request)
}

fn response_format(args: &ExtractArgs) -> Result<ResponseFormat, Failure> {
    match (args.response_format, &args.reading.schema) {
        (Format::Text, _) => Ok(ResponseFormat::Text),
        (Format::Json, _) => Ok(ResponseFormat::Json),
        (Format::Schema, Some(path)) => Ok(ResponseFormat::json_schema("answer", load::json(path)?)),
        (Format::Schema, None) => Err(Failure::Usage("--response-format schema needs --schema".to_owned())),
    }
}

/// A member of the body, `NAME=JSON` or `NAME=@FILE`.
fn member_of(member: &str) -> Result<(&str, serde_json::Value), Failure> {
    let usage = |what: &str| Failure::Usage(format!("--set {what}"));
    let (name, value) = member.split_once('=').ok_or_else(|| usage("needs NAME=JSON"))?;
    if let Some(file) = value.strip_prefix('@') {
        return Ok((name, load::text(Path::new(file))?.into()));
    }
    let value = serde_json::from_str(value)
        .map_err(|error| usage(&format!("{name}: not JSON, in which a text stands in quotes: {error}")))?;
    Ok((name, value))
}

/// What is sent to the client is at fault, or the client and its provider are.
fn failure(error: &ClientError) -> Failure {
    match error.kind() {
        ClientErrorKind::Configuration | ClientErrorKind::Request => Failure::Usage(error.to_string()),
        _ => Failure::Source(error.to_string()),
    }
}
