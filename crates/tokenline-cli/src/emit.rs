//! The output of a command: data on standard output, diagnostics on standard error.

pub(crate) mod partial;

use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use tokenline::adapter::{CountAs, QuotaUnit, StopAfter, Tally};
use tokenline::json::{OwnedDelta, Raw, Value};
use tokenline::llm::{FinishReason, Usage};
use tokenline::{Diagnostic, Limits, OpenRecord, Record, RejectedCall, Report, Severity, ToolCall};

use crate::args::{EmitKind, ReadingArgs};
use crate::failure::Failure;
use crate::log::{log, log_rejected};
use crate::output_file::OutputFile;
use crate::progress::Progress;

/// Writes and counts records, tool calls and diagnostics.
pub(crate) struct Emitter {
    out: BufWriter<StdoutLock<'static>>,
    emit: EmitKind,
    source: String,
    /// With several inputs, the member of an event that names the current one.
    file_member: String,
    /// With several inputs, their names, each with the number of diagnostics in the report before it.
    files: Vec<(String, usize)>,
    tally: Tally,
    /// The model's refusal.
    refusal: String,
    /// The part of the input that events are about, such as a result of a batch file: its member in an event, and its
    /// name in messages.
    part: (String, String),
    rejects: Option<RejectFile>,
    progress: Option<Progress>,
}

/// The part of the input that an event comes from.
#[derive(Clone, Copy)]
pub(crate) enum EventOrigin {
    /// The whole input: the text or the wire.
    Input,
    /// A choice of a response, and a block of it.
    Block(u64, u64),
    /// One of the responses of a continued response, counted from 1.
    Response(u32),
}

impl fmt::Display for EventOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input => Ok(()),
            Self::Response(number) => write!(f, r#""response":{number},"#),
            Self::Block(choice, 0) => write!(f, r#""choice":{choice},"#),
            Self::Block(choice, block) => write!(f, r#""choice":{choice},"block":{block},"#),
        }
    }
}

impl Emitter {
    pub(crate) fn new(emit: EmitKind, source: impl Into<String>) -> Self {
        let out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        Self {
            out,
            emit,
            source: source.into(),
            file_member: String::new(),
            files: Vec::new(),
            tally: Tally::new(&Limits::default()),
            refusal: String::new(),
            part: (String::new(), String::new()),
            rejects: None,
            progress: None,
        }
    }

    /// Keeps a progress line below the messages.
    pub(crate) fn with_progress(self, progress: Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Stops after `--max-records` or `--max-errors`.
    pub(crate) fn with_quota(mut self, args: &ReadingArgs) -> Self {
        let counted = match self.emit {
            EmitKind::Records | EmitKind::Partials => QuotaUnit::Records,
            EmitKind::ToolCalls => QuotaUnit::ToolCalls,
            EmitKind::Events => QuotaUnit::All,
        };
        let quota = StopAfter { max_records: args.max_records, counted, error_budget: args.max_errors };
        self.tally.set_quota(|own| *own = quota);
        self
    }

    /// Whether a quota is reached. Then no more input is read.
    pub(crate) fn is_done(&self) -> bool {
        self.tally.is_over()
    }

    /// Also writes each reject to a file.
    pub(crate) fn with_reject_file(self, file: Option<OutputFile>) -> Self {
        Self { rejects: file.map(|file| RejectFile { file, failure: None }), ..self }
    }

    /// Sets the input that the following events are about. Events name it if it is one of several.
    pub(crate) fn set_source(&mut self, name: &str, is_one_of_several: bool) {
        name.clone_into(&mut self.source);
        if is_one_of_several {
            self.file_member = format!(r#""file":{},"#, string(name));
            self.files.push((name.to_owned(), self.report().diagnostics().len()));
        }
        self.set_part("", None);
    }

    /// Sets the part of the input that the following events are about; their `member` holds its id.
    pub(crate) fn set_part(&mut self, member: &str, id: Option<&str>) {
        let file = &self.file_member;
        self.part = match id {
            Some(id) => (format!(r#"{file}"{member}":{},"#, string(id)), format!("{}: ", shortened(id))),
            None => (file.clone(), String::new()),
        };
    }

    /// Writes the event of a line that holds a response.
    pub(crate) fn response_line(&mut self, line: u64) -> Result<(), Failure> {
        self.event("response", format_args!(r#""line":{line}"#))
    }

    /// Writes the event of a result in a batch file.
    pub(crate) fn batch_result(&mut self, line: u64, status: Option<u16>) -> Result<(), Failure> {
        let status = status.map(|status| format!(r#","status":{status}"#)).unwrap_or_default();
        self.event("batch_result", format_args!(r#""line":{line}{status}"#))
    }

    /// Writes a record borrowed from the decoder.
    pub(crate) fn record(&mut self, record: &Record<Value<'_>>) -> Result<(), Failure> {
        let value = record.value.to_single_line();
        self.record_text(EventOrigin::Input, &record.map(|_| ()), &value)
    }

    /// Writes an owned record.
    pub(crate) fn owned_record(&mut self, origin: EventOrigin, record: &Record<Raw>) -> Result<(), Failure> {
        let Record { line, column, span, completion, recovered, .. } = *record;
        let place = Record { value: (), line, column, span, completion, recovered };
        self.record_text(origin, &place, &record.value.to_single_line())
    }

    fn record_text(&mut self, origin: EventOrigin, record: &Record<()>, value: &str) -> Result<(), Failure> {
        self.tally.count(CountAs::Record(record.recovered));
        match self.emit {
            EmitKind::Records => writeln!(self.out, "{value}"),
            EmitKind::Events | EmitKind::Partials => self.placed_event("record", origin, record, value),
            EmitKind::ToolCalls => Ok(()),
        }
        .map_err(Failure::output)
    }

    /// Writes a step that builds the open record.
    pub(crate) fn partial(
        &mut self,
        origin: EventOrigin,
        partial: &OpenRecord<OwnedDelta>,
    ) -> Result<(), Failure> {
        match self.emit {
            EmitKind::Partials => {
                let members = format_args!("{}{origin}", self.part.0);
                partial::write_object(&mut self.out, "event", members, partial)
                    .and_then(|()| writeln!(self.out))
                    .map_err(Failure::output)
            }
            EmitKind::Records | EmitKind::ToolCalls | EmitKind::Events => Ok(()),
        }
    }

    /// Writes a tool call. `record` is its position, if it was a record in text.
    pub(crate) fn tool_call(
        &mut self,
        origin: EventOrigin,
        call: &ToolCall,
        record: Option<&Record<()>>,
    ) -> Result<(), Failure> {
        self.tally.count(CountAs::ToolCall(call.recovered));
        match (self.emit, record) {
            (EmitKind::ToolCalls, _) => writeln!(self.out, "{}", call.to_json()),
            (EmitKind::Events | EmitKind::Partials, Some(record)) => {
                let value = format!("{}{}", call.to_json(), coerced_json(call));
                self.placed_event("tool_call", origin, record, &value)
            }
            (EmitKind::Events | EmitKind::Partials, None) => writeln!(
                self.out,
                r#"{{"event":"tool_call",{}{origin}"completion":"{}","value":{}{}}}"#,
                self.part.0,
                call.completion.as_str(),
                call.to_json(),
                coerced_json(call)
            ),
            (EmitKind::Records, _) => Ok(()),
        }
        .map_err(Failure::output)
    }

    fn placed_event(
        &mut self,
        event: &str,
        origin: EventOrigin,
        record: &Record<()>,
        value: &str,
    ) -> io::Result<()> {
        let position = position(record);
        writeln!(self.out, r#"{{"event":"{event}",{}{origin}{position},"value":{value}}}"#, self.part.0)
    }

    /// Writes the diagnostic of a rejected tool call, with the members of the call that are known.
    pub(crate) fn rejected_call(&mut self, origin: EventOrigin, call: &RejectedCall) -> Result<(), Failure> {
        let mut known = origin.to_string();
        let call_id = call.call_id.as_ref().filter(|_| !call.is_synthetic_id);
        let members =
            [("name", call.name.as_ref()), ("call_id", call_id), ("received", Some(&call.received))];
        for (member, text) in members {
            if let Some(text) = text {
                known += &format!(r#""{member}":{},"#, string(text));
            }
        }
        self.diagnostic_with(&known, &call.diagnostic)
    }

    /// Writes a diagnostic: as an event if events are emitted, and as a message if it is an error and within the limit.
    pub(crate) fn diagnostic(&mut self, origin: EventOrigin, diagnostic: &Diagnostic) -> Result<(), Failure> {
        self.diagnostic_with(&origin.to_string(), diagnostic)
    }

    fn diagnostic_with(&mut self, known: &str, diagnostic: &Diagnostic) -> Result<(), Failure> {
        let is_error = diagnostic.severity() == Severity::Error;
        if self.emit.has_events() || (is_error && self.rejects.is_some()) {
            let event = if is_error { "rejected" } else { "note" };
            let text = serde_json::to_string(diagnostic).unwrap_or_default();
            let members = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
            self.event(event, format_args!("{known}{members}"))?;
            if let Some(rejects) = self.rejects.as_mut().filter(|_| is_error) {
                rejects.write(format_args!("{{{}{known}{members}}}\n", self.part.0));
            }
        }
        if is_error {
            let shown = self.report().rejected();
            match Limits::DEFAULT.diagnostics as u64 {
                // Records before it come first, even if both streams go to one terminal.
                limit if shown < limit => {
                    self.flush()?;
                    let line = format_args!("{}:{}{diagnostic}", self.source, self.part.1);
                    match &self.progress {
                        Some(progress) => progress.suspend(|| log_rejected(line, diagnostic.code.as_str())),
                        None => log_rejected(line, diagnostic.code.as_str()),
                    }
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

    /// Writes a fragment of `text`, `reasoning` or `refusal`.
    pub(crate) fn fragment(&mut self, event: &str, origin: EventOrigin, text: &str) -> Result<(), Failure> {
        self.event(event, format_args!(r#"{origin}"text":{}"#, string(text)))
    }

    /// Writes opaque reasoning data that the provider expects back in the next request.
    pub(crate) fn opaque(&mut self, origin: EventOrigin, data: &Raw) -> Result<(), Failure> {
        self.event("reasoning", format_args!(r#"{origin}"opaque":{}"#, data.to_single_line()))
    }

    /// Writes the finish reason of a choice.
    pub(crate) fn finish(&mut self, choice: u64, reason: &FinishReason) -> Result<(), Failure> {
        let reason = string(reason.as_str());
        self.event("finish", format_args!(r#""choice":{choice},"reason":{reason}"#))
    }

    /// Writes the known token counts.
    pub(crate) fn usage(&mut self, usage: &Usage) -> Result<(), Failure> {
        let counts = [
            ("input_tokens", usage.input_tokens),
            ("output_tokens", usage.output_tokens),
            ("total_tokens", usage.total_tokens),
            ("cached_input_tokens", usage.cached_input_tokens),
            ("reasoning_tokens", usage.reasoning_tokens),
        ];
        let known = counts.iter().filter_map(|(name, count)| Some(format!(r#""{name}":{}"#, (*count)?)));
        let known: Vec<String> = known.collect();
        self.event("usage", format_args!("{}", known.join(",")))
    }

    /// Writes an event with these members, if events are emitted.
    fn event(&mut self, name: &str, members: fmt::Arguments<'_>) -> Result<(), Failure> {
        match self.emit {
            EmitKind::Events | EmitKind::Partials => {
                writeln!(self.out, r#"{{"event":"{name}",{}{members}}}"#, self.part.0)
                    .map_err(Failure::output)
            }
            EmitKind::Records | EmitKind::ToolCalls => Ok(()),
        }
    }

    /// Adds to the model's refusal.
    pub(crate) fn refusal(&mut self, text: &str) {
        // A refusal is a few sentences; cap an endless one.
        if self.refusal.len() < 2_000 {
            self.refusal.push_str(text);
        }
    }

    /// Logs a message about the input that is not a diagnostic.
    pub(crate) fn remark(&self, remark: &str) {
        self.log(format_args!("{}: {remark}", self.source));
    }

    fn log(&self, line: impl fmt::Display) {
        match &self.progress {
            Some(progress) => progress.suspend(|| log(line)),
            None => log(line),
        }
    }

    /// Flushes standard output.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let out = &mut self.out;
        let flushed = match &self.progress {
            // Both may go to one terminal: hide the progress line.
            Some(progress) if !out.buffer().is_empty() => progress.suspend(|| out.flush()),
            _ => out.flush(),
        };
        flushed.map_err(Failure::output)
    }

    /// The name of the input in messages.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Marks the input as read to its end.
    pub(crate) fn set_complete(&mut self) {
        self.tally.report_mut().set_complete();
    }

    /// Writes the report, with the name of the input in each diagnostic if there are several.
    pub(crate) fn write_report(&self, file: OutputFile) -> Result<(), Failure> {
        if self.files.is_empty() {
            return file.write_json(self.report());
        }
        let mut report = serde_json::to_value(self.report()).unwrap_or_default();
        let diagnostics = report.get_mut("diagnostics").and_then(serde_json::Value::as_array_mut);
        for (at, diagnostic) in diagnostics.into_iter().flatten().enumerate() {
            let file = self.files.iter().rev().find(|(_, before)| *before <= at);
            if let (Some((name, _)), Some(members)) = (file, diagnostic.as_object_mut()) {
                members.insert("file".to_owned(), name.as_str().into());
            }
        }
        file.write_json(&report)
    }

    /// Completes the reject file.
    pub(crate) fn complete_rejects(&mut self) -> Result<(), Failure> {
        self.rejects.take().map_or(Ok(()), RejectFile::complete)
    }

    pub(crate) fn report(&self) -> &Report {
        self.tally.report()
    }

    /// Whether nothing was delivered, rejected or noted.
    pub(crate) fn is_empty(&self) -> bool {
        let report = self.report();
        report.records() + report.tool_calls() + report.rejected() + report.notes() == 0
            && self.refusal.is_empty()
    }

    /// Logs one line of counts: always on a terminal, otherwise if something was rejected or nothing was found.
    pub(crate) fn summary(&mut self) {
        if !self.files.is_empty() {
            self.source = count(self.files.len() as u64, "file");
        }
        if let Some(error) = self.tally.too_many_rejected() {
            self.remark(&error.to_string());
        }
        if !self.refusal.is_empty() {
            self.remark(&format!("the model refused: {}", self.refusal));
        }
        let report = self.report();
        if self.emit == EmitKind::Records && report.tool_calls() > 0 {
            let calls = count(report.tool_calls(), "tool call");
            self.remark(&format!("{calls} not written: --emit tool-calls writes them"));
        }
        let has_found = report.records() + report.tool_calls() > 0;
        if has_found && report.rejected() == 0 && !io::stderr().is_terminal() {
            return;
        }
        let mut counts = Vec::new();
        if report.records() > 0 || (self.emit != EmitKind::ToolCalls && report.tool_calls() == 0) {
            counts.push(count(report.records(), "record"));
        }
        if report.tool_calls() > 0 || self.emit == EmitKind::ToolCalls {
            counts.push(count(report.tool_calls(), "tool call"));
        }
        let mut line = format!("{}: {}", self.source, counts.join(", "));
        line += &format!(", {} rejected", report.rejected());
        if report.notes() > 0 {
            line += &format!(", {} of prose", count(report.notes(), "line"));
        }
        self.log(line);
    }
}

/// The file that `--reject-file` names.
struct RejectFile {
    file: OutputFile,
    /// Why writing failed. Data is still written to standard output.
    failure: Option<io::Error>,
}

impl RejectFile {
    fn write(&mut self, line: fmt::Arguments<'_>) {
        if self.failure.is_none() {
            self.failure = self.file.write_fmt(line).err();
        }
    }

    fn complete(self) -> Result<(), Failure> {
        match self.failure {
            Some(error) => Err(self.file.failed(&error)),
            None => self.file.complete(),
        }
    }
}

/// An id, shortened for messages.
fn shortened(id: &str) -> String {
    id.chars().take(64).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// A number and its noun, with a plural `s` if needed.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// The members for the position of a record, without braces.
pub(crate) fn position<T>(record: &Record<T>) -> String {
    let recovered = match record.recovered.is_empty() {
        true => String::new(),
        false => {
            format!(r#","recovered":{}"#, serde_json::to_string(&record.recovered).expect("names are JSON"))
        }
    };
    format!(
        r#""line":{},"start":{},"end":{},"completion":"{}"{recovered}"#,
        record.line,
        record.span.start,
        record.span.end,
        record.completion.as_str()
    )
}

/// The member `coerced`, if values of the call were converted.
fn coerced_json(call: &ToolCall) -> String {
    if call.coerced.is_empty() {
        return String::new();
    }
    let changes = call.coerced.iter().map(|change| {
        let path = string(&change.instance_path);
        format!(
            r#"{{"instance_path":{path},"from":"{}","to":"{}"}}"#,
            change.from.as_str(),
            change.to.as_str()
        )
    });
    format!(r#","coerced":[{}]"#, changes.collect::<Vec<_>>().join(","))
}

/// A string as JSON.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
