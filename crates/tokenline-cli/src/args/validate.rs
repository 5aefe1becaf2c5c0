//! The commands that validate files of JSON Lines.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tokenline::conversations::Profile;

use super::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationsCommand {
    /// Validate conversations, one per line.
    ///
    /// Reports each invalid line with its position and the rule it breaks. Exits with 0 if all lines are valid,
    /// else with 1.
    #[command(after_help = examples::CONVERSATIONS_VALIDATE)]
    Validate(ValidateInputArgs),
    /// Reduce conversations to their messages: {"messages":[{"role","content"}]} per line.
    ///
    /// Writes nothing and exits with 1 if a line is invalid.
    #[command(after_help = examples::CONVERSATIONS_SNAPSHOT)]
    Snapshot(SnapshotArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateInputArgs {
    /// The conversations: files, `-` for standard input, or patterns such as 'export/*.jsonl.gz'. Several files are one
    /// dataset. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub(crate) input: Vec<PathBuf>,
    /// Which members beyond the contract are allowed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: ProfileArg,
    #[command(flatten)]
    pub(crate) output: ReportingArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// The JSON Schema that each line must satisfy, at most 16 MiB. Each line must be an object.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Show the names of all members in messages. Default: a member that the schema does not name is `*`.
    #[arg(long)]
    pub(crate) show_names: bool,
    /// The records: files, `-` for standard input, or patterns such as 'export/*.jsonl.gz'. Input compressed with gzip,
    /// zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) input: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ReportingArgs,
}

/// How lines are read, and how errors are reported.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportingArgs {
    /// Write the report to this file as JSON, whether or not all lines are valid.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Report at most this many errors. The rest are counted.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) max_errors: usize,
    /// Number of threads. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// The format of errors on standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: FindingsFormat,
    /// Write the position of every invalid line to this file as JSON Lines, without a limit.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Write the invalid lines themselves to --reject-file instead, byte for byte, including any private data. A line
    /// over the limit becomes an empty line.
    #[arg(long, requires = "reject_file")]
    pub(crate) reject_content: bool,
    /// At the end of the file, wait for more until Ctrl-C. Does not follow a file that replaces it.
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotArgs {
    /// The conversations; `-` is standard input. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// The output file; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Which members beyond the contract are allowed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: ProfileArg,
    /// Leave out invalid lines, instead of writing nothing.
    #[arg(long)]
    pub(crate) allow_invalid: bool,
    /// Number of threads. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

/// Which members beyond the contract are allowed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Any at the top level, none in messages.
    #[default]
    Open,
    /// Only in `metadata`.
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

/// The format of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// One readable line per error, at once.
    #[default]
    Text,
    /// The report as JSON, at the end.
    Json,
    /// One JSON object per error, at once.
    Jsonl,
    /// A SARIF 2.1.0 log, at the end.
    Sarif,
    /// GitHub workflow annotations, at once.
    Github,
}
