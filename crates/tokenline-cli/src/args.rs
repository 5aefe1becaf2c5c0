//! What the program can be told.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use tokenline::llm::Provider;

/// Validated records and tool calls out of a language model's byte stream.
///
/// Exit codes: 0 good; 1 something was rejected, with --deny; 2 usage, configuration or schema at
/// fault; 3 input or output, a provider's error, or an incomplete source.
#[derive(Debug, Parser)]
#[command(name = "tokenline", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read a model's output, write records or tool calls as JSON Lines.
    Parse(ParseArgs),
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
    #[arg(long, value_enum, default_value_t)]
    pub(crate) from: From,
    /// What to write.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) emit: What,
    /// How forgiving to be: lenient understands fences, prose and a comma after a record.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: ModeArg,
    /// A JSON Schema that every record must satisfy.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The tools that may be called: a JSON array of {name, description?, parameters}, of OpenAI's
    /// {type, function} or of Anthropic's {name, input_schema}.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Release a record as soon as its brackets balance, before anything proves it whole.
    #[arg(long)]
    pub(crate) eager: bool,
    /// Read this many bytes at a time, at most 1 GiB.
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    pub(crate) chunk_size: u32,
    /// Write counts and diagnostics to this file, as JSON, once all is read.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum From {
    /// Text as the model wrote it.
    #[default]
    Text,
    /// The body of an OpenAI chat completions stream, or of a server that speaks the same.
    OpenaiChat,
    /// The body of an OpenAI Responses stream.
    OpenaiResponses,
    /// The body of an Anthropic messages stream.
    Anthropic,
    /// The body of a Gemini streamGenerateContent stream, with alt=sse or without.
    Gemini,
    /// The body of an Ollama /api/chat stream.
    Ollama,
}

impl From {
    /// Whose stream it is, if it is one.
    pub(crate) fn provider(self) -> Option<Provider> {
        match self {
            Self::Text => None,
            Self::OpenaiChat => Some(Provider::OpenAiChat),
            Self::OpenaiResponses => Some(Provider::OpenAiResponses),
            Self::Anthropic => Some(Provider::Anthropic),
            Self::Gemini => Some(Provider::Gemini),
            Self::Ollama => Some(Provider::Ollama),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Each record.
    #[default]
    Records,
    /// Each tool call: name, parameters, and call_id and error where the model sent them.
    ToolCalls,
    /// Each event, rejects among them, with its place; of a provider's stream also the text beside
    /// records and calls, reasoning, finish reasons and usage.
    Events,
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
    /// Recorded streams to serve; without any, the built-in ones. A request's `model` names one: the
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
