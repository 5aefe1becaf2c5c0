//! Anthropic messages.
//!
//! The wire format: <https://docs.anthropic.com/en/docs/build-with-claude/streaming>.

mod blocks;

use std::borrow::Cow;

use tokenline_core::CompletedBy;
use tokenline_core::json::Value;

use crate::delta::{Delta, FinishReason, Usage};
use crate::providers::api::{EventReader, Sink};
use crate::providers::blocks::Blocks;
use crate::providers::values::{as_u64, error_delta, is_error, read_text, unreadable};

/// A message, read event by event: one choice, 0, with the content blocks as its blocks.
///
/// Only the caller's calls are calls; those that Anthropic's servers run, and their results, are skipped.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    blocks: Blocks,
    tokens: Tokens,
}

/// Token counts of a message, by how they are billed.
#[derive(Debug, Default)]
struct Tokens {
    input: Option<u64>,
    cache_creation: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
}

impl EventReader for Reader {
    const INCIDENTAL: &'static [&'static str] = &["/delta/estimated_tokens"];

    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        let (mut kind, mut index, mut message, mut block) = (None, 0, None, None);
        let (mut delta, mut usage, mut error) = (None, None, None);
        let Some(members) = event.as_object() else { return };
        for (name, value) in members {
            match name {
                "type" => kind = value.as_str(),
                "message" => message = Some(value),
                "index" => index = as_u64(value).unwrap_or_default(),
                "content_block" => block = Some(value),
                "delta" => delta = Some(value),
                "usage" => usage = Some(value),
                "error" => error = Some(value).filter(|error| is_error(*error)),
                "request_id" | "context_management" | "input_transformations" => {}
                // Bedrock adds this to the last event.
                "amazon-bedrock-invocationMetrics" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        match kind.as_deref().unwrap_or(name) {
            "message_start" => self.start(message, sink),
            "content_block_start" => self.start_block(index, block, false, sink),
            "content_block_delta" => self.read_delta(index, delta, sink),
            "content_block_stop" => self.blocks.stop(index, sink),
            "message_delta" => self.change(delta, usage, sink),
            "message_stop" => {
                self.blocks.settle(Some(CompletedBy::ItemStop), sink);
                sink(Delta::Terminator);
            }
            "ping" => {}
            "error" => error = error.or(Some(event)),
            _ if kind.is_none() && error.is_some() => {}
            // The type may be that of the error.
            _ if name == "error" => error = error.or(Some(event)),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
        if let Some(error) = error {
            sink(error_delta(error));
        }
    }

    fn is_repeatable(&self, _: &str, event: Value<'_>) -> bool {
        let is_delta = event.get("type").and_then(Value::as_str).as_deref() == Some("content_block_delta");
        is_delta && !self.blocks.has_arguments()
    }

    /// A complete message, or its content.
    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        if body.as_array().is_some() {
            sink(Delta::Start { choice: 0 });
            self.content(body, false, sink);
        } else if let Some(error) = body.get("error").filter(|error| is_error(*error)) {
            return sink(error_delta(error));
        } else if body.get("content").is_some() {
            self.start(Some(body), sink);
        } else {
            return;
        }
        sink(Delta::Terminator);
    }
}

impl Reader {
    fn start(&mut self, message: Option<Value<'_>>, sink: &mut Sink<'_>) {
        const PLACE: &str = "message";
        self.blocks.start_message(sink);
        self.tokens = Tokens::default();
        let (mut content, mut usage, mut reason, mut details) = (None, None, None, None);
        let members = message.and_then(Value::as_object);
        for (name, value) in members.into_iter().flatten() {
            match name {
                "content" => content = Some(value),
                "usage" => usage = Some(value),
                "stop_reason" => reason = value.as_str(),
                "stop_details" => details = Some(value),
                "id" | "type" | "role" | "model" | "stop_sequence" => {}
                "container" | "context_management" | "diagnostics" | "input_transformations" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        if let Some(content) = content {
            let is_cut = reason.as_deref().is_some_and(|reason| !finish_reason(reason).is_clean());
            self.content(content, is_cut, sink);
        }
        self.count(usage, sink);
        self.end(reason, details, sink);
    }

    /// Complete content. If it was cut off, its last block may be incomplete.
    fn content(&mut self, content: Value<'_>, is_cut: bool, sink: &mut Sink<'_>) {
        if let Some(text) = read_text(content, sink) {
            return sink(Delta::Text { choice: 0, block: 0, text: &text });
        }
        let Some(blocks) = content.as_array() else { return unreadable("message", "content", content, sink) };
        let count = blocks.len() as u64;
        for (index, block) in (0..).zip(blocks) {
            self.start_block(index, Some(block), true, sink);
            if !(is_cut && index + 1 == count) {
                self.blocks.stop(index, sink);
            }
        }
    }

    /// Updates the message: its stop reason and tokens.
    fn change(&mut self, delta: Option<Value<'_>>, usage: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let (mut reason, mut details) = (None, None);
        let members = delta.and_then(Value::as_object);
        for (name, value) in members.into_iter().flatten() {
            match name {
                "stop_reason" => reason = value.as_str(),
                "stop_details" => details = Some(value),
                "stop_sequence" | "container" => {}
                _ => sink(Delta::Unknown { parent: "message_delta.delta", name: name.into() }),
            }
        }
        self.count(usage, sink);
        self.end(reason, details, sink);
    }

    fn count(&mut self, usage: Option<Value<'_>>, sink: &mut Sink<'_>) {
        if let Some(usage) = usage.filter(|usage| usage.as_object().is_some()) {
            self.tokens.update(usage);
            sink(Delta::Usage(self.tokens.sum()));
        }
    }

    fn end(&mut self, reason: Option<Cow<'_, str>>, details: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return };
        let reason = finish_reason(&reason);
        self.blocks.settle(reason.is_clean().then_some(CompletedBy::ItemStop), sink);
        let explanation = details.and_then(|details| details.get("explanation")?.as_str());
        let explanation = explanation.filter(|_| reason == FinishReason::ContentFilter);
        if let Some(text) = explanation.filter(|text| !text.is_empty()) {
            sink(Delta::Refusal { choice: 0, text: &text });
        }
        sink(Delta::Finish { choice: 0, reason });
    }
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        other => FinishReason::other(other),
    }
}

impl Tokens {
    /// Updates the counts that `usage` contains.
    fn update(&mut self, usage: Value<'_>) {
        let Self { input, cache_creation, cache_read, output } = self;
        for (tokens, name) in [
            (input, "input_tokens"),
            (cache_creation, "cache_creation_input_tokens"),
            (cache_read, "cache_read_input_tokens"),
            (output, "output_tokens"),
        ] {
            *tokens = usage.get(name).and_then(as_u64).or(*tokens);
        }
    }

    fn sum(&self) -> Usage {
        let read = [self.input, self.cache_creation, self.cache_read].into_iter().flatten();
        let input_tokens = read.reduce(u64::saturating_add);
        let total = input_tokens.zip(self.output).map(|(input, output)| input.saturating_add(output));
        Usage {
            input_tokens,
            output_tokens: self.output,
            total_tokens: total,
            cached_input_tokens: self.cache_read,
            cache_creation_input_tokens: self.cache_creation,
            reasoning_tokens: None,
        }
    }
}
