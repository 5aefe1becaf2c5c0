//! The output of a command: data on standard output, diagnostics on standard error.

mod live;
pub(crate) mod partial;
mod recorded;
mod rejected;
mod sink;

use std::fmt;
use std::io::{self, Write as _};

use tokenline::adapter::CountAs;
use tokenline::json::{OwnedDelta, Raw, Value};
use tokenline::llm::{FinishReason, Usage};
use tokenline::{Diagnostic, OpenRecord, Record, RejectedCall, Severity, ToolCall};

use crate::args::EmitKind;
use crate::failure::Failure;
pub(crate) use live::Live;
pub(crate) use recorded::{Recorded, RecordedEvents};
pub(crate) use rejected::RejectedTexts;
pub(crate) use sink::Sink;

/// Writes and counts records, tool calls and diagnostics.
#[derive(Clone)]
pub(crate) struct Emitter<S = Live> {
    emit: EmitKind,
    sink: S,
    /// With several inputs, the member of an event that names the current one.
    file_member: String,
    /// The members of an event that name the input and the part of it that the event is about, each with its comma.
    origin_members: String,
    /// The id of that part, such as the id of a result in a batch file.
    part_id: Option<String>,
    /// The texts of rejects, if the reject file has them.
    rejected_texts: Option<RejectedTexts>,
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

impl<S: Sink> Emitter<S> {
    pub(crate) fn with_sink(emit: EmitKind, sink: S) -> Self {
        let (file_member, origin_members) = (String::new(), String::new());
        Self { emit, sink, file_member, origin_members, part_id: None, rejected_texts: None }
    }

    /// Also writes the text of each reject to the reject file.
    pub(crate) fn with_rejected_texts(mut self, texts: Option<RejectedTexts>) -> Self {
        self.rejected_texts = texts;
        self
    }

    /// The texts of the rejects that follow, if they are to be written.
    pub(crate) fn rejected_texts(&self) -> Option<&RejectedTexts> {
        self.rejected_texts.as_ref()
    }

    /// Whether a quota is reached. Then no more input is read.
    pub(crate) fn is_done(&self) -> bool {
        self.sink.is_done()
    }

    /// Sets the part of the input that the following events are about; their `member` holds its id.
    pub(crate) fn set_part(&mut self, member: &str, id: Option<&str>) {
        self.part_id = id.map(str::to_owned);
        self.origin_members.clone_from(&self.file_member);
        // Formatting it for each result would be noticed where nobody reads it.
        let is_read =
            !matches!(self.emit, EmitKind::Records | EmitKind::ToolCalls) || self.sink.has_reject_file();
        if let Some(id) = id.filter(|_| is_read) {
            self.origin_members += &format!(r#""{member}":{},"#, string(id));
        }
    }

    /// Names the part of the input in messages, if it has no id.
    pub(crate) fn name_part(&mut self, name: String) {
        self.part_id = Some(name);
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
        self.sink.count(CountAs::Record(record.recovered));
        let written = match self.emit {
            EmitKind::Records => self.line(value),
            EmitKind::Events | EmitKind::Partials => self.placed_event("record", origin, record, value),
            EmitKind::ToolCalls | EmitKind::Text => Ok(()),
        };
        self.written(written)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        let out = self.sink.out();
        out.write_all(text.as_bytes())?;
        out.write_all(b"\n")
    }

    fn written(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        written.map_err(|error| self.sink.failed(error))
    }

    /// Writes a step that builds the open record.
    pub(crate) fn partial(
        &mut self,
        origin: EventOrigin,
        partial: &OpenRecord<OwnedDelta>,
    ) -> Result<(), Failure> {
        if self.emit != EmitKind::Partials {
            return Ok(());
        }
        self.sink.count(CountAs::Other);
        let out = self.sink.out();
        let members = format_args!("{}{origin}", self.origin_members);
        let written = partial::write_object(&mut *out, "event", members, partial);
        let written = written.and_then(|()| out.write_all(b"\n"));
        self.written(written)
    }

    /// Writes why the open record will be rejected.
    pub(crate) fn invalid(&mut self, origin: EventOrigin, diagnostic: &Diagnostic) -> Result<(), Failure> {
        if self.emit != EmitKind::Partials {
            return Ok(());
        }
        self.event("invalid", format_args!("{origin}{}", members(diagnostic)))
    }

    /// Writes a tool call. `record` is its position, if it was a record in text.
    pub(crate) fn tool_call(
        &mut self,
        origin: EventOrigin,
        call: &ToolCall,
        record: Option<&Record<()>>,
    ) -> Result<(), Failure> {
        self.sink.count(CountAs::ToolCall(call.recovered));
        let written = match (self.emit, record) {
            (EmitKind::ToolCalls, _) => self.line(&call.to_json()),
            (EmitKind::Events | EmitKind::Partials, Some(record)) => {
                let value = format!("{}{}", call.to_json(), coerced_json(call));
                self.placed_event("tool_call", origin, record, &value)
            }
            (EmitKind::Events | EmitKind::Partials, None) => writeln!(
                self.sink.out(),
                r#"{{"event":"tool_call",{}{origin}"completion":"{}","value":{}{}}}"#,
                self.origin_members,
                call.completion.as_str(),
                call.to_json(),
                coerced_json(call)
            ),
            (EmitKind::Records | EmitKind::Text, _) => Ok(()),
        };
        self.written(written)
    }

    fn placed_event(
        &mut self,
        event: &str,
        origin: EventOrigin,
        record: &Record<()>,
        value: &str,
    ) -> io::Result<()> {
        let position = position(record);
        let out = self.sink.out();
        writeln!(out, r#"{{"event":"{event}",{}{origin}{position},"value":{value}}}"#, self.origin_members)
    }

    /// Writes the diagnostic of a rejected tool call, with the members of the call that are known.
    pub(crate) fn rejected_call(&mut self, origin: EventOrigin, call: &RejectedCall) -> Result<(), Failure> {
        let mut values = String::new();
        let call_id = call.call_id.as_ref().filter(|_| !call.is_synthetic_id);
        let members =
            [("name", call.name.as_ref()), ("call_id", call_id), ("received", Some(&call.received))];
        for (member, text) in members {
            if let Some(text) = text {
                values += &format!(r#""{member}":{},"#, string(text));
            }
        }
        if let Some(texts) = &self.rejected_texts {
            // It is in the values.
            texts.take(&call.diagnostic);
        }
        self.diagnostic_with(origin, Some(&values), &call.diagnostic)
    }

    /// Writes a diagnostic: as an event if events are emitted, and as a message if it is an error and within the limit.
    pub(crate) fn diagnostic(&mut self, origin: EventOrigin, diagnostic: &Diagnostic) -> Result<(), Failure> {
        self.diagnostic_with(origin, None, diagnostic)
    }

    /// Writes a diagnostic. `values` are the members of a rejected call that hold what the model wrote, each with its
    /// comma.
    fn diagnostic_with(
        &mut self,
        origin: EventOrigin,
        values: Option<&str>,
        diagnostic: &Diagnostic,
    ) -> Result<(), Failure> {
        let is_error = diagnostic.severity() == Severity::Error;
        let mut reject = None;
        if self.emit.has_events() || (is_error && self.sink.has_reject_file()) {
            let event = if is_error { "rejected" } else { "note" };
            let members = members(diagnostic);
            self.event(event, format_args!("{origin}{}{members}", values.unwrap_or_default()))?;
            if is_error && self.sink.has_reject_file() {
                let text = self.rejected_texts.as_ref().map(|texts| match values {
                    Some(values) => values.to_owned(),
                    None => texts
                        .take(diagnostic)
                        .map_or_else(String::new, |text| format!(r#""received":{},"#, string(&text))),
                });
                let text = text.unwrap_or_default();
                reject = Some(format!("{{{}{origin}{text}{members}}}\n", self.origin_members));
            }
        }
        let part = self.part_id.as_deref().map(|id| format!("{}: ", shortened(id)));
        self.sink.diagnostic(diagnostic, &part.unwrap_or_default(), reject)
    }

    /// Writes a fragment of `text`, `reasoning` or `refusal`.
    pub(crate) fn fragment(&mut self, event: &str, origin: EventOrigin, text: &str) -> Result<(), Failure> {
        if !self.emit.has_events() {
            return Ok(());
        }
        self.event(event, format_args!(r#"{origin}"text":{}"#, string(text)))
    }

    /// Writes opaque reasoning data that the provider expects back in the next request.
    pub(crate) fn opaque(&mut self, origin: EventOrigin, data: &Raw) -> Result<(), Failure> {
        self.event("reasoning", format_args!(r#"{origin}"opaque":{}"#, data.to_single_line()))
    }

    /// Writes the finish reason of a choice.
    pub(crate) fn finish(&mut self, choice: u64, reason: &FinishReason) -> Result<(), Failure> {
        if !self.emit.has_events() {
            return Ok(());
        }
        let reason = string(reason.as_str());
        self.event("finish", format_args!(r#""choice":{choice},"reason":{reason}"#))
    }

    /// Writes the known token counts.
    pub(crate) fn usage(&mut self, usage: &Usage) -> Result<(), Failure> {
        if !self.emit.has_events() {
            return Ok(());
        }
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
        if !self.emit.has_events() {
            return Ok(());
        }
        self.sink.count(CountAs::Other);
        let written = writeln!(self.sink.out(), r#"{{"event":"{name}",{}{members}}}"#, self.origin_members);
        self.written(written)
    }

    /// Writes the text of a choice in a batch result.
    pub(crate) fn result_text(
        &mut self,
        choice: u64,
        reason: Option<&FinishReason>,
        text: &str,
    ) -> Result<(), Failure> {
        let mut members = self.origin_members.clone();
        if choice > 0 {
            members += &format!(r#""choice":{choice},"#);
        }
        if let Some(reason) = reason {
            members += &format!(r#""finish_reason":{},"#, string(reason.as_str()));
        }
        self.sink.count_text();
        let written = writeln!(self.sink.out(), r#"{{{members}"text":{}}}"#, string(text));
        self.written(written)
    }

    /// Adds to the model's refusal.
    pub(crate) fn refusal(&mut self, text: &str) {
        self.sink.refusal(text);
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

/// The members of a diagnostic, without braces.
fn members(diagnostic: &Diagnostic) -> String {
    let text = serde_json::to_string(diagnostic).unwrap_or_default();
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default().to_owned()
}

/// The members for the position of a record, without braces.
pub(crate) fn position<T>(record: &Record<T>) -> String {
    let recovered = if record.recovered.is_empty() {
        String::new()
    } else {
        format!(r#","recovered":{}"#, serde_json::to_string(&record.recovered).expect("names are JSON"))
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
