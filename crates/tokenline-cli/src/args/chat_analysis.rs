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
    /// Print a request to Ollama's /api/chat.
    #[command(after_help = examples::CHAT_REQUEST)]
    Request(RequestArgs),
    /// Check a response against the schema, and that its text is not empty.
    ///
    /// Prints each error with its position, and warnings. Exits with 1 if the response is invalid.
    #[command(after_help = examples::CHAT_CHECK)]
    Check(InputArgs),
    /// Check a response, and write it as XML.
    #[command(after_help = examples::CHAT_TO_XML)]
    ToXml(InputArgs),
    /// Check a stored response, and write it as JSON.
    #[command(after_help = examples::CHAT_FROM_XML)]
    FromXml(FromXmlArgs),
    /// Send a question to a model, and print the text of the response as it arrives.
    #[command(after_help = examples::CHAT_RUN)]
    Run(Box<RunArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Print a TypeScript module instead: the schema as a constant, and the types of a response.
    #[arg(long)]
    pub(crate) typescript: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
    /// The file with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Model name.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Request the whole response at once instead of a stream.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SystemArgs {
    /// System prompt. Default: the one that describes the schema.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// The response, at most 8 MiB, with --from 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// The input is the body of this provider's response, streamed, or of Ollama also whole. Default: it is the JSON
    /// that the model wrote.
    #[arg(long, value_name = "PROVIDER", value_parser = super::provider())]
    pub(crate) from: Option<Provider>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FromXmlArgs {
    /// The XML, at most 8 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Write one line.
    #[arg(long)]
    pub(crate) compact: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The file with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Store a valid response in this folder, as TOPIC/MESSAGE.xml.
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
