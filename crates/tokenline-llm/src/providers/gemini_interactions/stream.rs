//! The events of a Gemini interaction: <https://ai.google.dev/gemini-api/docs/interactions>.

mod step;

use std::borrow::Cow;

use tokenline_core::json::{Array, Value};
use tokenline_core::{CallDelta, CompletedBy};

use super::Api;
use crate::delta::{Delta, FinishReason, OpaqueTarget, Usage};
use crate::providers::api::{EventReader, ProviderApi, Sink};
use crate::providers::blocks::{BlockKind, Blocks, Piece};
use crate::providers::values::{as_u64, error_delta, is_error, opaque};
use step::{Step, StepDelta};

/// An interaction, read event by event: one choice, 0, with the steps as its blocks.
///
/// Only the caller's functions are calls; those that Google's servers run, and their results, are skipped.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    has_calls: bool,
    blocks: Blocks,
    /// The texts and calls that have begun.
    steps: Vec<(u64, BlockKind)>,
}

/// Limits a server that invents steps.
const MAX_STEPS: usize = 1024;

impl EventReader for Reader {
    const INCIDENTAL: &'static [&'static str] = &["/event_id", "/interaction_id"];

    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        let (mut kind, mut index, mut interaction) = (None, 0, None);
        let (mut step, mut delta, mut error) = (None, None, None);
        for (name, value) in event.as_object().into_iter().flatten() {
            match name {
                "event_type" => kind = value.as_str(),
                "index" => index = as_u64(value).unwrap_or_default(),
                "interaction" => interaction = Some(value),
                "step" => step = Some(value),
                "delta" => delta = Some(value),
                "error" => error = Some(value).filter(|error| is_error(*error)),
                "event_id" | "interaction_id" | "status" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        match kind.as_deref().unwrap_or(name) {
            "interaction.created" => {
                self.has_calls = false;
                self.steps.clear();
                self.blocks.start_message(sink);
            }
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
            "step.stop" => self.blocks.stop(index, sink),
            _ if kind.is_none() && error.is_some() => {}
            other if other == "error" || name == "error" => error = error.or(Some(event)),
            // The end under another name, detected by its status.
            _ if interaction.is_some_and(is_over) => self.end(interaction.unwrap_or(event), sink),
            other => sink(Delta::Unknown { parent: "event", name: other.into() }),
        }
        if let Some(error) = error {
            sink(error_delta(error));
        }
    }

    fn is_repeatable(&self, _: &str, event: Value<'_>) -> bool {
        let is_delta = event.get("event_type").and_then(Value::as_str).as_deref() == Some("step.delta");
        is_delta && !self.blocks.has_arguments()
    }

    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        if !Api.has_body(body) && status(body).is_none() {
            let error = body.get("error").filter(|error| is_error(*error));
            return sink(match error {
                Some(error) => error_delta(error),
                None => Delta::Unknown { parent: "data", name: "no response".into() },
            });
        }
        sink(Delta::Start { choice: 0 });
        // An interaction in the background has not ended yet.
        if status(body).is_none() || is_over(body) {
            self.end(body, sink);
        }
    }
}

impl Reader {
    /// With `is_whole`, no deltas of the step follow.
    fn start_step(&mut self, index: u64, step: Value<'_>, is_whole: bool, sink: &mut Sink<'_>) {
        let value = step;
        let step = Step::read(step, sink);
        self.note(index, step.kind);
        match step.kind {
            BlockKind::Call => {
                self.has_calls = true;
                let header = (step.id.as_deref(), step.name.as_deref());
                self.blocks.start_call(index, header, step.arguments(is_whole), sink);
            }
            kind => {
                self.blocks.start(index, kind, sink);
            }
        }
        step.texts(sink, |text, sink| {
            self.blocks.piece(Piece { block: index, kind: step.kind }, text, sink);
        });
        match step.kind {
            BlockKind::Reasoning if !is_whole => {}
            BlockKind::Reasoning => opaque(OpaqueTarget::Reasoning, value, "signature", sink),
            BlockKind::Call => opaque(OpaqueTarget::ToolCall, value, "signature", sink),
            BlockKind::Text | BlockKind::Ignored => {}
        }
    }

    fn read_delta(&mut self, index: u64, delta: Value<'_>, sink: &mut Sink<'_>) {
        if self.blocks.ignores(index) {
            return;
        }
        opaque(OpaqueTarget::Reasoning, delta, "signature", sink);
        let delta = StepDelta::read(delta, sink);
        if let Some(text) = delta.text {
            self.has_calls |= delta.kind == BlockKind::Call;
            // Its start may be missing.
            self.note(index, delta.kind);
            self.blocks.piece(Piece { block: index, kind: delta.kind }, &text, sink);
        }
    }

    /// Takes note of a text or a call.
    fn note(&mut self, index: u64, kind: BlockKind) {
        let is_content = matches!(kind, BlockKind::Text | BlockKind::Call);
        let is_known = || self.steps.iter().rev().any(|step| *step == (index, kind));
        if is_content && self.steps.len() < MAX_STEPS && !is_known() {
            self.steps.push((index, kind));
        }
    }

    /// Ends the response with a finished interaction.
    fn end(&mut self, interaction: Value<'_>, sink: &mut Sink<'_>) {
        let is_clean = self.finish_reason(interaction).is_clean();
        if !self.blocks.has_begun {
            self.steps(interaction, !is_clean, sink);
        } else if is_clean {
            self.complete(interaction, sink);
        }
        if let Some(usage) = interaction.get("usage").and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        self.blocks.settle(is_clean.then_some(CompletedBy::ItemStop), sink);
        match self.finish_reason(interaction) {
            FinishReason::Error => {
                let error = interaction.get("error").filter(|error| is_error(*error));
                sink(error_delta(error.unwrap_or(interaction)));
            }
            reason => {
                sink(Delta::Finish { choice: 0, reason });
                sink(Delta::Terminator);
            }
        }
    }

    /// The finish reason. A missing status counts as `completed`, as the name of the event implies.
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

    /// Completes the streamed steps with those of the complete interaction: calls by their ids, others by
    /// [their blocks](Self::blocks_of). What was not streamed is new.
    fn complete(&mut self, interaction: Value<'_>, sink: &mut Sink<'_>) {
        let Some(steps) = steps_of(interaction) else { return };
        // Unknown members were counted when the step came.
        let steps: Vec<Step<'_>> =
            steps.into_iter().map(|step| Step::read(step, &mut |_: Delta<'_>| {})).collect();
        let blocks = self.blocks_of(&steps);
        let of = |kind| steps.iter().zip(&blocks).filter(move |(step, _)| step.kind == kind);
        for (step, block) in of(BlockKind::Call) {
            let arguments = step.arguments(true).unwrap_or_default();
            let id = step.id.as_deref().filter(|id| !id.is_empty());
            let index = if id.is_some() { None } else { Some(*block) };
            let lossy = arguments.contains(char::REPLACEMENT_CHARACTER);
            let header = CallDelta { index, id, name: step.name.as_deref(), ..CallDelta::default() };
            self.has_calls = true;
            let call = CallDelta { arguments: &arguments, is_whole: true, lossy, ..header };
            sink(Delta::ToolCall { choice: 0, call });
        }
        for (step, block) in of(BlockKind::Text) {
            let mut text = String::new();
            step.texts(&mut |_: Delta<'_>| {}, |piece, _| text.push_str(piece));
            if !text.is_empty() {
                sink(Delta::WholeText { choice: 0, block: *block, part: 0, text: &text });
            }
        }
    }

    /// The blocks of the steps of the complete interaction: their positions if the streamed steps have theirs, else those
    /// of the streamed steps of the same kind, in order. A step that was not streamed has a new block.
    fn blocks_of(&self, steps: &[Step<'_>]) -> Vec<u64> {
        let kind_at = |index: u64| usize::try_from(index).ok().and_then(|index| Some(steps.get(index)?.kind));
        let positions = 0..steps.len() as u64;
        if self.steps.iter().all(|(index, kind)| kind_at(*index) == Some(*kind)) {
            return positions.collect();
        }
        let mut streamed: Vec<(u64, BlockKind)> = Vec::new();
        for step in &self.steps {
            streamed.insert(streamed.partition_point(|(index, _)| *index <= step.0), *step);
        }
        let after = streamed.last().map_or(0, |(index, _)| index.saturating_add(1));
        let of = |kind| streamed.iter().filter(move |step| step.1 == kind).map(|step| step.0);
        let (mut texts, mut calls) = (of(BlockKind::Text), of(BlockKind::Call));
        let known = steps.iter().map(|step| match step.kind {
            BlockKind::Text => texts.next(),
            BlockKind::Call => calls.next(),
            BlockKind::Reasoning | BlockKind::Ignored => None,
        });
        known.zip(positions).map(|(known, at)| known.unwrap_or(after.saturating_add(at))).collect()
    }

    /// The steps of a complete interaction. If it was cut off, its last step may be incomplete.
    fn steps(&mut self, interaction: Value<'_>, is_cut: bool, sink: &mut Sink<'_>) {
        let Some(steps) = steps_of(interaction) else { return };
        let count = steps.len() as u64;
        for (index, step) in (0..).zip(steps) {
            self.start_step(index, step, true, sink);
            if !(is_cut && index + 1 == count) {
                self.blocks.stop(index, sink);
            }
        }
    }
}

fn steps_of(interaction: Value<'_>) -> Option<Array<'_>> {
    let list = |name| interaction.get(name).and_then(Value::as_array);
    list("steps").or_else(|| list("outputs"))
}

fn status(interaction: Value<'_>) -> Option<Cow<'_, str>> {
    interaction.get("status")?.as_str()
}

fn is_over(interaction: Value<'_>) -> bool {
    status(interaction).is_some_and(|status| !matches!(&*status, "" | "in_progress" | "queued"))
}

/// Output tokens include thoughts, and input tokens include the results of the server's tools.
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
        ..Usage::default()
    };
    usage.has_totals().then_some(usage)
}
