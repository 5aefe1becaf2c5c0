//! The arguments of both commands.

use std::path::PathBuf;
use std::thread;

use super::format::{Format, format};
use crate::args::ProfileArg;

/// Validate conversations, one per line.
///
/// Prints the position of each invalid line and the rule it breaks. Exits with 1 if any line is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline conversations validate conversations.jsonl
  tokenline conversations validate 'export/*.jsonl.gz' --reject-file invalid.jsonl")]
pub(crate) struct ConversationsArgs {
    /// Files with conversations, glob patterns such as 'export/*.jsonl.gz', or `-` for standard input. Several files are
    /// one dataset. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// The same as FILE.
    #[arg(long, value_name = "FILE", num_args = 1.., hide = true, conflicts_with = "files")]
    input: Vec<PathBuf>,
    /// Additional members to allow in a conversation.
    #[arg(long, value_enum, default_value_t)]
    pub(super) profile: ProfileArg,
    #[command(flatten)]
    pub(super) output: ReportingArgs,
}

impl ConversationsArgs {
    /// The files, by either name.
    pub(super) fn inputs(&self) -> &[PathBuf] {
        if self.input.is_empty() { &self.files } else { &self.input }
    }
}

/// Validate JSON Lines against a JSON Schema.
///
/// Prints the position of each invalid line and the rule it breaks. Exits with 1 if any line is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline validate --schema fact.schema.json records.jsonl
  tokenline validate --schema fact.schema.json 'export/*.jsonl.gz' --report-json report.json
  tokenline validate --schema fact.schema.json definitions.json --items /definitions
  tokenline validate --schema fact.schema.json records.jsonl --format github
  tokenline validate --schema fact.schema.json log.jsonl --follow")]
pub(crate) struct ValidateArgs {
    /// JSON Schema that each line must satisfy, at most 16 MiB. Each line must be an object.
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    /// Directory of the JSON Schemas (*.json) that --schema refers to, by their path or `$id`. Nothing else is read.
    #[arg(long, value_name = "DIR")]
    pub(super) schema_dir: Option<PathBuf>,
    /// Show all member names in messages. Default: a name that is not in the schema is shown as `*`.
    #[arg(long)]
    pub(super) show_names: bool,
    /// Report every violation of a record, at most 1,000, instead of the first.
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Count a malformed line as valid if its syntax can be repaired and the text proves the edit, such as a trailing comma.
    /// `parse --repair` writes such records.
    #[arg(long, conflicts_with = "items")]
    pub(super) repair: bool,
    /// JSON Pointer to an array whose elements are the records, such as /items; '' is an array that is the whole file. A
    /// file is then one JSON document, at most 64 MiB.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true, conflicts_with = "follow")]
    pub(super) items: Option<String>,
    /// Files with records, glob patterns such as 'export/*.jsonl.gz', or `-` for standard input. Input compressed with
    /// gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    pub(super) input: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) output: ReportingArgs,
}

/// How to read lines and report errors.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportingArgs {
    /// Write a report to this file, as JSON, whether or not all lines are valid.
    #[arg(long, value_name = "FILE")]
    pub(super) report_json: Option<PathBuf>,
    /// Report at most N errors, and count the rest.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(super) max_errors: usize,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) jobs: Option<u16>,
    /// Format of the errors on standard output.
    #[arg(long, default_value = "text", value_parser = format())]
    pub(super) format: &'static Format,
    /// Write every error to this file, as JSON Lines, regardless of --max-errors.
    #[arg(long, value_name = "FILE")]
    pub(super) reject_file: Option<PathBuf>,
    /// Write the invalid lines to --reject-file instead of their errors, byte for byte, including any private data. A
    /// line over the length limit becomes an empty line.
    #[arg(long, requires = "reject_file")]
    pub(super) reject_content: bool,
    /// On a terminal, show the place of each error, underlined, including any private data. Only with --format text.
    #[arg(long)]
    pub(super) show_values: bool,
    /// Keep reading as the file grows, until Ctrl-C. Does not follow a file that replaces it.
    #[arg(long)]
    pub(super) follow: bool,
}

/// The number of threads. Default: one per processor, at most 8.
pub(crate) fn jobs(requested: Option<u16>) -> usize {
    let default = || thread::available_parallelism().map_or(1, |processors| processors.get().min(8));
    requested.map_or_else(default, usize::from)
}
