//! `tokenline chat-analysis`: JSON responses that hold a chat reply and an analysis of the chat.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::pin::pin;

use clap::builder::NonEmptyStringValueParser;
use futures_util::StreamExt as _;
use tokenline::chat_analysis::{
    AnalysisError, AnalysisEvent, AnalysisRequest, AnalysisStream, AnalysisWarning, AttachmentStore as _,
    CheckError, Checked, FileStore, LlmResponse, RESPONSE_SCHEMA, RESPONSE_SCHEMA_TYPESCRIPT, Review,
    XmlError, review,
};
use tokenline::json::Raw;
use tokenline::llm::request::ChatRequest;
use tokenline::llm::{Provider, ResponseError, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
use tokenline::{Diagnostic, Options};

use crate::args::{ModelArgs, provider};
use crate::failure::{Failure, Verdict};
use crate::log::{log, log_verdict, log_verdict_if_quiet};
use crate::output::print;
use crate::{in_runtime, load, model};

commands! {
    /// Request, check and store JSON responses that hold a chat reply and an analysis of the chat.
    Command {
        Schema(SchemaArgs) => schema,
        Request(RequestArgs) => request,
        /// Check that a response satisfies the schema and that its text is not blank.
        ///
        /// Prints the position of each error, and warnings. Exits with 1 if the response is invalid.
        #[command(after_help = "\
Examples:
  tokenline chat-analysis check response.json
  tokenline chat-analysis check --from ollama body.jsonl")]
        Check(InputArgs) => check,
        /// Check a response, and convert it to XML.
        #[command(after_help = "\
Examples:
  tokenline chat-analysis to-xml response.json > response.xml")]
        ToXml(InputArgs) => to_xml,
        FromXml(FromXmlArgs) => from_xml,
        Run(RunArgs) => run,
    }
}

/// Print the JSON Schema of a response.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline chat-analysis schema > response.schema.json
  tokenline chat-analysis schema --typescript > response.ts")]
pub(crate) struct SchemaArgs {
    /// Print a TypeScript module with the schema and the types of a response.
    #[arg(long)]
    typescript: bool,
}

/// Print a request body for Ollama's /api/chat.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline chat-analysis request --model llama3.1 question.txt \\
    | curl -sN http://localhost:11434/api/chat -d @-")]
pub(crate) struct RequestArgs {
    /// File with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Model name.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    model: String,
    #[command(flatten)]
    system: SystemArgs,
    /// Request a single JSON response instead of a stream.
    #[arg(long)]
    no_stream: bool,
}

/// Check a response that is stored as XML, and convert it to JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline chat-analysis from-xml response.xml --compact")]
pub(crate) struct FromXmlArgs {
    /// File with the XML, at most 8 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Write the JSON on one line.
    #[arg(long)]
    compact: bool,
}

/// Send a user prompt to a model, and print the text of the response as it arrives.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline chat-analysis run --provider ollama --model llama3.1 question.txt
  tokenline chat-analysis run --provider ollama --model llama3.1 question.txt \\
    --store stored --topic t1 --message m7")]
pub(crate) struct RunArgs {
    /// File with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    system: SystemArgs,
    /// Store a valid response in this directory, as TOPIC/MESSAGE.xml. Needs --topic and --message.
    #[arg(long, value_name = "DIR", requires_all = ["topic", "message"])]
    store: Option<PathBuf>,
    /// Topic id, for --store.
    #[arg(long, value_name = "ID", requires = "store")]
    topic: Option<String>,
    /// Message id, for --store.
    #[arg(long, value_name = "ID", requires = "store")]
    message: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// File with the response, at most 8 MiB (with --from: 64 MiB); `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Parse the input as a streamed response body of this provider (ollama: streamed or not). Default: parse it as the
    /// JSON that the model wrote.
    #[arg(long, value_name = "PROVIDER", value_parser = provider())]
    from: Option<Provider>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SystemArgs {
    /// System prompt. Default: one that describes the schema.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

fn schema(args: &SchemaArgs) -> Result<Verdict, Failure> {
    print(if args.typescript { RESPONSE_SCHEMA_TYPESCRIPT } else { RESPONSE_SCHEMA })
}

fn request(args: &RequestArgs) -> Result<Verdict, Failure> {
    let request = analysis_request(&args.model, &args.system, &args.file)?;
    let body =
        request.streamed(!args.no_stream).to_body().map_err(|error| Failure::Usage(error.to_string()))?;
    print(body + "\n")
}

fn check(args: &InputArgs) -> Result<Verdict, Failure> {
    let (source, text) = response_text(args)?;
    Ok(match text.and_then(|text| reviewed(&source, &text)) {
        Some(_) => Verdict::Success,
        None => Verdict::Rejected,
    })
}

fn to_xml(args: &InputArgs) -> Result<Verdict, Failure> {
    let (source, text) = response_text(args)?;
    let Some(response) = text.and_then(|text| reviewed(&source, &text)) else { return Ok(Verdict::Rejected) };
    match response.to_xml() {
        Ok(xml) => print(xml + "\n"),
        Err(error) => Ok(rejected(format_args!("{source}: {error}"))),
    }
}

fn from_xml(args: &FromXmlArgs) -> Result<Verdict, Failure> {
    let (source, text) = load::response(&args.file)?;
    match LlmResponse::from_xml(&text) {
        Ok(Checked { response, warnings, .. }) => {
            warn(&source, &warnings);
            let json = if args.compact { response.to_json() } else { response.to_json_pretty() };
            print(json + "\n")
        }
        Err(XmlError::Check(error)) => Ok(rejected(located(&source, &error))),
        Err(error) => Ok(rejected(format_args!("{source}:{error}"))),
    }
}

fn run(args: &RunArgs) -> Result<Verdict, Failure> {
    in_runtime(send(args))
}

async fn send(args: &RunArgs) -> Result<Verdict, Failure> {
    let attachment = attachment(args)?;
    let analysis = analysis_request(&args.model.model, &args.system, &args.file)?.to_chat_request();
    let mut request = model::request(&args.model)?;
    let temperature = request.temperature.or(analysis.temperature);
    request = ChatRequest::messages(request, analysis.messages).response_format(analysis.response_format);
    request.temperature = temperature;
    let request = model::client(&args.model)?.stream(&request).map_err(|error| model::failure(&error))?;
    let response = request.send().await.map_err(|error| model::failure(&error))?;
    let mut events = pin!(AnalysisStream::new(response.text()));
    let source = &args.model.model;
    while let Some(event) = events.next().await {
        match event {
            Ok(AnalysisEvent::Text(text)) => print(text)?,
            Ok(AnalysisEvent::Response(checked)) => {
                print("\n")?;
                warn(source, &checked.warnings);
                return store(source, attachment, &checked.response);
            }
            Ok(_) => Verdict::Success,
            Err(AnalysisError::Check(error)) => return Ok(rejected(located(source, &error))),
            Err(AnalysisError::Source { error: ResponseError::Source(error), .. }) => {
                return Err(model::failure(&error));
            }
            // The source is complete, the response is not.
            Err(AnalysisError::Source { error: error @ ResponseError::Truncated(_), .. }) => {
                return Ok(rejected(format_args!("{source}: {error}")));
            }
            Err(error) => return Err(Failure::Source(error.to_string())),
        };
    }
    Ok(Verdict::Success)
}

/// Where to store a response: a store, a topic id and a message id.
type Attachment<'a> = (FileStore, &'a str, &'a str);

/// Checks `--store`, `--topic` and `--message` before the request is sent.
fn attachment(args: &RunArgs) -> Result<Option<Attachment<'_>>, Failure> {
    let (Some(folder), Some(topic), Some(message)) = (&args.store, &args.topic, &args.message) else {
        return Ok(None);
    };
    let store = FileStore::new(folder);
    store.path(topic, message).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Some((store, topic, message)))
}

fn store(
    source: &str,
    attachment: Option<Attachment<'_>>,
    response: &LlmResponse,
) -> Result<Verdict, Failure> {
    let Some((files, topic, message)) = attachment else { return Ok(Verdict::Success) };
    match response.to_xml() {
        Ok(xml) => files
            .store(topic, message, &xml)
            .map(|()| Verdict::Success)
            .map_err(|error| Failure::Source(error.to_string())),
        Err(error) => Ok(rejected(format_args!("{source}: {error}"))),
    }
}

/// The name of the input in messages, and the text of its response, or `None` if its finish reason says that it may be
/// incomplete.
fn response_text(args: &InputArgs) -> Result<(String, Option<String>), Failure> {
    let Some(provider) = args.from else {
        let (source, text) = load::response(&args.file)?;
        return Ok((source, Some(text)));
    };
    let (source, body) = load::response(&args.file)?;
    let options = ResponseOptions::from(Options::lenient()).text_as(TextMode::Text).text_and_reasoning();
    let mut parser = ResponseParser::<Raw>::new(provider, options);
    parser.push(body.as_bytes());
    parser.finish();
    let mut text = String::new();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Text { choice: 0, text: piece, .. } => text.push_str(&piece),
            ResponseEvent::Rejected { choice: None, diagnostic, .. } => {
                return Err(Failure::Source(format!("{source}:{diagnostic}")));
            }
            _ => {}
        }
    }
    match parser.finish_reason(0) {
        Some(reason) if !reason.is_clean() => {
            log_verdict(format_args!(
                "{source}: the response may be incomplete: the provider ended it with `{reason}`"
            ));
            Ok((source, None))
        }
        _ => Ok((source, Some(text))),
    }
}

/// The request with the user prompt in a file.
fn analysis_request(model: &str, system: &SystemArgs, file: &Path) -> Result<AnalysisRequest, Failure> {
    let (source, prompt) = load::response(file)?;
    if prompt.trim().is_empty() {
        return Err(Failure::Usage(format!("{source}: the prompt is empty")));
    }
    let request = AnalysisRequest::new(model).user(prompt.trim_end());
    Ok(match &system.system {
        Some(system) => request.system(system),
        None => request,
    })
}

/// Checks a response, and logs its errors and warnings. Returns the response if it is valid.
fn reviewed(source: &str, text: &str) -> Option<LlmResponse> {
    let Review { response, errors, warnings, .. } = review(text);
    for error in &errors {
        log(located(source, error));
    }
    if let Some(error) = errors.first() {
        log_verdict_if_quiet(located(source, error));
    }
    warn(source, &warnings);
    response
}

fn warn(source: &str, warnings: &[AnalysisWarning]) {
    for warning in warnings {
        log(format_args!("{source}: warning: {warning}"));
    }
}

fn rejected(reason: impl Display) -> Verdict {
    log_verdict(reason);
    Verdict::Rejected
}

/// The error with its position, and the schema rule that it breaks.
fn located(source: &str, error: &CheckError) -> String {
    match error.diagnostic() {
        Some(Diagnostic { schema_path: Some(rule), .. }) => format!("{source}:{error} (rule {rule})"),
        Some(_) => format!("{source}:{error}"),
        None => format!("{source}: {error}"),
    }
}
