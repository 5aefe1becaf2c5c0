//! `tokenline conversations import`: rows and documents to conversations.

mod stores;

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::path::{self, Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use tokenline_import::{
    EmptyMessages, ErrorKind, FileKind, ImportError, ImportReport, Importer, Mapping, Output, SeveralUsers,
    UnknownRoles,
};

use crate::args::{
    EmptyMessagesArg, ImportArgs, KindArg, MappingArgs, SeveralUsersArg, StoreArgs, UnknownRolesArg,
};
use crate::emit::count;
use crate::failure::{Failure, Verdict};
use crate::interruptible::Interruptible;
use crate::log::{self, log, printable};
use crate::output_file::{OutputFile, reject_as_stdout, reject_same};
use crate::validate::progress_bar;
use crate::{input, interrupt, load};
use stores::Store;

pub(crate) fn run(args: &ImportArgs) -> Result<Verdict, Failure> {
    let inputs = Input::all(args)?;
    let files: Vec<_> = inputs.iter().filter_map(Input::file).cloned().collect();
    let databases: Vec<_> = inputs.iter().filter_map(Input::database).collect();
    let read: Vec<&Path> =
        files.iter().chain(&args.mapping.map).chain(&databases).map(PathBuf::as_path).collect();
    let is_interrupted = interrupt::flag()?;
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

/// What an import came to.
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
    let mut output = match args.output.as_os_str() == "-" {
        true => {
            reject_as_stdout(read)?;
            None
        }
        false => Some(OutputFile::create("--output", &args.output, read)?),
    };
    reject_same(&[
        ("--output", output.as_ref()),
        ("--reject-file", rejects.as_ref()),
        ("--report-json", report),
    ])?;
    let target = match &mut output {
        Some(file) => Output::writer(file),
        None => Output::writer(io::BufWriter::with_capacity(1 << 16, io::stdout())),
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
        return Err(Failure::Usage(format!("--checkpoint needs a regular file to write to: {path} is none")));
    }
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| Failure::io(format_args!("cannot write {}", path.display()), &error))?;
    Ok(Output::file(file))
}

/// The path of a file, however it was given.
fn full_path(path: &Path) -> String {
    let path = path.canonicalize().or_else(|_| path::absolute(path)).unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}

/// A file or a store.
enum Input {
    File(PathBuf),
    Store(Box<Store>),
}

impl Input {
    fn all(args: &ImportArgs) -> Result<Vec<Self>, Failure> {
        let mut inputs = Vec::new();
        for argument in &args.files {
            match argument.to_str().filter(|address| stores::is_store(address)) {
                Some(address) => inputs.push(Self::Store(Box::new(Store::new(address, args)?))),
                None => inputs.extend(input::expand(slice::from_ref(argument))?.into_iter().map(Self::File)),
            }
        }
        let StoreArgs { query, key, collection, slices } = &args.store;
        let options = [
            ("--query", query.is_some()),
            ("--key", key.is_some()),
            ("--collection", collection.is_some()),
            ("--slices", slices.is_some()),
        ];
        let has_store = inputs.iter().any(|input| matches!(input, Self::Store(_)));
        match options.iter().find(|(_, is_given)| *is_given && !has_store) {
            Some((option, _)) => Err(Failure::Usage(format!("{option} has no effect on files"))),
            None => Ok(inputs),
        }
    }

    fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::File(file) => Some(file),
            Self::Store(_) => None,
        }
    }

    /// The file of a store.
    fn database(&self) -> Option<PathBuf> {
        match self {
            Self::File(_) => None,
            Self::Store(store) => store.path(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::File(file) => input::name(file),
            Self::Store(store) => store.name(),
        }
    }

    /// Identifies the input in a checkpoint: names are not unique.
    fn identity(&self) -> String {
        match self {
            Self::File(file) if file.as_os_str() == "-" => input::name(file),
            Self::File(file) => full_path(file),
            Self::Store(store) => store.identity(),
        }
    }
}

/// What is imported.
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

/// What is read to detect the mapping.
const START: u64 = 16 * 1024;

impl Sources<'_> {
    /// What is imported, for the checkpoint.
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
                let is_usage = matches!(error, Failure::Usage(_));
                let failure = match self.is_interrupted.load(Ordering::Acquire) {
                    true => self.interrupted(),
                    false => error,
                };
                // Nothing was read yet.
                if is_usage && importer.progress().rows == 0 {
                    return Err(failure);
                }
                return Ok(Outcome {
                    report: importer.suspend().map_err(self::failure)?,
                    failure: Some(failure),
                });
            }
        }
        self.bar.set_message("sorting");
        match importer.finish() {
            Ok(report) => Ok(Outcome { report, failure: None }),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(self.interrupted()),
            Err(error) => Err(failure(error)),
        }
    }

    fn interrupted(&self) -> Failure {
        let hint = match &self.args.checkpoint {
            Some(_) => "interrupted: the same command goes on from the checkpoint",
            None if self.args.grouped => "interrupted: the output has the conversations up to there",
            None => "interrupted: nothing was written",
        };
        Failure::Source(hint.to_owned())
    }

    fn read(&mut self, input: Input, importer: &mut Importer<'_>) -> Result<(), Failure> {
        let name = input.name();
        let file = match input {
            Input::Store(store) => return store.read(importer, self.bar),
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

/// Uses the names of the output for columns that are not given.
fn set_default_columns(mapping: &mut Mapping) {
    let set = |column: &mut Option<String>, name: &str| {
        column.get_or_insert_with(|| name.to_owned());
    };
    if mapping.messages.is_none() {
        set(&mut mapping.conversation_id, "conversation_id");
    }
    if mapping.default_user_id.is_none() {
        set(&mut mapping.user_id, "user_id");
    }
    if mapping.default_timestamp.is_none() {
        set(&mut mapping.timestamp, "timestamp");
    }
    set(&mut mapping.role, "role");
    if mapping.content.is_empty() {
        mapping.content.push("content".to_owned());
    }
}

fn row_noun(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Csv | FileKind::Tsv | FileKind::Parquet => "row",
        FileKind::SearchPages => "hit",
        _ => "document",
    }
}

fn style(bar: &ProgressBar, is_of_files: bool) -> ProgressStyle {
    let template = match bar.length() {
        // The number of rows comes later.
        _ if !is_of_files => "{bar:30} {human_pos}/{human_len} rows, {per_sec}, {msg}, {eta} left",
        Some(_) => "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {msg}, {eta} left",
        None => "{spinner} {bytes} {bytes_per_sec}, {msg} [{elapsed}]",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn load_mapping(path: &Path) -> Result<Mapping, Failure> {
    let text = load::text("mapping", path)?;
    let invalid = |error: &dyn std::fmt::Display| {
        Failure::Usage(format!("invalid mapping {}: {error}", path.display()))
    };
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(&text).map_err(|error| invalid(&error)),
        false => toml::from_str(&text).map_err(|error| invalid(&error)),
    }
}

impl MappingArgs {
    /// Overrides what options set.
    fn override_in(&self, mapping: &mut Mapping) -> Result<(), Failure> {
        let texts = [
            (&self.conversation_id, &mut mapping.conversation_id),
            (&self.user_id, &mut mapping.user_id),
            (&self.default_user_id, &mut mapping.default_user_id),
            (&self.timestamp, &mut mapping.timestamp),
            (&self.default_timestamp, &mut mapping.default_timestamp),
            (&self.time_format, &mut mapping.time_format),
            (&self.time_zone, &mut mapping.time_zone),
            (&self.role, &mut mapping.role),
            (&self.order, &mut mapping.order),
            (&self.messages, &mut mapping.messages),
        ];
        for (given, target) in texts {
            if given.is_some() {
                target.clone_from(given);
            }
        }
        if !self.content.is_empty() {
            mapping.content.clone_from(&self.content);
        }
        for pair in &self.metadata {
            let (name, column) = pair
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("--metadata {pair}: expected NAME=COLUMN")))?;
            mapping.metadata.insert(name.to_owned(), column.to_owned());
        }
        if let Some(action) = self.unknown_roles {
            mapping.unknown_roles = match action {
                UnknownRolesArg::Reject => UnknownRoles::Reject,
                UnknownRolesArg::Keep => UnknownRoles::Keep,
            };
        }
        if let Some(action) = self.empty_messages {
            mapping.empty_messages = match action {
                EmptyMessagesArg::Skip => EmptyMessages::Skip,
                EmptyMessagesArg::Keep => EmptyMessages::Keep,
                EmptyMessagesArg::Reject => EmptyMessages::Reject,
            };
        }
        if let Some(action) = self.several_users {
            mapping.several_users = match action {
                SeveralUsersArg::Reject => SeveralUsers::Reject,
                SeveralUsersArg::First => SeveralUsers::First,
            };
        }
        Ok(())
    }
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
    match failure {
        Some(failure) => Err(failure),
        None if args.deny && !report.is_valid => Ok(Verdict::Rejected),
        None => Ok(Verdict::Success),
    }
}
