//! The events of a Gemini interaction: <https://ai.google.dev/gemini-api/docs/interactions>.

mod step;

use std::borrow::Cow;
use std::mem;

use tokenline_core::json::{Parser, SyntaxError, Value};
use tokenline_core::{Completion, Limits};

use crate::delta::{Delta, FinishReason, OpaqueOf, Usage};
use crate::providers::EventDecoder;
use crate::providers::blocks::{BlockKind, Blocks, Piece};
use crate::providers::shape_cache::ShapeCache;
use crate::providers::values::{as_u64, error_message, is_nothing, no_object, opaque, parse};
use step::{Step, StepDelta};

/// Decodes the events of an interaction with Gemini.
///
/// An interaction is one choice, 0, and its steps are the blocks. Only the functions that the caller runs are calls;
/// what Google's servers run, and what comes of it, is left out.
///
/// ```
/// use tokenline_core::Limits;
/// use tokenline_llm::Delta;
/// use tokenline_llm::providers::{EventDecoder, GeminiInteractionsDecoder};
///
/// let mut decoder = GeminiInteractionsDecoder::new(&Limits::default());
/// let mut text = String::new();
/// for data in [
///     r#"{"event_type":"interaction.created","interaction":{"id":"v1_a","status":"in_progress"}}"#,
///     r#"{"event_type":"step.start","index":0,"step":{"type":"model_output"}}"#,
///     r#"{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hello"}}"#,
///     r#"{"event_type":"step.stop","index":0}"#,
///     r#"{"event_type":"interaction.completed","interaction":{"id":"v1_a","status":"completed"}}"#,
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
pub struct GeminiInteractionsDecoder {
    json: Parser,
    interaction: Interaction,
    shapes: ShapeCache<Piece>,
}

/// An interaction as its events arrive.
#[derive(Debug, Default)]
struct Interaction {
    /// Something of its steps has come, or its end.
    has_begun: bool,
    has_calls: bool,
    blocks: Blocks,
}

impl EventDecoder for GeminiInteractionsDecoder {
    fn new(limits: &Limits) -> Self {
        let json = Parser::new().with_limits(limits);
        Self { json, interaction: Interaction::default(), shapes: ShapeCache::default() }
    }

    fn decode(
        &mut self,
        event: &str,
        data: &str,
        mut sink: impl FnMut(Delta<'_>),
    ) -> Result<(), SyntaxError> {
        if let Some((piece, text)) = self.shapes.read(data) {
            self.interaction.piece(piece, text, &mut sink);
            return Ok(());
        }
        let data = data.trim();
        match data {
            // It proves nothing: the end of an interaction has its status.
            "" | "[DONE]" => {}
            _ if data.starts_with('{') => {
                let value = parse(&mut self.json, data, &mut sink)?;
                let (mut deltas, mut is_piece) = (0, false);
                self.interaction.event(event, value, &mut |delta: Delta<'_>| {
                    deltas += 1;
                    is_piece = delta.is_piece();
                    sink(delta);
                });
                if deltas == 1 && is_piece {
                    self.shapes.learn(|| find_piece(value));
                }
            }
            _ => no_object(&mut self.json, event, data, &mut sink),
        }
        Ok(())
    }

    fn decode_body(&mut self, body: &str, mut sink: impl FnMut(Delta<'_>)) -> Result<(), SyntaxError> {
        let body = parse(&mut self.json, body, &mut sink)?;
        self.interaction.body(body, &mut sink);
        Ok(())
    }

    fn reset(&mut self) {
        self.interaction = Interaction::default();
    }
}

/// The piece that an event is, its text, and what is ignored beside it.
fn find_piece(event: Value<'_>) -> Option<(Piece, Value<'_>, [Option<Value<'_>>; 1])> {
    let kind = event.get("event_type")?.as_str()?;
    let index = event.get("index").and_then(as_u64).unwrap_or_default();
    let delta = StepDelta::read(event.get("delta").filter(|_| kind == "step.delta")?, &mut |_| {});
    let piece = Piece { block: index, kind: delta.kind };
    Some((piece, delta.carrier?, [event.get("event_id")]))
}

// Events.
impl Interaction {
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        let (mut kind, mut index, mut interaction) = (None, 0, None);
        let (mut step, mut delta, mut error) = (None, None, None);
        for (name, value) in event.as_object().into_iter().flatten() {
            match name {
                "event_type" => kind = value.as_str(),
                "index" => index = as_u64(value).unwrap_or_default(),
                "interaction" => interaction = Some(value),
                "step" => step = Some(value),
                "delta" => delta = Some(value),
                "error" => error = Some(value).filter(|error| !is_nothing(*error)),
                "event_id" | "interaction_id" | "status" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        match kind.as_deref().unwrap_or(name) {
            "interaction.created" => self.start(sink),
            "interaction.status_update" => {}
            "interaction.completed" => self.end(interaction.unwrap_or(event), sink),
            "step.start" => {
                if let Some(step) = step {
                    self.start_step(index, step, false, sink);
                }
            }
            "step.delta" => {
                if let Some(delta) = delta {
                    self.read_delta(index, delta, sink);
                }
            }
            "step.stop" => self.stop_step(index, sink),
            _ if kind.is_none() && error.is_some() => {}
            other if other == "error" || name == "error" => error = error.or(Some(event)),
            // The end, under another name: by its status.
            _ if interaction.is_some_and(is_over) => self.end(interaction.unwrap_or(event), sink),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
        if let Some(error) = error {
            sink(Delta::Error { message: error_message(error) });
        }
    }

    fn start(&mut self, sink: &mut impl FnMut(Delta<'_>)) {
        if self.has_begun {
            // A proxy has tried again, in the same stream.
            sink(Delta::Restart);
        }
        *self = Self::default();
        sink(Delta::Start { choice: 0 });
    }

    /// `is_whole` says that no deltas of it are to follow.
    fn start_step(&mut self, index: u64, step: Value<'_>, is_whole: bool, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        let value = step;
        let step = Step::read(step, sink);
        match step.kind {
            BlockKind::Call => {
                self.has_calls = true;
                let header = (step.id.as_deref(), step.name.as_deref());
                self.blocks.start_call(index, header, step.arguments(is_whole), sink);
            }
            kind => self.blocks.start(index, kind, sink),
        }
        step.texts(sink, |text, sink| {
            self.blocks.piece(Piece { block: index, kind: step.kind }, text, sink);
        });
        match step.kind {
            BlockKind::Reasoning if !is_whole => {}
            BlockKind::Reasoning => opaque(OpaqueOf::Reasoning, value, "signature", sink),
            BlockKind::Call => opaque(OpaqueOf::ToolCall, value, "signature", sink),
            BlockKind::Text | BlockKind::Ignored => {}
        }
    }

    fn read_delta(&mut self, index: u64, delta: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        if self.blocks.ignores(index) {
            return;
        }
        opaque(OpaqueOf::Reasoning, delta, "signature", sink);
        let delta = StepDelta::read(delta, sink);
        if delta.carrier.is_some() {
            self.piece(Piece { block: index, kind: delta.kind }, &delta.text, sink);
        }
    }

    fn piece(&mut self, piece: Piece, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.has_calls |= piece.kind == BlockKind::Call;
        self.blocks.piece(piece, text, sink);
    }

    fn stop_step(&mut self, index: u64, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.blocks.stop(index, sink);
    }

    /// Ends with an interaction that is over.
    fn end(&mut self, interaction: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        let is_clean = self.finish_reason(interaction).is_clean();
        if !mem::replace(&mut self.has_begun, true) {
            self.steps(interaction, !is_clean, sink);
        }
        if let Some(usage) = interaction.get("usage").and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        self.blocks.settle(is_clean.then_some(Completion::ItemStop), sink);
        match self.finish_reason(interaction) {
            FinishReason::Error => {
                let error = interaction.get("error").filter(|error| !is_nothing(*error));
                sink(Delta::Error { message: error_message(error.unwrap_or(interaction)) });
            }
            reason => {
                sink(Delta::Finish { choice: 0, reason });
                sink(Delta::Terminator);
            }
        }
    }

    /// Why it is over. A status that is missing says nothing, and the event that it is.
    fn finish_reason(&self, interaction: Value<'_>) -> FinishReason {
        match status(interaction).as_deref() {
            None | Some("" | "completed") if self.has_calls => FinishReason::ToolCalls,
            None | Some("" | "completed") => FinishReason::Stop,
            Some("requires_action") => FinishReason::ToolCalls,
            Some("incomplete") => FinishReason::Length,
            Some("failed") => FinishReason::Error,
            Some(other) => FinishReason::other(other),
        }
    }
}

// Whole interactions.
impl Interaction {
    fn body(&mut self, body: Value<'_>, sink: &mut impl FnMut(Delta<'_>)) {
        if !super::has_body(body) && status(body).is_none() {
            let error = body.get("error").filter(|error| !is_nothing(*error));
            return sink(match error {
                Some(error) => Delta::Error { message: error_message(error) },
                None => Delta::Unknown { parent: "data", name: "no response".into() },
            });
        }
        sink(Delta::Start { choice: 0 });
        // One that runs in the background is not over.
        if status(body).is_none() || is_over(body) {
            self.end(body, sink);
        }
    }

    /// The steps of a whole interaction. Of what was cut off, the last may not be whole.
    fn steps(&mut self, interaction: Value<'_>, is_cut: bool, sink: &mut impl FnMut(Delta<'_>)) {
        let list = |name| interaction.get(name).and_then(Value::as_array);
        let Some(steps) = list("steps").or_else(|| list("outputs")) else { return };
        let count = steps.len() as u64;
        for (index, step) in (0..).zip(steps) {
            self.start_step(index, step, true, sink);
            if !(is_cut && index + 1 == count) {
                self.blocks.stop(index, sink);
            }
        }
    }
}

fn status(interaction: Value<'_>) -> Option<Cow<'_, str>> {
    interaction.get("status")?.as_str()
}

fn is_over(interaction: Value<'_>) -> bool {
    status(interaction).is_some_and(|status| !matches!(&*status, "" | "in_progress" | "queued"))
}

/// Thoughts are written, and the results of the server's own tools are read.
fn read_usage(usage: Value<'_>) -> Option<Usage> {
    let tokens = |name| usage.get(name).and_then(as_u64);
    let sum = |name, other| match (tokens(name), tokens(other)) {
        (Some(tokens), Some(others)) => Some(tokens.saturating_add(others)),
        (tokens, others) => tokens.or(others),
    };
    let input_tokens = sum("total_input_tokens", "total_tool_use_tokens");
    let output_tokens = sum("total_output_tokens", "total_thought_tokens");
    let usage = Usage {
        input_tokens,
        output_tokens,
        total_tokens: tokens("total_tokens"),
        cached_input_tokens: tokens("total_cached_tokens"),
        reasoning_tokens: tokens("total_thought_tokens"),
    };
    usage.has_totals().then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_deltas_are_like_the_one_before() {
        for delta in [
            r#"{"type":"text","text":"TEXT"}"#,
            r#"{"type":"thought_summary","content":{"type":"text","text":"TEXT"}}"#,
            r#"{"arguments":"TEXT","type":"arguments_delta"}"#,
        ] {
            let event = |id: &str, text: &str| {
                let delta = delta.replace("TEXT", text);
                format!(r#"{{"index":1,"delta":{delta},"event_id":"{id}","event_type":"step.delta"}}"#)
            };
            let mut decoder = GeminiInteractionsDecoder::new(&Limits::default());
            decoder.decode("message", &event("a", "one"), |_| {}).unwrap();
            let read = decoder.shapes.read(&event("bc", "two")).map(|(_, text)| text.to_owned());
            assert_eq!(read.as_deref(), Some("two"), "{delta}");
        }
    }
}
