//! The events of Cohere chat, version 2: <https://docs.cohere.com/v2/docs/streaming>.

mod message;

use tokenline_core::CompletedBy;
use tokenline_core::json::{Kind, Value};

use crate::delta::{Delta, FinishReason, OpaqueTarget};
use crate::providers::api::{EventReader, Sink};
use crate::providers::blocks::Blocks;
use crate::providers::values::{as_u64, error_delta, is_error, is_null_or_empty, read_text, unknown};
use message::{Call, Content, Parts};

/// A message, read event by event: one choice, 0.
///
/// Contents and calls are both numbered from 0, so contents have even blocks and calls odd ones. The model's plan
/// before its tool calls counts as reasoning.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    blocks: Blocks,
}

impl EventReader for Reader {
    const INCIDENTAL: &'static [&'static str] = &["/id"];

    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        let (mut kind, mut index, mut delta) = (None, 0, None);
        let (mut error, mut message) = (None, None);
        for (name, value) in event.as_object().into_iter().flatten() {
            match name {
                "type" => kind = value.as_str(),
                "index" => index = as_u64(value).unwrap_or_default(),
                "delta" => delta = Some(value),
                "error" => error = Some(value).filter(|error| is_error(*error)),
                // An error in place of a stream has this member and no type.
                "message" => message = Some(value).filter(|message| !is_null_or_empty(*message)),
                "id" | "logprobs" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        let mut parts = Parts::default();
        let has_part = |kind: &str| ["message-", "content-", "tool-"].iter().any(|of| kind.starts_with(of));
        if let Some(delta) = delta.filter(|_| kind.as_deref().is_none_or(has_part)) {
            parts.read("delta", delta, sink);
        }
        match kind.as_deref().unwrap_or(name) {
            "message-start" => {
                self.blocks.start_message(sink);
                self.complete_message(&parts, sink);
            }
            "content-start" => self.start_content(index, parts.content, sink),
            "content-delta" => self.read_content(index, parts.content, sink),
            "content-end" => self.blocks.stop(content_block(index), sink),
            "tool-plan-delta" => self.read_plan(&parts, sink),
            "tool-call-start" => self.start_call(index, parts.calls, sink),
            "tool-call-delta" => self.read_call(index, parts.calls, sink),
            "tool-call-end" => self.blocks.stop(call_block(index), sink),
            "message-end" => self.end(&parts, sink),
            "citation-start" | "citation-end" | "debug" => {}
            _ if kind.is_none() && error.or(message).is_some() => error = error.or(message),
            _ if name == "error" || kind.as_deref() == Some("error") => error = error.or(Some(event)),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
        if let Some(error) = error.or(parts.error) {
            sink(error_delta(error));
        }
    }

    fn is_repeatable(&self, _: &str, event: Value<'_>) -> bool {
        event.get("type").and_then(Value::as_str).is_some_and(|name| name.ends_with("-delta"))
    }

    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        let message = body.get("message");
        let mut parts = Parts::default();
        match message.map(Value::kind) {
            Some(Kind::Object) => parts.read("", body, sink),
            None if body.get("role").is_some() => parts.read_message(body, sink),
            // The message of an error is a text.
            _ => {
                let error = body.get("error").or(message).filter(|error| is_error(*error));
                return sink(match error {
                    Some(error) => error_delta(error),
                    None => Delta::Unknown { parent: "data", name: "no response".into() },
                });
            }
        }
        sink(Delta::Start { choice: 0 });
        self.complete_message(&parts, sink);
        self.end(&parts, sink);
    }
}

impl Reader {
    fn start_content(&mut self, index: u64, content: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let content = Content::read(content, sink);
        self.blocks.start(content_block(index), content.kind, sink);
        self.blocks.piece(content.piece(index), &content.text, sink);
    }

    fn read_content(&mut self, index: u64, content: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let content = Content::read(content, sink);
        self.blocks.piece(content.piece(index), &content.text, sink);
    }

    fn read_plan(&mut self, parts: &Parts<'_>, sink: &mut Sink<'_>) {
        let Some(plan) = parts.plan else { return };
        match read_text(plan, sink) {
            Some(text) => {
                // The name under which it is sent back.
                if !text.is_empty() {
                    let data = "\"tool_plan\"".into();
                    sink(Delta::Opaque { choice: 0, target: OpaqueTarget::ReasoningMember, data });
                    sink(Delta::Reasoning { choice: 0, text: &text });
                    self.blocks.has_begun = true;
                }
            }
            None => unknown("delta.message", "tool_plan", plan, sink),
        }
    }

    fn start_call(&mut self, index: u64, call: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let call = Call::read(call, sink);
        self.blocks.start_call(call_block(index), call.header(), None, sink);
        self.blocks.piece(Call::piece(index), call.arguments.as_deref().unwrap_or_default(), sink);
    }

    fn read_call(&mut self, index: u64, call: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let call = Call::read(call, sink);
        self.blocks.piece(Call::piece(index), call.arguments.as_deref().unwrap_or_default(), sink);
    }

    fn end(&mut self, parts: &Parts<'_>, sink: &mut Sink<'_>) {
        if let Some(usage) = parts.usage() {
            sink(Delta::Usage(usage));
        }
        let reason = parts.finish_reason();
        let is_clean = reason.as_ref().is_none_or(FinishReason::is_clean);
        self.blocks.settle(is_clean.then_some(CompletedBy::ItemStop), sink);
        let has_failed = parts.error.is_some() || reason == Some(FinishReason::Error);
        if let Some(reason) = reason {
            sink(Delta::Finish { choice: 0, reason });
        }
        if !has_failed {
            sink(Delta::Terminator);
        }
    }

    /// Complete content. If it was cut off, its last call may be incomplete.
    fn complete_message(&mut self, parts: &Parts<'_>, sink: &mut Sink<'_>) {
        let is_cut = parts.finish_reason().is_some_and(|reason| !reason.is_clean());
        self.read_plan(parts, sink);
        for (index, content) in (0..).zip(parts.contents()) {
            self.start_content(index, Some(content), sink);
            self.blocks.stop(content_block(index), sink);
        }
        let calls = parts.calls(sink);
        let count = calls.len() as u64;
        for (index, call) in (0..).zip(calls) {
            let call = Call::read(Some(call), sink);
            let arguments = call.arguments.as_deref().map(str::to_owned);
            self.blocks.start_call(call_block(index), call.header(), arguments, sink);
            if !(is_cut && index + 1 == count) {
                self.blocks.stop(call_block(index), sink);
            }
        }
    }
}

fn content_block(index: u64) -> u64 {
    index.saturating_mul(2)
}

fn call_block(index: u64) -> u64 {
    index.saturating_mul(2).saturating_add(1)
}
