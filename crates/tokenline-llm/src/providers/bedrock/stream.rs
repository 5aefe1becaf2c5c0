//! The events of Amazon Bedrock's ConverseStream:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html>.

mod content;

use std::borrow::Cow;

use tokenline_core::json::{Parser, SyntaxError, Value};
use tokenline_core::{Completion, Limits};

use crate::delta::{Delta, FinishReason, OpaqueOf, Usage};
use crate::providers::EventDecoder;
use crate::providers::blocks::{BlockKind, Blocks, Piece};
use crate::providers::shape_cache::ShapeCache;
use crate::providers::values::{as_u64, error_message, no_object, opaque, parse, unknown};
use content::{Content, ContentDelta};

/// Decodes the events of a ConverseStream.
///
/// An event is named by the `:event-type` of its message, an exception by its `:exception-type`; the data is the
/// payload. A message is one choice, 0, and its content blocks are the blocks. Only the calls that the caller is to make
/// are calls; those of the servers' own tools are left out.
///
/// ```
/// use tokenline_core::Limits;
/// use tokenline_llm::Delta;
/// use tokenline_llm::providers::{BedrockDecoder, EventDecoder};
///
/// let mut decoder = BedrockDecoder::new(&Limits::default());
/// let mut text = String::new();
/// for (event, data) in [
///     ("messageStart", r#"{"p":"abcd","role":"assistant"}"#),
///     ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Hello"},"p":"abc"}"#),
///     ("contentBlockStop", r#"{"contentBlockIndex":0,"p":"abcdef"}"#),
///     ("messageStop", r#"{"p":"a","stopReason":"end_turn"}"#),
/// ] {
///     decoder.decode(event, data, |delta| match delta {
///         Delta::Text { text: more, .. } => text.push_str(more),
///         other => eprintln!("{other:?}"),
///     })?;
/// }
/// assert_eq!(text, "Hello");
/// # Ok::<(), tokenline_core::json::SyntaxError>(())
/// ```
#[derive(Debug)]
pub struct BedrockDecoder {
    json: Parser,
    message: Message,
    shapes: ShapeCache<Piece>,
}

/// A message as its events arrive.
#[derive(Debug, Default)]
struct Message {
    /// Something of it has come.
    has_begun: bool,
    has_stopped: bool,
    has_metadata: bool,
    blocks: Blocks,
}

/// The event that streams are made of.
const DELTA: &str = "contentBlockDelta";

impl EventDecoder for BedrockDecoder {
    fn new(limits: &Limits) -> Self {
        let json = Parser::new().with_limits(limits);
        Self { json, message: Message::default(), shapes: ShapeCache::default() }
    }

    fn decode(
        &mut self,
        event: &str,
        data: &str,
        mut sink: impl FnMut(Delta<'_>),
    ) -> Result<(), SyntaxError> {
        if event == DELTA
            && let Some((piece, text)) = self.shapes.read(data)
        {
            self.message.piece(piece, text, &mut sink);
            return Ok(());
        }
        let data = data.trim();
        if !data.starts_with('{') {
            if !data.is_empty() {
                let event = if is_failure(event) { "error" } else { event };
                no_object(&mut self.json, event, data, &mut sink);
            }
            return Ok(());
        }
        let value = parse(&mut self.json, data, &mut sink)?;
        let (mut deltas, mut is_piece) = (0, false);
        self.message.event(event, value, &mut |delta: Delta<'_>| {
            deltas += 1;
            is_piece = delta.is_piece();
            sink(delta);
        });
        if deltas == 1 && is_piece && event == DELTA {
            self.shapes.learn(|| find_piece(value));
        }
        Ok(())
    }

    fn decode_body(&mut self, body: &str, mut sink: impl FnMut(Delta<'_>)) -> Result<(), SyntaxError> {
        let body = parse(&mut self.json, body, &mut sink)?;
        self.message.body(body, &mut sink);
        Ok(())
    }

    fn reset(&mut self) {
        self.message = Message::default();
    }
}

/// The piece that an event is, its text, and what is ignored beside it: padding, which hides how long the text is.
fn find_piece(event: Value<'_>) -> Option<(Piece, Value<'_>, [Option<Value<'_>>; 1])> {
    let index = event.get("contentBlockIndex").and_then(as_u64).unwrap_or_default();
    let delta = ContentDelta::read(event.get("delta")?, &mut |_| {});
    Some((Piece { block: index, kind: delta.kind }, delta.carrier?, [event.get("p")]))
}

/// Whether the event is an exception, which is always named so.
fn is_failure(event: &str) -> bool {
    event == "error" || event.ends_with("Exception")
}

/// What an event has.
#[derive(Default)]
struct Members<'a> {
    index: u64,
    start: Option<Value<'a>>,
    delta: Option<Value<'a>>,
    usage: Option<Value<'a>>,
    reason: Option<Cow<'a, str>>,
}

impl<'a> Members<'a> {
    fn read(event: Value<'a>, sink: &mut impl FnMut(Delta<'_>)) -> Self {
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

// Events.
impl Message {
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        if is_failure(name) {
            let message = error_message(event);
            let message = if name == "error" { message } else { format!("{name}: {message}").into() };
            return sink(Delta::Error { message });
        }
        let members = Members::read(event, sink);
        match name {
            "messageStart" => self.start(sink),
            "contentBlockStart" => self.start_block(members.index, members.start, sink),
            DELTA => self.read_delta(members.index, members.delta, sink),
            "contentBlockStop" => {
                self.has_begun = true;
                self.blocks.stop(members.index, sink);
            }
            "messageStop" => self.stop(members.reason.as_deref(), sink),
            "metadata" => self.read_metadata(members.usage, sink),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
    }

    fn start(&mut self, sink: &mut impl FnMut(Delta<'_>)) {
        if self.has_begun {
            // A proxy has tried again, in the same stream.
            sink(Delta::Restart);
        }
        *self = Self { has_begun: true, ..Self::default() };
        sink(Delta::Start { choice: 0 });
    }

    /// Of a text, not every model sends the start, and it says nothing.
    fn start_block(&mut self, index: u64, start: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        let Some(start) = start else { return };
        let start = Content::read_start(start, sink);
        match start.kind {
            Some(BlockKind::Call) => self.blocks.start_call(index, start.header(), None, sink),
            Some(kind) => self.blocks.start(index, kind, sink),
            None => {}
        }
    }

    fn read_delta(&mut self, index: u64, delta: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        let Some(delta) = delta.filter(|_| !self.blocks.ignores(index)) else { return };
        read_opaque(delta, sink);
        let delta = ContentDelta::read(delta, sink);
        if delta.carrier.is_some() {
            self.piece(Piece { block: index, kind: delta.kind }, &delta.text, sink);
        }
    }

    fn piece(&mut self, piece: Piece, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.blocks.piece(piece, text, sink);
    }

    fn stop(&mut self, reason: Option<&str>, sink: &mut impl FnMut(Delta<'_>)) {
        (self.has_begun, self.has_stopped) = (true, true);
        let reason = reason.map(finish_reason);
        let is_clean = reason.as_ref().is_none_or(FinishReason::is_clean);
        self.blocks.settle(is_clean.then_some(Completion::ItemStop), sink);
        if let Some(reason) = reason {
            sink(Delta::Finish { choice: 0, reason });
        }
        self.terminate(sink);
    }

    fn read_metadata(&mut self, usage: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_metadata = true;
        if let Some(usage) = usage.and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        self.terminate(sink);
    }

    /// Ends the stream once the stop and the metadata have come, in either order.
    fn terminate(&mut self, sink: &mut impl FnMut(Delta<'_>)) {
        if self.has_stopped && self.has_metadata {
            sink(Delta::Terminator);
        }
    }
}

// Whole responses.
impl Message {
    fn body(&mut self, body: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        let is_message = body.get("content").is_some();
        let Some(message) = body.pointer("/output/message").or(is_message.then_some(body)) else {
            let error = ["message", "Message"].into_iter().find_map(|name| body.get(name));
            return sink(match error {
                Some(error) => Delta::Error { message: error_message(error) },
                None => Delta::Unknown { parent: "data", name: "no response".into() },
            });
        };
        self.has_begun = true;
        sink(Delta::Start { choice: 0 });
        let reason = body.get("stopReason").and_then(Value::as_str).map(|reason| finish_reason(&reason));
        let is_clean = reason.as_ref().is_none_or(FinishReason::is_clean);
        if let Some(content) = message.get("content") {
            self.content(content, !is_clean, sink);
        }
        if let Some(usage) = body.get("usage").and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        self.blocks.settle(is_clean.then_some(Completion::ItemStop), sink);
        if let Some(reason) = reason {
            sink(Delta::Finish { choice: 0, reason });
        }
        sink(Delta::Terminator);
    }

    /// Content that is there as a whole. Of what was cut off, the last block may not be.
    fn content(&mut self, content: Value<'_>, is_cut: bool, sink: &mut impl FnMut(Delta<'_>)) {
        let Some(blocks) = content.as_array() else { return unknown("message", "content", content, sink) };
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

/// Hands over what vouches for reasoning, in a delta or in a whole block.
fn read_opaque(block: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
    let Some(reasoning) = block.get("reasoningContent") else { return };
    opaque(OpaqueOf::Reasoning, reasoning.get("reasoningText").unwrap_or(reasoning), "signature", sink);
    opaque(OpaqueOf::Reasoning, reasoning, "redactedContent", sink);
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

/// What is read from the cache or written to it is not among the input tokens.
fn read_usage(usage: Value<'_>) -> Option<Usage> {
    let tokens = |name| usage.get(name).and_then(as_u64);
    let input =
        ["inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"].into_iter().filter_map(tokens);
    let input_tokens = input.reduce(u64::saturating_add);
    let (output_tokens, total_tokens) = (tokens("outputTokens"), tokens("totalTokens"));
    let cached_input_tokens = tokens("cacheReadInputTokens");
    let usage = Usage { input_tokens, output_tokens, total_tokens, cached_input_tokens, reasoning_tokens: None };
    usage.has_totals().then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_deltas_are_like_the_one_before() {
        for delta in [
            r#"{"text":"TEXT"}"#,
            r#"{"toolUse":{"input":"TEXT"}}"#,
            r#"{"reasoningContent":{"text":"TEXT"}}"#,
        ] {
            let event = |padding: &str, text: &str| {
                let delta = delta.replace("TEXT", text);
                format!(r#"{{"contentBlockIndex":1,"delta":{delta},"p":"{padding}"}}"#)
            };
            let mut decoder = BedrockDecoder::new(&Limits::default());
            decoder.decode(DELTA, &event("ab", "one"), |_| {}).unwrap();
            let read = decoder.shapes.read(&event("abcdef", "two")).map(|(_, text)| text.to_owned());
            assert_eq!(read.as_deref(), Some("two"), "{delta}");
        }
    }
}
