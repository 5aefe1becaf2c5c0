//! What a command writes: data to standard output, findings to standard error.

mod partial;

use std::fmt;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use tokenline::adapter::{CountAs, QuotaUnit, StopAfter, Tally};
use tokenline::json::{Raw, Value, ValueDelta};
use tokenline::llm::{FinishReason, Usage};
use tokenline::{Diagnostic, Limits, OpenRecord, Record, RejectedCall, Report, Severity, ToolCall};

use crate::args::{EmitKind, ReadingArgs};
use crate::failure::Failure;
use crate::log::{log, log_rejected};
use crate::output_file::OutputFile;
use crate::progress::Progress;

/// Where records, calls and findings go, and the count of them.
pub(crate) struct Emitter {
    out: BufWriter<StdoutLock<'static>>,
    what: EmitKind,
    source: String,
    /// With several inputs, the member of an event that names the current one.
    file_member: String,
    /// With several inputs, their names, each with the number of diagnostics in the report before it.
    files: Vec<(String, usize)>,
    tally: Tally,
    refusal: String,
    /// The part of the input that events are about, such as a result of a batch file: its member in an event, and its
    /// name in messages.
    part: (String, String),
    rejects: Option<RejectFile>,
    progress: Option<Progress>,
}

/// What an event is about.
#[derive(Clone, Copy)]
pub(crate) enum EventOrigin {
    /// All there is: the text, or the wire.
    Input,
    /// A choice of an answer, and there a block.
    Block(u64, u64),
    /// One of the responses that an answer took, counted from 1.
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
    pub(crate) fn new(what: EmitKind, source: impl Into<String>) -> Self {
        let out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        Self {
            out,
            what,
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

    /// Writes around a line that shows how far things are.
    pub(crate) fn with_progress(self, progress: Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Stops where the command line says so.
    pub(crate) fn with_quota(mut self, args: &ReadingArgs) -> Self {
        let counted = match self.what {
            EmitKind::Records | EmitKind::Partials => QuotaUnit::Records,
            EmitKind::ToolCalls => QuotaUnit::ToolCalls,
            EmitKind::Events => QuotaUnit::All,
        };
        let quota = StopAfter { max_records: args.max_records, counted, error_budget: args.max_errors };
        self.tally.set_quota(|own| *own = quota);
        self
    }

    /// Whether this is enough: as many as were asked for were written, or too many rejected. Then
    /// nothing more is to be read.
    pub(crate) fn is_done(&self) -> bool {
        self.tally.is_over()
    }

    /// Writes each reject to a file, too.
    pub(crate) fn with_reject_file(self, file: Option<OutputFile>) -> Self {
        Self { rejects: file.map(|file| RejectFile { file, failure: None }), ..self }
    }

    /// Names the input that the following events are about; of several, also in these events.
    pub(crate) fn set_source(&mut self, name: &str, is_one_of_several: bool) {
        name.clone_into(&mut self.source);
        if is_one_of_several {
            self.file_member = format!(r#""file":{},"#, string(name));
            self.files.push((name.to_owned(), self.report().diagnostics().len()));
        }
        self.set_part("", None);
    }

    /// Names the part of the input that the following events are about, by this member of theirs.
    pub(crate) fn set_part(&mut self, member: &str, id: Option<&str>) {
        let file = &self.file_member;
        self.part = match id {
            Some(id) => (format!(r#"{file}"{member}":{},"#, string(id)), format!("{}: ", shortened(id))),
            None => (file.clone(), String::new()),
        };
    }

    /// A line that holds a response.
    pub(crate) fn response_line(&mut self, line: u64) -> Result<(), Failure> {
        self.event("response", format_args!(r#""line":{line}"#))
    }

    /// A result of a batch file, on this line.
    pub(crate) fn batch_result(&mut self, line: u64, status: Option<u16>) -> Result<(), Failure> {
        let status = status.map(|status| format!(r#","status":{status}"#)).unwrap_or_default();
        self.event("batch_result", format_args!(r#""line":{line}{status}"#))
    }

    /// A record, straight from the tape.
    pub(crate) fn record(&mut self, record: &Record<Value<'_>>) -> Result<(), Failure> {
        let value = record.value.to_single_line();
        self.record_text(EventOrigin::Input, &record.map(|_| ()), &value)
    }

    /// A record that was kept.
    pub(crate) fn owned_record(&mut self, of: EventOrigin, record: &Record<Raw>) -> Result<(), Failure> {
        let Record { line, column, span, completion, recovered, .. } = *record;
        let place = Record { value: (), line, column, span, completion, recovered };
        self.record_text(of, &place, &record.value.to_single_line())
    }

    fn record_text(&mut self, of: EventOrigin, record: &Record<()>, value: &str) -> Result<(), Failure> {
        self.tally.count(CountAs::Record(record.recovered));
        match self.what {
            EmitKind::Records => writeln!(self.out, "{value}"),
            EmitKind::Events | EmitKind::Partials => self.placed_event("record", of, record, value),
            EmitKind::ToolCalls => Ok(()),
        }
        .map_err(Failure::output)
    }

    /// A step by which the open record has grown.
    pub(crate) fn partial(&mut self, partial: &OpenRecord<ValueDelta<'_>>) -> Result<(), Failure> {
        partial::write_line(&mut self.out, partial).map_err(Failure::output)
    }

    /// A tool call; its place is known if it came as a record of the text.
    pub(crate) fn tool_call(
        &mut self,
        of: EventOrigin,
        call: &ToolCall,
        record: Option<&Record<()>>,
    ) -> Result<(), Failure> {
        self.tally.count(CountAs::ToolCall(call.recovered));
        match (self.what, record) {
            (EmitKind::ToolCalls, _) => writeln!(self.out, "{}", call_json(call)),
            (EmitKind::Events | EmitKind::Partials, Some(record)) => {
                let value = format!("{}{}", call_json(call), coerced_json(call));
                self.placed_event("tool_call", of, record, &value)
            }
            (EmitKind::Events | EmitKind::Partials, None) => writeln!(
                self.out,
                r#"{{"event":"tool_call",{}{of}"completion":"{}","value":{}{}}}"#,
                self.part.0,
                call.completion.as_str(),
                call_json(call),
                coerced_json(call)
            ),
            (EmitKind::Records, _) => Ok(()),
        }
        .map_err(Failure::output)
    }

    fn placed_event(
        &mut self,
        event: &str,
        of: EventOrigin,
        record: &Record<()>,
        value: &str,
    ) -> io::Result<()> {
        let recovered = match record.recovered.is_empty() {
            true => String::new(),
            false => {
                format!(r#""recovered":{},"#, serde_json::to_string(&record.recovered).unwrap_or_default())
            }
        };
        writeln!(
            self.out,
            r#"{{"event":"{event}",{}{of}"line":{},"start":{},"end":{},"completion":"{}",{recovered}"value":{value}}}"#,
            self.part.0,
            record.line,
            record.span.start,
            record.span.end,
            record.completion.as_str(),
        )
    }

    /// A tool call that was not delivered: of the events that of its finding, with what is known of
    /// the call.
    pub(crate) fn rejected_call(&mut self, of: EventOrigin, call: &RejectedCall) -> Result<(), Failure> {
        let mut known = of.to_string();
        let call_id = call.call_id.as_ref().filter(|_| !call.is_synthetic_id);
        let members =
            [("name", call.name.as_ref()), ("call_id", call_id), ("received", Some(&call.received))];
        for (member, text) in members {
            if let Some(text) = text {
                known += &format!(r#""{member}":{},"#, string(text));
            }
        }
        self.found(&known, &call.diagnostic)
    }

    /// A finding: an event if those are asked for, and a line for a person, unless it is only
    /// information or there are too many.
    pub(crate) fn finding(&mut self, of: EventOrigin, diagnostic: &Diagnostic) -> Result<(), Failure> {
        self.found(&of.to_string(), diagnostic)
    }

    fn found(&mut self, known: &str, diagnostic: &Diagnostic) -> Result<(), Failure> {
        let is_error = diagnostic.severity() == Severity::Error;
        if self.what.has_events() || (is_error && self.rejects.is_some()) {
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
                // What was found before comes first, also where both go to one place.
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

    /// More of a text: `text`, `reasoning` or `refusal`.
    pub(crate) fn fragment(&mut self, event: &str, of: EventOrigin, text: &str) -> Result<(), Failure> {
        self.event(event, format_args!(r#"{of}"text":{}"#, string(text)))
    }

    /// Data that a provider attached to what came before it, and wants back.
    pub(crate) fn opaque(&mut self, of: EventOrigin, data: &Raw) -> Result<(), Failure> {
        self.event("reasoning", format_args!(r#"{of}"opaque":{}"#, data.to_single_line()))
    }

    /// Why a choice has ended.
    pub(crate) fn finish(&mut self, choice: u64, reason: &FinishReason) -> Result<(), Failure> {
        let reason = string(reason.as_str());
        self.event("finish", format_args!(r#""choice":{choice},"reason":{reason}"#))
    }

    /// The tokens so far, as far as they are known.
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

    /// An event with these members, if events are asked for.
    fn event(&mut self, name: &str, members: fmt::Arguments<'_>) -> Result<(), Failure> {
        match self.what {
            EmitKind::Events | EmitKind::Partials => {
                writeln!(self.out, r#"{{"event":"{name}",{}{members}}}"#, self.part.0)
                    .map_err(Failure::output)
            }
            EmitKind::Records | EmitKind::ToolCalls => Ok(()),
        }
    }

    /// More of what the model says in refusing.
    pub(crate) fn refusal(&mut self, text: &str) {
        // A few sentences; what goes on for longer is cut.
        if self.refusal.len() < 2_000 {
            self.refusal.push_str(text);
        }
    }

    /// Something a person should know that is no finding.
    pub(crate) fn remark(&self, remark: &str) {
        self.log(format_args!("{}: {remark}", self.source));
    }

    fn log(&self, line: impl fmt::Display) {
        match &self.progress {
            Some(progress) => progress.suspend(|| log(line)),
            None => log(line),
        }
    }

    /// Everything so far reaches the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let out = &mut self.out;
        let flushed = match &self.progress {
            // Where both go to one terminal, the line must not be in the way.
            Some(progress) if !out.buffer().is_empty() => progress.suspend(|| out.flush()),
            _ => out.flush(),
        };
        flushed.map_err(Failure::output)
    }

    /// What the findings are about, as messages call it.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The whole input was read to its end.
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

    /// Completes the file of rejects.
    pub(crate) fn complete_rejects(&mut self) -> Result<(), Failure> {
        self.rejects.take().map_or(Ok(()), RejectFile::complete)
    }

    pub(crate) fn report(&self) -> &Report {
        self.tally.report()
    }

    /// Whether there was nothing, neither good nor bad.
    pub(crate) fn is_void(&self) -> bool {
        let report = self.report();
        report.records() + report.tool_calls() + report.rejected() + report.notes() == 0
            && self.refusal.is_empty()
    }

    /// One line of counts: on a terminal always, else if something was rejected or nothing found.
    pub(crate) fn summary(&mut self) {
        if !self.files.is_empty() {
            self.source = count(self.files.len() as u64, "file");
        }
        if let Some(error) = self.tally.too_many_rejected() {
            self.remark(&error.to_string());
        }
        if !self.refusal.is_empty() {
            self.remark(&format!("the model refuses: {}", self.refusal));
        }
        let report = self.report();
        if self.what == EmitKind::Records && report.tool_calls() > 0 {
            let calls = count(report.tool_calls(), "tool call");
            self.remark(&format!("{calls} not written: ask for them with --emit tool-calls"));
        }
        let has_found = report.records() + report.tool_calls() > 0;
        if has_found && report.rejected() == 0 && !io::stderr().is_terminal() {
            return;
        }
        let mut counts = Vec::new();
        if report.records() > 0 || (self.what != EmitKind::ToolCalls && report.tool_calls() == 0) {
            counts.push(count(report.records(), "record"));
        }
        if report.tool_calls() > 0 || self.what == EmitKind::ToolCalls {
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
    /// Why nothing more can be written. Data still goes its way.
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

/// An id as messages show it.
fn shortened(id: &str) -> String {
    id.chars().take(64).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// A number of things, in words.
pub(crate) fn count(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// `{"name","parameters"}`, then `call_id` and `error` where the model sent them; literals as they
/// came.
pub(crate) fn call_json(call: &ToolCall) -> String {
    let mut out =
        format!(r#"{{"name":{},"parameters":{}"#, string(&call.name), call.parameters.to_single_line());
    if let Some(call_id) = call.call_id.as_ref().filter(|_| !call.is_synthetic_id) {
        out += &format!(r#","call_id":{}"#, string(call_id));
    }
    if let Some(error) = &call.error {
        out += &format!(r#","error":{}"#, error.to_single_line());
    }
    out.push('}');
    out
}

/// The member that follows, if values of the call were changed in kind.
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

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
