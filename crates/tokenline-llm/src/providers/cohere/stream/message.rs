//! The parts of a message, in an event or in a complete response.

use std::borrow::Cow;

use tokenline_core::json::Value;

use super::{call_block, content_block};
use crate::delta::{Delta, FinishReason, Usage};
use crate::providers::api::Sink;
use crate::providers::blocks::{BlockKind, Piece};
use crate::providers::values::{as_u64, is_error, is_null_or_empty, read_text, text_of, unknown, unreadable};

/// The parts of a message. An event has one content and one call, a complete message has lists of them.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) plan: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) calls: Option<Value<'a>>,
    reason: Option<Cow<'a, str>>,
    usage: Option<Value<'a>>,
    pub(super) error: Option<Value<'a>>,
}

const MESSAGE: &str = "delta.message";
const CONTENT: &str = "delta.message.content";
const CALL: &str = "delta.message.tool_calls";
const FUNCTION: &str = "delta.message.tool_calls.function";

impl<'a> Parts<'a> {
    /// Reads an event's `delta`, or a complete response.
    pub(super) fn read(&mut self, parent: &'static str, value: Value<'a>, sink: &mut Sink<'_>) {
        let Some(members) = value.as_object() else { return unreadable("", parent, value, sink) };
        for (name, value) in members {
            match name {
                "message" => self.read_message(value, sink),
                "finish_reason" => self.reason = value.as_str(),
                "usage" => self.usage = Some(value),
                "error" => self.error = Some(value).filter(|error| is_error(*error)),
                "id" | "logprobs" => {}
                _ => sink(Delta::Unknown { parent, name: name.into() }),
            }
        }
    }

    pub(super) fn read_message(&mut self, message: Value<'a>, sink: &mut Sink<'_>) {
        let Some(members) = message.as_object() else { return unreadable("delta", "message", message, sink) };
        for (name, value) in members {
            match name {
                "tool_plan" => self.plan = Some(value),
                "content" => self.content = Some(value),
                "tool_calls" => self.calls = Some(value),
                "role" | "citations" => {}
                _ => sink(Delta::Unknown { parent: MESSAGE, name: name.into() }),
            }
        }
    }

    /// The contents of a complete message.
    pub(super) fn contents(&self) -> Vec<Value<'a>> {
        let Some(content) = self.content.filter(|content| !is_null_or_empty(*content)) else {
            return Vec::new();
        };
        // A single text is allowed too.
        content.as_array().map_or_else(|| vec![content], |contents| contents.into_iter().collect())
    }

    /// The calls of a complete message.
    pub(super) fn calls(&self, sink: &mut Sink<'_>) -> Vec<Value<'a>> {
        match self.calls.map(|calls| (calls, calls.as_array())) {
            Some((_, Some(calls))) => calls.into_iter().collect(),
            Some((calls, None)) => {
                unreadable(MESSAGE, "tool_calls", calls, sink);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    pub(super) fn finish_reason(&self) -> Option<FinishReason> {
        Some(match self.reason.as_deref()? {
            "" => return None,
            "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
            "TOOL_CALL" => FinishReason::ToolCalls,
            "MAX_TOKENS" => FinishReason::Length,
            "ERROR" => FinishReason::Error,
            // `TIMEOUT` is one of these.
            other => FinishReason::other(other),
        })
    }

    /// The tokens of the model, or else the billed tokens.
    pub(super) fn usage(&self) -> Option<Usage> {
        let counts = ["tokens", "billed_units"].into_iter().filter_map(|name| self.usage?.get(name));
        let count = |name| counts.clone().find_map(|counts| counts.get(name).and_then(as_u64));
        let (input_tokens, output_tokens) = (count("input_tokens"), count("output_tokens"));
        let total = input_tokens.zip(output_tokens).map(|(input, output)| input.saturating_add(output));
        let cached_input_tokens = self.usage.and_then(|usage| usage.get("cached_tokens").and_then(as_u64));
        let usage = Usage {
            input_tokens,
            output_tokens,
            total_tokens: total,
            cached_input_tokens,
            ..Usage::default()
        };
        usage.has_totals().then_some(usage)
    }
}

/// A content, or its next piece.
pub(super) struct Content<'a> {
    pub(super) kind: BlockKind,
    pub(super) text: Cow<'a, str>,
}

impl<'a> Content<'a> {
    pub(super) fn read(value: Option<Value<'a>>, sink: &mut Sink<'_>) -> Self {
        let mut content = Self { kind: BlockKind::Text, text: Cow::Borrowed("") };
        let Some(value) = value else { return content };
        let Some(members) = value.as_object() else {
            content.read_text(CONTENT, value, sink);
            return content;
        };
        let mut kind = None;
        for (name, value) in members {
            match name {
                "type" => kind = value.as_str(),
                "text" => content.read_text(name, value, sink),
                "thinking" => {
                    content.kind = BlockKind::Reasoning;
                    content.read_text(name, value, sink);
                }
                _ => sink(Delta::Unknown { parent: CONTENT, name: name.into() }),
            }
        }
        match kind.as_deref() {
            None => {}
            Some("text") => content.kind = BlockKind::Text,
            Some("thinking") => content.kind = BlockKind::Reasoning,
            Some(other) => {
                content.kind = BlockKind::Ignored;
                sink(Delta::Unknown { parent: CONTENT, name: other.into() });
            }
        }
        content
    }

    fn read_text(&mut self, name: &str, value: Value<'a>, sink: &mut Sink<'_>) {
        match read_text(value, sink) {
            Some(text) => self.text = text,
            None if name == "thinking" => unknown(CONTENT, name, value, sink),
            None => unreadable(CONTENT, name, value, sink),
        }
    }

    pub(super) fn piece(&self, index: u64) -> Piece {
        Piece { block: content_block(index), kind: self.kind }
    }
}

/// A call, or its next piece.
#[derive(Default)]
pub(super) struct Call<'a> {
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Cow<'a, str>>,
}

impl<'a> Call<'a> {
    pub(super) fn read(value: Option<Value<'a>>, sink: &mut Sink<'_>) -> Self {
        let mut call = Self::default();
        let Some(value) = value else { return call };
        // Some gateways send a list of one.
        let only =
            value.as_array().filter(|calls| calls.len() == 1).and_then(|calls| calls.into_iter().next());
        let Some(members) = only.unwrap_or(value).as_object() else {
            unreadable(MESSAGE, "tool_calls", value, sink);
            return call;
        };
        for (name, value) in members {
            match name {
                "id" => call.id = text_of(value),
                "function" => call.read_function(value, sink),
                "type" => {}
                _ => sink(Delta::Unknown { parent: CALL, name: name.into() }),
            }
        }
        call
    }

    fn read_function(&mut self, function: Value<'a>, sink: &mut Sink<'_>) {
        let Some(members) = function.as_object() else { return unreadable(CALL, "function", function, sink) };
        for (name, value) in members {
            match name {
                "name" => self.name = value.as_str(),
                "arguments" => self.arguments = read_text(value, sink).or_else(|| text_of(value)),
                _ => sink(Delta::Unknown { parent: FUNCTION, name: name.into() }),
            }
        }
    }

    pub(super) fn header(&self) -> (Option<&str>, Option<&str>) {
        (self.id.as_deref(), self.name.as_deref())
    }

    pub(super) fn piece(index: u64) -> Piece {
        Piece { block: call_block(index), kind: BlockKind::Call }
    }
}
