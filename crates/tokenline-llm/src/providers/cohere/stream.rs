//! The events of Cohere chat, version 2: <https://docs.cohere.com/v2/docs/streaming>.

mod message;

use tokenline_core::json::{Kind, Parser, SyntaxError, Value};
use tokenline_core::{Completion, Limits};

use crate::delta::{Delta, FinishReason, OpaqueOf};
use crate::providers::EventDecoder;
use crate::providers::blocks::{self, Blocks};
use crate::providers::shape_cache::ShapeCache;
use crate::providers::values::{as_u64, error_message, is_nothing, no_object, parse, read_text, unknown};
use message::{Call, Content, Parts};

/// Decodes the events of a Cohere chat.
///
/// A message is one choice, 0. Contents and calls are both counted from 0, so the contents are the even blocks and the
/// calls the odd ones. The plan that the model makes before it calls tools is reasoning.
///
/// ```
/// use tokenline_core::Limits;
/// use tokenline_llm::Delta;
/// use tokenline_llm::providers::{CohereDecoder, EventDecoder};
///
/// let mut decoder = CohereDecoder::new(&Limits::default());
/// let mut text = String::new();
/// for data in [
///     r#"{"type":"message-start","id":"m","delta":{"message":{"role":"assistant","content":[]}}}"#,
///     r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}"#,
///     r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hello"}}}}"#,
///     r#"{"type":"content-end","index":0}"#,
///     r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}"#,
/// ] {
///     decoder.decode("message", data, |delta| match delta {
///         Delta::Text { text: more, .. } => text.push_str(more),
///         other => eprintln!("{other:?}"),
///     })?;
/// }
/// assert_eq!(text, "Hello");
/// # Ok::<(), tokenline_core::json::SyntaxError>(())
/// ```
#[derive(Debug)]
pub struct CohereDecoder {
    json: Parser,
    message: Message,
    shapes: ShapeCache<Piece>,
}

/// A message as its events arrive.
#[derive(Debug, Default)]
struct Message {
    /// Something of it has come.
    has_begun: bool,
    blocks: Blocks,
}

/// More of something, all that an event is.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Plan,
    Block(blocks::Piece),
}

impl EventDecoder for CohereDecoder {
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
            self.message.piece(piece, text, &mut sink);
            return Ok(());
        }
        let data = data.trim();
        match data {
            // What newer servers append. The end was `message-end`.
            "" | "[DONE]" => {}
            _ if data.starts_with('{') => {
                let value = parse(&mut self.json, data, &mut sink)?;
                let (mut deltas, mut is_piece) = (0, false);
                self.message.event(event, value, &mut |delta: Delta<'_>| {
                    deltas += u32::from(!matches!(delta, Delta::Opaque { .. }));
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

// Events.
impl Message {
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        let (mut kind, mut index, mut delta) = (None, 0, None);
        let (mut error, mut message) = (None, None);
        for (name, value) in event.as_object().into_iter().flatten() {
            match name {
                "type" => kind = value.as_str(),
                "index" => index = as_u64(value).unwrap_or_default(),
                "delta" => delta = Some(value),
                "error" => error = Some(value).filter(|error| !is_nothing(*error)),
                // An error that comes in place of a stream has no type, and this member.
                "message" => message = Some(value).filter(|message| !is_nothing(*message)),
                "id" | "logprobs" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        let mut parts = Parts::default();
        if let Some(delta) = delta {
            parts.read("delta", delta, sink);
        }
        match kind.as_deref().unwrap_or(name) {
            "message-start" => self.start(&parts, sink),
            "content-start" => self.start_content(index, parts.content, sink),
            "content-delta" => self.read_content(index, parts.content, sink),
            "content-end" => self.stop(content_block(index), sink),
            "tool-plan-delta" => self.read_plan(&parts, sink),
            "tool-call-start" => self.start_call(index, parts.calls, sink),
            "tool-call-delta" => self.read_call(index, parts.calls, sink),
            "tool-call-end" => self.stop(call_block(index), sink),
            "message-end" => self.end(&parts, sink),
            "citation-start" | "citation-end" | "debug" => {}
            _ if kind.is_none() && error.or(message).is_some() => error = error.or(message),
            _ if name == "error" => error = error.or(Some(event)),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
        if let Some(error) = error.or(parts.error) {
            sink(Delta::Error { message: error_message(error) });
        }
    }

    fn start(&mut self, parts: &Parts<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        if self.has_begun {
            // A proxy has tried again, in the same stream.
            sink(Delta::Restart);
        }
        *self = Self { has_begun: true, ..Self::default() };
        sink(Delta::Start { choice: 0 });
        self.whole(parts, sink);
    }

    fn start_content(&mut self, index: u64, content: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        let content = Content::read(content, sink);
        self.blocks.start(content_block(index), content.kind, sink);
        self.piece(content.piece(index), &content.text, sink);
    }

    fn read_content(&mut self, index: u64, content: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        let content = Content::read(content, sink);
        self.piece(content.piece(index), &content.text, sink);
    }

    fn read_plan(&mut self, parts: &Parts<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        let Some(plan) = parts.plan else { return };
        match read_text(plan, sink) {
            Some(text) => {
                // It goes back under this name.
                if !text.is_empty() {
                    let data = "\"tool_plan\"".into();
                    sink(Delta::Opaque { choice: 0, of: OpaqueOf::ReasoningMember, data });
                }
                self.piece(Piece::Plan, &text, sink);
            }
            None => unknown("delta.message", "tool_plan", plan, sink),
        }
    }

    fn start_call(&mut self, index: u64, call: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        let call = Call::read(call, sink);
        self.blocks.start_call(call_block(index), call.header(), None, sink);
        self.piece(Call::piece(index), call.arguments.as_deref().unwrap_or_default(), sink);
    }

    fn read_call(&mut self, index: u64, call: Option<Value<'_>>, sink: &mut impl FnMut(Delta<'_>)) {
        let call = Call::read(call, sink);
        self.piece(Call::piece(index), call.arguments.as_deref().unwrap_or_default(), sink);
    }

    fn piece(&mut self, piece: Piece, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        match piece {
            Piece::Plan if text.is_empty() => {}
            Piece::Plan => sink(Delta::Reasoning { choice: 0, text }),
            Piece::Block(piece) => self.blocks.piece(piece, text, sink),
        }
    }

    fn stop(&mut self, block: u64, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.blocks.stop(block, sink);
    }

    fn end(&mut self, parts: &Parts<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        if let Some(usage) = parts.usage() {
            sink(Delta::Usage(usage));
        }
        let reason = parts.finish_reason();
        let is_clean = reason.as_ref().is_none_or(FinishReason::is_clean);
        self.blocks.settle(is_clean.then_some(Completion::ItemStop), sink);
        let has_failed = parts.error.is_some() || reason == Some(FinishReason::Error);
        if let Some(reason) = reason {
            sink(Delta::Finish { choice: 0, reason });
        }
        if !has_failed {
            sink(Delta::Terminator);
        }
    }
}

// Whole messages.
impl Message {
    fn body(&mut self, body: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        let message = body.get("message");
        let mut parts = Parts::default();
        match message.map(Value::kind) {
            Some(Kind::Object) => parts.read("", body, sink),
            None if body.get("role").is_some() => parts.read_message(body, sink),
            // The message of an error is a text.
            _ => {
                let error = body.get("error").or(message).filter(|error| !is_nothing(*error));
                return sink(match error {
                    Some(error) => Delta::Error { message: error_message(error) },
                    None => Delta::Unknown { parent: "data", name: "no response".into() },
                });
            }
        }
        self.has_begun = true;
        sink(Delta::Start { choice: 0 });
        self.whole(&parts, sink);
        self.end(&parts, sink);
    }

    /// Content that is there as a whole. Of what was cut off, the last call may not be.
    fn whole(&mut self, parts: &Parts<'_>, sink: &mut impl FnMut(Delta<'_>)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_deltas_are_like_the_one_before() {
        for (kind, delta) in [
            ("content-delta", r#"{"content":{"text":"TEXT"}}"#),
            ("content-delta", r#"{"content":{"thinking":"TEXT"}}"#),
            ("tool-plan-delta", r#"{"tool_plan":"TEXT"}"#),
            ("tool-call-delta", r#"{"tool_calls":{"function":{"arguments":"TEXT"}}}"#),
        ] {
            let event = |text: &str| {
                let delta = delta.replace("TEXT", text);
                format!(r#"{{"type":"{kind}","index":1,"delta":{{"message":{delta}}}}}"#)
            };
            let mut decoder = CohereDecoder::new(&Limits::default());
            decoder.decode("message", &event("one"), |_| {}).unwrap();
            let read = decoder.shapes.read(&event("two")).map(|(_, text)| text.to_owned());
            assert_eq!(read.as_deref(), Some("two"), "{delta}");
        }
    }
}
