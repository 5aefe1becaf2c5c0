//! Output that is written and counted at once.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::mem;
use std::path::Path;

use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::Value;
use tokenline::adapter::{CountAs, KeptDiagnostics, QuotaUnit, StopAfter, Tally};
use tokenline::{Diagnostic, EarlyEnd, Limits, Reasks, Report, Severity, Span};

use super::kept::KeptDiagnostic;
use super::line::{Part, message};
use super::recorded::{Recorded, RecordedDiagnostic, RecordedEvent, RecordedEvents};
use super::sink::Sink;
use super::{Emitter, count};
use crate::args::{EmitKind, ReadingArgs};
use crate::batch::{ResultCounts, ResultStatus};
use crate::excerpt::Excerpt;
use crate::failure::Failure;
use crate::input;
use crate::log::{log, log_rejected};
use crate::output::{Stdout, stdout};
use crate::output_file::OutputFile;

/// Data to standard output or a file, messages to standard error.
pub(crate) struct Live {
    out: BufWriter<Output>,
    source: String,
    /// The name of the input, if it is one of several.
    file: Option<String>,
    /// The number of inputs, if there are several.
    files: u64,
    tally: Tally,
    /// For the report.
    diagnostics: KeptDiagnostics<KeptDiagnostic>,
    /// The end of the message about rejects after [`MAX_SHOWN`].
    further_rejects: &'static str,
    /// Texts of batch results.
    texts: u64,
    /// The model's refusal.
    refusal: String,
    /// Its pieces; of a whole body, the refusals.
    refusals: u64,
    rejects: Option<RejectFile>,
    /// An input was stopped because it repeats itself.
    was_stopped: bool,
    /// Of batch result files.
    results: Option<ResultCounts>,
    /// The data could not be written.
    is_broken: bool,
    /// Drawn below the messages.
    bar: ProgressBar,
}

/// The number of rejects that messages show.
const MAX_SHOWN: u64 = 100;

enum Output {
    Stdout(Stdout),
    File(OutputFile),
}

impl Live {
    fn log(&self, line: impl fmt::Display) {
        self.bar.suspend(|| log(line));
    }

    /// The number of rejects and warnings so far; the first are shown.
    fn shown(&self) -> u64 {
        self.tally.report().rejected() + self.tally.report().warnings()
    }

    fn reject(&mut self, line: &[u8]) {
        if let Some(rejects) = &mut self.rejects {
            rejects.write(line);
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let Self { out, bar, .. } = self;
        // Both may go to one terminal: hide the progress.
        let flushed = if out.buffer().is_empty() { out.flush() } else { bar.suspend(|| out.flush()) };
        flushed.map_err(|error| self.failed(error))
    }
}

impl Sink for Live {
    fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    fn count(&mut self, event: CountAs<'_>) {
        self.tally.count(event);
    }

    fn count_text(&mut self) {
        self.texts += 1;
        let max = self.tally.quota().max_records;
        if max.is_some_and(|max| self.texts >= max) {
            self.tally.report_mut().set_ended_by(EarlyEnd::MaxRecords);
        }
    }

    /// Writes an error as a message, if it is within the limit, and to the reject file.
    fn shows_rejects(&self) -> bool {
        self.shown() < MAX_SHOWN
    }

    fn diagnostic(
        &mut self,
        diagnostic: &Diagnostic,
        part: Option<&Part>,
        excerpt: Option<Excerpt>,
        reject: Option<String>,
    ) -> Result<(), Failure> {
        if let Some(line) = reject {
            self.reject(line.as_bytes());
        }
        if diagnostic.severity() != Severity::Info {
            let shown = self.shown();
            if shown < MAX_SHOWN {
                // Records before it come first, even if both streams go to one terminal.
                self.flush()?;
                let line = message(&self.source, part, diagnostic);
                let further =
                    diagnostic.further().iter().map(|one| (message(&self.source, part, one), one.code));
                self.bar.suspend(|| {
                    log_rejected(line, diagnostic.code.as_str(), excerpt.as_ref());
                    further.for_each(|(line, code)| log_rejected(line, code.as_str(), None));
                });
            } else if shown == MAX_SHOWN {
                self.log(format_args!("{}: further rejects {}", self.source, self.further_rejects));
            }
        }
        self.tally.count(CountAs::Diagnostic(diagnostic));
        let entry = || KeptDiagnostic::new(diagnostic, part, self.file.as_deref());
        self.diagnostics.add(diagnostic.severity(), Limits::DEFAULT.diagnostics, entry);
        Ok(())
    }

    fn refusal(&mut self, text: &str) {
        self.refusals += 1;
        // A refusal is a few sentences; cap an endless one.
        if self.refusal.len() < 2_000 {
            self.refusal.push_str(text);
        }
    }

    fn is_done(&self) -> bool {
        self.tally.is_over()
    }

    fn has_reject_file(&self) -> bool {
        self.rejects.is_some()
    }

    fn failed(&mut self, error: io::Error) -> Failure {
        self.is_broken = true;
        match self.out.get_ref() {
            Output::Stdout(_) => Failure::output(error),
            Output::File(file) => file.failed(&error),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            // It is complete at the end only.
            Self::File(_) => Ok(()),
        }
    }
}

impl Emitter {
    pub(crate) fn new(emit: EmitKind, source: impl Into<String>) -> Self {
        Self::with_output(emit, source, None)
    }

    /// An emitter that writes data to a file; without one, to standard output.
    pub(crate) fn with_output(emit: EmitKind, source: impl Into<String>, file: Option<OutputFile>) -> Self {
        let output = file.map_or_else(|| Output::Stdout(stdout()), Output::File);
        let live = Live {
            out: BufWriter::with_capacity(64 * 1024, output),
            source: source.into(),
            file: None,
            files: 0,
            // They are in `diagnostics`.
            tally: Tally::new(&Limits { diagnostics: 0, ..Limits::default() }),
            diagnostics: KeptDiagnostics::default(),
            further_rejects: "are only counted",
            texts: 0,
            refusal: String::new(),
            refusals: 0,
            rejects: None,
            was_stopped: false,
            results: None,
            is_broken: false,
            bar: ProgressBar::hidden(),
        };
        Self::with_sink(emit, live)
    }

    /// Keeps a progress bar below the messages.
    pub(crate) fn with_progress(mut self, bar: ProgressBar) -> Self {
        self.sink.bar = bar;
        self
    }

    /// Stops after `--max-records` or `--max-errors`.
    pub(crate) fn with_quota(mut self, args: &ReadingArgs) -> Self {
        // What is written counts. Texts are counted on their own.
        let counted = match self.emit {
            EmitKind::Records => QuotaUnit::Records,
            EmitKind::ToolCalls => QuotaUnit::ToolCalls,
            EmitKind::Events | EmitKind::Partials | EmitKind::Text => QuotaUnit::All,
        };
        let quota = StopAfter { max_records: args.max_records, counted, error_budget: args.max_errors };
        self.sink.tally.set_quota(|own| *own = quota);
        self
    }

    /// Also writes each reject to the file that `--reject-file` names, if it is given.
    pub(crate) fn with_reject_file(mut self, file: Option<OutputFile>) -> Self {
        self.sink.further_rejects = match file {
            Some(_) => "are not shown: the file of --reject-file has all of them",
            None => "are not shown: --reject-file FILE writes all of them",
        };
        self.sink.rejects = file.map(|file| RejectFile { file, failure: None });
        self
    }

    /// Sets the input that the following events are about. Events name it if it is one of several.
    pub(crate) fn set_source(&mut self, path: &Path, is_one_of_several: bool) {
        self.sink.source = input::name(path);
        self.input.set_file(path, is_one_of_several);
        if is_one_of_several {
            self.sink.file = Some(self.sink.source.clone());
            self.sink.files += 1;
        }
        self.set_part(None);
    }

    /// An emitter for another thread, for events of the same input. [`replay`](Self::replay) takes what it records.
    pub(crate) fn recorder(&self) -> Emitter<Recorded> {
        let mut recorder = Emitter::with_sink(self.emit, Recorded::new(self.sink.has_reject_file()));
        recorder.input = self.input.whole();
        recorder.with_source(self.with_source)
    }

    /// Writes and counts recorded events, up to the quota.
    pub(crate) fn replay(&mut self, output: &[u8], events: RecordedEvents) -> Result<(), Failure> {
        let mut events = events.into_iter().peekable();
        while let Some((start, event)) = events.next()
            && !self.is_done()
        {
            let end = events.peek().map_or(output.len(), |(start, _)| *start);
            let output = &output[start..end];
            match event {
                RecordedEvent::Record(recovered) => self.sink.count(CountAs::Record(recovered)),
                RecordedEvent::ToolCall(recovered) => self.sink.count(CountAs::ToolCall(recovered)),
                RecordedEvent::Diagnostic(recorded) => {
                    let RecordedDiagnostic { diagnostic, part, excerpt } = *recorded;
                    self.sink.diagnostic(&diagnostic, part.as_ref(), excerpt, None)?;
                }
                RecordedEvent::Counted(code, origin) => {
                    let diagnostic = Diagnostic::new(code, 0, Span::new(0, 0), 0, "").with_origin(origin);
                    self.sink.diagnostic(&diagnostic, None, None, None)?;
                }
                RecordedEvent::Reject => {
                    self.sink.reject(output);
                    continue;
                }
                RecordedEvent::Text => self.sink.count_text(),
                RecordedEvent::Refusal(text) => self.sink.refusal(&text),
                RecordedEvent::Other => {}
            }
            let written = self.sink.out.write_all(output);
            self.written(written)?;
        }
        Ok(())
    }

    /// Counts the results of batch files from here on.
    pub(crate) fn expect_results(&mut self) {
        self.sink.results.get_or_insert_default();
    }

    /// Counts a result of a batch file.
    pub(crate) fn count_result(&mut self, status: ResultStatus) {
        self.sink.results.get_or_insert_default().add(status);
    }

    /// Whether records or tool calls of several results were written without where they come from.
    pub(crate) fn loses_sources(&self) -> bool {
        let has_data = matches!(self.emit, EmitKind::Records | EmitKind::ToolCalls) && self.delivered() > 0;
        let results = self.sink.results.as_ref().map_or(0, ResultCounts::total);
        has_data && !self.with_source && results > 1
    }

    /// Completes the output. A file appears only if the data was written, and if there was any input to read.
    pub(crate) fn complete_output(&mut self, has_failed: bool) -> Result<(), Failure> {
        if self.sink.is_broken {
            return Ok(());
        }
        self.flush()?;
        let has_results = self.sink.results.as_ref().is_some_and(|results| !results.is_empty());
        if has_failed && !has_results && self.is_empty() {
            return Ok(());
        }
        // Nothing is written from here on.
        let stdout = BufWriter::with_capacity(0, Output::Stdout(stdout()));
        match mem::replace(&mut self.sink.out, stdout).into_parts().0 {
            Output::File(file) => file.complete(),
            Output::Stdout(_) => Ok(()),
        }
    }

    /// Logs a message about the input that is not a diagnostic.
    pub(crate) fn remark(&self, remark: &str) {
        self.sink.log(format_args!("{}: {remark}", self.sink.source));
    }

    /// Flushes the output.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    /// The name of the input in messages.
    pub(crate) fn source(&self) -> &str {
        &self.sink.source
    }

    /// Marks the input as read to its end.
    pub(crate) fn set_complete(&mut self) {
        self.sink.tally.report_mut().set_complete();
    }

    /// Notes that an input was stopped because it repeats itself. Others may follow.
    pub(crate) fn note_stop(&mut self) {
        self.sink.was_stopped = true;
    }

    /// Counts the further requests for rejects.
    pub(crate) fn count_reasks(&mut self, mut reasks: Reasks) {
        // They are counted as they are written.
        reasks.delivered = 0;
        self.sink.tally.report_mut().count_reasks(reasks);
    }

    /// Writes the report. Each diagnostic has the name of the input if there are several, and the id of its response.
    pub(crate) fn write_report(&self, file: OutputFile) -> Result<(), Failure> {
        let mut report = json(self.report());
        report["diagnostics"] = json(self.sink.diagnostics.as_slice());
        report["dropped_diagnostics"] = self.sink.diagnostics.dropped().into();
        if self.sink.was_stopped && self.report().ended_by().is_none() {
            report["ended_by"] = EarlyEnd::Repetition.as_str().into();
        }
        if let Some(results) = &self.sink.results {
            report["results"] = json(results);
        }
        file.write_json(&report)
    }

    /// Completes the reject file.
    pub(crate) fn complete_rejects(&mut self) -> Result<(), Failure> {
        self.sink.rejects.take().map_or(Ok(()), RejectFile::complete)
    }

    /// The number of records, tool calls or texts that were written.
    pub(crate) fn delivered(&self) -> u64 {
        let report = self.report();
        match self.emit {
            EmitKind::Records => report.records(),
            EmitKind::ToolCalls => report.tool_calls(),
            EmitKind::Events | EmitKind::Partials => report.records() + report.tool_calls(),
            EmitKind::Text => self.sink.texts,
        }
    }

    pub(crate) fn report(&self) -> &Report {
        self.sink.tally.report()
    }

    /// Whether nothing was delivered, rejected or noted.
    pub(crate) fn is_empty(&self) -> bool {
        let report = self.report();
        report.records() + report.tool_calls() + report.rejected() + report.warnings() + report.notes() == 0
            && self.sink.refusal.is_empty()
    }

    /// Logs one line of counts: always on a terminal and for batch results, otherwise if something was rejected or
    /// nothing was found.
    pub(crate) fn summary(&mut self) {
        if self.sink.files > 0 {
            self.sink.source = count(self.sink.files, "file");
        }
        if let Some(error) = self.sink.tally.too_many_rejected() {
            self.remark(&error.to_string());
        }
        match &self.sink.refusal {
            text if text.is_empty() => {}
            _ if self.sink.results.is_some() => {
                self.remark(&format!("the model refused {}", count(self.sink.refusals, "request")));
            }
            text => self.remark(&format!("the model refused: {text}")),
        }
        let report = self.report();
        if self.emit == EmitKind::Records && report.tool_calls() > 0 {
            let calls = count(report.tool_calls(), "tool call");
            self.remark(&format!("{calls} not written: --emit tool-calls writes them"));
        }
        let has_found = report.records() + report.tool_calls() > 0;
        let results = self.sink.results.as_ref();
        if has_found
            && report.rejected() + report.warnings() + report.repaired() + report.reasks().requests == 0
            && results.is_none()
            && !io::stderr().is_terminal()
        {
            return;
        }
        let mut counts: Vec<String> = results.map(ToString::to_string).into_iter().collect();
        let wants_records = matches!(self.emit, EmitKind::Records | EmitKind::Events | EmitKind::Partials);
        if report.records() > 0 || (wants_records && report.tool_calls() == 0) {
            counts.push(count(report.records(), "record"));
        }
        if report.tool_calls() > 0 || self.emit == EmitKind::ToolCalls {
            counts.push(count(report.tool_calls(), "tool call"));
        }
        let mut line = format!("{}: {}", self.sink.source, counts.join(", "));
        if report.repaired() > 0 {
            line += &format!(", {} repaired", report.repaired());
        }
        let reasks = report.reasks();
        if reasks.requests > 0 {
            let Reasks { asked, delivered, requests, .. } = reasks;
            line += &format!(
                ", {asked} asked for again in {}: {delivered} delivered",
                count(requests, "request")
            );
        }
        line += &format!(", {} rejected", report.rejected());
        if report.warnings() > 0 {
            line += &format!(", {}", count(report.warnings(), "warning"));
        }
        if report.notes() > 0 {
            line += &format!(", {} of prose", count(report.notes(), "line"));
        }
        self.sink.log(line);
    }
}

/// A part of the report as JSON.
fn json(part: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(part).expect("it has names for keys")
}

/// The file that `--reject-file` names.
struct RejectFile {
    file: OutputFile,
    /// Why writing failed. Data is still written to standard output.
    failure: Option<io::Error>,
}

impl RejectFile {
    fn write(&mut self, line: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.file.write_all(line).err();
        }
    }

    fn complete(self) -> Result<(), Failure> {
        match self.failure {
            Some(error) => Err(self.file.failed(&error)),
            None => self.file.complete(),
        }
    }
}
