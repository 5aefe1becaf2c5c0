//! Anthropic messages.
//!
//! The wire format: <https://docs.anthropic.com/en/docs/build-with-claude/streaming>.

mod blocks;

use std::borrow::Cow;

use tokenline_core::json::{Parser, SyntaxError, Value};
use tokenline_core::{Completion, Limits};

use crate::providers::values::{as_u64, error_message, is_nothing, no_object, parse, read_text, unknown};
use crate::providers::shape_cache::ShapeCache;
use crate::providers::EventDecoder;
use crate::delta::{Delta, FinishReason, Usage};

/// Decodes the events of a messages stream.
///
/// A message is one choice, 0, and its content blocks are the blocks. Only the calls that the caller is
/// to make are calls; those that Anthropic's servers make themselves, and what comes of them, are left
/// out.
///
/// ```
/// use tokenline_core::Limits;
/// use tokenline_llm::providers::{AnthropicDecoder, EventDecoder};
/// use tokenline_llm::Delta;
///
/// let mut decoder = AnthropicDecoder::new(&Limits::default());
/// let mut text = String::new();
/// for (event, data) in [
///     ("message_start", r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#),
///     (
///         "content_block_start",
///         r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
///     ),
///     (
///         "content_block_delta",
///         r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
///     ),
///     ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
///     ("message_delta", r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#),
///     ("message_stop", r#"{"type":"message_stop"}"#),
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
pub struct AnthropicDecoder {
    json: Parser,
    message: Message,
    shapes: ShapeCache<Piece>,
}

impl EventDecoder for AnthropicDecoder {
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
        if let Some((piece, text)) = self.shapes.read(data) {
            if self.message.listens_to(piece.index) {
                self.message.piece(piece, text, &mut sink);
            }
            return Ok(());
        }
        let data = data.trim();
        match data {
            // Proxies that end every stream so do it here as well. It proves nothing.
            "" | "[DONE]" => {}
            _ if data.starts_with('{') => {
                let value = parse(&mut self.json, data, &mut sink)?;
                let (mut deltas, mut is_piece) = (0, false);
                self.message.event(event, value, &mut |delta: Delta<'_>| {
                    deltas += 1;
                    is_piece = delta.is_piece();
                    sink(delta);
                });
                if deltas == 1 && is_piece {
                    self.shapes.learn(|| Piece::find(value));
                }
            }
            _ => no_object(&mut self.json, event, data, &mut sink),
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

/// A message as its events arrive.
#[derive(Debug, Default)]
struct Message {
    /// Something of it has come.
    has_begun: bool,
    /// Those that are open, and the texts whose end is held back.
    blocks: Vec<Block>,
    /// The latest call's arguments as they stood at its start, and its block.
    input: Option<(u64, String)>,
    tokens: Tokens,
}

#[derive(Debug)]
struct Block {
    index: u64,
    kind: Kind,
    /// What goes back with it: the signature of thinking, or the whole block.
    opaque: String,
    /// Its stop came.
    is_stopped: bool,
}

/// More of a block, all that an event is.
#[derive(Clone, Copy, Debug)]
struct Piece {
    index: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Call,
    Thinking,
    /// Not the caller's business, or not known.
    Aside,
}

/// The `tokens` of a message, by how they are billed.
#[derive(Debug, Default)]
struct Tokens {
    input: Option<u64>,
    cache_creation: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
}

/// Blocks that are known to be open. Stops a server that opens blocks for ever.
const MAX_BLOCKS: usize = 64;

// Events.
impl Message {
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
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
                "error" => error = Some(value).filter(|error| !is_nothing(*error)),
                "request_id" | "context_management" | "input_transformations" => {}
                // Bedrock's, in its last event.
                "amazon-bedrock-invocationMetrics" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        match kind.as_deref().unwrap_or(name) {
            "message_start" => self.start(message, sink),
            "content_block_start" => self.start_block(index, block, false, sink),
            "content_block_delta" => self.read_delta(index, delta, sink),
            "content_block_stop" => self.stop_block(index, sink),
            "message_delta" => self.change(delta, usage, sink),
            "message_stop" => {
                self.has_begun = true;
                self.settle(Some(Completion::ItemStop), sink);
                sink(Delta::Terminator);
            }
            "ping" => {}
            "error" => error = error.or(Some(event)),
            _ if kind.is_none() && error.is_some() => {}
            // Its type may be that of the error.
            _ if name == "error" => error = error.or(Some(event)),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
        if let Some(error) = error {
            sink(Delta::Error { message: error_message(error) });
        }
    }

    fn start(&mut self, message: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        const PLACE: &str = "message";
        if self.has_begun {
            // A proxy has tried again, in the same stream.
            sink(Delta::Restart);
        }
        *self = Self { has_begun: true, ..Self::default() };
        sink(Delta::Start { choice: 0 });
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
        self.finish(reason, details, sink);
    }

    /// A whole message, or its content.
    fn body(&mut self, body: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        if body.as_array().is_some() {
            sink(Delta::Start { choice: 0 });
            self.content(body, false, sink);
        } else if let Some(error) = body.get("error").filter(|error| !is_nothing(*error)) {
            return sink(Delta::Error { message: error_message(error) });
        } else if body.get("content").is_some() {
            self.start(Some(body), sink);
        } else {
            return;
        }
        sink(Delta::Terminator);
    }

    /// Content that is there as a whole. Of what was cut off, the last block may not be.
    fn content(&mut self, content: Value<'_>, is_cut: bool, sink: &mut impl FnMut(Delta<'_>)) {
        if let Some(text) = read_text(content, sink) {
            return sink(Delta::Text { choice: 0, block: 0, text: &text });
        }
        let Some(blocks) = content.as_array() else { return unknown("message", "content", content, sink) };
        let count = blocks.len() as u64;
        for (index, block) in (0..).zip(blocks) {
            self.start_block(index, Some(block), true, sink);
            if !(is_cut && index + 1 == count) {
                self.stop_block(index, sink);
            }
        }
    }

    /// Changes of the message as a whole: why it stopped, and its tokens.
    fn change(
        &mut self,
        delta: Option<Value<'_>>,
        usage: Option<Value<'_>>,
        sink: &mut impl FnMut(Delta<'_>),
    ) {
        self.has_begun = true;
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
        self.finish(reason, details, sink);
    }

    fn count(&mut self, usage: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        if let Some(usage) = usage.filter(|usage| usage.as_object().is_some()) {
            self.tokens.update(usage);
            sink(Delta::Usage(self.tokens.sum()));
        }
    }

    fn finish(
        &mut self,
        reason: Option<Cow<'_, str>>,
        details: Option<Value<'_>>,
        sink: &mut impl FnMut(Delta<'_>),
    ) {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return };
        let reason = finish_reason(&reason);
        self.settle(reason.is_clean().then_some(Completion::ItemStop), sink);
        let explanation = details.and_then(|details| details.get("explanation")?.as_str());
        let explanation = explanation.filter(|_| reason == FinishReason::ContentFilter);
        if let Some(text) = explanation.filter(|text| !text.is_empty()) {
            sink(Delta::Refusal { choice: 0, text: &text });
        }
        sink(Delta::Finish { choice: 0, reason });
    }

    /// Ends the texts that have stopped; `completion` tells that they are whole.
    fn settle(&mut self, completion: Option<Completion>, sink: &mut impl FnMut(Delta<'_>)) {
        self.give_input(sink);
        self.blocks.retain(|block| {
            if block.is_stopped {
                sink(Delta::BlockStop { choice: 0, block: block.index, completion });
            }
            !block.is_stopped
        });
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
    /// Takes over what `usage` says: the counts so far, of those that it has.
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
            reasoning_tokens: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_deltas_are_like_the_one_before() {
        for delta in [
            r#"{"type":"text_delta","text":"TEXT"}"#,
            r#"{"type":"thinking_delta","thinking":"TEXT","estimated_tokens":5}"#,
            r#"{"type":"input_json_delta","partial_json":"TEXT"}"#,
        ] {
            let event = |text: &str, tokens: &str| {
                let delta = delta.replace("TEXT", text).replace('5', tokens);
                format!(r#"{{"type":"content_block_delta","index":1,"delta":{delta}      }}"#)
            };
            let mut decoder = AnthropicDecoder::new(&Limits::default());
            decoder.decode("content_block_delta", &event("one", "5"), |_| {}).unwrap();
            let read = decoder.shapes.read(&event("two", "12")).map(|(_, text)| text.to_owned());
            assert_eq!(read.as_deref(), Some("two"), "{delta}");
        }
    }
}
