//! `tokenline parse`: a model's output in, records or tool calls out.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::ProgressBar;
use tokenline::llm::Provider;
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{CallFormat, CheckedChunk, EarlyEnd, Options, Reads, Release, RepetitionLimits};

use crate::args::{EmitKind, InputFormat, ModeArg, ReadingArgs, RepetitionArg, SourceArg, input_format};
use crate::emit::{Emitter, EventOrigin, RejectedTexts, count};
use crate::failure::{Failure, Verdict};
use crate::log::{log_failure, log_verdict, log_verdict_if_quiet};
use crate::output_file::{self, OutputFile};
use crate::response::stopped;
use crate::source::Source;
use crate::text_decoder::TextDecoder;
use crate::validate::progress_bar;
use crate::{batch, input, lines, load, response};

/// Parse a model's output; write its records or tool calls as JSON Lines.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline parse response.txt
  tokenline parse --from anthropic body.sse --emit events
  curl -sN URL -d @request.json | tokenline parse --from openai-chat --schema fact.schema.json
  tokenline parse response.txt --emit tool-calls --tools tools.json --deny
  tokenline parse response.json --items /definitions
  tokenline parse 'responses/*.sse.gz' --from openai-chat --reject-file rejected.jsonl
  tokenline parse --from lines rows.jsonl --text-pointer /output --id-pointer /id --with-source")]
#[command(after_long_help = include_str!("parse.txt"))]
pub(crate) struct ParseArgs {
    /// Input files, glob patterns such as 'responses/*.sse.gz', or `-` for standard input. Input compressed with gzip,
    /// zstd or xz is decompressed.
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// Input format.
    #[arg(long, default_value = "text", value_parser = input_format())]
    from: InputFormat,
    /// JSON Pointer to the string that holds the response, such as /output. Required with --from lines.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) text_pointer: Option<String>,
    /// JSON Pointer to the line's id, such as /id. Events, messages and --with-source include it. Only with --from lines.
    #[arg(long, value_name = "POINTER", allow_hyphen_values = true)]
    pub(crate) id_pointer: Option<String>,
    /// Data to write to standard output.
    #[arg(long, value_enum, default_value_t)]
    emit: EmitKind,
    #[command(flatten)]
    source: SourceArg,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    repetition: RepetitionArg,
    /// Size of the read buffer in bytes, at most 1 GiB.
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    chunk_size: u32,
}

/// The most violations of a record that are reported.
const MAX_VIOLATIONS: usize = 100;

/// How to parse an input, whatever its source.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) options: Options,
    /// The options if calls are not looked for.
    pub(crate) options_for_records: Options,
    pub(crate) schema: Option<SchemaValidator>,
    pub(crate) tools: Option<Arc<ToolSet>>,
    pub(crate) emit: EmitKind,
    /// Whether a call format was chosen.
    pub(crate) has_call_format: bool,
    /// Where the texts of rejects are kept, if they are to be written.
    pub(crate) rejected_texts: Option<RejectedTexts>,
    /// The limits at which a text that repeats itself is stopped.
    pub(crate) repetition: Option<RepetitionLimits>,
}

/// The conditions for exit code 0.
#[derive(Clone, Copy, Default)]
pub(crate) struct Demands {
    /// `--deny`.
    pub(crate) deny: bool,
    /// `--min-records`.
    pub(crate) min_records: u64,
}

impl Demands {
    pub(crate) fn of(args: &ReadingArgs) -> Self {
        Self { deny: args.deny, min_records: args.min_records.unwrap_or_default() }
    }
}

impl Rules {
    pub(crate) fn new(args: &ReadingArgs, emit: EmitKind) -> Result<Self, Failure> {
        let options = match args.mode {
            ModeArg::Lenient => Options::lenient(),
            ModeArg::Strict => Options::strict(),
        };
        if let (Some(min), Some(max)) = (args.min_records, args.max_records)
            && min > max
        {
            let message = format!("--min-records {min} is more than --max-records {max} lets through");
            return Err(Failure::Usage(message));
        }
        let tools = args.tools.as_deref().map(load::tools).transpose()?;
        let tools = tools.map(|tools| tools.show_names(args.show_names));
        let tools = tools.map(|tools| if args.coerce { tools.with_coercion() } else { tools });
        let max_violations = if args.all_errors { MAX_VIOLATIONS } else { 1 };
        let tools = tools.map(|tools| Arc::new(tools.all_violations(max_violations)));
        let release = if args.eager { Release::OnBalance } else { Release::Confirmed };
        let mut options =
            options.release(release).partials(emit == EmitKind::Partials).repair_syntax(args.repair);
        if let Some(pointer) = &args.items {
            if matches!(args.mode, ModeArg::Strict) {
                let message = "--items needs --mode lenient: in strict mode each line is one object";
                return Err(Failure::Usage(message.to_owned()));
            }
            options = options.items(pointer).map_err(|error| Failure::Usage(format!("--items: {error}")))?;
        }
        if args.reasoning.in_reasoning && matches!(args.mode, ModeArg::Strict) {
            let message = "--in-reasoning needs --mode lenient: in strict mode each line is one object";
            return Err(Failure::Usage(message.to_owned()));
        }
        let options = options.in_reasoning(args.reasoning.in_reasoning);
        let has_place = args.reject_file.is_some() || emit.has_events() || io::stderr().is_terminal();
        if args.show_values && !has_place {
            let message = "--show-values needs --reject-file, --emit events, or a terminal for messages";
            return Err(Failure::Usage(message.to_owned()));
        }
        let schema = args.schema.as_deref();
        let schema = schema.map(|path| load::schema(path, args.schema_dir.as_deref(), args.show_names));
        let schema = schema.transpose()?.map(|schema| schema.all_violations(max_violations));
        let mut rules = Self {
            options_for_records: options.clone(),
            options,
            rejected_texts: args.show_values.then(|| RejectedTexts::new(schema.clone(), tools.clone())),
            schema,
            tools,
            emit,
            has_call_format: args.call_format.is_some(),
            repetition: None,
        };
        if rules.wants_calls() {
            let keeps_records = rules.reads() == Reads::RecordsAndToolCalls;
            let format = args.call_format.clone().unwrap_or_default();
            rules.options = rules.options.calls(format).records_beside_calls(keeps_records);
        } else if args.call_format.is_some() {
            let message = "--call-format needs --emit tool-calls, or --tools with --emit events or partials";
            return Err(Failure::Usage(message.to_owned()));
        }
        let reads_json = args.call_format.as_ref().is_none_or(CallFormat::reads_plain_json);
        if matches!(args.mode, ModeArg::Strict) && !reads_json {
            let message = "--call-format needs --mode lenient: in strict mode each line is one object";
            return Err(Failure::Usage(message.to_owned()));
        }
        if args.items.is_some() && !reads_json {
            let message = "--items needs a --call-format whose calls are JSON objects, such as auto or jsonl";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(rules)
    }

    /// Stops a text that repeats itself.
    pub(crate) fn with_repetition(self, arg: RepetitionArg) -> Self {
        Self { repetition: arg.limits(), ..self }
    }

    /// Warns of options without effect.
    pub(crate) fn warn_unused(&self, emitter: &Emitter) {
        if self.tools.is_some() && self.emit == EmitKind::Records {
            emitter.remark("--tools has no effect on records: use --emit tool-calls or --emit events");
        }
        if self.reads() == Reads::RecordsAndToolCalls && self.emit == EmitKind::ToolCalls {
            emitter.remark(
                "records are validated, but not written: use --emit events for records and tool calls",
            );
        }
    }

    /// How the objects of a text are read: with a schema and tools, as both.
    pub(crate) fn reads(&self) -> Reads {
        match (self.wants_calls(), &self.schema, &self.tools) {
            (false, ..) => Reads::Records,
            (true, Some(_), Some(_)) => Reads::RecordsAndToolCalls,
            (true, ..) => Reads::ToolCalls,
        }
    }

    /// Whether tool calls are looked for.
    pub(crate) fn wants_calls(&self) -> bool {
        match self.emit {
            EmitKind::ToolCalls => true,
            EmitKind::Events | EmitKind::Partials => self.tools.is_some(),
            EmitKind::Records | EmitKind::Text => false,
        }
    }
}

pub(crate) fn run(args: &ParseArgs) -> Result<Verdict, Failure> {
    // Check everything before reading or writing anything.
    let rules = Rules::new(&args.reading, args.emit)?.with_repetition(args.repetition);
    args.source.check(rules.emit)?;
    let lines = match args.from {
        InputFormat::Lines => Some(lines::Pointers::new(args)?),
        _ if args.text_pointer.is_some() || args.id_pointer.is_some() => {
            return Err(Failure::Usage("--text-pointer and --id-pointer need --from lines".to_owned()));
        }
        _ => None,
    };
    let files = input::expand(&args.files)?;
    let rule_files = rule_files(&args.reading)?;
    let read: Vec<&Path> = files.iter().chain(&rule_files).map(PathBuf::as_path).collect();
    output_file::reject_as_stdout(&read)?;
    let bar = input_bar(&files);
    // Open a single input first, so that no output file is created if it cannot be read.
    let mut first = match &*files {
        [file] => Some(Source::open(file, args.chunk_size, &bar)?),
        _ => None,
    };
    let (report_file, reject_file) = output_files(&args.reading, &read, None)?;
    let mut emitter = Emitter::new(rules.emit, input::name(&files[0]))
        .with_quota(&args.reading)
        .with_reject_file(reject_file)
        .with_rejected_texts(rules.rejected_texts.clone())
        .with_source(args.source.with_source)
        .with_progress(bar.clone());
    rules.warn_unused(&emitter);

    let mut outcome = Ok(());
    for file in &files {
        emitter.set_source(file, files.len() > 1);
        let source = first.take().map_or_else(|| Source::open(file, args.chunk_size, &bar), Ok);
        let read = source.and_then(|mut source| match args.from {
            InputFormat::Text => text(&rules, &mut source, &mut emitter),
            InputFormat::Lines => lines
                .as_ref()
                .map_or(Ok(()), |pointers| lines::parse(pointers, &rules, &mut source, &mut emitter)),
            InputFormat::Response(provider) => response::parse(provider, &rules, &mut source, &mut emitter),
            InputFormat::Batch(format) => batch::parse(format, &rules, source, &mut emitter),
        });
        if !goes_on(read, &mut outcome) || emitter.is_done() {
            break;
        }
    }
    bar.finish_and_clear();
    conclude(outcome, &mut emitter, report_file, Demands::of(&args.reading))
}

/// A bar for the bytes read. Hidden while a person types the input.
fn input_bar(files: &[PathBuf]) -> ProgressBar {
    let is_typed = files.iter().any(|file| file.as_os_str() == "-") && io::stdin().is_terminal();
    if is_typed { ProgressBar::hidden() } else { progress_bar(files) }
}

/// Adds how a file was read to the outcome of all. Returns whether to go on: an unreadable file does not stop the others.
pub(crate) fn goes_on(read: Result<(), Failure>, outcome: &mut Result<(), Failure>) -> bool {
    let Err(failure) = read else { return true };
    let is_fatal = !matches!(failure, Failure::Source(_));
    match (failure, &outcome) {
        // The first failure decides the exit code, but for a signal.
        (Failure::Source(message), Err(_)) => log_failure(&message),
        (failure, _) => *outcome = Err(failure),
    }
    !is_fatal
}

/// The files that configure the rules.
pub(crate) fn rule_files(args: &ReadingArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut files = args.schema_dir.as_deref().map(load::schema_files).transpose()?.unwrap_or_default();
    files.extend([&args.schema, &args.tools].into_iter().flatten().cloned());
    Ok(files)
}

/// Prepares the report and the reject file; neither may be one of `inputs`, or the output.
pub(crate) fn output_files(
    args: &ReadingArgs,
    inputs: &[&Path],
    output: Option<&OutputFile>,
) -> Result<(Option<OutputFile>, Option<OutputFile>), Failure> {
    let report = OutputFile::from_option("--report-json", args.report_json.as_deref(), inputs)?;
    let rejects = OutputFile::from_option("--reject-file", args.reject_file.as_deref(), inputs)?;
    output_file::reject_same(&[
        ("--output", output),
        ("--report-json", report.as_ref()),
        ("--reject-file", rejects.as_ref()),
    ])?;
    Ok((report, rejects))
}

/// Writes the summary and the report, even if the source failed, and returns the verdict.
pub(crate) fn conclude(
    outcome: Result<(), Failure>,
    emitter: &mut Emitter,
    report_file: Option<OutputFile>,
    demands: Demands,
) -> Result<Verdict, Failure> {
    let flushed = emitter.complete_output(outcome.is_err());
    let outcome = outcome.and(flushed);
    if outcome.is_ok() && !emitter.is_done() {
        emitter.set_complete();
    }
    // Without any input, the failure says enough.
    let is_empty = outcome.is_err() && emitter.is_empty();
    if !matches!(outcome, Err(Failure::OutputClosed)) && !is_empty {
        emitter.summary();
    }
    let rejects = emitter.complete_rejects();
    if let Some(report_file) = report_file {
        emitter.write_report(report_file)?;
    }
    rejects?;
    outcome?;
    let source = emitter.source();
    let (written, min) = (emitter.delivered(), demands.min_records);
    let (rejected, warnings) = (emitter.report().rejected(), emitter.report().warnings());
    if written < min {
        log_verdict(format_args!("{source}: {written} written, fewer than --min-records {min}"));
    } else if emitter.report().ended_by() == Some(EarlyEnd::ErrorBudget) {
        log_verdict_if_quiet(format_args!("{source}: {rejected} rejected, more than --max-errors allows"));
    } else if demands.deny && rejected > 0 {
        log_verdict_if_quiet(format_args!("{source}: {rejected} rejected, and --deny allows none"));
    } else if demands.deny && warnings > 0 {
        log_verdict_if_quiet(format_args!(
            "{source}: {}, and --deny allows none",
            count(warnings, "warning")
        ));
    } else {
        return Ok(Verdict::Success);
    }
    Ok(Verdict::Rejected)
}

fn text(rules: &Rules, source: &mut Source, emitter: &mut Emitter) -> Result<(), Failure> {
    let mut decoder = TextDecoder::new(rules);
    while !emitter.is_done()
        && let Some(chunk) = source.read()?
    {
        if decoder.position() == 0 {
            match Provider::detect(chunk) {
                Some(other) => emitter.remark(&format!("this looks like --from {}", other.as_str())),
                None if [&b"data:"[..], b"event:"].iter().any(|field| chunk.starts_with(field)) => {
                    emitter.remark("this looks like a provider's event stream: set --from");
                }
                None => {}
            }
        }
        decoder.decode(chunk, CheckedChunk::new(chunk), emitter, |record, emitter| {
            emitter.record(EventOrigin::Input, record)
        })?;
        if decoder.is_stopped() {
            return Err(stopped(emitter));
        }
        decoder.judge_open_record(emitter)?;
        // Complete records reach the reader before the next read blocks.
        emitter.flush()?;
    }
    decoder.finish(emitter, |record, emitter| emitter.record(EventOrigin::Input, record))
}
