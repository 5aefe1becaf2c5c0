//! `tokenline extract`: a prompt in, records or tool calls out, as the model writes them.

mod continued;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use tokenline::llm::client::{Extraction, ExtractionEvents, ReaskOptions};
use tokenline::llm::request::{ChatRequest, JsonFormat, ResponseFormat};
use tokenline::llm::{ResponseError, TextMode};

use crate::args::{EmitKind, ModelArgs, ReadingArgs, ReaskArgs, RepetitionArg};
use crate::emit::Emitter;
use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::output_file::OutputFile;
use crate::parse::{Demands, Rules, conclude, output_files, rule_files};
use crate::progress::Progress;
use crate::{in_runtime, load, model, output_file, response};

/// Send a request; write each record or tool call as soon as it is complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline extract --provider ollama --model gemma3 --prompt 'Rivers, as JSON.'
  tokenline extract --provider ollama --model gemma3 --prompt - < prompt.txt
  tokenline extract --provider openai-chat --model gpt-5 --prompt Rivers --response-format schema \\
    --schema fact.schema.json
  tokenline extract --provider ollama --model gemma3 --prompt Rivers --max-records 10 --max-errors 3
  tokenline extract --provider ollama --model gemma3 --prompt Rivers --reask 2 \\
    --schema fact.schema.json
  tokenline extract --provider ollama --model gemma3 --prompt Rivers --continue 20 > records.jsonl")]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// User prompt; `-` reads it from standard input, at most 16 MiB.
    #[arg(long, value_name = "TEXT", required_unless_present = "messages", value_parser = NonEmptyStringValueParser::new())]
    prompt: Option<String>,
    /// System prompt.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Earlier messages of the conversation, sent before --prompt: a JSON array of {role, content} as in OpenAI's chat
    /// API, at most 16 MiB; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    messages: Option<PathBuf>,
    /// Response format to request from the provider.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    response_format: Format,
    /// Request the rest of a response that is cut off, at most N times. Writes each record once. Exits with 3 if the response
    /// is still incomplete. N is 1 to 100000.
    #[arg(long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    continuations: Option<u32>,
    #[command(flatten)]
    reask: ReaskArgs,
    /// Data to write to standard output.
    #[arg(long, value_enum, default_value_t)]
    emit: EmitKind,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    repetition: RepetitionArg,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Free text, such as JSON Lines.
    #[default]
    Text,
    /// One JSON value: an object is a record, an array is one record per element.
    Json,
    /// One JSON value that satisfies --schema, parsed like json.
    Schema,
}

pub(crate) fn run(args: &ExtractArgs) -> Result<Verdict, Failure> {
    in_runtime(check_and_extract(args))
}

async fn check_and_extract(args: &ExtractArgs) -> Result<Verdict, Failure> {
    // Check everything before sending anything.
    let mut reading = args.reading.clone();
    // The further request lists all violations.
    reading.all_errors |= args.reask.reask.is_some();
    let rules = Rules::new(&reading, args.emit)?.with_repetition(args.repetition);
    if args.continuations.is_some() && rules.tools.is_some() | rules.wants_calls() {
        let message = "--continue supports records only: it cannot continue a response that calls tools";
        return Err(Failure::Usage(message.to_owned()));
    }
    if args.continuations.is_some() && args.emit == EmitKind::Partials {
        let message = "--continue does not support --emit partials: use --emit events";
        return Err(Failure::Usage(message.to_owned()));
    }
    let request = request(args, &rules)?;
    let rule_files = rule_files(&args.reading)?;
    let mut read: Vec<&Path> =
        rule_files.iter().map(PathBuf::as_path).chain(args.messages.as_deref()).collect();
    if args.prompt.as_deref() == Some("-") {
        read.push(Path::new("-"));
    }
    output_file::reject_as_stdout(&read)?;
    let outputs = output_files(&args.reading, &read, None)?;
    match args.continuations {
        Some(max) => continued::run(args, &rules, &request, max, outputs).await,
        None => extract(&rules, &args.model, &request, Some(args), outputs).await,
    }
}

/// Sends a request, and writes the records or tool calls of the response.
pub(crate) async fn extract(
    rules: &Rules,
    model: &ModelArgs,
    request: &ChatRequest,
    args: Option<&ExtractArgs>,
    (report_file, reject_file): (Option<OutputFile>, Option<OutputFile>),
) -> Result<Verdict, Failure> {
    let reask = args.map_or_else(|| ReaskOptions::new(0), reask_options);
    let stream = model::client(model)?.stream(request).map_err(|error| model::failure(&error))?;
    // The tools are sent, so calls in the text are not read.
    let is_native = rules.tools.is_some() && rules.wants_calls() && !rules.has_call_format;
    let stream = stream.with_options(|_| match (is_native, &rules.schema) {
        (true, Some(_)) => {
            response::options(rules, rules.options_for_records.clone()).text_as(TextMode::Records)
        }
        (true, None) => response::options(rules, rules.options.clone()).text_as(TextMode::NativeCalls),
        (false, _) => response::options(rules, rules.options.clone()),
    });
    let interrupt = Interrupt::new();

    let progress = Progress::start(&model.model);
    let mut emitter =
        Emitter::new(rules.emit, &*model.model).with_progress(progress.bar()).with_reject_file(reject_file);
    emitter = emitter.with_rejected_texts(rules.rejected_texts.clone());
    if let Some(args) = args {
        emitter = emitter.with_quota(&args.reading);
        warn_unsent_schema(args, &emitter);
    }
    rules.warn_unused(&emitter);
    let extraction = stream.reask(request, reask);
    let outcome = send(extraction, interrupt, progress.clone(), &mut emitter).await;
    progress.finish();
    conclude(
        outcome,
        &mut emitter,
        report_file,
        args.map(|args| Demands::of(&args.reading)).unwrap_or_default(),
    )
}

fn reask_options(args: &ExtractArgs) -> ReaskOptions {
    let reask = args.reask.options();
    match args.emit {
        EmitKind::Records => reask.records_only(),
        EmitKind::ToolCalls => reask.tool_calls_only(),
        EmitKind::Events | EmitKind::Partials | EmitKind::Text => reask,
    }
}

/// Warns that the model does not see the schema. A model that does causes fewer rejects.
fn warn_unsent_schema(args: &ExtractArgs, emitter: &Emitter) {
    if args.reading.schema.is_some() && args.response_format != Format::Schema {
        emitter.remark("--schema was not sent to the model: --response-format schema sends it");
    }
}

/// Sends the request and writes the events of the response.
async fn send(
    extraction: Extraction,
    mut interrupt: Interrupt,
    mut progress: Progress,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let mut response = tokio::select! {
        response = extraction.send() => response.map_err(|error| model::failure(&error))?,
        () = interrupt.wait() => return Err(Failure::Interrupted("interrupted before the response".to_owned())),
    };
    progress.begin();
    let outcome = write_events(&mut response, interrupt, progress, emitter).await;
    emitter.count_reasks(response.report().reasks());
    outcome
}

/// Writes the events of the response.
async fn write_events(
    response: &mut ExtractionEvents,
    mut interrupt: Interrupt,
    progress: Progress,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let mut was_interrupted = false;
    loop {
        let event = tokio::select! {
            event = response.next() => event,
            () = interrupt.wait(), if !was_interrupted => {
                // Close the connection, and still write the events received before.
                response.close();
                was_interrupted = true;
                continue;
            }
            () = progress.due(), if !was_interrupted => {
                progress.update(response.parser());
                continue;
            }
        };
        match event {
            Some(Ok(event)) => response::handle(&event, emitter)?,
            Some(Err(ResponseError::Source(error))) => return Err(model::failure(&error)),
            Some(Err(error)) => return Err(Failure::Source(error.to_string())),
            None => break,
        }
        if emitter.is_done() {
            // Dropping the response closes the connection.
            return Ok(());
        }
        // Complete records reach the reader before the next wait.
        emitter.flush()?;
        if !was_interrupted {
            progress.update(response.parser());
        }
    }
    if was_interrupted && !response.parser().is_complete() {
        Err(Failure::Interrupted("interrupted: the response is incomplete".to_owned()))
    } else {
        response::complete(response.parser(), emitter)
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
                // --schema describes one item.
                Some(pointer) => JsonFormat::list("answer", &schema, pointer).into(),
                None => ResponseFormat::json_schema("answer", schema),
            })
        }
        (Format::Schema, None) => Err(Failure::Usage("--response-format schema needs --schema".to_owned())),
    }
}
