//! The events of Amazon Bedrock's ConverseStream:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html>.

mod content;

use std::borrow::Cow;

use tokenline_core::CompletedBy;
use tokenline_core::json::{Parser, SyntaxError, Value};

use crate::delta::{Delta, FinishReason, OpaqueTarget, Usage};
use crate::providers::api::{EventReader, Sink};
use crate::providers::blocks::{BlockKind, Blocks, Piece};
use crate::providers::values::{as_u64, error_delta, error_message, non_object, opaque, unreadable};
use content::{Content, ContentDelta};

/// A message, read event by event: one choice, 0, with the content blocks as its blocks.
///
/// The `:event-type` of a message is the name of its event, the `:exception-type` that of an exception. Only the
/// caller's calls are calls; those run by the server are skipped.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    has_stopped: bool,
    has_metadata: bool,
    blocks: Blocks,
}

/// The most frequent event.
const DELTA: &str = "contentBlockDelta";

/// Whether the event is an exception.
fn is_failure(event: &str) -> bool {
    event == "error" || event.ends_with("Exception")
}

/// The members of an event.
#[derive(Default)]
struct Members<'a> {
    index: u64,
    start: Option<Value<'a>>,
    delta: Option<Value<'a>>,
    usage: Option<Value<'a>>,
    reason: Option<Cow<'a, str>>,
}

impl<'a> Members<'a> {
    fn read(event: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let mut read = Self::default();
        for (name, value) in event.as_object().into_iter().flatten() {
            match name {
                "contentBlockIndex" => read.index = as_u64(value).unwrap_or_default(),
                "start" => read.start = Some(value),
                "delta" => read.delta = Some(value),
                "usage" => read.usage = Some(value),
                "stopReason" => read.reason = value.as_str(),
                "role" | "p" | "additionalModelResponseFields" => {}
                "metrics" | "trace" | "performanceConfig" | "serviceTier" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        read
    }
}

impl EventReader for Reader {
    /// Padding that hides the length of the text.
    const INCIDENTAL: &'static [&'static str] = &["/p"];

    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        if is_failure(name) {
            let message = error_message(event);
            let message = if name == "error" { message } else { format!("{name}: {message}").into() };
            return sink(Delta::Error { message, code: None });
        }
        let members = Members::read(event, sink);
        match name {
            "messageStart" => {
                (self.has_stopped, self.has_metadata) = (false, false);
                self.blocks.start_message(sink);
            }
            "contentBlockStart" => self.start_block(members.index, members.start, sink),
            DELTA => self.read_delta(members.index, members.delta, sink),
            "contentBlockStop" => self.blocks.stop(members.index, sink),
            "messageStop" => self.stop(members.reason.as_deref(), sink),
            "metadata" => self.read_metadata(members.usage, sink),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
    }

    fn non_object(
        &mut self,
        json: &mut Parser,
        name: &str,
        data: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), SyntaxError> {
        match data {
            "" => Ok(()),
            _ => non_object(json, if is_failure(name) { "error" } else { name }, data, sink),
        }
    }

    fn is_repeatable(&self, name: &str, _: Value<'_>) -> bool {
        name == DELTA
    }

    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        let is_message = body.get("content").is_some();
        let Some(message) = body.pointer("/output/message").or(is_message.then_some(body)) else {
            let error = ["message", "Message"].into_iter().find_map(|name| body.get(name));
            return sink(match error {
                Some(error) => error_delta(error),
                None => Delta::Unknown { parent: "data", name: "no response".into() },
            });
        };
        sink(Delta::Start { choice: 0 });
        let reason = body.get("stopReason").and_then(Value::as_str).map(|reason| finish_reason(&reason));
        let is_clean = reason.as_ref().is_none_or(FinishReason::is_clean);
        if let Some(content) = message.get("content") {
            self.content(content, !is_clean, sink);
        }
        if let Some(usage) = body.get("usage").and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        self.blocks.settle(is_clean.then_some(CompletedBy::ItemStop), sink);
        if let Some(reason) = reason {
            sink(Delta::Finish { choice: 0, reason });
        }
        sink(Delta::Terminator);
    }
}

impl Reader {
    /// Some models send no start for text; it carries no information.
    fn start_block(&mut self, index: u64, start: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let Some(start) = start else { return };
        let start = Content::read_start(start, sink);
        match start.kind {
            Some(BlockKind::Call) => self.blocks.start_call(index, start.header(), None, sink),
            Some(kind) => self.blocks.start(index, kind, sink),
            None => {}
        }
    }

    fn read_delta(&mut self, index: u64, delta: Option<Value<'_>>, sink: &mut Sink<'_>) {
        let Some(delta) = delta.filter(|_| !self.blocks.ignores(index)) else { return };
        read_opaque(delta, sink);
        let delta = ContentDelta::read(delta, sink);
        if delta.kind != BlockKind::Ignored {
            self.blocks.piece(Piece { block: index, kind: delta.kind }, &delta.text, sink);
        }
    }

    fn stop(&mut self, reason: Option<&str>, sink: &mut Sink<'_>) {
        self.has_stopped = true;
        let reason = reason.map(finish_reason);
        let is_clean = reason.as_ref().is_none_or(FinishReason::is_clean);
        self.blocks.settle(is_clean.then_some(CompletedBy::ItemStop), sink);
        if let Some(reason) = reason {
            sink(Delta::Finish { choice: 0, reason });
        }
        self.terminate(sink);
    }

    fn read_metadata(&mut self, usage: Option<Value<'_>>, sink: &mut Sink<'_>) {
        self.has_metadata = true;
        if let Some(usage) = usage.and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        self.terminate(sink);
    }

    /// Ends the stream once both stop and metadata have arrived, in either order.
    fn terminate(&mut self, sink: &mut Sink<'_>) {
        if self.has_stopped && self.has_metadata {
            sink(Delta::Terminator);
        }
    }

    /// Complete content. If it was cut off, its last block may be incomplete.
    fn content(&mut self, content: Value<'_>, is_cut: bool, sink: &mut Sink<'_>) {
        let Some(blocks) = content.as_array() else { return unreadable("message", "content", content, sink) };
        let count = blocks.len() as u64;
        for (index, block) in (0..).zip(blocks) {
            let value = block;
            let block = Content::read(value, sink);
            match block.kind {
                Some(BlockKind::Call) => {
                    self.blocks.start_call(index, block.header(), block.arguments(), sink);
                }
                Some(kind) => {
                    self.blocks.start(index, kind, sink);
                    for text in &block.texts {
                        self.blocks.piece(Piece { block: index, kind }, text, sink);
                    }
                    read_opaque(value, sink);
                }
                None => continue,
            }
            if !(is_cut && index + 1 == count) {
                self.blocks.stop(index, sink);
            }
        }
    }
}

/// Emits the signature of reasoning, from a delta or a complete block.
fn read_opaque(block: Value<'_>, sink: &mut Sink<'_>) {
    let Some(reasoning) = block.get("reasoningContent") else { return };
    opaque(OpaqueTarget::Reasoning, reasoning.get("reasoningText").unwrap_or(reasoning), "signature", sink);
    opaque(OpaqueTarget::Reasoning, reasoning, "redactedContent", sink);
}

fn finish_reason(name: &str) -> FinishReason {
    match name {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "content_filtered" | "guardrail_intervened" => FinishReason::ContentFilter,
        "malformed_tool_use" => FinishReason::MalformedCall,
        other => FinishReason::other(other),
    }
}

/// The input tokens do not include tokens read from or written to the cache.
fn read_usage(usage: Value<'_>) -> Option<Usage> {
    let tokens = |name| usage.get(name).and_then(as_u64);
    let input =
        ["inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"].into_iter().filter_map(tokens);
    let input_tokens = input.reduce(u64::saturating_add);
    let (output_tokens, total_tokens) = (tokens("outputTokens"), tokens("totalTokens"));
    let usage = Usage {
        input_tokens,
        output_tokens,
        total_tokens,
        cached_input_tokens: tokens("cacheReadInputTokens"),
        cache_creation_input_tokens: tokens("cacheWriteInputTokens"),
        reasoning_tokens: None,
    };
    usage.has_totals().then_some(usage)
}
