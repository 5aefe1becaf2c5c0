//! What `tokenline chat-analysis` is told.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use tokenline::llm::Provider;

use super::ModelArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ChatAnalysisCommand {
    /// Print the JSON Schema of an answer.
    Schema(SchemaArgs),
    /// Print the request for Ollama's /api/chat that asks a question.
    Request(RequestArgs),
    /// Check an answer: the schema, and that there is something to read in it.
    ///
    /// Prints each place where a rule is broken, and warnings. Exits with 1 if the answer does not pass.
    Check(InputArgs),
    /// Write an answer as XML. It is checked before.
    ToXml(InputArgs),
    /// Write a stored answer as JSON. It is checked before.
    FromXml(FromXmlArgs),
    /// Ask a model, and print the response while it comes; --store keeps the whole answer as XML.
    Run(Box<RunArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// A TypeScript module instead: the schema as a constant, and the types of an answer.
    #[arg(long)]
    pub(crate) typescript: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RequestArgs {
    /// What the user asks, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// The model, by Ollama's name for it.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// Ask for the answer at once, not in pieces.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SystemArgs {
    /// What the model is to keep to, instead of the contract's own system prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InputArgs {
    /// The answer, of at most 8 MiB, with --from 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// It is the body of this provider's response: streamed, or of Ollama also at once. Otherwise it is the JSON that
    /// the model wrote.
    #[arg(long, value_name = "PROVIDER", value_parser = super::provider())]
    pub(crate) from: Option<Provider>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FromXmlArgs {
    /// The XML, of at most 8 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// On one line.
    #[arg(long)]
    pub(crate) compact: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What the user asks, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) system: SystemArgs,
    /// The folder to keep the answer in, as TOPIC/MESSAGE.xml.
    #[arg(long, value_name = "DIR", requires_all = ["topic", "message"])]
    pub(crate) store: Option<PathBuf>,
    /// The topic that the answer belongs to.
    #[arg(long, value_name = "ID", requires = "store")]
    pub(crate) topic: Option<String>,
    /// The message that the answer belongs to.
    #[arg(long, value_name = "ID", requires = "store")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
