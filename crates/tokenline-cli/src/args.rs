//! Arguments that several commands take.

mod call_format;

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use tokenline::conversations::Profile;
use tokenline::llm::Provider;
use tokenline::llm::batch::BatchFormat;
use tokenline::llm::client::ReaskOptions;
use tokenline::{CallFormat, RepetitionLimits};

use crate::failure::Failure;
pub(crate) use call_format::{CallingParser, call_format, unknown_call_format};

/// How to parse a model's output.
#[derive(Clone, Debug, clap::Args)]
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
    /// JSON Schema of the records, at most 16 MiB. Together with --tools, an object is a call if it stands
    /// between the markers of a call syntax, or has the name of a defined tool and arguments; every other object is a record.
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
    /// Stop after N records or tool calls, and exit with 0. A request is cancelled. `batch --emit text` counts
    /// texts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_records: Option<u64>,
    /// Exit with 1 if fewer than N records or tool calls were written. `batch --emit text` counts texts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) min_records: Option<u64>,
    /// Stop after more than N rejects, and exit with 1. Prose is never rejected.
    #[arg(long, value_name = "N")]
    pub(crate) max_errors: Option<u64>,
    /// Write each reject to this file, as JSON Lines, with its position, code and message.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Show what the model wrote, including any private data: on a terminal the place of each fault, underlined; in
    /// --reject-file and in events the text of each reject, as `received`, and of a tool call its name and id. A text over the
    /// length limit is left out.
    #[arg(long)]
    pub(crate) show_values: bool,
    /// Write counts and diagnostics to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Show all member names in messages. Default: a name that is not in the schema or tool definition is shown as `*`.
    #[arg(long)]
    pub(crate) show_names: bool,
    /// Repair malformed records and calls where the text proves the edit, such as a trailing comma; events say which. Without
    /// --schema or --tools, only edits that cannot change a value.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Report every violation of a rejected record or call. At most 100 each; by default, the first.
    #[arg(long)]
    pub(crate) all_errors: bool,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

/// Whether a model that repeats itself is stopped.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct RepetitionArg {
    /// Stop a response that repeats itself exactly, as an incomplete source. Prose stops after 4 copies and 512 bytes; tables, digits,
    /// white space, and equal records or calls need more.
    #[arg(long)]
    pub(crate) stop_on_repetition: bool,
}

impl RepetitionArg {
    pub(crate) fn limits(self) -> Option<RepetitionLimits> {
        self.stop_on_repetition.then(RepetitionLimits::default)
    }
}

/// Whether the model is asked again for what was rejected.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ReaskArgs {
    /// Ask the model again for what was rejected, at most N times. Each record or call has a request of its own, which names
    /// every violation; the response goes on meanwhile. What is right is written as soon as it comes. N is 1 to 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) reask: Option<u32>,
    /// Most requests of --reask in all.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "reask")]
    max_reasks: u64,
}

impl ReaskArgs {
    pub(crate) fn options(self) -> ReaskOptions {
        ReaskOptions::new(self.reask.unwrap_or_default()).max_requests(self.max_reasks)
    }
}

/// Whether records name their source.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct SourceArg {
    /// Write each record or tool call as `value` beside where it comes from: the `id` of --id-pointer or the `custom_id` of
    /// a batch result, `file` and `line`. Members that do not apply are left out.
    #[arg(long)]
    pub(crate) with_source: bool,
}

impl SourceArg {
    /// Fails if the option has no effect.
    pub(crate) fn check(self, emit: EmitKind) -> Result<(), Failure> {
        match emit {
            EmitKind::Events | EmitKind::Partials | EmitKind::Text if self.with_source => {
                Err(Failure::Usage(
                    "--with-source needs --emit records or tool-calls: other output names its source"
                        .to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }
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
    /// Base URL of the server. The API's path may be missing. Default: the provider's environment variable, such as
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
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// Number of retries after a failed connection, HTTP 429 or 5xx. A response that has started is never retried.
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) retries: u32,
}

/// How a server is reached.
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectionArgs {
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
}

/// Parses a provider's name.
pub(crate) fn provider() -> impl TypedValueParser<Value = Provider> {
    let names = PossibleValuesParser::new(Provider::ALL.iter().map(|provider| provider.as_str()));
    names.try_map(|name| Provider::from_name(&name).ok_or("not a provider"))
}

/// Parses a provider and a URL, `PROVIDER=URL`.
pub(crate) fn provider_url(value: &str) -> Result<(Provider, String), String> {
    let (name, url) = value.split_once('=').ok_or("needs PROVIDER=URL")?;
    let provider = Provider::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
        format!("the provider is one of {}", names.join(", "))
    })?;
    Ok((provider, url.to_owned()))
}

/// Checks an origin of web pages: `https://app.example.com`, as browsers send it.
pub(crate) fn origin(value: &str) -> Result<String, String> {
    let host = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ', '*']) => {
            Ok(value.to_owned())
        }
        _ => Err("an origin has a scheme, a host and perhaps a port, and no path: https://app.example.com"
            .to_owned()),
    }
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

/// Parses the name of an input format.
pub(crate) fn input_format() -> impl TypedValueParser<Value = InputFormat> {
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
    /// The texts of batch results; only of `tokenline batch`.
    #[value(skip)]
    Text,
}

impl EmitKind {
    /// Returns whether each line of the output is an event.
    pub(crate) fn has_events(self) -> bool {
        matches!(self, Self::Events | Self::Partials)
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

/// Additional members to allow in a conversation.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Any at the top level; none in messages.
    #[default]
    Open,
    /// None, except in `metadata`.
    Strict,
}

impl From<ProfileArg> for Profile {
    fn from(profile: ProfileArg) -> Self {
        match profile {
            ProfileArg::Open => Self::Open,
            ProfileArg::Strict => Self::Strict,
        }
    }
}
