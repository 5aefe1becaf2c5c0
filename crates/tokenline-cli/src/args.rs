//! What the program can be told.

mod chat_analysis;
mod continuation;
mod validate;

use std::iter;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use tokenline::CallFormat;
use tokenline::llm::Provider;
use tokenline::llm::batch::BatchFormat;
use tokenline::prompt::tools::ToolCalling;

pub(crate) use chat_analysis::{
    ChatAnalysisCommand, FromXmlArgs, InputArgs, RequestArgs, RunArgs, SchemaArgs, SystemArgs,
};
pub(crate) use continuation::{ContextsArgs, ContinuationCommand, ContinuationRunArgs, MergeArgs, SizeArgs};
pub(crate) use validate::{FindingsFormat, ReportingArgs, SnapshotArgs, ValidateArgs, ValidateInputArgs};

/// Validated records and tool calls out of a language model's byte stream.
///
/// Exit codes: 0 good; 1 something was rejected, with --deny, or more than --max-errors, or a json prompt's
/// response, a structured answer or a merge; 2 usage, configuration or schema at fault; 3 input or output, a provider's error, or an
/// incomplete source.
#[derive(Debug, Parser)]
#[command(name = "tokenline", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read a model's output, write records or tool calls as JSON Lines.
    #[command(after_long_help = include_str!("args/partials.txt"))]
    Parse(ParseArgs),
    /// Ask a model, write records or tool calls as JSON Lines, each as soon as it is complete.
    Extract(Box<ExtractArgs>),
    /// Prompts: their templates, and what is made of a model's response to them.
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Tools for models: what they are told of them, and the calls in what they answer.
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// A chat answer and its analysis in one JSON value: its schema, requests, checks, and XML.
    #[command(subcommand)]
    ChatAnalysis(ChatAnalysisCommand),
    /// JSON answers that were cut off: what is whole of them, and how they go on.
    #[command(subcommand)]
    Continuation(ContinuationCommand),
    /// Hold conversations, one a line, against their contract, and name every bad line.
    ///
    /// Exits with 0 if all are valid, and with 1 if not.
    ValidateInput(ValidateInputArgs),
    /// Hold JSON Lines against a JSON Schema, and name every bad line.
    ///
    /// Exits with 0 if all are valid, and with 1 if not.
    Validate(ValidateArgs),
    /// Rewrite conversations so that only their messages are left: {"messages":[{"role","content"}]} a line.
    ///
    /// Nothing is written if a line is not valid: exits with 1 then.
    Snapshot(SnapshotArgs),
    /// Watch records and tool calls arrive from a recorded model over real HTTP.
    Demo(DemoArgs),
    /// Serve recorded model streams over HTTP on this machine, at every provider's path.
    Replay(ReplayArgs),
    /// Say what a diagnostic's code means, with an input that triggers it.
    Explain(ExplainArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ParseArgs {
    /// The input; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// What the input is.
    #[arg(long, default_value = "text", value_parser = input_format())]
    pub(crate) from: InputFormat,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Read this many bytes at a time, at most 1 GiB.
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    pub(crate) chunk_size: u32,
}

/// How a model's output is read and written, wherever it is from.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadingArgs {
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: EmitKind,
    /// How forgiving to be: lenient understands what models write in place of JSON Lines.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: ModeArg,
    /// Take for records the elements of the array at this JSON Pointer in each JSON value: `/items`.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) items: Option<String>,
    /// How tool calls are written in text, where they are not the provider's own; otherwise that is
    /// found out. For --emit tool-calls, and for events and partials with --tools.
    #[arg(long, value_name = "FORMAT", value_parser = call_format())]
    pub(crate) format: Option<CallFormat>,
    /// A JSON Schema that every record must satisfy; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The tools that may be called: a JSON array of {name, description?, parameters}, of OpenAI's
    /// {type, function} or of Anthropic's {name, input_schema}; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Change parameters in kind where only that makes them fit the tool: "3" to 3 for an integer.
    /// Needs --tools. With --emit events, every change is told.
    #[arg(long, requires = "tools")]
    pub(crate) coerce: bool,
    /// Release a record as soon as its brackets balance, before anything proves it whole.
    #[arg(long)]
    pub(crate) eager: bool,
    /// Stop after so many records or tool calls, whichever are written: what comes after is not read,
    /// and a model's answer is given up. That is no failure.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_records: Option<u64>,
    /// Stop when more than so many were rejected, and exit with 1; 0 stops at the first. Prose is never
    /// counted.
    #[arg(long, value_name = "N")]
    pub(crate) max_errors: Option<u64>,
    /// Write counts and diagnostics to this file, as JSON, once all is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// Which model to ask, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// Provider, or the provider whose API the server implements.
    #[arg(long, value_parser = provider())]
    pub(crate) provider: Provider,
    /// Base URL of the server, with or without the path. Default: the provider's own variable, such as
    /// OPENAI_BASE_URL or OLLAMA_HOST, or else its public address.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The model, by the provider's name for it.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    /// The most tokens that the answer may have.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
    /// How much chance there is in the answer.
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f64>,
    /// Where chance begins; not for anthropic and openai-responses.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A member of the request's body that is not among these, as JSON: `--set reasoning_effort='"low"'`.
    /// `NAME=@FILE` takes a text from a file of at most 16 MiB.
    #[arg(long, value_name = "NAME=JSON")]
    pub(crate) set: Vec<String>,
    /// The environment variable that holds the API key, instead of OPENAI_API_KEY, ANTHROPIC_API_KEY,
    /// GEMINI_API_KEY, GOOGLE_API_KEY or OLLAMA_API_KEY.
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// A header of the request; its value is shown nowhere. `@VARIABLE` takes it from the environment.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Seconds of silence after which to give up.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) read_timeout: u32,
    /// Seconds that a response may take as a whole.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) response_timeout: u32,
    /// How often to repeat a request that nothing came of: no connection, 429 or 5xx. Never once an
    /// answer has begun.
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) retries: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// What to ask; `-` is standard input, at most 16 MiB.
    #[arg(long, value_name = "TEXT", required_unless_present = "messages", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) prompt: Option<String>,
    /// What the model is to keep to.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// A conversation to go on with, before the prompt if there is one: a JSON array of {role, content},
    /// as OpenAI's chat has it, of at most 16 MiB; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: Option<PathBuf>,
    /// What the answer is to be, where the provider sees to that.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) response_format: Format,
    /// If the answer is cut off, ask for the rest of it, at most so many times; each record is written
    /// once. What is still missing then is a failure, unlike without it.
    #[arg(long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) continuations: Option<u32>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// List the prompts, each with the type of its response.
    List(ConfigArgs),
    /// Print what a model would be asked: the system prompt, if there is one, a blank line, the prompt.
    Render(RenderArgs),
    /// Read a response as a prompt says: text as it is, json as one line, jsonl as JSON Lines.
    ///
    /// Exits with 1 if the response to a json prompt holds no JSON or breaks the schema. What a jsonl
    /// prompt's response loses is a warning.
    Apply(ApplyArgs),
    /// Ask a model, and read its answer as the prompt says; the objects of jsonl as they are complete.
    Run(Box<PromptRunArgs>),
}

/// Where prompts are from.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// The prompts, TOML or JSON: `system`, `terms`, and for each `prompts.ID` its `prompt`,
    /// `response-type` (text, json, jsonl), `schema` or `object-schema`; at most 16 MiB.
    /// Without it, those that are built in.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// One prompt.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The prompt's id, as `prompt list` has it.
    #[arg(long)]
    pub(crate) id: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    /// Print a JSON object {system, prompt} on one line instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The terms of a template.
#[derive(Debug, clap::Args)]
pub(crate) struct TermArgs {
    /// A term that is a text. `NAME=@FILE` takes it from a file, `NAME=@-` from standard input,
    /// of at most 16 MiB.
    #[arg(long, value_name = "NAME=TEXT")]
    pub(crate) var: Vec<String>,
    /// Terms of any kind: a file with a JSON object, {"text": ..., "classes": [...]}, of at most 16 MiB; `-` is
    /// standard input. --var overrides them.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    /// The response, of at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PromptRunArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Print what tells a model of tools: a prompt, or the member of a request.
    Prompt(ToolsPromptArgs),
    /// Read the tool calls of a whole response, write them as JSON Lines.
    Parse(ToolsParseArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsPromptArgs {
    /// The tools: a JSON array of {name, description?, parameters}, of OpenAI's {type, function} or of
    /// Anthropic's {name, input_schema}; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
    /// How the model is to call them.
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = PossibleValuesParser::new(["jsonl", "single_json", "function_calling"]))]
    pub(crate) format: String,
    /// The language of the prompt.
    #[arg(long, default_value = "en", value_parser = PossibleValuesParser::new(["en", "zh"]))]
    pub(crate) language: String,
    /// Whose request it is for, with --format function_calling.
    #[arg(long, default_value = "openai-chat", value_parser = provider())]
    pub(crate) provider: Provider,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsParseArgs {
    /// The response, of at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// How the calls are made: function_calling for a provider's whole response, otherwise how they are
    /// written in the text.
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = tool_calling())]
    pub(crate) format: ToolCalling,
    /// The tools that may be called: a JSON array of {name, description?, parameters}, of OpenAI's
    /// {type, function} or of Anthropic's {name, input_schema}; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// The formats of tool calls by their names.
fn call_format() -> impl TypedValueParser<Value = CallFormat> {
    let names = PossibleValuesParser::new(CallFormat::BUILT_IN.iter().map(CallFormat::as_str));
    names.try_map(|name| CallFormat::from_name(&name).ok_or("not a format"))
}

/// The ways in which tools are called by their names.
fn tool_calling() -> impl TypedValueParser<Value = ToolCalling> {
    let names = CallFormat::BUILT_IN.iter().map(CallFormat::as_str).chain(["function_calling"]);
    PossibleValuesParser::new(names).try_map(|name| ToolCalling::from_name(&name).ok_or("not a format"))
}

/// The providers by their names.
fn provider() -> impl TypedValueParser<Value = Provider> {
    let names = PossibleValuesParser::new(Provider::ALL.iter().map(|provider| provider.as_str()));
    names.try_map(|name| Provider::from_name(&name).ok_or("not a provider"))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Whatever the prompt asks for.
    #[default]
    Text,
    /// One JSON value: an object is a record, of an array each element.
    Json,
    /// One JSON value that fits --schema: an object is a record, of an array each element.
    Schema,
}

/// What an input is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputFormat {
    /// Text as the model wrote it.
    Text,
    /// The body of a provider's response.
    Response(Provider),
    /// The result file of a batch.
    Batch(BatchFormat),
}

fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    let provider = |provider: &Provider| {
        PossibleValue::new(provider.as_str()).help(format!("The body of a response: {}", provider.title()))
    };
    let text = PossibleValue::new("text").help("Text as the model wrote it");
    let batch = |format: &BatchFormat| {
        PossibleValue::new(format.as_str()).help(format!("The result file of a batch: {}", format.title()))
    };
    let providers = Provider::ALL.iter().map(provider);
    PossibleValuesParser::new(iter::once(text).chain(providers).chain(BatchFormat::ALL.iter().map(batch)))
        .map(|name| match (Provider::from_name(&name), BatchFormat::from_name(&name)) {
            (Some(provider), _) => InputFormat::Response(provider),
            (None, Some(format)) => InputFormat::Batch(format),
            (None, None) => InputFormat::Text,
        })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmitKind {
    /// Each record.
    #[default]
    Records,
    /// Each tool call: name, parameters, and call_id and error where the model sent them.
    ToolCalls,
    /// Each event, rejects among them, with its place; of a provider's stream also the text beside
    /// records and calls, reasoning, finish reasons and usage.
    Events,
    /// Each event of a text, and the steps by which each record grows: `open`, `append`, `set` and `close`.
    /// `tokenline parse --help` has the format.
    Partials,
}

impl EmitKind {
    /// Whether what is written is one event a line.
    pub(crate) fn has_events(self) -> bool {
        matches!(self, Self::Events | Self::Partials)
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ModeArg {
    #[default]
    Lenient,
    /// Each line that is not blank is one JSON object.
    Strict,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Milliseconds between two events of the recorded stream.
    #[arg(long, value_name = "MS", default_value = "5")]
    pub(crate) delay_ms: u64,
    /// Cut the stream into pieces of this many bytes, instead of after each event.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk_size: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Recorded streams to serve, each of at most 64 MiB; without any, the built-in ones. A request's `model` names one: the
    /// file's name without its ending.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// Allow an address that other machines can reach.
    #[arg(long)]
    pub(crate) public: bool,
    /// Milliseconds between two pieces.
    #[arg(long, value_name = "MS", default_value = "0")]
    pub(crate) delay_ms: u64,
    /// Cut the streams into pieces of this many bytes, instead of after each event.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk_size: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The code, such as `trailing_data`; without it all codes are listed.
    pub(crate) code: Option<String>,
}
