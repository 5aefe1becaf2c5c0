//! The command line.

mod call_format;
mod chat_analysis;
mod continuation;
mod examples;
mod import;
mod tools;
mod validate;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use tokenline::CallFormat;
use tokenline::llm::Provider;
use tokenline::llm::batch::BatchFormat;

use call_format::call_format;
pub(crate) use call_format::unknown_call_format;
pub(crate) use chat_analysis::{
    ChatAnalysisCommand, FromXmlArgs, InputArgs, RequestArgs, RunArgs, SchemaArgs, SystemArgs,
};
pub(crate) use continuation::{ContextsArgs, ContinuationCommand, ContinuationRunArgs, MergeArgs, SizeArgs};
pub(crate) use import::{
    EmptyMessagesArg, ImportArgs, KindArg, MappingArgs, SeveralUsersArg, StoreArgs, UnknownRolesArg,
};
pub(crate) use tools::{ToolsCommand, ToolsFormatsArgs, ToolsParseArgs, ToolsPromptArgs};
pub(crate) use validate::{
    ConversationsCommand, ErrorFormat, ReportingArgs, SnapshotArgs, ValidateArgs, ValidateInputArgs,
};

/// Turns a language model's output into validated records and tool calls.
///
/// Data goes to standard output, messages to standard error.
///
/// Exit codes: 0 success; 1 invalid data (an invalid line or response, a failed merge, more rejections than --max-errors,
/// fewer records than --min-records or, with --deny, any reject or warning); 2 bad usage, configuration or schema; 3 I/O or
/// provider error, incomplete source, or no standard output; 130 and 143 after Ctrl-C and SIGTERM.
///
/// The first Ctrl-C or SIGTERM ends the input: what was read is written, with reports and reject files. A second one ends
/// the program at once. `serve`, `replay` and --follow end in no other way, and exit as usual. A reader of standard output
/// that leaves, such as `head`, ends the command quietly.
///
/// Standard output is data byte for byte, but on a terminal control characters are escaped.
#[derive(Debug, Parser)]
#[command(name = "tokenline", version, after_help = examples::PROGRAM)]
pub(crate) struct Args {
    /// When to color messages on standard error.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: Color,
    /// Suppress all messages except the error that ends the command.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Parse a model's output; write its records or tool calls as JSON Lines.
    #[command(after_help = examples::PARSE, after_long_help = examples::PARSE_LONG)]
    Parse(ParseArgs),
    /// Parse batch result files on all processors; write their records, tool calls or texts as JSON Lines.
    ///
    /// The output is in the order of the input, whatever the number of threads. Failed requests, malformed lines and
    /// invalid records are rejected. They exit with 1 only with --deny. Records do not name their requests: `--emit events`
    /// has the custom_id of each.
    #[command(after_help = examples::BATCH)]
    Batch(Box<BatchArgs>),
    /// Send a request to a model; write each record or tool call as soon as it is complete.
    #[command(after_help = examples::EXTRACT)]
    Extract(Box<ExtractArgs>),
    /// Render prompt templates, and parse the responses.
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Describe tools to a model, and parse the tool calls in its response.
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Request, check and store JSON responses that hold a chat reply and an analysis of the chat.
    #[command(subcommand, alias = "structured")]
    ChatAnalysis(ChatAnalysisCommand),
    /// Continue JSON documents that a token limit cut off.
    #[command(subcommand)]
    Continuation(ContinuationCommand),
    /// Validate JSON Lines against a JSON Schema.
    ///
    /// Prints the position of each invalid line and the rule it breaks. Exits with 1 if any line is invalid.
    #[command(after_help = examples::VALIDATE)]
    Validate(ValidateArgs),
    /// Validate files of conversations, reduce them to their messages, or import them from exports.
    #[command(subcommand)]
    Conversations(ConversationsCommand),
    /// The same as `conversations validate`.
    #[command(hide = true)]
    ValidateInput(ValidateInputArgs),
    /// The same as `conversations snapshot`.
    #[command(hide = true)]
    Snapshot(SnapshotArgs),
    /// The same as `conversations import`.
    #[command(hide = true)]
    Import(Box<ImportArgs>),
    /// Stream recorded responses from a local server; print records and tool calls as they complete.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Serve a page on which records and tool calls appear while the model is writing them.
    #[command(after_help = examples::SERVE, after_long_help = examples::SERVE_LONG)]
    Serve(ServeArgs),
    /// Serve recorded responses over HTTP, at the API paths of all providers.
    #[command(after_help = examples::REPLAY)]
    Replay(ReplayArgs),
    /// Explain a diagnostic code, or a word in the `recovered` or `completion` of an event, with an input that triggers it.
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Print a shell completion script.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page.
    #[command(after_help = examples::MAN)]
    Man,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ParseArgs {
    /// Input files, glob patterns such as 'responses/*.sse.gz', or `-` for standard input. Input compressed with gzip,
    /// zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Input format.
    #[arg(long, default_value = "text", value_parser = input_format())]
    pub(crate) from: InputFormat,
    /// JSON Pointer to the string that holds the response, such as /output. Required with --from lines.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) text_pointer: Option<String>,
    /// JSON Pointer to the line's id, such as /id; events and messages then include it. Only with --from lines.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) id_pointer: Option<String>,
    /// What to write to standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: EmitKind,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Size of the read buffer in bytes, at most 1 GiB.
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    pub(crate) chunk_size: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BatchArgs {
    /// Batch result files, glob patterns such as 'results/*.jsonl.gz', or `-` for standard input. Input compressed with
    /// gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the files. Default: detected from the first lines of each file.
    #[arg(long, value_name = "FORMAT", value_parser = batch_format())]
    pub(crate) from: Option<BatchFormat>,
    /// What to write to the output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: BatchEmit,
    /// Output file; `-` is standard output. The file appears at the end. After Ctrl-C, or if an input cannot be read, it
    /// has the whole lines up to there.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// How to parse a model's output.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadingArgs {
    /// How to parse text.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: ModeArg,
    /// JSON Pointer to an array whose elements are the records, such as /items. Needs --mode lenient.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) items: Option<String>,
    /// Syntax of tool calls in text: one that `tools formats` lists, a model family, or a file that describes one.
    /// Default: auto. Needs --emit tool-calls, or --tools with --emit events or partials. `extract --tools` sends the
    /// tools to the model, and reads calls in the text only if this is given; auto does, too.
    #[arg(long, alias = "format", value_name = "FORMAT", value_parser = call_format(), hide_possible_values = true)]
    pub(crate) call_format: Option<CallFormat>,
    #[command(flatten)]
    pub(crate) reasoning: ReasoningArg,
    /// JSON Schema that each record must satisfy, at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Directory of the JSON Schemas (*.json) that --schema refers to, by their path or `$id`. Nothing else is read.
    #[arg(long, value_name = "DIR", requires = "schema")]
    pub(crate) schema_dir: Option<PathBuf>,
    /// Tool definitions: a JSON array of {name, description?, parameters}, OpenAI's {type, function} or Anthropic's
    /// {name, input_schema}; at most 16 MiB. Calls of other tools or with invalid parameters are rejected.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Convert parameters to the types their tool declares if no information is lost, such as "3" to 3. Events list
    /// the conversions.
    #[arg(long, requires = "tools")]
    pub(crate) coerce: bool,
    /// Write a record as soon as its brackets balance. Default: wait for the line feed or delimiter that follows it.
    #[arg(long)]
    pub(crate) eager: bool,
    /// Stop after writing N records or tool calls (of `batch --emit text`, texts), cancel the request if there is one, and
    /// exit with 0.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_records: Option<u64>,
    /// Exit with 1 if fewer than N records or tool calls (of `batch --emit text`, texts) were written.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) min_records: Option<u64>,
    /// Stop when more than N records or tool calls are rejected, and exit with 1. Prose is never rejected.
    #[arg(long, value_name = "N")]
    pub(crate) max_errors: Option<u64>,
    /// Write the position, code and message of each reject to this file, as JSON Lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Add what the model wrote to --reject-file, including any private data: the text of each reject, as `received`, and
    /// of a tool call its name and id. A text over the length limit is left out.
    #[arg(long, requires = "reject_file")]
    pub(crate) show_values: bool,
    /// Write counts and diagnostics to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Show all member names in messages. Default: a name that is not in the schema or tool definition is shown as `*`.
    #[arg(long)]
    pub(crate) show_names: bool,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// Where a model's output begins.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ReasoningArg {
    /// The prompt has opened the model's reasoning: nothing up to </think> is a record or a call.
    #[arg(long)]
    pub(crate) in_reasoning: bool,
}

/// Model, server and request parameters.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// Provider, or the provider whose API the server implements.
    #[arg(long, value_parser = provider())]
    pub(crate) provider: Provider,
    /// Base URL of the server, with or without the API's path. Default: the provider's environment variable, such as
    /// OPENAI_BASE_URL or OLLAMA_HOST, else its public address.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Model name.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    /// Maximum number of tokens in the response. Default: the provider's; for anthropic, 8192.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
    /// Sampling temperature, usually 0 to 2. Default: the provider's.
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f64>,
    /// Sampling seed, an integer from 0. Not supported by anthropic and openai-responses.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Set another member of the request body to a JSON value: `--set reasoning_effort='"low"'`. `NAME=@FILE` sets it to
    /// the text of a file, at most 16 MiB. Repeatable.
    #[arg(long, value_name = "NAME=JSON")]
    pub(crate) set: Vec<String>,
    /// Environment variable that holds the API key. Default: the provider's, such as OPENAI_API_KEY, ANTHROPIC_API_KEY or
    /// GEMINI_API_KEY.
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Add a request header. `NAME: @VARIABLE` reads its value from the environment. Messages never show the value.
    /// Repeatable.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Fail after this many seconds without data.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) read_timeout: u32,
    /// Fail if a response takes more than this many seconds in total.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) response_timeout: u32,
    /// Number of retries after a failed connection, HTTP 429 or 5xx. A response that has started is never retried.
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) retries: u32,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// User prompt; `-` reads it from standard input, at most 16 MiB.
    #[arg(long, value_name = "TEXT", required_unless_present = "messages", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) prompt: Option<String>,
    /// System prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Earlier messages of the conversation, sent before --prompt: a JSON array of {role, content} as in OpenAI's chat
    /// API, at most 16 MiB; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: Option<PathBuf>,
    /// Response format to request from the provider.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) response_format: Format,
    /// If the response is cut off, request the rest, at most N times (1 to 100000). Writes each record once. Exits with
    /// 3 if the response is still incomplete.
    #[arg(long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) continuations: Option<u32>,
    /// What to write to standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: EmitKind,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// List the prompts and their response types.
    #[command(after_help = examples::PROMPT_LIST)]
    List(ConfigArgs),
    /// Print a rendered prompt, preceded by its system prompt, if any.
    #[command(after_help = examples::PROMPT_RENDER)]
    Render(RenderArgs),
    /// Parse a response according to its prompt's response type.
    ///
    /// Prints text unchanged, json as one line, and jsonl as JSON Lines. Exits with 1 if the response to a json prompt
    /// contains no JSON or breaks the schema. Rejected lines of a jsonl response are warnings.
    #[command(after_help = examples::PROMPT_APPLY)]
    Apply(ApplyArgs),
    /// Send a prompt to a model, and parse the response according to the prompt's response type.
    #[command(after_help = examples::PROMPT_RUN)]
    Run(Box<PromptRunArgs>),
}

/// Prompt configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Prompt configuration, TOML or JSON, at most 16 MiB: `system` (system prompt), `terms` (default variables), and for
    /// each `prompts.ID` a `prompt`, a `response-type` (text, json or jsonl) and a `schema` (for jsonl: `object-schema`).
    /// Default: the built-in prompts.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// One prompt.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Prompt id, as listed by `prompt list`.
    #[arg(long)]
    pub(crate) id: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    /// Print {"system", "prompt"} as one line of JSON instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Template variables.
#[derive(Debug, clap::Args)]
pub(crate) struct TermArgs {
    /// Set a template variable to a string. `NAME=@FILE` reads it from a file, `NAME=@-` from standard input, at most
    /// 16 MiB. Repeatable.
    #[arg(long, value_name = "NAME=TEXT")]
    pub(crate) var: Vec<String>,
    /// File with template variables of any type: a JSON object such as {"text": ..., "classes": [...]}, at most 16 MiB;
    /// `-` is standard input. --var takes precedence.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    /// File with the response, at most 64 MiB; `-` is standard input.
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

/// Parses the name of a batch format.
fn batch_format() -> impl TypedValueParser<Value = BatchFormat> {
    let named = |format: &BatchFormat| PossibleValue::new(format.as_str()).help(format.title());
    PossibleValuesParser::new(BatchFormat::ALL.iter().map(named))
        .try_map(|name| BatchFormat::from_name(&name).ok_or("not a format"))
}

/// Parses a provider and a URL, `PROVIDER=URL`.
fn provider_url(value: &str) -> Result<(Provider, String), String> {
    let (name, url) = value.split_once('=').ok_or("needs PROVIDER=URL")?;
    let provider = Provider::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
        format!("the provider is one of {}", names.join(", "))
    })?;
    Ok((provider, url.to_owned()))
}

/// Parses a provider's name.
fn provider() -> impl TypedValueParser<Value = Provider> {
    let names = PossibleValuesParser::new(Provider::ALL.iter().map(|provider| provider.as_str()));
    names.try_map(|name| Provider::from_name(&name).ok_or("not a provider"))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Free text, such as JSON Lines.
    #[default]
    Text,
    /// One JSON value: an object is a record, an array is one record per element.
    Json,
    /// One JSON value that satisfies --schema, parsed like json.
    Schema,
}

/// An input format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputFormat {
    /// Model output.
    Text,
    /// JSON Lines, with one response per line as a string.
    Lines,
    /// A provider's response body.
    Response(Provider),
    /// A batch result file.
    Batch(BatchFormat),
}

fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    let text = PossibleValue::new("text").help("Model output as plain text");
    let lines = PossibleValue::new("lines").help("JSON Lines, with one response per line as a string");
    let provider = |provider: &Provider| {
        PossibleValue::new(provider.as_str()).help(format!("Response body: {}", provider.title()))
    };
    let batch = |format: &BatchFormat| {
        PossibleValue::new(format.as_str()).help(format!("Batch result file: {}", format.title()))
    };
    let providers = Provider::ALL.iter().map(provider);
    PossibleValuesParser::new(
        [text, lines].into_iter().chain(providers).chain(BatchFormat::ALL.iter().map(batch)),
    )
    .map(|name| match (Provider::from_name(&name), BatchFormat::from_name(&name)) {
        (Some(provider), _) => InputFormat::Response(provider),
        (None, Some(format)) => InputFormat::Batch(format),
        (None, None) if name == "lines" => InputFormat::Lines,
        (None, None) => InputFormat::Text,
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmitKind {
    /// Records as JSON Lines.
    #[default]
    Records,
    /// Tool calls as JSON Lines: name, parameters, and call_id and error if the model sent them.
    ToolCalls,
    /// All events with their positions: records, tool calls, rejects and notes; from a provider also text, reasoning,
    /// finish reasons and usage.
    Events,
    /// All events, and the steps that build each record: `open`, `append`, `set` and `close`, described at the end of
    /// `tokenline parse --help`.
    Partials,
    /// The texts of batch results; only of [`BatchArgs`].
    #[value(skip)]
    Text,
}

impl EmitKind {
    /// Returns whether each line of the output is an event.
    pub(crate) fn has_events(self) -> bool {
        matches!(self, Self::Events | Self::Partials)
    }
}

/// What `tokenline batch` writes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum BatchEmit {
    /// Records as JSON Lines.
    #[default]
    Records,
    /// Tool calls as JSON Lines: name, parameters, and call_id and error if the model sent them.
    ToolCalls,
    /// The text of each choice, unparsed: custom_id, choice unless it is 0, finish_reason and text.
    Text,
    /// All events, each with the custom_id of its request: results, records, tool calls, rejects, notes, text, reasoning,
    /// finish reasons and usage.
    Events,
}

impl From<BatchEmit> for EmitKind {
    fn from(emit: BatchEmit) -> Self {
        match emit {
            BatchEmit::Records => Self::Records,
            BatchEmit::ToolCalls => Self::ToolCalls,
            BatchEmit::Text => Self::Text,
            BatchEmit::Events => Self::Events,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ModeArg {
    /// Recover records from code fences, lists, arrays, tags and prose.
    #[default]
    Lenient,
    /// Each non-blank line must be one JSON object. Without --items and --in-reasoning.
    Strict,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Delay between chunks, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "5")]
    pub(crate) delay_ms: u64,
    /// Chunk size in bytes. Default: one event per chunk.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk_size: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 picks a free port. The first line of standard output is the page's URL.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    pub(crate) listen: String,
    /// Allow listening on an address that other machines can reach. Anyone who can reach it can use your API keys.
    #[arg(long)]
    pub(crate) public: bool,
    /// Name by which browsers may reach the page, in addition to localhost and addresses. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Vec<String>,
    /// Base URL of a provider's server, such as `openai-chat=http://127.0.0.1:8080`. Default: the provider's environment
    /// variable, such as OPENAI_BASE_URL or OLLAMA_HOST, else its public address. API keys are always read from the
    /// environment. Repeatable.
    #[arg(long, value_name = "PROVIDER=URL", value_parser = provider_url)]
    pub(crate) base_url: Vec<(Provider, String)>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Files with recorded responses, each at most 64 MiB. A request's `model` selects the file by its name without
    /// extension. Default: the built-in recordings.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Address to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// Allow listening on an address that other machines can reach.
    #[arg(long)]
    pub(crate) public: bool,
    /// Name by which clients may reach the server, in addition to localhost and addresses. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) host_name: Vec<String>,
    /// Delay between chunks, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "0")]
    pub(crate) delay_ms: u64,
    /// Chunk size in bytes. Default: one event per chunk.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk_size: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// Diagnostic code, such as trailing_data, or a word in `recovered` or `completion`, such as call_end_missing. Default:
    /// list all.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// When to color messages.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always, even if NO_COLOR is set.
    Always,
    /// Never.
    Never,
}
