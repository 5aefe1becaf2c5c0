//! The events of a run, as a page gets them.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokenline::json::Raw;
use tokenline::llm::ResponseEvent;
use tokenline::{Code, Diagnostic, Origin, Record, Severity, ToolCall};
use tokenline_axum::sse::{FieldValue, ServerSentEvent};

use super::event_log::EventLog;
use super::model::Model;
use super::text_tail::TextTail;
use crate::emit::{DeltaMembers, Position, raw};

/// The least time between two `usage` events.
const USAGE_INTERVAL: Duration = Duration::from_millis(250);
/// The text of a reject that is sent, in bytes.
const REJECT_BYTES: usize = 2048;

/// The capacity kept once the events are moved: one large record must not pin memory.
const KEPT_CAPACITY: usize = 4 * 1024;

/// How a run ended.
#[derive(Clone, Copy)]
pub(super) enum Status {
    Complete,
    /// The response ended without its terminator.
    Incomplete,
    /// The provider or the connection failed.
    Failed,
    Stopped,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    fn message(self) -> Option<&'static str> {
        match self {
            Self::Complete | Self::Stopped => None,
            Self::Incomplete => Some("the response is incomplete: the model's server closed it early"),
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
    records: u64,
    tool_calls: u64,
    rejected: u64,
    /// The bytes of text and arguments so far.
    received: u64,
    tail: TextTail,
    last_usage: Option<Instant>,
}

impl Encoder {
    pub(super) fn new(started: Instant) -> Self {
        Self {
            out: Vec::new(),
            ends: Vec::new(),
            next_id: 1,
            started,
            records: 0,
            tool_calls: 0,
            rejected: 0,
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
        let (provider, name) = &model.name;
        let kind = if model.calls_tools { "tool_calls" } else { "records" };
        let (provider, name) = (json(provider), json(name));
        self.write(
            "start",
            format_args!(
                r#""run":"{run}","provider":{provider},"model":{name},"kind":"{kind}","elapsed_ms":0"#
            ),
        );
    }

    /// An event of the response.
    pub(super) fn event(&mut self, event: &ResponseEvent<Raw>, model: &Model) {
        match event {
            ResponseEvent::TextDelta { choice, block, start, text } => {
                self.tail.push((*choice, *block), *start, text);
                self.delta("text", (*choice, *block), text);
            }
            ResponseEvent::Reasoning { choice, text, .. } if !text.is_empty() => {
                self.delta("reasoning", (*choice, 0), text);
            }
            ResponseEvent::Refusal { choice, text } => self.delta("refusal", (*choice, 0), text),
            ResponseEvent::Partial { choice, block, delta } => {
                let (about, delta) = (About::new((*choice, *block), None), DeltaMembers(delta));
                self.write_data("partial", &DeltaEvent { op: delta.step(), about, delta });
            }
            ResponseEvent::Invalid { choice, block, diagnostic } => {
                let (origin, start, code) =
                    (origin((*choice, *block)), diagnostic.span.start, diagnostic.code);
                let message = json(&diagnostic.message);
                let path = json(diagnostic.instance_path.as_deref().unwrap_or_default());
                self.write(
                    "invalid",
                    format_args!(
                        r#"{origin}"start":{start},"code":"{code}","message":{message},"instance_path":{path}"#
                    ),
                );
            }
            ResponseEvent::Record { choice, block, record } => self.record((*choice, *block), record),
            ResponseEvent::ToolCallBegan { choice, number, name, .. } => {
                let (origin, name) = (origin((*choice, 0)), json(name));
                self.write("partial", format_args!(r#"{origin}"call":{number},"name":{name}"#));
            }
            ResponseEvent::ToolCallArguments { choice, number, text } => {
                self.received += text.len() as u64;
                let (origin, text) = (origin((*choice, 0)), json(text));
                self.write("partial", format_args!(r#"{origin}"call":{number},"text":{text}"#));
            }
            ResponseEvent::ToolCallDiscarded { choice, number } => {
                let origin = origin((*choice, 0));
                self.write("partial", format_args!(r#"{origin}"call":{number},"discarded":true"#));
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
        let mut members = format!(r#""status":"{}""#, status.as_str());
        if let Some(message) = message.or(status.message()) {
            let _ = write!(members, r#","message":{}"#, json(message));
        }
        if let Some(reason) = model.parser().and_then(|parser| parser.finish_reason(0)) {
            let _ = write!(members, r#","finish_reason":{}"#, json(reason.as_str()));
        }
        let counts = self.counts();
        let elapsed = self.elapsed();
        self.write("done", format_args!("{members},{counts},{elapsed}"));
        // The run may be kept for a while.
        self.tail = TextTail::default();
    }

    /// Says which events are no longer kept.
    pub(super) fn gap(from: u64, to: u64) -> Bytes {
        let event = ServerSentEvent::new(format!(r#"{{"from":{from},"to":{to}}}"#));
        event.with_name(FieldValue::from_static("gap")).with_id(to).into()
    }

    fn delta(&mut self, kind: &str, place: Place, text: &str) {
        self.received += text.len() as u64;
        let (text, origin, elapsed) = (json(text), origin(place), self.elapsed());
        self.write("delta", format_args!(r#"{origin}"kind":"{kind}","text":{text},{elapsed}"#));
    }

    fn record(&mut self, place: Place, record: &Record<Raw>) {
        self.tail.release(place, record.span.end);
        let (index, elapsed_ms) = (Some(self.records), self.elapsed_ms());
        self.records += 1;
        let (about, position) = (About::new(place, None), Some(Position::of(record)));
        let value = record.value.to_single_line();
        self.write_data("record", &ValueEvent { about, index, position, elapsed_ms, value: raw(&value) });
    }

    fn tool_call(&mut self, place: Place, number: Option<u64>, call: &ToolCall, record: Option<&Record<()>>) {
        self.tool_calls += 1;
        if let Some(record) = record {
            self.tail.release(place, record.span.end);
        }
        let (about, position) = (About::new(place, number), record.map(Position::of));
        let (elapsed_ms, value) = (self.elapsed_ms(), call.to_json());
        self.write_data(
            "tool_call",
            &ValueEvent { about, index: None, position, elapsed_ms, value: raw(&value) },
        );
    }

    /// A reject. `received` is its text, if it is known.
    fn rejected(
        &mut self,
        place: Place,
        number: Option<u64>,
        diagnostic: &Diagnostic,
        received: Option<&str>,
    ) {
        self.rejected += 1;
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
        let text = received.or_else(in_text).map(|text| {
            let end = (0..=text.len().min(REJECT_BYTES)).rev().find(|&end| text.is_char_boundary(end));
            &text[..end.unwrap_or(0)]
        });
        let data = json(&DiagnosticEvent { about: About::new(place, number), diagnostic, text });
        self.write_text(name, data);
    }

    fn usage(&mut self, model: &Model) {
        self.last_usage = Some(Instant::now());
        let Some(parser) = model.parser() else { return };
        let usage = parser.usage().unwrap_or_default();
        let known = [("input_tokens", usage.input_tokens), ("output_tokens", usage.output_tokens)];
        let mut members = String::new();
        for (name, count) in known {
            if let Some(count) = count {
                let _ = write!(members, r#""{name}":{count},"#);
            }
        }
        let (tokens, held) = (parser.delta_count(), parser.held_bytes());
        let (received, counts, elapsed) = (self.received, self.counts(), self.elapsed());
        self.write(
            "usage",
            format_args!(
                r#"{members}"tokens":{tokens},"bytes_received":{received},"bytes_held":{held},{counts},{elapsed}"#
            ),
        );
    }

    fn counts(&self) -> String {
        let Self { records, tool_calls, rejected, .. } = self;
        format!(r#""records":{records},"tool_calls":{tool_calls},"rejected":{rejected}"#)
    }

    fn elapsed(&self) -> String {
        format!(r#""elapsed_ms":{:.1}"#, self.elapsed_ms())
    }

    /// The time since the start, in milliseconds with one decimal.
    fn elapsed_ms(&self) -> f64 {
        (self.started.elapsed().as_secs_f64() * 1e4).round() / 10.0
    }

    fn write(&mut self, event: &'static str, members: fmt::Arguments<'_>) {
        self.write_text(event, format!("{{{members}}}"));
    }

    fn write_data(&mut self, event: &'static str, data: &impl Serialize) {
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

/// The text of the response, or the native call, that an event is about.
#[derive(Serialize)]
struct About {
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
}

impl About {
    fn new((choice, block): Place, call: Option<u64>) -> Self {
        let not_0 = |number: u64| (number != 0).then_some(number);
        Self { choice: not_0(choice), block: not_0(block), call }
    }
}

/// The data of the events `rejected` and `note`.
#[derive(Serialize)]
struct DiagnosticEvent<'a> {
    #[serde(flatten)]
    about: About,
    #[serde(flatten)]
    diagnostic: &'a Diagnostic,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// The data of the events `record` and `tool_call`.
#[derive(Serialize)]
struct ValueEvent<'a> {
    #[serde(flatten)]
    about: About,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(flatten)]
    position: Option<Position>,
    elapsed_ms: f64,
    value: &'a RawValue,
}

/// The data of the event `partial` of a record.
#[derive(Serialize)]
struct DeltaEvent<'a> {
    op: &'static str,
    #[serde(flatten)]
    about: About,
    #[serde(flatten)]
    delta: DeltaMembers<'a>,
}

/// A text of the response: its choice, and its block.
pub(super) type Place = (u64, u64);

/// The members for a text other than the first.
fn origin((choice, block): Place) -> String {
    let member = |name, number| if number == 0 { String::new() } else { format!(r#""{name}":{number},"#) };
    member("choice", choice) + &member("block", block)
}

fn json(data: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(data).expect("it has names for keys")
}
