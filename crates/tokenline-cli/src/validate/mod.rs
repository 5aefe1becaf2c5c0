//! `tokenline validate` and `tokenline conversations validate`: reports the errors of invalid lines.

mod errors;
mod format;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokenline::conversations::{
    ConversationValidator, InvalidLine, LineError, RecordReport, RecordValidator, ValidationReport, Warnings,
};

use crate::args::ProfileArg;
use crate::emit::count;
use crate::failure::{Failure, Verdict};
use crate::input::{self, Followed};
use crate::interrupt;
use crate::interruptible::Interruptible;
use crate::load;
use crate::log::{self, log};
use crate::output_file::{OutputFile, reject_as_stdout, reject_same};
use errors::{ErrorWriter, RejectFile};
use format::{Format, format};

/// Validate conversations, one per line.
///
/// Prints the position of each invalid line and the rule it breaks. Exits with 1 if any line is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline conversations validate --input conversations.jsonl
  tokenline conversations validate --input 'export/*.jsonl.gz' --reject-file invalid.jsonl")]
pub(crate) struct ConversationsArgs {
    /// Files with conversations, glob patterns such as 'export/*.jsonl.gz', or `-` for standard input. Several files are
    /// one dataset. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    input: Vec<PathBuf>,
    /// Additional members to allow in a conversation.
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileArg,
    #[command(flatten)]
    output: ReportingArgs,
}

/// Validate JSON Lines against a JSON Schema.
///
/// Prints the position of each invalid line and the rule it breaks. Exits with 1 if any line is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline validate --schema fact.schema.json records.jsonl
  tokenline validate --schema fact.schema.json 'export/*.jsonl.gz' --report-json report.json
  tokenline validate --schema fact.schema.json records.jsonl --format github
  tokenline validate --schema fact.schema.json log.jsonl --follow")]
pub(crate) struct ValidateArgs {
    /// JSON Schema that each line must satisfy, at most 16 MiB. Each line must be an object.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Directory of the JSON Schemas (*.json) that --schema refers to, by their path or `$id`. Nothing else is read.
    #[arg(long, value_name = "DIR")]
    schema_dir: Option<PathBuf>,
    /// Show all member names in messages. Default: a name that is not in the schema is shown as `*`.
    #[arg(long)]
    show_names: bool,
    /// Files with records, glob patterns such as 'export/*.jsonl.gz', or `-` for standard input. Input compressed with
    /// gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    input: Vec<PathBuf>,
    #[command(flatten)]
    output: ReportingArgs,
}

/// How to read lines and report errors.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportingArgs {
    /// Write a report to this file, as JSON, whether or not all lines are valid.
    #[arg(long, value_name = "FILE")]
    report_json: Option<PathBuf>,
    /// Report at most N errors, and count the rest.
    #[arg(long, value_name = "N", default_value = "100")]
    max_errors: usize,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Format of the errors on standard output.
    #[arg(long, default_value = "text", value_parser = format())]
    format: &'static Format,
    /// Write every error to this file, as JSON Lines, regardless of --max-errors.
    #[arg(long, value_name = "FILE")]
    reject_file: Option<PathBuf>,
    /// Write the invalid lines to --reject-file instead of their errors, byte for byte, including any private data. A
    /// line over the length limit becomes an empty line.
    #[arg(long, requires = "reject_file")]
    reject_content: bool,
    /// Keep reading as the file grows, until Ctrl-C. Does not follow a file that replaces it.
    #[arg(long)]
    follow: bool,
}

pub(crate) fn conversations(args: &ConversationsArgs) -> Result<Verdict, Failure> {
    let session = Session::new(&args.output, &args.input, &[])?;
    let mut errors = session.errors();
    let mut rejects = session.rejects()?;
    let mut validator = ConversationValidator::new(args.profile.into())
        .max_errors(args.output.max_errors)
        .jobs(jobs(args.output.jobs))
        .on_invalid(|invalid| write(&mut errors, &mut rejects, invalid));
    session.read(|path, source| validator.read(input::name(path), source))?;
    let report = validator.finish().map_err(|error| Failure::io("cannot report", &error))?;
    session.conclude(errors, rejects, &Summary::new(&report))
}

pub(crate) fn records(args: &ValidateArgs) -> Result<Verdict, Failure> {
    let schema = load::schema(&args.schema, args.schema_dir.as_deref(), args.show_names)?;
    let mut schema_files =
        args.schema_dir.as_deref().map(load::schema_files).transpose()?.unwrap_or_default();
    schema_files.push(args.schema.clone());
    let session = Session::new(&args.output, &args.input, &schema_files)?;
    let mut errors = session.errors();
    let mut rejects = session.rejects()?;
    let mut validator = RecordValidator::new(schema)
        .max_errors(args.output.max_errors)
        .jobs(jobs(args.output.jobs))
        .on_invalid(|invalid| write(&mut errors, &mut rejects, invalid));
    session.read(|path, source| validator.read(input::name(path), source))?;
    let report = validator.finish().map_err(|error| Failure::io("cannot report", &error))?;
    session.conclude(errors, rejects, &Summary::of_records(&report))
}

/// The common part of both reports.
struct Summary<'r> {
    report: Report<'r>,
    input_path: &'r str,
    errors: &'r [LineError],
    error_count: u64,
    dropped: u64,
    valid: String,
    warnings: Warnings,
}

/// The report of either command.
#[derive(Serialize)]
#[serde(untagged)]
enum Report<'r> {
    Conversations(&'r ValidationReport),
    Records(&'r RecordReport),
}

impl<'r> Summary<'r> {
    fn new(report: &'r ValidationReport) -> Self {
        Self {
            report: Report::Conversations(report),
            input_path: &report.input_path,
            errors: &report.errors,
            error_count: report.error_count,
            dropped: report.dropped_error_count,
            valid: count(report.valid_conversation_count, "valid conversation"),
            warnings: report.advice,
        }
    }

    fn of_records(report: &'r RecordReport) -> Self {
        Self {
            report: Report::Records(report),
            input_path: &report.input_path,
            errors: &report.errors,
            error_count: report.error_count,
            dropped: report.dropped_error_count,
            valid: count(report.valid_line_count, "valid line"),
            warnings: Warnings::default(),
        }
    }
}

fn write(
    errors: &mut ErrorWriter,
    rejects: &mut Option<RejectFile>,
    invalid: InvalidLine<'_>,
) -> io::Result<()> {
    errors.write(invalid.error)?;
    if let Some(rejects) = rejects {
        rejects.add(invalid);
    }
    Ok(())
}

/// The number of threads. Default: one per processor, at most 8.
pub(crate) fn jobs(requested: Option<u16>) -> usize {
    let default = || thread::available_parallelism().map_or(1, |processors| processors.get().min(8));
    requested.map_or_else(default, usize::from)
}

/// A bar with the rate and the remaining time, on a terminal.
pub(crate) fn progress_bar(inputs: &[impl AsRef<Path>]) -> ProgressBar {
    let inputs: Vec<PathBuf> = inputs.iter().map(|input| input.as_ref().to_owned()).collect();
    let (bar, template) = match input::size(&inputs) {
        Some(size) => (ProgressBar::new(size), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec} [{elapsed}]"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    log::progress(bar)
}

/// The inputs and outputs of a run.
struct Session<'a> {
    args: &'a ReportingArgs,
    inputs: Vec<PathBuf>,
    /// The inputs and the schemas.
    sources: Vec<PathBuf>,
    report_file: Option<OutputFile>,
    bar: ProgressBar,
    /// Set if the followed file was truncated.
    was_truncated: Arc<AtomicBool>,
}

impl<'a> Session<'a> {
    /// Checks the command before anything is read.
    fn new(args: &'a ReportingArgs, inputs: &[PathBuf], schemas: &[PathBuf]) -> Result<Self, Failure> {
        let inputs = input::expand(inputs)?;
        if args.follow && inputs.len() > 1 {
            return Err(Failure::Usage("--follow supports one file only".to_owned()));
        }
        let sources: Vec<_> = inputs.iter().chain(schemas).cloned().collect();
        reject_as_stdout(&sources)?;
        let report_file = OutputFile::from_option("--report-json", args.report_json.as_deref(), &sources)?;
        let bar = if args.follow { ProgressBar::hidden() } else { progress_bar(&inputs) };
        Ok(Self { args, inputs, sources, report_file, bar, was_truncated: Arc::default() })
    }

    fn errors(&self) -> ErrorWriter {
        ErrorWriter::new(self.args.format, self.args.max_errors, self.bar.clone())
    }

    fn rejects(&self) -> Result<Option<RejectFile>, Failure> {
        let path = self.args.reject_file.as_deref();
        let file = OutputFile::from_option("--reject-file", path, &self.sources)?;
        reject_same(&[("--report-json", self.report_file.as_ref()), ("--reject-file", file.as_ref())])?;
        Ok(file.map(|file| RejectFile::new(file, self.args.reject_content)))
    }

    fn read(
        &self,
        mut read: impl FnMut(&Path, Box<dyn io::Read + Send>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let is_interrupted = interrupt::flag();
        for path in &self.inputs {
            let source: Box<dyn io::Read + Send> = if self.args.follow {
                Box::new(Followed::open(path, is_interrupted.clone(), self.was_truncated.clone())?)
            } else {
                Box::new(Interruptible::open(path, &self.bar, &is_interrupted)?)
            };
            match read(path, source) {
                // What was read is reported.
                Err(_) if interrupt::is_interrupted() => break,
                read => read.map_err(|error| Failure::unreadable(Path::new(&input::name(path)), &error))?,
            }
        }
        self.bar.finish_and_clear();
        Ok(())
    }

    fn conclude(
        self,
        mut errors: ErrorWriter,
        rejects: Option<RejectFile>,
        summary: &Summary<'_>,
    ) -> Result<Verdict, Failure> {
        // Write each output even if another one fails.
        let written = errors.finish(summary);
        let rejects = rejects.map_or(Ok(()), RejectFile::complete);
        self.report_file.map_or(Ok(()), |file| file.write_json(&summary.report))?;
        rejects.and(written)?;
        let errors = match (summary.error_count, summary.dropped) {
            (all, 0) => count(all, "error"),
            (all, dropped) => format!("{}, {dropped} of them not shown", count(all, "error")),
        };
        let name = match &*self.inputs {
            [_] => summary.input_path.to_owned(),
            inputs => count(inputs.len() as u64, "file"),
        };
        log(format_args!("{name}: {}, {errors}", summary.valid));
        let Warnings { unusual_role_count: roles, missing_metadata_count: metadata, .. } = summary.warnings;
        if roles > 0 {
            let roles = count(roles, "message");
            log(format_args!("{name}: {roles} with a role other than user or assistant"));
        }
        if metadata > 0 {
            log(format_args!("{name}: {} without metadata", count(metadata, "conversation")));
        }
        if self.was_truncated.load(Ordering::Acquire) {
            return Err(Failure::Source(format!("{name}: the file was truncated while it was followed")));
        }
        // Only a signal ends a file that is followed.
        if interrupt::is_interrupted() && !self.args.follow {
            return Err(Failure::Interrupted(format!("interrupted: {name} was not read to its end")));
        }
        Ok(if summary.error_count == 0 { Verdict::Success } else { Verdict::Rejected })
    }
}
