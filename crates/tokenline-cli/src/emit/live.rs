//! Output that is written and counted at once.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::mem;

use indicatif::ProgressBar;
use tokenline::adapter::{CountAs, QuotaUnit, StopAfter, Tally};
use tokenline::{Diagnostic, EarlyEnd, Limits, Report, Severity, Span};

use super::recorded::{Recorded, RecordedDiagnostic, RecordedEvent, RecordedEvents};
use super::sink::Sink;
use super::{Emitter, count};
use crate::args::{EmitKind, ReadingArgs};
use crate::batch::{ResultCounts, ResultStatus};
use crate::failure::Failure;
use crate::log::{log, log_rejected};
use crate::output::{Stdout, stdout};
use crate::output_file::OutputFile;

/// Data to standard output or a file, messages to standard error.
pub(crate) struct Live {
    out: BufWriter<Output>,
    source: String,
    /// With several inputs, their names, each with the number of diagnostics in the report before it.
    files: Vec<(String, usize)>,
    tally: Tally,
    /// Texts of batch results.
    texts: u64,
    /// The model's refusal.
    refusal: String,
    /// Its pieces; of a whole body, the refusals.
    refusals: u64,
    rejects: Option<RejectFile>,
    /// Of batch result files.
    results: Option<ResultCounts>,
    /// The data could not be written.
    is_broken: bool,
    /// Drawn below the messages.
    bar: ProgressBar,
}

enum Output {
    Stdout(Stdout),
    File(OutputFile),
}

impl Live {
    fn log(&self, line: impl fmt::Display) {
        self.bar.suspend(|| log(line));
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
    fn diagnostic(
        &mut self,
        diagnostic: &Diagnostic,
        part: &str,
        reject: Option<String>,
    ) -> Result<(), Failure> {
        if let Some(line) = reject {
            self.reject(line.as_bytes());
        }
        if diagnostic.severity() != Severity::Info {
            let shown = self.tally.report().rejected() + self.tally.report().warnings();
            match Limits::DEFAULT.diagnostics as u64 {
                // Records before it come first, even if both streams go to one terminal.
                limit if shown < limit => {
                    self.flush()?;
                    let line = format_args!("{}:{part}{diagnostic}", self.source);
                    self.bar.suspend(|| log_rejected(line, diagnostic.code.as_str()));
                }
                limit if shown == limit => {
                    self.log(format_args!("{}: further rejects are only counted", self.source));
                }
                _ => {}
            }
        }
        self.tally.count(CountAs::Diagnostic(diagnostic));
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
            files: Vec::new(),
            tally: Tally::new(&Limits::default()),
            texts: 0,
            refusal: String::new(),
            refusals: 0,
            rejects: None,
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

    /// Also writes each reject to a file.
    pub(crate) fn with_reject_file(mut self, file: Option<OutputFile>) -> Self {
        self.sink.rejects = file.map(|file| RejectFile { file, failure: None });
        self
    }

    /// Sets the input that the following events are about. Events name it if it is one of several.
    pub(crate) fn set_source(&mut self, name: &str, is_one_of_several: bool) {
        name.clone_into(&mut self.sink.source);
        if is_one_of_several {
            self.input.set_file(name);
            self.sink.files.push((name.to_owned(), self.report().diagnostics().len()));
        }
        self.set_part("", None);
    }

    /// An emitter for another thread, for events of the same input. [`replay`](Self::replay) takes what it records.
    pub(crate) fn recorder(&self) -> Emitter<Recorded> {
        let mut recorder = Emitter::with_sink(self.emit, Recorded::new(self.sink.has_reject_file()));
        recorder.input = self.input.whole();
        recorder
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
                    let RecordedDiagnostic { diagnostic, part } = *recorded;
                    self.sink.diagnostic(&diagnostic, &part, None)?;
                }
                RecordedEvent::Counted(code, origin) => {
                    let diagnostic = Diagnostic::new(code, 0, Span::new(0, 0), 0, "").with_origin(origin);
                    self.sink.diagnostic(&diagnostic, "", None)?;
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

    /// Writes the report, with the name of the input in each diagnostic if there are several.
    pub(crate) fn write_report(&self, file: OutputFile) -> Result<(), Failure> {
        if self.sink.files.is_empty() && self.sink.results.is_none() {
            return file.write_json(self.report());
        }
        let mut report = serde_json::to_value(self.report()).unwrap_or_default();
        if let (Some(results), Some(members)) = (&self.sink.results, report.as_object_mut()) {
            members.insert("results".to_owned(), serde_json::to_value(results).unwrap_or_default());
        }
        let diagnostics = report.get_mut("diagnostics").and_then(serde_json::Value::as_array_mut);
        for (at, diagnostic) in diagnostics.into_iter().flatten().enumerate() {
            let file = self.sink.files.iter().rev().find(|(_, before)| *before <= at);
            if let (Some((name, _)), Some(members)) = (file, diagnostic.as_object_mut()) {
                members.insert("file".to_owned(), name.as_str().into());
            }
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
        if !self.sink.files.is_empty() {
            self.sink.source = count(self.sink.files.len() as u64, "file");
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
            && report.rejected() + report.warnings() == 0
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
