//! The assistant message of a response, for the next request.

use tokenline_core::adapter::Feature;
use tokenline_core::json::Raw;
use tokenline_core::{CallUpdate, ToolCall};

use crate::Provider;
use crate::delta::OpaqueTarget;
use crate::request::{AssistantPart, Message, Opaque};

/// The feature `message`.
pub(super) type MessageFeature = Feature<{ cfg!(feature = "message") }>;

/// The parts of one choice, in order.
#[derive(Debug, Default)]
pub(super) struct MessageParts(Vec<Part>);

#[derive(Debug)]
struct Part {
    kind: Kind,
    opaque: Option<Raw>,
    /// It gets no more text.
    is_closed: bool,
}

#[derive(Debug)]
enum Kind {
    Text {
        block: u64,
        text: String,
    },
    Reasoning(String),
    /// The call with this number, once it has ended.
    Call(u64, Option<ToolCall>),
}

impl MessageParts {
    pub(super) fn push_text(&mut self, of_block: u64, more: &str) {
        if let Some(Part { kind: Kind::Text { block, text }, is_closed: false, .. }) = self.0.last_mut()
            && *block == of_block
        {
            return text.push_str(more);
        }
        self.push(Kind::Text { block: of_block, text: more.to_owned() });
    }

    pub(super) fn push_reasoning(&mut self, more: &str) {
        match self.0.last_mut() {
            Some(Part { kind: Kind::Reasoning(text), is_closed: false, .. }) => text.push_str(more),
            _ => {
                // The name of a member comes once, and holds for all reasoning.
                let is_reasoning = |part: &&Part| matches!(part.kind, Kind::Reasoning(_));
                let named = self.0.iter().rfind(is_reasoning).and_then(|part| part.opaque.clone());
                let opaque = named.filter(|data| data.as_str().starts_with('"'));
                self.0.push(Part { kind: Kind::Reasoning(more.to_owned()), opaque, is_closed: false });
            }
        }
    }

    pub(super) fn push_call(&mut self, update: &CallUpdate) {
        match update {
            CallUpdate::Began { number, .. } => self.push(Kind::Call(*number, None)),
            CallUpdate::Ended { number, outcome } => {
                let call = match outcome {
                    Ok(call) => Some(call.clone()),
                    // The model must see its own call beside the reason why it was not run.
                    Err(rejected) => Message::rejected(rejected).map(|(call, _)| call),
                };
                let is_its = |part: &&mut Part| matches!(part.kind, Kind::Call(its, _) if its == *number);
                match self.0.iter_mut().rfind(is_its) {
                    Some(part) => part.kind = Kind::Call(*number, call),
                    None => self.push(Kind::Call(*number, call)),
                }
            }
            _ => {}
        }
    }

    /// Attaches opaque data to the latest part of its kind, or adds an empty part for it.
    pub(super) fn push_opaque(&mut self, target: OpaqueTarget, data: Raw) {
        let is_its = |part: &&Part| match target {
            OpaqueTarget::Text => matches!(part.kind, Kind::Text { .. }),
            OpaqueTarget::ToolCall => matches!(part.kind, Kind::Call(..)),
            OpaqueTarget::Reasoning | OpaqueTarget::ReasoningMember => {
                matches!(part.kind, Kind::Reasoning(_))
            }
        };
        if self.0.last().filter(|part| !part.is_closed).filter(is_its).is_none() {
            self.push(match target {
                OpaqueTarget::Text => Kind::Text { block: 0, text: String::new() },
                OpaqueTarget::Reasoning | OpaqueTarget::ReasoningMember => Kind::Reasoning(String::new()),
                // The call is unknown.
                OpaqueTarget::ToolCall => return,
            });
        }
        let Some(part) = self.0.last_mut() else { return };
        part.is_closed = target != OpaqueTarget::ReasoningMember;
        part.opaque = Some(match part.opaque.take().filter(|_| target == OpaqueTarget::ReasoningMember) {
            Some(before) => joined(&before, data),
            None => data,
        });
    }

    fn push(&mut self, kind: Kind) {
        self.0.push(Part { kind, opaque: None, is_closed: false });
    }

    /// The message. Calls that have not ended are omitted.
    pub(super) fn message(&self, provider: Provider) -> Message {
        let parts = self.0.iter().filter_map(|part| {
            let opaque = part.opaque.clone().map(|data| Opaque { provider, data });
            Some(match &part.kind {
                Kind::Text { text, .. } => AssistantPart::Text { text: text.clone(), opaque },
                Kind::Reasoning(text) => AssistantPart::Reasoning { text: text.clone(), opaque },
                Kind::Call(_, call) => AssistantPart::ToolCall { call: call.clone()?, opaque },
            })
        });
        Message::Assistant(parts.filter(|part| !part.is_empty()).collect())
    }
}

/// Joins pieces of opaque data: if both have the same array member, its elements are concatenated; else the later
/// piece replaces the earlier, but the mere name of a member replaces nothing.
pub(crate) fn joined(before: &Raw, data: Raw) -> Raw {
    let inside = |raw: &Raw| {
        raw.with_value(|value| {
            let (name, array) = value.as_object()?.into_iter().next()?;
            let array = array.as_array()?.iter().map(|element| element.raw().to_owned());
            Some((name.to_owned(), array.collect::<Vec<_>>()))
        })
    };
    if data.as_str().starts_with('"') && !before.as_str().starts_with('"') {
        return before.clone();
    }
    let (Some((name, mut all)), Some((other, more))) = (inside(before), inside(&data)) else { return data };
    if name != other {
        return data;
    }
    all.extend(more);
    Raw::new(&format!("{{{}:[{}]}}", serde_json::to_string(&name).expect("a string is JSON"), all.join(",")))
        .unwrap_or(data)
}
