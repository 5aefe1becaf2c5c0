//! A message kept for the next request, in the client's hands.

use std::mem;

use tokenline_core::ToolCall;

use super::{AssistantPart, Message};
use crate::Provider;

/// An assistant message with the data that its provider attached, as a text for a client of another provider's API: the client
/// sends it back with the next request, in a member whose content it does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptMessage(String);

const PREFIX: &str = "tokenline:";

impl KeptMessage {
    /// The text of a message. `None` if there is nothing to keep that a client of this provider would not have anyway.
    pub(crate) fn of(message: &Message, client: Provider) -> Option<Self> {
        let Message::Assistant(parts) = message else { return None };
        let is_foreign = |part: &AssistantPart| {
            let opaque = part.opaque().filter(|opaque| opaque.provider != client);
            // The mere name of a member.
            opaque.is_some_and(|opaque| !opaque.data.as_str().starts_with('"'))
        };
        if !parts.iter().any(is_foreign) {
            return None;
        }
        let parts = serde_json::to_string(parts).ok()?;
        Some(Self(format!("{PREFIX}{parts}")))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts in a text; `None` if it is not of a kept message.
    pub(crate) fn parts(text: &str) -> Option<serde_json::Result<Vec<AssistantPart>>> {
        text.strip_prefix(PREFIX).map(serde_json::from_str)
    }
}

/// The parts of an assistant message as a client sends them back.
#[derive(Default)]
pub(crate) struct ReturnedMessage {
    parts: Vec<AssistantPart>,
    /// Where the response begins that is not complete: clients join the messages of several.
    response: usize,
}

impl ReturnedMessage {
    pub(crate) fn push(&mut self, part: AssistantPart) {
        self.parts.push(part);
    }

    /// Puts the kept parts of a response, which follow those that the client saw of it, in their place. Returns false if the
    /// client has changed them: its own stand then.
    pub(crate) fn restore(&mut self, kept: Vec<AssistantPart>) -> bool {
        let is_unchanged = is_same(&kept, &self.parts[self.response..]);
        if is_unchanged {
            self.parts.truncate(self.response);
            self.parts.extend(kept);
        }
        self.response = self.parts.len();
        is_unchanged
    }

    /// The parts, and a message without any.
    pub(crate) fn take(&mut self) -> Vec<AssistantPart> {
        self.response = 0;
        mem::take(&mut self.parts)
    }
}

/// Whether a client has the texts and the calls of these parts. White space makes no difference, and reasoning, which clients
/// may drop, neither.
fn is_same(kept: &[AssistantPart], returned: &[AssistantPart]) -> bool {
    fn texts(parts: &[AssistantPart]) -> impl Iterator<Item = char> {
        let texts = parts.iter().filter_map(|part| match part {
            AssistantPart::Text { text, .. } => Some(text),
            AssistantPart::Reasoning { .. } | AssistantPart::ToolCall { .. } => None,
        });
        texts.flat_map(|text| text.chars()).filter(|char| !char.is_whitespace())
    }
    fn calls(parts: &[AssistantPart]) -> impl Iterator<Item = &ToolCall> {
        parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall { call, .. } => Some(call),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => None,
        })
    }
    let is_same_call = |one: &ToolCall, other: &ToolCall| {
        let is_equal = one.parameters.to_value().ok() == other.parameters.to_value().ok();
        one.call_id == other.call_id && one.name == other.name && is_equal
    };
    texts(kept).eq(texts(returned))
        && calls(kept).count() == calls(returned).count()
        && calls(kept).zip(calls(returned)).all(|(one, other)| is_same_call(one, other))
}
