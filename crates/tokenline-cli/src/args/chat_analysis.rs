//! `tokenline chat-analysis`.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use tokenline::llm::Provider;

use super::{ModelArgs, examples};

#[derive(Debug, Subcommand)]
pub(crate) enum ChatAnalysisCommand {
    /// Print the JSON Schema of a response.
    #[command(after_help = examples::CHAT_SCHEMA)]
    Schema(SchemaArgs),
    /// Print a request body for Ollama's /api/chat.
    #[command(after_help = examples::CHAT_REQUEST)]
    Request(RequestArgs),
    /// Check that a response satisfies the schema and that its text is not blank.
    ///
    /// Prints the position of each error, and warnings. Exits with 1 if the response is invalid.
    #[command(after_help = examples::CHAT_CHECK)]
    Check(InputArgs),
    /// Check a response, and convert it to XML.
    #[command(after_help = examples::CHAT_TO_XML)]
    ToXml(InputArgs),
    /// Check a response that is stored as XML, and convert it to JSON.
    #[command(after_help = examples::CHAT_FROM_XML)]
    FromXml(FromXmlArgs),
    /// Send a user prompt to a model, and print the text of the response as it arrives.
    #[command(after_help = examples::CHAT_RUN)]
    Run(Box<RunArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Print a TypeScript module with the schema and the types of a response.
    #[arg(long)]
    pub(crate) typescript: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
    /// File with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Model name.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Request a single JSON response instead of a stream.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SystemArgs {
    /// System prompt. Default: one that describes the schema.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// File with the response, at most 8 MiB (with --from: 64 MiB); `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Parse the input as a streamed response body of this provider (ollama: streamed or not). Default: parse it as the
    /// JSON that the model wrote.
    #[arg(long, value_name = "PROVIDER", value_parser = super::provider())]
    pub(crate) from: Option<Provider>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FromXmlArgs {
    /// File with the XML, at most 8 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Write the JSON on one line.
    #[arg(long)]
    pub(crate) compact: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// File with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Store a valid response in this directory, as TOPIC/MESSAGE.xml. Needs --topic and --message.
    #[arg(long, value_name = "DIR", requires_all = ["topic", "message"])]
    pub(crate) store: Option<PathBuf>,
    /// Topic id, for --store.
    #[arg(long, value_name = "ID", requires = "store")]
    pub(crate) topic: Option<String>,
    /// Message id, for --store.
    #[arg(long, value_name = "ID", requires = "store")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
