//! The commands that validate files of JSON Lines.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tokenline::conversations::Profile;

use super::{ImportArgs, examples};

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// Validate conversations, one per line.
    ///
    /// Prints the position of each invalid line and the rule it breaks. Exits with 1 if any line is invalid.
    #[command(after_help = examples::CONVERSATIONS_VALIDATE)]
    Validate(ValidateInputArgs),
    /// Reduce conversations to their messages: {"messages":[{"role","content"}]} per line.
    ///
    /// Writes nothing and exits with 1 if a line is invalid.
    #[command(after_help = examples::CONVERSATIONS_SNAPSHOT)]
    Snapshot(SnapshotArgs),
    /// Convert rows or documents into conversations, one per line.
    ///
    /// A row is a message: a row of a CSV file or a table, a line of JSON, a document of MongoDB, a hit of Elasticsearch or
    /// OpenSearch. Documents can also be whole conversations. If a row is rejected, its conversation is not written. A row
    /// whose conversation cannot be read is only reported: --deny then exits with 1. Every line that is written is valid.
    #[command(after_help = examples::CONVERSATIONS_IMPORT)]
    Import(Box<ImportArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateInputArgs {
    /// Files with conversations, glob patterns such as 'export/*.jsonl.gz', or `-` for standard input. Several files are
    /// one dataset. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub(crate) input: Vec<PathBuf>,
    /// Additional members to allow in a conversation.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: ProfileArg,
    #[command(flatten)]
    pub(crate) output: ReportingArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// JSON Schema that each line must satisfy, at most 16 MiB. Each line must be an object.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Directory of the JSON Schemas (*.json) that --schema refers to, by their path or `$id`. Nothing else is read.
    #[arg(long, value_name = "DIR")]
    pub(crate) schema_dir: Option<PathBuf>,
    /// Show all member names in messages. Default: a name that is not in the schema is shown as `*`.
    #[arg(long)]
    pub(crate) show_names: bool,
    /// Files with records, glob patterns such as 'export/*.jsonl.gz', or `-` for standard input. Input compressed with
    /// gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) input: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ReportingArgs,
}

/// How to read lines and report errors.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportingArgs {
    /// Write a report to this file, as JSON, whether or not all lines are valid.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Report at most N errors, and count the rest.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) max_errors: usize,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Format of the errors on standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ErrorFormat,
    /// Write every error to this file, as JSON Lines, regardless of --max-errors.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Write the invalid lines to --reject-file instead of their errors, byte for byte, including any private data. A
    /// line over the length limit becomes an empty line.
    #[arg(long, requires = "reject_file")]
    pub(crate) reject_content: bool,
    /// Keep reading as the file grows, until Ctrl-C. Does not follow a file that replaces it.
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotArgs {
    /// File with conversations; `-` is standard input. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Output file; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Additional members to allow in a conversation.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: ProfileArg,
    /// Skip invalid lines instead of writing nothing.
    #[arg(long)]
    pub(crate) allow_invalid: bool,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
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

/// The format of the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorFormat {
    /// One line of text per error, immediately.
    #[default]
    Text,
    /// The report as JSON, at the end.
    Json,
    /// One JSON object per error, immediately.
    Jsonl,
    /// A SARIF 2.1.0 log, at the end.
    Sarif,
    /// GitHub workflow annotations, immediately.
    Github,
}
