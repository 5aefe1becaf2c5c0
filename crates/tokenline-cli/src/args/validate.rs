//! The commands that hold lines against a contract.

use std::path::PathBuf;

use clap::ValueEnum;
use tokenline::conversations::Profile;

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateInputArgs {
    /// The conversations: files, `-` for standard input, or patterns such as 'export/*.jsonl.gz'. Several are one
    /// dataset. What is compressed by gzip, zstd or xz is known by its first bytes.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub(crate) input: Vec<PathBuf>,
    /// What beside the contract's members is allowed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: ProfileArg,
    #[command(flatten)]
    pub(crate) output: ReportingArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// The JSON Schema that every line must satisfy, of at most 16 MiB. Each line has to be an object.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// The records: files, `-` for standard input, or patterns such as 'export/*.jsonl.gz'. What is compressed by gzip,
    /// zstd or xz is known by its first bytes.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) input: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ReportingArgs,
}

/// How lines are read, and what is told of them.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportingArgs {
    /// Write the report to this file, as JSON, whether or not the lines are valid.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,
    /// Name so many errors at the most. The others are counted.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) max_errors: usize,
    /// How many threads check; otherwise as many as there are processors, 8 at the most.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// How errors are written to standard output.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: FindingsFormat,
    /// Write the place of every line that is not valid to this file, as JSON Lines, however many there are.
    #[arg(long, value_name = "FILE")]
    pub(crate) reject_file: Option<PathBuf>,
    /// Write these lines themselves in place of that, byte for byte, with all that is private in them; an
    /// empty one for each that is too long.
    #[arg(long, requires = "reject_file")]
    pub(crate) reject_content: bool,
    /// At the end of the file wait for more, until Ctrl-C. A file that takes its place is not followed.
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotArgs {
    /// The conversations; `-` is standard input. It is never changed. What is compressed by gzip, zstd or xz is known by
    /// its first bytes.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Where to write; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// What beside the contract's members is allowed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) profile: ProfileArg,
    /// Leave out lines that are not valid, in place of writing nothing.
    #[arg(long)]
    pub(crate) allow_invalid: bool,
    /// How many threads check; otherwise as many as there are processors, 8 at the most.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

/// What beside the contract's members is allowed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Any members at the top, none in messages.
    #[default]
    Open,
    /// None but in `metadata`.
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

/// How errors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// A line for a person each, as they are found.
    #[default]
    Text,
    /// The whole report, at the end.
    Json,
    /// A JSON object a line each, as they are found.
    Jsonl,
    /// A SARIF 2.1.0 log, at the end.
    Sarif,
    /// Annotations of a GitHub workflow, as they are found.
    Github,
}
