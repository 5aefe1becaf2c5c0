//! `tokenline conversations import`: rows and documents to conversations.

mod inputs;
mod mapping;
mod stores;

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use tokenline_import::{
    ErrorKind, FileKind, ImportCode, ImportError, ImportReport, Importer, Mapping, Output,
};

use self::inputs::{Input, full_path};
use self::mapping::{MappingArgs, load_mapping, set_default_columns};
use self::stores::StoreArgs;
use crate::emit::count;
use crate::failure::{Failure, Verdict};
use crate::interruptible::Interruptible;
use crate::log::{self, log, printable};
use crate::output::stdout;
use crate::output_file::{OutputFile, reject_as_stdout, reject_same};
use crate::validate::progress_bar;
use crate::{input, interrupt};

/// Convert rows or documents into conversations, one per line.
///
/// A row is a message: a row of a CSV file or a table, a line of JSON, a document of MongoDB, a hit of Elasticsearch or
/// OpenSearch. Documents can also be whole conversations. If a row is rejected, its conversation is not written. A row
/// whose conversation cannot be read is only reported: --deny then exits with 1. Every line that is written is valid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline conversations import messages.csv --conversation-id thread --user-id customer \\
    --timestamp sent_at --role author --content text --output conversations.jsonl
  tokenline conversations import 'export/*.jsonl.gz' --map mapping.toml \\
    --output conversations.jsonl --reject-file rejects.jsonl
  tokenline conversations import chats.json --kind sharegpt --default-user-id nobody \\
    --default-timestamp 2026-01-01T00:00:00Z > conversations.jsonl")]
pub(crate) struct ImportArgs {
    #[arg(value_name = "FILE", default_value = "-", help = FILES_HELP, long_help = stores::inputs_help(FILES_HELP))]
    files: Vec<PathBuf>,
    /// Kind of the files. Default: detected from the start of each file, and reported.
    #[arg(long, value_enum)]
    kind: Option<KindArg>,
    /// The rows of each conversation are contiguous: write it when the next one begins, without sorting. Stores are
    /// asked to sort by conversation. Default: sort the rows, on disk if need be.
    #[arg(long)]
    grouped: bool,
    /// Memory for sorting, in MiB. Beyond it, sorted parts go to temporary files that are all open at the end: with a
    /// limit of 1,024 open files, about 1,000 times this size.
    #[arg(long, value_name = "MIB", default_value = "128", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    memory: u32,
    /// Directory of the temporary files. Default: that of the system.
    #[arg(long, value_name = "DIR")]
    temporary_dir: Option<PathBuf>,
    /// Output file; `-` is standard output. It appears when the import ends; with --checkpoint it grows during the
    /// import. After Ctrl-C or a failure, it has the conversations written so far: without
    /// --grouped none before all rows are read.
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Save the state to this file about once a second. If it exists, resume from it: run the same command again; other
    /// inputs and outputs are refused. Needs --output. Rows that are to be sorted are kept in FILE.rows, ids of --grouped
    /// conversations in FILE.ids. All three are removed at the end.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Show and report at most N rejects, and count the rest.
    #[arg(long, value_name = "N", default_value = "100")]
    max_errors: usize,
    /// Write the place, code and message of each reject to this file, as JSON Lines, regardless of --max-errors.
    #[arg(long, value_name = "FILE")]
    reject_file: Option<PathBuf>,
    /// Add the mapped columns of each rejected row to --reject-file, including any private data.
    #[arg(long, requires = "reject_file")]
    reject_content: bool,
    /// Write a report to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    report_json: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    deny: bool,
    #[command(flatten)]
    mapping: MappingArgs,
    #[command(flatten)]
    store: StoreArgs,
}

const FILES_HELP: &str = "Files with rows or documents, glob patterns such as 'export/*.csv.gz', or `-` for standard \
    input. Input compressed with gzip, zstd or xz is decompressed";

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// A JSON object per line: a row, a document, or a hit with `_source`.
    Jsonl,
    /// A JSON array of objects.
    JsonArray,
    /// Values with a header, separated by commas, or by semicolons if the header has more of them.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
    /// Apache Parquet; needs a build with the feature `parquet`.
    Parquet,
    /// Responses of a search in Elasticsearch or OpenSearch.
    SearchPages,
    /// JSON Lines or an array of documents with `conversations` of `from` and `value`.
    Sharegpt,
    /// JSON Lines or an array of documents with `messages` of `role` and `content`.
    OpenaiFineTuning,
}

impl KindArg {
    /// The kind of the file, if it is known without the mapping.
    fn file_kind(self) -> Option<FileKind> {
        Some(match self {
            Self::Jsonl => FileKind::JsonLines,
            Self::JsonArray => FileKind::JsonArray,
            Self::Csv => FileKind::Csv,
            Self::Tsv => FileKind::Tsv,
            Self::Parquet => FileKind::Parquet,
            Self::SearchPages => FileKind::SearchPages,
            Self::Sharegpt | Self::OpenaiFineTuning => return None,
        })
    }
}

pub(crate) fn run(args: &ImportArgs) -> Result<Verdict, Failure> {
    let inputs = Input::all(args)?;
    let files: Vec<_> = inputs.iter().filter_map(Input::file).cloned().collect();
    let databases: Vec<_> = inputs.iter().filter_map(Input::database).collect();
    let read: Vec<&Path> =
        files.iter().chain(&args.mapping.map).chain(&databases).map(PathBuf::as_path).collect();
    let is_interrupted = interrupt::flag();
    let report_file = OutputFile::from_option("--report-json", args.report_json.as_deref(), &read)?;
    let is_of_files = files.len() == inputs.len();
    let bar = if is_of_files { progress_bar(&files) } else { log::progress(ProgressBar::no_length()) };
    bar.set_style(style(&bar, is_of_files));
    let first = None;
    let mut sources =
        Sources { args, inputs, is_of_files, bar: &bar, is_interrupted: &is_interrupted, first };
    let mapping = sources.mapping()?;
    let outcome = match &args.checkpoint {
        Some(checkpoint) => {
            check_same(args, checkpoint, &read, report_file.as_ref())?;
            let output = open(&args.output)?;
            let rejects = args.reject_file.as_deref().map(open).transpose()?;
            let identity = sources.identity();
            let importer = sources.importer(&mapping, output, rejects)?;
            let importer = importer.checkpoint(checkpoint, &identity).map_err(failure)?;
            sources.import(importer)
        }
        None => {
            let rejects = OutputFile::from_option("--reject-file", args.reject_file.as_deref(), &read)?;
            to_new_files(&mut sources, &mapping, &read, rejects, report_file.as_ref())
        }
    };
    bar.finish_and_clear();
    conclude(args, outcome?, report_file)
}

/// The result of an import.
struct Outcome {
    report: ImportReport,
    /// Why it ended early.
    failure: Option<Failure>,
}

/// Writes files that appear when they are complete, or to standard output.
fn to_new_files(
    sources: &mut Sources<'_>,
    mapping: &Mapping,
    read: &[&Path],
    mut rejects: Option<OutputFile>,
    report: Option<&OutputFile>,
) -> Result<Outcome, Failure> {
    let args = sources.args;
    let mut output = if args.output.as_os_str() == "-" {
        reject_as_stdout(read)?;
        None
    } else {
        Some(OutputFile::create("--output", &args.output, read)?)
    };
    reject_same(&[
        ("--output", output.as_ref()),
        ("--reject-file", rejects.as_ref()),
        ("--report-json", report),
    ])?;
    let target = match &mut output {
        Some(file) => Output::writer(file),
        None => Output::writer(io::BufWriter::with_capacity(1 << 16, stdout())),
    };
    let importer = sources.importer(mapping, target, rejects.as_mut().map(Output::writer))?;
    let outcome = sources.import(importer)?;
    // Without a conversation, an import that ended early leaves an earlier file as it is.
    let has_output = outcome.failure.is_none() || outcome.report.summary.conversation_count > 0;
    if has_output && let Some(output) = output {
        output.complete()?;
    }
    rejects.map_or(Ok(()), OutputFile::complete)?;
    Ok(outcome)
}

/// Checks the paths of an import with a checkpoint.
fn check_same(
    args: &ImportArgs,
    checkpoint: &Path,
    read: &[&Path],
    report: Option<&OutputFile>,
) -> Result<(), Failure> {
    let beside = |suffix: &str| {
        let mut path = checkpoint.as_os_str().to_owned();
        path.push(suffix);
        OutputFile::create("--checkpoint", Path::new(&path), read)
    };
    let files = [
        ("--output", Some(OutputFile::create("--output", &args.output, read)?)),
        ("--reject-file", OutputFile::from_option("--reject-file", args.reject_file.as_deref(), read)?),
        ("--checkpoint", Some(beside("")?)),
        ("--checkpoint (.rows)", Some(beside(".rows")?)),
        ("--checkpoint (.ids)", Some(beside(".ids")?)),
    ];
    let mut files: Vec<_> = files.iter().map(|(option, file)| (*option, file.as_ref())).collect();
    files.push(("--report-json", report));
    reject_same(&files)
}

/// Opens a file that a checkpoint can continue.
fn open(path: &Path) -> Result<Output<'static>, Failure> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "--checkpoint needs a regular file to write to: {path} is not one"
        )));
    }
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| Failure::io(format_args!("cannot write {}", path.display()), &error))?;
    Ok(Output::file(file))
}

/// The inputs of an import.
struct Sources<'a> {
    args: &'a ImportArgs,
    inputs: Vec<Input>,
    /// Whether the bar counts bytes; else it counts rows.
    is_of_files: bool,
    bar: &'a ProgressBar,
    is_interrupted: &'a Arc<AtomicBool>,
    /// The first file, once it is open.
    first: Option<Box<dyn Read + Send>>,
}

/// How much of the first file is read to detect the mapping, in bytes.
const START: u64 = 16 * 1024;

impl Sources<'_> {
    /// Identifies the import in a checkpoint.
    fn identity(&self) -> String {
        let inputs: Vec<_> = self.inputs.iter().map(Input::identity).collect();
        let args = self.args;
        let outputs = (full_path(&args.output), args.reject_file.as_deref().map(full_path));
        format!("{inputs:?} {:?} {:?} {outputs:?} {}", args.kind, args.store, args.reject_content)
    }

    fn open(&self, file: &Path) -> Result<Box<dyn Read + Send>, Failure> {
        Ok(Box::new(Interruptible::open(file, self.bar, self.is_interrupted)?))
    }

    /// The mapping of the file and the options. Without columns of messages, it is detected.
    fn mapping(&mut self) -> Result<Mapping, Failure> {
        let args = &self.args.mapping;
        let mut mapping = match (&args.map, self.args.kind) {
            (Some(path), _) => load_mapping(path)?,
            (None, Some(KindArg::Sharegpt)) => Mapping::sharegpt(),
            (None, Some(KindArg::OpenaiFineTuning)) => Mapping::openai_fine_tuning(),
            (None, None) if args.role.is_none() && args.content.is_empty() && args.messages.is_none() => {
                self.detect_mapping()?.unwrap_or_default()
            }
            (None, _) => Mapping::default(),
        };
        args.override_in(&mut mapping)?;
        if args.map.is_none() {
            set_default_columns(&mut mapping);
        }
        Ok(mapping)
    }

    fn detect_mapping(&mut self) -> Result<Option<Mapping>, Failure> {
        let Some(path) = self.inputs[0].file() else { return Ok(None) };
        let mut file = self.open(path)?;
        let mut start = Vec::new();
        // A failure comes again when the rest is read.
        let _ = file.by_ref().take(START).read_to_end(&mut start);
        let mapping = Mapping::detect(&start);
        if let Some(mapping) = &mapping {
            let kind = if *mapping == Mapping::sharegpt() { "ShareGPT" } else { "OpenAI fine-tuning" };
            log(format_args!("{}: read as documents of {kind}", input::name(path)));
        }
        self.first = Some(Box::new(io::Cursor::new(start).chain(file)));
        Ok(mapping)
    }

    fn importer<'o>(
        &self,
        mapping: &Mapping,
        output: Output<'o>,
        rejects: Option<Output<'o>>,
    ) -> Result<Importer<'o>, Failure> {
        let (args, bar, is_of_files) = (self.args, self.bar.clone(), self.is_of_files);
        let mut shown = 0;
        let mut importer = Importer::new(mapping, output)
            .map_err(failure)?
            .grouped(args.grouped)
            .memory((args.memory as usize) << 20)
            .max_errors(args.max_errors)
            .reject_content(args.reject_content)
            .interrupted_by(Arc::clone(self.is_interrupted))
            .on_progress(move |progress| {
                let conversations = count(progress.conversations, "conversation");
                if is_of_files {
                    bar.set_message(format!("{}, {conversations}", count(progress.rows, "row")));
                } else {
                    bar.set_position(progress.rows);
                    bar.set_message(conversations);
                }
            });
        if let Some(dir) = &args.temporary_dir {
            importer = importer.temporary_dir(dir);
        }
        if let Some(rejects) = rejects {
            importer = importer.rejects_to(rejects);
        }
        let max_errors = args.max_errors;
        Ok(importer.on_reject(move |reject| {
            if shown < max_errors {
                shown += 1;
                log(printable(&reject.to_string(), &[]));
            }
        }))
    }

    fn import(&mut self, mut importer: Importer<'_>) -> Result<Outcome, Failure> {
        for input in mem::take(&mut self.inputs) {
            if let Err(error) = self.read(input, &mut importer) {
                // Nothing was read yet.
                if matches!(error, Failure::Usage(_)) && importer.progress().rows == 0 {
                    return Err(error);
                }
                let report = importer.suspend().map_err(failure)?;
                let failure = if self.is_interrupted.load(Ordering::Acquire) {
                    self.interrupted(&report)
                } else {
                    error
                };
                return Ok(Outcome { report, failure: Some(failure) });
            }
        }
        self.bar.set_message("sorting");
        let (report, error) = importer.finish_with_report().map_err(failure)?;
        let failure = match error {
            Some(error) if error.kind() == ErrorKind::Interrupted => Some(self.interrupted(&report)),
            error => error.map(failure),
        };
        Ok(Outcome { report, failure })
    }

    fn interrupted(&self, report: &ImportReport) -> Failure {
        let hint = match &self.args.checkpoint {
            Some(_) => "interrupted: the same command goes on from the checkpoint",
            None if report.summary.conversation_count > 0 => {
                "interrupted: the output has the conversations up to there"
            }
            None => "interrupted: nothing was written",
        };
        Failure::Interrupted(hint.to_owned())
    }

    fn read(&mut self, input: Input, importer: &mut Importer<'_>) -> Result<(), Failure> {
        let name = input.name();
        let file = match input {
            Input::Store(store) => return stores::read(store, importer, self.bar),
            Input::File(file) => file,
        };
        let source = match self.first.take() {
            Some(first) => first,
            None => self.open(&file)?,
        };
        let kind = self.args.kind.and_then(KindArg::file_kind);
        let before = importer.progress().rows;
        let detected = importer.read(&name, kind, source).map_err(failure)?;
        if kind.is_none() {
            let rows = count(importer.progress().rows - before, row_noun(detected));
            log(format_args!("{name}: read as {detected}, {rows}"));
        }
        Ok(())
    }
}

fn row_noun(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Csv | FileKind::Tsv | FileKind::Parquet => "row",
        FileKind::SearchPages => "hit",
        _ => "document",
    }
}

/// Leaves room for the message.
fn style(bar: &ProgressBar, is_of_files: bool) -> ProgressStyle {
    log::progress_style(match bar.length() {
        // The number of rows comes later.
        _ if !is_of_files => &[
            (120, "{bar:30} {human_pos}/{human_len} rows, {per_sec}, {eta} left, "),
            (60, "{bar:10} {percent}%, {eta} left, "),
            (5, "{percent}% "),
        ],
        Some(_) => &[
            (120, "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left, "),
            (60, "{bar:10} {percent}%, {eta} left, "),
            (5, "{percent}% "),
        ],
        None => &[(80, "{spinner} {bytes} {bytes_per_sec} [{elapsed}] "), (14, "{spinner} {bytes} ")],
    })
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn failure(error: ImportError) -> Failure {
    match error.kind() {
        ErrorKind::Mapping => Failure::Usage(error.to_string()),
        ErrorKind::Output if is_closed(&error) => Failure::OutputClosed,
        _ => Failure::Source(error.to_string()),
    }
}

fn is_closed(error: &ImportError) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn conclude(
    args: &ImportArgs,
    outcome: Outcome,
    report_file: Option<OutputFile>,
) -> Result<Verdict, Failure> {
    let Outcome { report, failure } = outcome;
    if report.dropped_error_count > 0 {
        log(format_args!("and {} more", count(report.dropped_error_count, "reject")));
    }
    report_file.map_or(Ok(()), |file| file.write_json(&report))?;
    let rows = count(report.row_count, "row");
    let conversations = count(report.summary.conversation_count, "conversation");
    let messages = count(report.summary.message_count, "message");
    let mut line = format!("{rows}: {conversations} with {messages}");
    if report.summary.skipped_message_count > 0 {
        line += &format!(", {} without text skipped", count(report.summary.skipped_message_count, "message"));
    }
    line += &format!(", {}", count(report.error_count, "reject"));
    if report.rejected_conversation_count > 0 {
        line += &format!(" ({} not written)", count(report.rejected_conversation_count, "conversation"));
    }
    log(line);
    if report.errors.iter().any(|reject| reject.code == ImportCode::UnknownRole) {
        log("unknown roles: --map-role NAME=ROLE maps one, --unknown-roles keep writes all as they are");
    }
    match failure {
        Some(failure) => Err(failure),
        None if args.deny && !report.is_valid => {
            let rejects = count(report.error_count, "reject");
            log::log_verdict_if_quiet(format_args!("{rejects}, and --deny allows none"));
            Ok(Verdict::Rejected)
        }
        None => Ok(Verdict::Success),
    }
}
