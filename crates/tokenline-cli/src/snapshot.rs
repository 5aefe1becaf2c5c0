//! `tokenline conversations snapshot`: reduces conversations to their messages.

use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};

use tokenline::conversations::{Snapshot, ValidationReport};

use crate::args::ProfileArg;
use crate::emit::count;
use crate::failure::{Failure, Verdict};
use crate::input;
use crate::log::{log, log_verdict};
use crate::output::stdout;
use crate::output_file::{OutputFile, reject_as_stdout};
use crate::validate::{jobs, progress_bar};

/// Reduce conversations to their messages: {"messages":[{"role","content"}]} per line.
///
/// Writes nothing and exits with 1 if a line is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline conversations snapshot conversations.jsonl --output messages.jsonl")]
pub(crate) struct SnapshotArgs {
    /// File with conversations; `-` is standard input. Input compressed with gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// The same as FILE.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "file")]
    input: Option<PathBuf>,
    /// Output file; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Additional members to allow in a conversation.
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileArg,
    /// Skip invalid lines instead of writing nothing.
    #[arg(long)]
    allow_invalid: bool,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
}

impl SnapshotArgs {
    /// The file, by either name.
    fn path(&self) -> &Path {
        self.input.as_deref().unwrap_or(&self.file)
    }
}

/// The number of errors to show for an invalid input.
const MAX_SHOWN_ERRORS: usize = 10;

pub(crate) fn run(args: &SnapshotArgs) -> Result<Verdict, Failure> {
    if args.output.as_os_str() == "-" {
        reject_as_stdout(&[args.path()])?;
        return to_stdout(args);
    }
    let mut output = OutputFile::create("--output", &args.output, &[args.path()])?;
    let report = write(args, &mut output)?;
    conclude(args, &report, || output.complete())
}

/// Buffers the output in a temporary file until the whole input is known to be valid.
fn to_stdout(args: &SnapshotArgs) -> Result<Verdict, Failure> {
    let failed = |error| cannot_buffer(&error);
    let mut buffer = io::BufWriter::new(tempfile::tempfile().map_err(failed)?);
    let report = write(args, &mut buffer)?;
    let mut buffer = buffer.into_inner().map_err(|error| failed(error.into_error()))?;
    buffer.rewind().map_err(failed)?;
    conclude(args, &report, || {
        let mut out = stdout();
        io::copy(&mut buffer, &mut out).and_then(|_| out.flush()).map_err(Failure::output)
    })
}

fn write(args: &SnapshotArgs, target: impl Write + Send) -> Result<ValidationReport, Failure> {
    let bar = progress_bar(&[args.path()]);
    let source = input::open(args.path(), &bar)?;
    let snapshot = Snapshot::new(args.profile.into()).jobs(jobs(args.jobs)).max_errors(MAX_SHOWN_ERRORS);
    let mut has_failed = false;
    let name = input::name(args.path());
    let report = snapshot.write(&*name, source, Target { target, has_failed: &mut has_failed });
    bar.finish_and_clear();
    report.map_err(|error| {
        if !has_failed {
            Failure::unreadable(Path::new(&name), &error)
        } else if args.output.as_os_str() == "-" {
            cannot_buffer(&error)
        } else {
            Failure::io(format_args!("cannot write {}", args.output.display()), &error)
        }
    })
}

fn cannot_buffer(error: &io::Error) -> Failure {
    Failure::io("cannot write the messages to a temporary file", error)
}

/// A writer that remembers whether it failed.
struct Target<'f, W> {
    target: W,
    has_failed: &'f mut bool,
}

impl<W: Write> Write for Target<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.target.write(bytes).inspect_err(|_| *self.has_failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

fn conclude(
    args: &SnapshotArgs,
    report: &ValidationReport,
    complete: impl FnOnce() -> Result<(), Failure>,
) -> Result<Verdict, Failure> {
    for error in &report.errors {
        log(error);
    }
    if report.dropped_error_count > 0 {
        log(format_args!("{}: and {} more", report.input_path, count(report.dropped_error_count, "error")));
    }
    let skipped = report.invalid_line_count;
    if !report.is_valid && !args.allow_invalid {
        let hint = if skipped > 0 { "; --allow-invalid skips invalid lines" } else { "" };
        log_verdict(format_args!("{}: nothing was written{hint}", report.input_path));
        return Ok(Verdict::Rejected);
    }
    complete()?;
    if skipped > 0 {
        log(format_args!("{}: {} skipped", report.input_path, count(skipped, "invalid line")));
    }
    Ok(Verdict::Success)
}
