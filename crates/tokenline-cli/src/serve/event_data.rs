//! The data of the events of a run.

use serde::Serialize;
use serde_json::value::RawValue;
use tokenline::{Diagnostic, Reasks, Record};

use super::marks::Mark;
use crate::emit::{DeltaMembers, Position, RepairedMembers};

/// A text of the response: its choice, and its block.
pub(super) type Place = (u64, u64);

/// The text of the response, or the native call, that an event is about.
#[derive(Serialize)]
pub(super) struct About {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) choice: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) block: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<u64>,
}

impl About {
    pub(super) fn new((choice, block): Place, call: Option<u64>) -> Self {
        let not_0 = |number: u64| (number != 0).then_some(number);
        Self { choice: not_0(choice), block: not_0(block), call }
    }
}

/// The numbers of records, calls and rejects so far.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) tool_calls: u64,
    pub(super) rejected: u64,
}

#[derive(Serialize)]
pub(super) struct StartEvent<'a> {
    pub(super) run: &'a str,
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) kind: &'static str,
    pub(super) elapsed_ms: u64,
}

#[derive(Serialize)]
pub(super) struct UsageEvent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_tokens: Option<u64>,
    /// The pieces of the response: most servers send a token in each.
    pub(super) deltas: u64,
    /// Further requests for rejects.
    pub(super) reasks: Reasks,
    pub(super) bytes_received: u64,
    pub(super) bytes_held: u64,
    #[serde(flatten)]
    pub(super) counts: Counts,
    pub(super) elapsed_ms: f64,
}

#[derive(Serialize)]
pub(super) struct DoneEvent<'a> {
    pub(super) status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<&'a str>,
    /// Parts of the response that are not shown, such as images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unknown: Option<String>,
    #[serde(flatten)]
    pub(super) counts: Counts,
    pub(super) elapsed_ms: f64,
}

/// The events that are no longer kept.
#[derive(Serialize)]
pub(super) struct GapEvent {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The data of the event `delta`.
#[derive(Serialize)]
pub(super) struct TextEvent<'a> {
    #[serde(flatten)]
    pub(super) about: About,
    pub(super) kind: &'static str,
    /// The offset in its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start: Option<u64>,
    pub(super) text: &'a str,
    pub(super) elapsed_ms: f64,
}

/// The data of the event `partial` of a call.
#[derive(Serialize)]
pub(super) struct CallEvent<'a> {
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(flatten)]
    pub(super) part: CallPart<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallPart<'a> {
    Name(&'a str),
    /// A piece of its arguments.
    Text(&'a str),
    Discarded(bool),
}

/// The data of the event `invalid`: the open record breaks the schema.
#[derive(Serialize)]
pub(super) struct InvalidEvent<'a> {
    #[serde(flatten)]
    pub(super) about: About,
    pub(super) start: u64,
    pub(super) code: &'static str,
    pub(super) message: &'a str,
    pub(super) instance_path: &'a str,
}

/// The data of the events `rejected` and `note`.
#[derive(Serialize)]
pub(super) struct DiagnosticEvent<'a> {
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(flatten)]
    pub(super) diagnostic: &'a Diagnostic,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) marks: Vec<Mark>,
}

/// The data of the events `record` and `tool_call`.
#[derive(Serialize)]
pub(super) struct ValueEvent<'a> {
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<u64>,
    #[serde(flatten)]
    pub(super) position: Option<Position>,
    #[serde(flatten)]
    pub(super) changes: Changes,
    pub(super) elapsed_ms: f64,
    pub(super) value: &'a RawValue,
}

/// The data of the event `partial` of a record.
#[derive(Serialize)]
pub(super) struct DeltaEvent<'a> {
    pub(super) op: &'static str,
    #[serde(flatten)]
    pub(super) about: About,
    #[serde(flatten)]
    pub(super) delta: DeltaMembers<'a>,
}

/// How a value differs from what the model wrote at first.
#[derive(Default, Serialize)]
pub(super) struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<RepairedMembers>,
    /// The further requests that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
}

impl Changes {
    pub(super) fn of<T>(record: &Record<T>) -> Self {
        let attempts = record.recovered.attempts();
        Self {
            repaired: RepairedMembers::of(record.recovered, record.span.start),
            attempts: (attempts > 0).then_some(attempts),
        }
    }
}
