//! The events of a run, as a page gets them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Serialize;
use tokenline::adapter::char_start;
use tokenline::json::Raw;
use tokenline::llm::{FinishReason, ResponseEvent, ResponseParser};
use tokenline::{Code, Diagnostic, Origin, Record, Severity, ToolCall};
use tokenline_axum::sse::{FieldValue, ServerSentEvent};

use super::event_data::{
    About, CallEvent, CallPart, Changes, Counts, DeltaEvent, DiagnosticEvent, DoneEvent, GapEvent,
    InvalidEvent, Place, StartEvent, TextEvent, UsageEvent, ValueEvent,
};
use super::event_log::EventLog;
use super::marks::marks;
use super::model::Model;
use super::text_tail::TextTail;
use crate::emit::{DeltaMembers, Position, raw};

/// The least time between two `usage` events.
const USAGE_INTERVAL: Duration = Duration::from_millis(250);
/// The text of a reject that is sent, in bytes.
const REJECT_BYTES: usize = 8 * 1024;

/// The capacity kept once the events are moved: one large record must not pin memory.
const KEPT_CAPACITY: usize = 4 * 1024;

/// How a run ended.
#[derive(Clone, Copy)]
pub(super) enum Status {
    Complete,
    /// The response ended without its terminator.
    Incomplete,
    /// It was stopped, because it repeats itself.
    Repeated,
    /// The provider or the connection failed.
    Failed,
    Stopped,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete | Self::Repeated => "incomplete",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    fn message(self) -> Option<&'static str> {
        match self {
            Self::Complete | Self::Stopped => None,
            Self::Incomplete => Some("the response is incomplete: the model's server closed it early"),
            Self::Repeated => Some("stopped, because the model repeats itself"),
            Self::Failed => Some("the provider reported an error"),
        }
    }
}

/// Writes the events of a response as an event stream.
pub(super) struct Encoder {
    out: Vec<u8>,
    /// Where each event in `out` ends.
    ends: Vec<usize>,
    next_id: u64,
    started: Instant,
    counts: Counts,
    /// The bytes of text and arguments so far.
    received: u64,
    tail: TextTail,
    last_usage: Option<Instant>,
    /// Rejects are asked for again: they are decided later than what follows them.
    reasks: bool,
}

impl Encoder {
    pub(super) fn new(started: Instant, reasks: bool) -> Self {
        Self {
            reasks,
            out: Vec::new(),
            ends: Vec::new(),
            next_id: 1,
            started,
            counts: Counts::default(),
            received: 0,
            tail: TextTail::default(),
            last_usage: None,
        }
    }

    /// The bytes of the events not taken yet.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Moves the events so far into the log.
    pub(super) fn move_to(&mut self, log: &mut EventLog) {
        log.append(&self.out, &self.ends);
        self.out.clear();
        self.out.shrink_to(KEPT_CAPACITY);
        self.ends.clear();
    }

    /// The first event of a run.
    pub(super) fn start(&mut self, run: &str, model: &Model) {
        let (provider, model_name) = &model.name;
        let kind = if model.calls_tools { "tool_calls" } else { "records" };
        self.write("start", &StartEvent { run, provider, model: model_name, kind, elapsed_ms: 0 });
    }

    /// An event of the response.
    pub(super) fn event(&mut self, event: &ResponseEvent<Raw>, model: &Model) {
        match event {
            ResponseEvent::TextDelta { choice, block, start, text } => {
                self.tail.push((*choice, *block), *start, text);
                self.delta("text", (*choice, *block), Some(*start), text);
            }
            ResponseEvent::Reasoning { choice, text, .. } if !text.is_empty() => {
                self.delta("reasoning", (*choice, 0), None, text);
            }
            ResponseEvent::Refusal { choice, text } => self.delta("refusal", (*choice, 0), None, text),
            ResponseEvent::Partial { choice, block, delta } => {
                let (about, delta) = (About::new((*choice, *block), None), DeltaMembers(delta));
                self.write("partial", &DeltaEvent { op: delta.step(), about, delta });
            }
            ResponseEvent::Invalid { choice, block, diagnostic } => {
                let about = About::new((*choice, *block), None);
                let Diagnostic { span, code, message, instance_path, .. } = diagnostic;
                let (start, instance_path) = (span.start, instance_path.as_deref().unwrap_or_default());
                self.write(
                    "invalid",
                    &InvalidEvent { about, start, code: code.as_str(), message, instance_path },
                );
            }
            ResponseEvent::Record { choice, block, record } => self.record((*choice, *block), record),
            ResponseEvent::ToolCallBegan { choice, number, name, .. } => {
                self.call_part(*choice, *number, CallPart::Name(name));
            }
            ResponseEvent::ToolCallArguments { choice, number, text } => {
                self.received += text.len() as u64;
                self.call_part(*choice, *number, CallPart::Text(text));
            }
            ResponseEvent::ToolCallDiscarded { choice, number } => {
                self.call_part(*choice, *number, CallPart::Discarded(true));
            }
            ResponseEvent::ToolCall { choice, number, block, call, record } => {
                self.tool_call((*choice, *block), *number, call, record.as_ref());
            }
            ResponseEvent::RejectedCall { choice, number, block, call } => {
                self.rejected((*choice, *block), *number, &call.diagnostic, Some(&call.received));
            }
            ResponseEvent::Rejected { choice, block, diagnostic } => {
                self.rejected((choice.unwrap_or_default(), *block), None, diagnostic, None);
            }
            // Others are about the text, which is in the deltas.
            ResponseEvent::Note { choice, block, diagnostic }
                if diagnostic.code == Code::CallInText || diagnostic.severity() == Severity::Warning =>
            {
                self.diagnostic("note", (choice.unwrap_or_default(), *block), None, diagnostic, None);
            }
            // Text outside records is in the deltas; the rest is in `usage` and `done`.
            _ => {}
        }
        if self.last_usage.is_none_or(|last| last.elapsed() >= USAGE_INTERVAL) {
            self.usage(model);
        }
    }

    /// The last event of a run.
    pub(super) fn done(&mut self, model: &Model, status: Status, message: Option<&str>) {
        self.usage(model);
        let finish_reason = model.parser().and_then(|parser| parser.finish_reason(0));
        let unknown = model.parser().map(ResponseParser::unknown).filter(|unknown| !unknown.is_empty());
        let event = DoneEvent {
            status: status.as_str(),
            message: message.or(status.message()),
            finish_reason: finish_reason.map(FinishReason::as_str),
            unknown: unknown.map(ToString::to_string),
            counts: self.counts,
            elapsed_ms: self.elapsed_ms(),
        };
        self.write("done", &event);
        // The run may be kept for a while.
        self.tail = TextTail::default();
    }

    /// Says which events are no longer kept.
    pub(super) fn gap(from: u64, to: u64) -> Bytes {
        let event = ServerSentEvent::new(json(&GapEvent { from, to }));
        event.with_name(FieldValue::from_static("gap")).with_id(to).into()
    }

    fn delta(&mut self, kind: &'static str, place: Place, start: Option<u64>, text: &str) {
        self.received += text.len() as u64;
        let (about, elapsed_ms) = (About::new(place, None), self.elapsed_ms());
        self.write("delta", &TextEvent { about, kind, start, text, elapsed_ms });
    }

    fn call_part(&mut self, choice: u64, number: u64, part: CallPart<'_>) {
        self.write("partial", &CallEvent { about: About::new((choice, 0), Some(number)), part });
    }

    fn record(&mut self, place: Place, record: &Record<Raw>) {
        self.release(place, record);
        let (index, elapsed_ms) = (Some(self.counts.records), self.elapsed_ms());
        self.counts.records += 1;
        let (about, position) = (About::new(place, None), Some(Position::of(record)));
        let changes = Changes::of(record);
        let value = record.value.to_single_line();
        self.write("record", &ValueEvent { about, index, position, changes, elapsed_ms, value: raw(&value) });
    }

    fn tool_call(&mut self, place: Place, number: Option<u64>, call: &ToolCall, record: Option<&Record<()>>) {
        self.counts.tool_calls += 1;
        if let Some(record) = record {
            self.release(place, record);
        }
        let (about, position) = (About::new(place, number), record.map(Position::of));
        let changes = record.map(Changes::of).unwrap_or_default();
        let (elapsed_ms, value) = (self.elapsed_ms(), call.to_json());
        self.write(
            "tool_call",
            &ValueEvent { about, index: None, position, changes, elapsed_ms, value: raw(&value) },
        );
    }

    /// Forgets the text up to the end of a record, unless a reject before it may still be asked for.
    fn release<T>(&mut self, place: Place, record: &Record<T>) {
        if !self.reasks {
            self.tail.release(place, record.span.end);
        }
    }

    /// A reject. `received` is its text, if it is known.
    fn rejected(
        &mut self,
        place: Place,
        number: Option<u64>,
        diagnostic: &Diagnostic,
        received: Option<&str>,
    ) {
        self.counts.rejected += 1;
        self.diagnostic("rejected", place, number, diagnostic, received);
    }

    fn diagnostic(
        &mut self,
        name: &'static str,
        place: Place,
        number: Option<u64>,
        diagnostic: &Diagnostic,
        received: Option<&str>,
    ) {
        let in_text = || self.tail.get(place, diagnostic.span).filter(|_| diagnostic.origin == Origin::Text);
        let text = received.or_else(in_text);
        let shown = text.map(|text| &text[..char_start(text, REJECT_BYTES)]);
        let marks = match (text, shown) {
            (Some(text), Some(shown)) if name == "rejected" => {
                marks(text, shown.len(), diagnostic, received.is_some())
            }
            _ => Vec::new(),
        };
        let data =
            json(&DiagnosticEvent { about: About::new(place, number), diagnostic, text: shown, marks });
        self.write_text(name, data);
    }

    fn usage(&mut self, model: &Model) {
        self.last_usage = Some(Instant::now());
        let Some(parser) = model.parser() else { return };
        let usage = parser.usage().unwrap_or_default();
        let event = UsageEvent {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            deltas: parser.delta_count(),
            reasks: model.reasks(),
            bytes_received: self.received,
            bytes_held: parser.held_bytes(),
            counts: self.counts,
            elapsed_ms: self.elapsed_ms(),
        };
        self.write("usage", &event);
    }

    /// The time since the start, in milliseconds with one decimal.
    fn elapsed_ms(&self) -> f64 {
        (self.started.elapsed().as_secs_f64() * 1e4).round() / 10.0
    }

    fn write(&mut self, event: &'static str, data: &impl Serialize) {
        self.write_text(event, json(data));
    }

    fn write_text(&mut self, event: &'static str, data: String) {
        let event =
            ServerSentEvent::new(data).with_name(FieldValue::from_static(event)).with_id(self.next_id);
        event.append_to(&mut self.out);
        self.next_id += 1;
        self.ends.push(self.out.len());
    }
}

fn json(data: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(data).expect("it has names for keys")
}
