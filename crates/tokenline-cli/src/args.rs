//! The command line.

mod chat_analysis;
mod continuation;
mod examples;
mod validate;

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
pub(crate) use validate::{
    ConversationsCommand, FindingsFormat, ReportingArgs, SnapshotArgs, ValidateArgs, ValidateInputArgs,
};

/// Turns a language model's output into validated records and tool calls.
///
/// Data goes to standard output, everything else to standard error.
///
/// Exit codes: 0 success; 1 invalid data (anything rejected with --deny, more rejects than --max-errors, an invalid
/// line, response or merge); 2 bad usage, configuration or schema; 3 an I/O or provider error, or an incomplete source.
#[derive(Debug, Parser)]
#[command(name = "tokenline", version, after_help = examples::PROGRAM)]
pub(crate) struct Args {
    /// When to use colors on standard error. NO_COLOR turns off `auto`.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: Color,
    /// Write nothing to standard error but the error that ends the command.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read a model's output; write its records or tool calls as JSON Lines.
    #[command(after_help = examples::PARSE, after_long_help = examples::PARSE_LONG)]
    Parse(ParseArgs),
    /// Send a request to a model; write each record or tool call as soon as it is complete.
    #[command(after_help = examples::EXTRACT)]
    Extract(Box<ExtractArgs>),
    /// Render prompts from templates, and read the responses to them.
    #[command(subcommand)]
    Prompt(PromptCommand),
    /// Describe tools to a model, and read the tool calls in its response.
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Request, check and store chat responses that come with an analysis as one JSON value.
    #[command(subcommand, alias = "structured")]
    ChatAnalysis(ChatAnalysisCommand),
    /// Continue JSON documents that a token limit cut off.
    #[command(subcommand)]
    Continuation(ContinuationCommand),
    /// Validate JSON Lines against a JSON Schema.
    ///
    /// Reports each invalid line with its position and the rule it breaks. Exits with 0 if all lines are valid,
    /// else with 1.
    #[command(after_help = examples::VALIDATE)]
    Validate(ValidateArgs),
    /// Validate files of conversations, or reduce them to their messages.
    #[command(subcommand)]
    Conversations(ConversationsCommand),
    /// The same as `conversations validate`.
    #[command(hide = true)]
    ValidateInput(ValidateInputArgs),
    /// The same as `conversations snapshot`.
    #[command(hide = true)]
    Snapshot(SnapshotArgs),
    /// Stream recorded responses from a local server and watch records and tool calls arrive.
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Serve recorded responses over HTTP on this machine, at every provider's path.
    #[command(after_help = examples::REPLAY)]
    Replay(ReplayArgs),
    /// Explain a diagnostic code, with an input that causes it.
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Print a completion script for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page.
    #[command(after_help = examples::MAN)]
    Man,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ParseArgs {
    /// The inputs: files, `-` for standard input, or patterns such as 'responses/*.sse.gz'. Input compressed with gzip,
    /// zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    /// The format of the input.
    #[arg(long, default_value = "text", value_parser = input_format())]
    pub(crate) from: InputFormat,
    /// With --from lines: the JSON Pointer of the string that holds the response, such as /output.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) text_pointer: Option<String>,
    /// With --from lines: the JSON Pointer of the line's id, such as /id. Events and messages then name the id.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) id_pointer: Option<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// Bytes per read, at most 1 GiB.
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    pub(crate) chunk_size: u32,
}

/// How a model's output is read, and what is written.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadingArgs {
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: EmitKind,
    /// How to read text: lenient recovers records from what models write instead of JSON Lines.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: ModeArg,
    /// The JSON Pointer of an array, such as /items. Each of its elements is a record.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) items: Option<String>,
    /// The syntax of tool calls in text. Default: detected. For --emit tool-calls, or events and partials with --tools.
    #[arg(long, alias = "format", value_name = "FORMAT", value_parser = call_format())]
    pub(crate) call_format: Option<CallFormat>,
    /// The JSON Schema that each record must satisfy; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The tools: a JSON array of {name, description?, parameters}, of OpenAI's {type, function} or of Anthropic's
    /// {name, input_schema}; at most 16 MiB. A call of any other tool, or with invalid parameters, is rejected.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Convert a parameter to the type its tool declares where nothing is lost, such as "3" to 3. Events list each
    /// conversion.
    #[arg(long, requires = "tools")]
    pub(crate) coerce: bool,
    /// Emit a record when its brackets balance, without waiting for confirmation that nothing follows it.
    #[arg(long)]
    pub(crate) eager: bool,
    /// Stop after this many records or tool calls, whichever are written. Closes the request. Exits with 0.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_records: Option<u64>,
    /// Stop when more than this many records or calls were rejected, and exit with 1. Text never counts.
    #[arg(long, value_name = "N")]
    pub(crate) max_errors: Option<u64>,
    /// Write each reject to this file as one line of JSON: its position, code and message.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Write counts and diagnostics to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Show the names of all members in messages. Default: a member that the schema or the tool does not name is `*`.
    #[arg(long)]
    pub(crate) show_names: bool,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// The model, the server and the request's parameters.
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
    /// Maximum number of tokens in the response.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
    /// Sampling temperature, usually 0 to 2. Default: the provider's.
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f64>,
    /// Sampling seed. Not supported by anthropic and openai-responses.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Set any other member of the request's body, as JSON: `--set reasoning_effort='"low"'`. `NAME=@FILE` sets it to
    /// the file's text, at most 16 MiB.
    #[arg(long, value_name = "NAME=JSON")]
    pub(crate) set: Vec<String>,
    /// Environment variable with the API key. Default: the provider's, such as OPENAI_API_KEY, ANTHROPIC_API_KEY or
    /// GEMINI_API_KEY.
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_env: Option<String>,
    /// Add a header to the request. Its value never appears in messages. `@VARIABLE` reads it from the environment.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Give up after this many seconds without data.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) read_timeout: u32,
    /// Give up on a response after this many seconds in total.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) response_timeout: u32,
    /// Retries after a failed connection, HTTP 429 or 5xx. A response that has begun is never requested again.
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
    /// Earlier messages of the conversation, before --prompt: a JSON array of {role, content} as in OpenAI's chat API,
    /// at most 16 MiB; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: Option<PathBuf>,
    /// The response format to request from the provider.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) response_format: Format,
    /// If the response is cut off, request the rest, at most this many times. Each record is written once. Exits with 3
    /// if the end is still missing.
    #[arg(long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) continuations: Option<u32>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// List the prompts, each with the type of its response.
    #[command(after_help = examples::PROMPT_LIST)]
    List(ConfigArgs),
    /// Print a rendered prompt: the system prompt if it has one, an empty line, the user prompt.
    #[command(after_help = examples::PROMPT_RENDER)]
    Render(RenderArgs),
    /// Read a response according to its prompt: text as it is, json as one line, jsonl as JSON Lines.
    ///
    /// Exits with 1 if the response to a json prompt contains no JSON or breaks the schema. Lines that a jsonl
    /// response loses are warnings.
    #[command(after_help = examples::PROMPT_APPLY)]
    Apply(ApplyArgs),
    /// Send a prompt to a model, and read the response according to the prompt.
    #[command(after_help = examples::PROMPT_RUN)]
    Run(Box<PromptRunArgs>),
}

/// The configuration of prompts.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// The prompts, as TOML or JSON: `system`, `terms`, and for each `prompts.ID` its `prompt`, `response-type` (text,
    /// json, jsonl), `schema` or `object-schema`; at most 16 MiB. Default: the built-in prompts.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// One prompt.
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The prompt's id, from `prompt list`.
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

/// The variables of a template.
#[derive(Debug, clap::Args)]
pub(crate) struct TermArgs {
    /// Set a template variable to a text. `NAME=@FILE` reads it from a file, `NAME=@-` from standard input, at most
    /// 16 MiB.
    #[arg(long, value_name = "NAME=TEXT")]
    pub(crate) var: Vec<String>,
    /// Template variables of any type: a file with a JSON object such as {"text": ..., "classes": [...]}, at most
    /// 16 MiB; `-` is standard input. --var overrides them.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    /// The response, at most 64 MiB; `-` is standard input.
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
    /// Print a prompt that describes tools, or the member of a request that does.
    #[command(after_help = examples::TOOLS_PROMPT)]
    Prompt(ToolsPromptArgs),
    /// Read the tool calls of a whole response, write them as JSON Lines.
    #[command(after_help = examples::TOOLS_PARSE)]
    Parse(ToolsParseArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsPromptArgs {
    /// The tools: a JSON array of {name, description?, parameters}, of OpenAI's {type, function} or of Anthropic's
    /// {name, input_schema}; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
    /// The syntax in which the model is to call them.
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "jsonl", value_parser = PossibleValuesParser::new(["jsonl", "single_json", "function_calling"]))]
    pub(crate) call_format: String,
    /// The language of the prompt.
    #[arg(long, default_value = "en", value_parser = PossibleValuesParser::new(["en", "zh"]))]
    pub(crate) language: String,
    /// The provider whose request the tools are for, with --call-format function_calling.
    #[arg(long, default_value = "openai-chat", value_parser = provider())]
    pub(crate) provider: Provider,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsParseArgs {
    /// The response, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// The syntax of the calls in the text; function_calling reads a provider's whole response.
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "auto", value_parser = tool_calling())]
    pub(crate) call_format: ToolCalling,
    /// The tools: a JSON array of {name, description?, parameters}, of OpenAI's {type, function} or of Anthropic's
    /// {name, input_schema}; at most 16 MiB. A call of any other tool, or with invalid parameters, is rejected.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// The syntaxes of tool calls, by name.
fn call_format() -> impl TypedValueParser<Value = CallFormat> {
    let names = PossibleValuesParser::new(CallFormat::BUILT_IN.iter().map(CallFormat::as_str));
    names.try_map(|name| CallFormat::from_name(&name).ok_or("not a format"))
}

/// How tools are called, by name.
fn tool_calling() -> impl TypedValueParser<Value = ToolCalling> {
    let names = CallFormat::BUILT_IN.iter().map(CallFormat::as_str).chain(["function_calling"]);
    PossibleValuesParser::new(names).try_map(|name| ToolCalling::from_name(&name).ok_or("not a format"))
}

/// The providers, by name.
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
    /// One JSON value that satisfies --schema, read the same way.
    Schema,
}

/// The format of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputFormat {
    /// Text as the model wrote it.
    Text,
    /// JSON Lines, each with a response as a string.
    Lines,
    /// The body of a provider's response.
    Response(Provider),
    /// The result file of a batch.
    Batch(BatchFormat),
}

fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    let text = PossibleValue::new("text").help("Text as the model wrote it");
    let lines = PossibleValue::new("lines").help("JSON Lines, each with a response as a string");
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
    /// Each record.
    #[default]
    Records,
    /// Each tool call: name, parameters, and call_id and error where the model sent them.
    ToolCalls,
    /// Each event with its position: records, tool calls, rejects and notes; from a provider also text, reasoning,
    /// finish reasons and usage.
    Events,
    /// Each event, and the steps by which each record grows: `open`, `append`, `set` and `close`.
    /// `tokenline parse --help` describes them.
    Partials,
}

impl EmitKind {
    /// Whether each line of the output is an event.
    pub(crate) fn has_events(self) -> bool {
        matches!(self, Self::Events | Self::Partials)
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ModeArg {
    /// Recovers records from code fences, lists, arrays, tags and text.
    #[default]
    Lenient,
    /// Each line that is not blank must be one JSON object.
    Strict,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Milliseconds between two chunks.
    #[arg(long, value_name = "MS", default_value = "5")]
    pub(crate) delay_ms: u64,
    /// Bytes per chunk. Default: one event per chunk.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk_size: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// The recorded responses to serve, each at most 64 MiB. Default: the built-in ones. A request selects one by its
    /// `model`: the file's name without its extension.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The address to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// Allow an address that other machines can reach.
    #[arg(long)]
    pub(crate) public: bool,
    /// Milliseconds between two chunks.
    #[arg(long, value_name = "MS", default_value = "0")]
    pub(crate) delay_ms: u64,
    /// Bytes per chunk. Default: one event per chunk.
    #[arg(long, value_name = "BYTES")]
    pub(crate) chunk_size: Option<NonZeroUsize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// The code, such as trailing_data. Default: list all codes.
    pub(crate) code: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// When to use colors.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}
