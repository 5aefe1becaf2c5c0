//! `tokenline batch`, and `tokenline parse --from ...-batch`: the records, tool calls and texts in batch result files.

mod detect;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::ProgressBar;
use serde::{Serialize, Serializer};
use tokenline::conversations::{LineMapper, LineWorker};
use tokenline::json::{Raw, Value};
use tokenline::llm::batch::{BatchFailure, BatchFormat, BatchReader, FailureKind};
use tokenline::llm::{LentResponseEvent, ResponseEvent};
use tokenline::{Code, Diagnostic, Event, LentEvent, Limits, Origin, Record};

use crate::args::{EmitKind, ModeArg, ReadingArgs, SourceArg};
use crate::emit::{Emitter, EventOrigin, Part, PartId, Recorded, RecordedEvents, RejectedTexts, count};
use crate::failure::{Failure, Verdict};
use crate::interrupt;
use crate::interruptible::Interruptible;
use crate::output_file::{self, OutputFile};
use crate::parse::{Demands, Rules, conclude, goes_on, output_files, rule_files};
use crate::source::Source;
use crate::validate::{jobs, progress_bar};
use crate::{input, load, response};
use detect::{MAX_LINES, Start};

/// Parse batch result files on all processors; write their records, tool calls or texts as JSON Lines.
///
/// The output is in the order of the input, whatever the number of threads. Failed requests, malformed lines and
/// invalid records are rejected. They exit with 1 only with --deny. Records do not name their requests: --with-source
/// adds the custom_id, file and line of each.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline batch results.jsonl --schema fact.schema.json --output records.jsonl \\
    --reject-file rejected.jsonl
  tokenline batch 'results/*.jsonl.gz' --with-source --output records.jsonl
  tokenline batch results.jsonl --emit tool-calls --tools tools.json --deny
  tokenline batch results.jsonl --emit text > texts.jsonl")]
pub(crate) struct BatchArgs {
    /// Batch result files, glob patterns such as 'results/*.jsonl.gz', or `-` for standard input. Input compressed with
    /// gzip, zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// Format of the files. Default: detected from the first lines of each file.
    #[arg(long, value_name = "FORMAT", value_parser = batch_format())]
    from: Option<BatchFormat>,
    /// Data to write to the output.
    #[arg(long, value_enum, default_value_t)]
    emit: BatchEmit,
    /// Output file; `-` is standard output. The file appears at the end. After Ctrl-C, or if an input cannot be read, it
    /// has the whole lines up to there.
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    source: SourceArg,
    /// Number of threads, 1 to 256. Default: one per processor, at most 8.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// The output of `tokenline batch`.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum BatchEmit {
    /// Records as JSON Lines.
    #[default]
    Records,
    /// Tool calls as JSON Lines: name, parameters, and call_id and error if the model sent them.
    ToolCalls,
    /// The text of each choice, unparsed: custom_id, choice unless it is 0, finish_reason and text.
    Text,
    /// All events, each with the custom_id of its request: results, records, tool calls, rejects, notes, text, reasoning,
    /// finish reasons and usage.
    Events,
}

impl From<BatchEmit> for EmitKind {
    fn from(emit: BatchEmit) -> Self {
        match emit {
            BatchEmit::Records => Self::Records,
            BatchEmit::ToolCalls => Self::ToolCalls,
            BatchEmit::Text => Self::Text,
            BatchEmit::Events => Self::Events,
        }
    }
}

/// Parses the name of a batch format.
fn batch_format() -> impl TypedValueParser<Value = BatchFormat> {
    let named = |format: &BatchFormat| PossibleValue::new(format.as_str()).help(format.title());
    PossibleValuesParser::new(BatchFormat::ALL.iter().map(named))
        .try_map(|name| BatchFormat::from_name(&name).ok_or("not a format"))
}

pub(crate) fn run(args: &BatchArgs) -> Result<Verdict, Failure> {
    // Check everything before reading or writing anything.
    let rules = Rules::new(&args.reading, args.emit.into())?;
    reject_unused(&args.reading, rules.emit)?;
    args.source.check(rules.emit)?;
    let files = input::expand(&args.files)?;
    let rule_files = rule_files(&args.reading)?;
    let read: Vec<&Path> = files.iter().chain(&rule_files).map(PathBuf::as_path).collect();
    // Before there are temporary files.
    let is_interrupted = interrupt::flag();
    let bar = progress_bar(&files);
    let inputs = files.iter().map(|file| Input::detect(file, args.from, &bar, &is_interrupted));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let output = if args.output.as_os_str() == "-" {
        output_file::reject_as_stdout(&read)?;
        None
    } else {
        Some(OutputFile::create("--output", &args.output, &read)?)
    };
    let (report_file, reject_file) = output_files(&args.reading, &read, output.as_ref())?;
    let mut emitter = Emitter::with_output(rules.emit, input::name(&files[0]), output)
        .with_progress(bar.clone())
        .with_quota(&args.reading)
        .with_reject_file(reject_file)
        .with_source(args.source.with_source);
    rules.warn_unused(&emitter);

    let mut outcome = Ok(());
    for (file, input) in files.iter().zip(inputs) {
        emitter.set_source(file, files.len() > 1);
        let source = input.source.unwrap_or_else(|| open(file, &bar, &is_interrupted));
        let read = source.and_then(|source| {
            let format = match input.format {
                Some(format) => {
                    if args.from.is_none() {
                        let (name, title) = (format.as_str(), format.title());
                        emitter.remark(&format!("read as {name} ({title})"));
                    }
                    format
                }
                // Without results, any format is right.
                None => BatchFormat::OpenAi,
            };
            Reading { format, rules: &rules, jobs: jobs(args.jobs) }.read(source, &mut emitter)
        });
        if !goes_on(read, &mut outcome) || emitter.is_done() {
            break;
        }
    }
    bar.finish_and_clear();
    if args.output.as_os_str() != "-" && emitter.loses_sources() {
        emitter.remark(
            "the records do not name their requests: --with-source adds the custom_id, file and line",
        );
    }
    conclude(outcome, &mut emitter, report_file, Demands::of(&args.reading))
}

/// Fails if an option has no effect on texts.
fn reject_unused(args: &ReadingArgs, emit: EmitKind) -> Result<(), Failure> {
    let options = [
        ("--schema", args.schema.is_some()),
        ("--items", args.items.is_some()),
        ("--tools", args.tools.is_some()),
        ("--mode strict", matches!(args.mode, ModeArg::Strict)),
        ("--eager", args.eager),
    ];
    match options.iter().find(|(_, is_given)| *is_given && emit == EmitKind::Text) {
        Some((option, _)) => {
            Err(Failure::Usage(format!("{option} has no effect on --emit text: texts are not parsed")))
        }
        None => Ok(()),
    }
}

/// Parses a batch result file that is an input of `tokenline parse`.
pub(crate) fn parse(
    format: BatchFormat,
    rules: &Rules,
    source: Source,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    Reading { format, rules, jobs: 1 }.read(source.into_reader(), emitter)
}

fn open(
    file: &Path,
    bar: &ProgressBar,
    is_interrupted: &Arc<AtomicBool>,
) -> Result<Box<dyn Read + Send>, Failure> {
    Ok(Box::new(Interruptible::open(file, bar, is_interrupted)?))
}

/// A file whose format is known before anything is written.
struct Input {
    /// `None` if the file has no lines, or cannot be read.
    format: Option<BatchFormat>,
    /// The file, if it cannot be opened again, or why it cannot be read.
    source: Option<Result<Box<dyn Read + Send>, Failure>>,
}

impl Input {
    /// Detects the format of a file, unless it is given. Fails if its first lines have no known shape.
    fn detect(
        file: &Path,
        from: Option<BatchFormat>,
        bar: &ProgressBar,
        is_interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        if from.is_some() {
            return Ok(Self { format: from, source: None });
        }
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let hidden = ProgressBar::hidden();
        let opened = open(file, if is_regular { &hidden } else { bar }, is_interrupted);
        // A file that cannot be read does not stop the others.
        let mut source = match opened {
            Ok(source) => source,
            failed => return Ok(Self { format: None, source: Some(failed) }),
        };
        let start = Start::read(&mut source);
        if start.format.is_none() && !start.is_blank {
            if let Some(error) = &start.failure {
                let failure = Failure::unreadable(Path::new(&input::name(file)), error);
                return Ok(Self { format: None, source: Some(Err(failure)) });
            }
            return Err(Failure::Usage(format!(
                "{}: none of its first {MAX_LINES} lines is a batch result; if it has results, name their format with --from",
                input::name(file)
            )));
        }
        Ok(Self { format: start.format, source: (!is_regular).then(|| Ok(start.chain(source))) })
    }
}

/// Reads batch result files of one format.
struct Reading<'a> {
    format: BatchFormat,
    rules: &'a Rules,
    jobs: usize,
}

impl Reading<'_> {
    /// Reads the results in order. Failed results and malformed lines are rejected.
    fn read(&self, source: impl Read + Send, emitter: &mut Emitter) -> Result<(), Failure> {
        let Self { format, rules, jobs } = self;
        let max = load::MAX_RESPONSE as usize;
        let limits = Limits { line_bytes: max, sse_event_bytes: max, ..rules.options.limits };
        emitter.expect_results();
        let name = emitter.source().to_owned();
        let recorder = emitter.recorder();
        let new_worker = || {
            // Each thread has its own rejects.
            let mut settings = (*rules).clone();
            settings.rejected_texts = rules.rejected_texts.as_ref().map(RejectedTexts::separate);
            let emitter = recorder.clone().with_rejected_texts(settings.rejected_texts.clone());
            let options = response::options(&settings, rules.options.clone().limits(limits));
            let results = BatchReader::new(*format, options);
            Worker { results, emitter, emit: rules.emit, texts: BTreeMap::new() }
        };
        let mut failure = None;
        let read = LineMapper::new(new_worker).limits(limits).jobs(*jobs).read(source, |lines| {
            for ((status, events), output) in lines {
                if let Some(status) = status {
                    emitter.count_result(status);
                }
                failure = emitter.replay(output, events).err();
                if failure.is_some() || emitter.is_done() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            // Complete records reach the reader before the next read blocks.
            failure = emitter.flush().err();
            Ok(failure.as_ref().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(())))
        });
        match failure {
            Some(failure) => Err(failure),
            None => read.map_err(|error| Failure::unreadable(Path::new(&name), &error)),
        }
    }
}

/// Reads results on one thread.
struct Worker {
    results: BatchReader<Raw>,
    emitter: Emitter<Recorded>,
    emit: EmitKind,
    /// The text of each choice of a result.
    texts: BTreeMap<u64, String>,
}

impl LineWorker for Worker {
    /// The status of a result, and its events.
    type Result = (Option<ResultStatus>, RecordedEvents);

    fn line(&mut self, event: LentEvent<'_>, output: &mut Vec<u8>) -> Self::Result {
        self.emitter.begin(output);
        let status = self.read_line(event);
        (status.expect("recording never fails"), self.emitter.end(output))
    }
}

impl Worker {
    fn read_line(&mut self, event: LentEvent<'_>) -> Result<Option<ResultStatus>, Failure> {
        self.emitter.set_part(None);
        match event {
            Event::Record(line) => self.read_result(&line).map(Some),
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                self.emitter.diagnostic(EventOrigin::Input, &diagnostic)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn read_result(&mut self, line: &Record<Value<'_>>) -> Result<ResultStatus, Failure> {
        let Self { results, emitter, emit, texts } = self;
        let mut result = results.read(line.value, line.line, line.span);
        let id = result.custom_id.as_deref().map(str::to_owned);
        let id = id.map(|text| PartId { member: "custom_id", text, is_line_number: false });
        emitter.set_part(Some(Part { line: line.line, id, is_line: false }));
        emitter.batch_result(line.line, result.status)?;
        if let Some(BatchFailure { kind, message, .. }) = &result.failure {
            let diagnostic = Diagnostic::new(Code::ProviderError, line.line, line.span, 1, message);
            emitter.diagnostic(EventOrigin::Input, &diagnostic.with_origin(Origin::Wire))?;
            return Ok(ResultStatus::Failed(*kind));
        }
        texts.clear();
        let mut handled = Ok(());
        result.lend_events(|event| {
            if handled.is_err() {
                return;
            }
            handled = match event {
                LentResponseEvent::Record { choice, block, record } => {
                    emitter.record(EventOrigin::Block(choice, block), record)
                }
                LentResponseEvent::Event(ResponseEvent::TextDelta { choice, text, .. }) => {
                    texts.entry(choice).or_default().push_str(&text);
                    Ok(())
                }
                LentResponseEvent::Event(ResponseEvent::Finish { choice, .. }) if *emit == EmitKind::Text => {
                    texts.entry(choice).or_default();
                    Ok(())
                }
                LentResponseEvent::Event(event) => response::handle(&event, emitter),
                _ => Ok(()),
            };
        });
        handled?;
        for (choice, text) in texts {
            let reason = result.response().and_then(|response| response.finish_reason(*choice));
            emitter.result_text(*choice, reason, text)?;
        }
        let Some(response) = result.response() else { return Ok(ResultStatus::Incomplete) };
        Ok(if response.is_complete() && !response.is_cut_off() {
            ResultStatus::Complete
        } else if response.report().by_code().contains_key(&Code::ProviderError) {
            ResultStatus::Failed(FailureKind::Errored)
        } else {
            ResultStatus::Incomplete
        })
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResultStatus {
    Complete,
    /// The response was cut off.
    Incomplete,
    Failed(FailureKind),
}

impl ResultStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed(kind) => kind.as_str(),
        }
    }
}

/// The number of results of each status.
#[derive(Debug, Default)]
pub(crate) struct ResultCounts(BTreeMap<ResultStatus, u64>);

impl ResultCounts {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub(crate) fn add(&mut self, status: ResultStatus) {
        *self.0.entry(status).or_default() += 1;
    }
}

/// `3 results (2 complete, 1 expired)`
impl fmt::Display for ResultCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count(self.total(), "result"))?;
        let counts = self.0.iter().map(|(status, count)| format!("{count} {}", status.as_str()));
        match counts.collect::<Vec<_>>() {
            counts if counts.is_empty() => Ok(()),
            counts => write!(f, " ({})", counts.join(", ")),
        }
    }
}

impl Serialize for ResultCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(status, count)| (status.as_str(), count)))
    }
}
