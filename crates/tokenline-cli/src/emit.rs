//! The output of a command: data on standard output, diagnostics on standard error.

mod kept;
mod line;
mod live;
mod partial;
mod recorded;
mod rejected;
mod sink;

use std::io::{self, Write as _};

use serde::Serialize;
use tokenline::adapter::CountAs;
use tokenline::json::{OwnedDelta, Raw, Value};
use tokenline::llm::{FinishReason, Usage};
use tokenline::{Coercion, Diagnostic, OpenRecord, Record, RejectedCall, Severity, ToolCall};

use crate::args::EmitKind;
use crate::excerpt::Excerpt;
use crate::failure::Failure;
use line::{
    CallMembers, DiagnosticMembers, InputName, Line, Members, Received, received_members, write_record,
    write_sourced,
};
pub(crate) use line::{EventOrigin, Part, PartId, Position, RepairedMembers, raw};
pub(crate) use live::Live;
pub(crate) use partial::DeltaMembers;
pub(crate) use recorded::{Recorded, RecordedEvents};
pub(crate) use rejected::RejectedTexts;
pub(crate) use sink::Sink;

/// Writes and counts records, tool calls and diagnostics.
#[derive(Clone)]
pub(crate) struct Emitter<S = Live> {
    emit: EmitKind,
    sink: S,
    /// The input and the part of it that events are about.
    input: InputName,
    /// The texts of rejects, if the reject file has them.
    rejected_texts: Option<RejectedTexts>,
    /// Whether records and tool calls are written beside where they come from.
    with_source: bool,
}

impl<S: Sink> Emitter<S> {
    pub(crate) fn with_sink(emit: EmitKind, sink: S) -> Self {
        Self { emit, sink, input: InputName::default(), rejected_texts: None, with_source: false }
    }

    /// Also writes the text of each reject to the reject file.
    pub(crate) fn with_rejected_texts(mut self, texts: Option<RejectedTexts>) -> Self {
        self.rejected_texts = texts;
        self
    }

    /// Writes records and tool calls beside where they come from.
    pub(crate) fn with_source(mut self, with_source: bool) -> Self {
        self.with_source = with_source;
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

    /// Sets the part of the input that the following events are about; `None` is the whole.
    pub(crate) fn set_part(&mut self, part: Option<Part>) {
        self.input.set_part(part);
    }

    /// Writes the event of a line that holds a response.
    pub(crate) fn response_line(&mut self, line: u64) -> Result<(), Failure> {
        self.event("response", EventOrigin::Input, Members([("line", Some(line))]))
    }

    /// Writes the event of a result in a batch file.
    pub(crate) fn batch_result(&mut self, line: u64, status: Option<u16>) -> Result<(), Failure> {
        let members = Members([("line", Some(line)), ("status", status.map(u64::from))]);
        self.event("batch_result", EventOrigin::Input, members)
    }

    /// Writes a record borrowed from the decoder.
    pub(crate) fn record(&mut self, origin: EventOrigin, record: &Record<Value<'_>>) -> Result<(), Failure> {
        let value = record.value.to_single_line();
        self.record_text(origin, &record.map(|_| ()), &value)
    }

    /// Writes an owned record.
    pub(crate) fn owned_record(&mut self, origin: EventOrigin, record: &Record<Raw>) -> Result<(), Failure> {
        let Record { line, column, span, completion, recovered, .. } = *record;
        let place = Record { value: (), line, column, span, completion, recovered };
        self.record_text(origin, &place, &record.value.to_single_line())
    }

    fn record_text(&mut self, origin: EventOrigin, place: &Record<()>, value: &str) -> Result<(), Failure> {
        self.sink.count(CountAs::Record(place.recovered));
        let written = match self.emit {
            EmitKind::Records => self.data_line(origin, Some(place), value),
            EmitKind::Events | EmitKind::Partials => {
                let out = self.sink.out();
                self.input.record_start(origin).and_then(|start| write_record(out, start, place, value))
            }
            EmitKind::ToolCalls | EmitKind::Text => Ok(()),
        };
        self.written(written)
    }

    /// Writes a record or a tool call. `place` is its position, if it was a record in text.
    fn data_line(&mut self, origin: EventOrigin, place: Option<&Record<()>>, value: &str) -> io::Result<()> {
        let out = self.sink.out();
        if self.with_source {
            // Lines of a response are not those of the file.
            let line = place.filter(|_| origin == EventOrigin::Input).map(|place| place.line);
            return write_sourced(out, &self.input, line, value);
        }
        out.write_all(value.as_bytes())?;
        out.write_all(b"\n")
    }

    /// Writes an object that names the input.
    fn json_line(
        &mut self,
        event: Option<&str>,
        origin: EventOrigin,
        members: impl Serialize,
    ) -> io::Result<()> {
        let line = Line { event, input: &self.input, origin, members };
        let out = self.sink.out();
        serde_json::to_writer(&mut *out, &line)?;
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
        let members = DeltaMembers(partial);
        self.event(members.step(), origin, members)
    }

    /// Writes why the open record will be rejected.
    pub(crate) fn invalid(&mut self, origin: EventOrigin, diagnostic: &Diagnostic) -> Result<(), Failure> {
        if self.emit != EmitKind::Partials {
            return Ok(());
        }
        self.event("invalid", origin, diagnostic)
    }

    /// Writes a tool call. `record` is its position, if it was a record in text.
    pub(crate) fn tool_call(
        &mut self,
        origin: EventOrigin,
        call: &ToolCall,
        record: Option<&Record<()>>,
    ) -> Result<(), Failure> {
        self.sink.count(CountAs::ToolCall(call.recovered));
        let written = match self.emit {
            EmitKind::ToolCalls => self.data_line(origin, record, &call.to_json()),
            EmitKind::Events | EmitKind::Partials => {
                let value = call.to_json();
                let members = CallMembers {
                    position: record.map(Position::of),
                    completion: record.is_none().then_some(call.completion),
                    repaired: record
                        .and_then(|record| RepairedMembers::of(call.recovered, record.span.start)),
                    attempts: Some(call.recovered.attempts()).filter(|attempts| *attempts > 0),
                    value: raw(&value),
                    coerced: call.coerced.iter().map(coerced_members).collect(),
                };
                self.json_line(Some("tool_call"), origin, members)
            }
            EmitKind::Records | EmitKind::Text => Ok(()),
        };
        self.written(written)
    }

    /// Writes the diagnostic of a rejected tool call, with the members of the call that are known.
    pub(crate) fn rejected_call(&mut self, origin: EventOrigin, call: &RejectedCall) -> Result<(), Failure> {
        let call_id = call.call_id.as_deref().filter(|_| !call.is_synthetic_id);
        let received = received_members(call.name.as_deref(), call_id, &call.received);
        let texts = self.rejected_texts.as_ref();
        if let Some(texts) = texts {
            // It is in `received`.
            texts.take(&call.diagnostic);
        }
        let shown = texts.filter(|_| self.sink.shows_rejects());
        let excerpt = shown.and_then(|texts| texts.excerpt_of_call(call));
        self.diagnostic_with(origin, Some((received, excerpt)), &call.diagnostic)
    }

    /// Writes a diagnostic: as an event if events are emitted, and as a message if it is an error and within the limit.
    pub(crate) fn diagnostic(&mut self, origin: EventOrigin, diagnostic: &Diagnostic) -> Result<(), Failure> {
        self.diagnostic_with(origin, None, diagnostic)
    }

    /// Writes a diagnostic. `call` is what is known of a rejected call, and the place of its fault.
    fn diagnostic_with(
        &mut self,
        origin: EventOrigin,
        call: Option<(Received<'_>, Option<Excerpt>)>,
        diagnostic: &Diagnostic,
    ) -> Result<(), Failure> {
        let (received, excerpt) = call.map_or((None, None), |(received, excerpt)| (Some(received), excerpt));
        let is_error = diagnostic.severity() == Severity::Error;
        let event = if is_error { "rejected" } else { "note" };
        let texts = self.rejected_texts.as_ref().filter(|_| is_error);
        let text = texts.filter(|_| received.is_none()).and_then(|texts| texts.take(diagnostic));
        let received = received.or(text.as_deref().map(|text| received_members(None, None, text)));
        self.event(event, origin, DiagnosticMembers { received, diagnostic })?;
        let texts = self.rejected_texts.as_ref().filter(|_| is_error);
        let shown = text.as_deref().filter(|_| self.sink.shows_rejects());
        let excerpt = excerpt.or_else(|| texts.zip(shown).and_then(|(texts, text)| texts.excerpt(text)));
        let has_reject = is_error && self.sink.has_reject_file();
        let reject = has_reject.then(|| self.reject_line(origin, received, diagnostic));
        self.sink.diagnostic(diagnostic, self.input.part(), excerpt, reject)
    }

    /// The line of the reject file, with the text of the reject if the file has them.
    fn reject_line(
        &self,
        origin: EventOrigin,
        received: Option<Received<'_>>,
        diagnostic: &Diagnostic,
    ) -> String {
        let received = received.filter(|_| self.rejected_texts.is_some());
        let members = DiagnosticMembers { received, diagnostic };
        let line = Line { event: None, input: &self.input, origin, members };
        serde_json::to_string(&line).expect("it has names for keys") + "\n"
    }

    /// Writes a fragment of `text`, `reasoning` or `refusal`.
    pub(crate) fn fragment(&mut self, event: &str, origin: EventOrigin, text: &str) -> Result<(), Failure> {
        self.event(event, origin, Members([("text", Some(text))]))
    }

    /// Writes opaque reasoning data that the provider expects back in the next request.
    pub(crate) fn opaque(&mut self, origin: EventOrigin, data: &Raw) -> Result<(), Failure> {
        self.event("reasoning", origin, Members([("opaque", Some(raw(&data.to_single_line())))]))
    }

    /// Writes the finish reason of a choice.
    pub(crate) fn finish(&mut self, choice: u64, reason: &FinishReason) -> Result<(), Failure> {
        self.event("finish", EventOrigin::Block(choice, 0), Members([("reason", Some(reason.as_str()))]))
    }

    /// Writes the known token counts.
    pub(crate) fn usage(&mut self, usage: &Usage) -> Result<(), Failure> {
        let counts = Members([
            ("input_tokens", usage.input_tokens),
            ("output_tokens", usage.output_tokens),
            ("total_tokens", usage.total_tokens),
            ("cached_input_tokens", usage.cached_input_tokens),
            ("cache_creation_input_tokens", usage.cache_creation_input_tokens),
            ("reasoning_tokens", usage.reasoning_tokens),
        ]);
        self.event("usage", EventOrigin::Input, counts)
    }

    /// Writes an event with these members, if events are emitted.
    fn event(&mut self, name: &str, origin: EventOrigin, members: impl Serialize) -> Result<(), Failure> {
        if !self.emit.has_events() {
            return Ok(());
        }
        self.sink.count(CountAs::Other);
        let written = self.json_line(Some(name), origin, members);
        self.written(written)
    }

    /// Writes the text of a choice in a batch result.
    pub(crate) fn result_text(
        &mut self,
        choice: u64,
        reason: Option<&FinishReason>,
        text: &str,
    ) -> Result<(), Failure> {
        let origin = if choice > 0 { EventOrigin::Block(choice, 0) } else { EventOrigin::Input };
        let finish_reason = reason.map(FinishReason::as_str);
        self.sink.count_text();
        let members = Members([("finish_reason", finish_reason), ("text", Some(text))]);
        let written = self.json_line(None, origin, members);
        self.written(written)
    }

    /// Adds to the model's refusal.
    pub(crate) fn refusal(&mut self, text: &str) {
        self.sink.refusal(text);
    }
}

/// A number and its noun, with a plural `s` if needed.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// A value of a call that was converted.
fn coerced_members(change: &Coercion) -> Members<&str, 3> {
    Members([
        ("instance_path", Some(&change.instance_path)),
        ("from", Some(change.from.as_str())),
        ("to", Some(change.to.as_str())),
    ])
}
