//! OpenAI Responses, and compatible servers.
//!
//! The wire format: <https://platform.openai.com/docs/api-reference/responses-streaming>.

use std::collections::VecDeque;
use std::mem;

mod items;
mod members;
mod snapshot;

use tokenline_core::CallDelta;
use tokenline_core::json::Value;

use crate::delta::{Delta, FinishReason, Usage};
use crate::providers::api::{EventReader, Sink};
use crate::providers::values::{as_u64, error_delta, is_error, read_text, text_of, unknown, unreadable};
use items::call;
use members::Members;
use snapshot::KnownItem;

/// A response, read event by event: one choice, 0, with the output items as its blocks, by `output_index`.
///
/// Item ids identify nothing: GitHub Copilot uses new ones in every event. Texts and arguments that are repeated at their
/// end, as in `response.output_text.done` and `response.completed`, complete what has arrived of them. The text input of a custom tool
/// becomes the arguments `{"input": "..."}`.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader {
    /// The parts that have begun, in order.
    begun: VecDeque<Part>,
    /// The item of the latest event: some servers omit it.
    latest: u64,
    /// Some output, or the end, has arrived.
    has_begun: bool,
    has_calls: bool,
    /// The items that have begun, in order.
    items: VecDeque<KnownItem>,
    /// Events lack the item's index, or several items have one.
    lacks_indexes: bool,
    /// The latest event belongs to another part than the one before it.
    has_switched: bool,
}

/// A text in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    item: u64,
    /// The number of the part among those of its kind.
    number: u64,
    kind: PartKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    Text,
    Refusal,
    Reasoning,
    ReasoningSummary,
    /// The input of a custom tool.
    Input,
}

/// Limits a server that invents items: the oldest are forgotten.
const MAX_PARTS: usize = 1024;

impl EventReader for Reader {
    const INCIDENTAL: &'static [&'static str] = &["/sequence_number", "/item_id", "/obfuscation"];

    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        self.has_switched = false;
        let error = event.get("error").filter(|error| is_error(*error));
        match (event.get("type").and_then(Value::as_str), error) {
            (Some(name), _) => self.event_of_type(&name, event, sink),
            (None, Some(error)) => sink(error_delta(error)),
            (None, None) => self.event_of_type(name, event, sink),
        }
    }

    fn is_repeatable(&self, _: &str, event: Value<'_>) -> bool {
        let is_delta = event.get("type").and_then(Value::as_str).is_some_and(|name| name.ends_with(".delta"));
        is_delta && event.get("output_index").is_some() && !self.has_switched
    }

    fn latest_block(&mut self) -> Option<&mut u64> {
        Some(&mut self.latest)
    }

    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        sink(Delta::Start { choice: 0 });
        let error = body.get("error").filter(|error| is_error(*error));
        if let Some(items) = body.as_array() {
            (0..).zip(items).for_each(|(index, item)| self.item(index, item, true, sink));
            self.close_inputs(sink);
            return sink(Delta::Terminator);
        }
        match (body.get("status").and_then(Value::as_str), error) {
            (None, Some(error)) => sink(error_delta(error)),
            // It is not finished: there is more to ask for.
            (Some(status), _) if matches!(&*status, "queued" | "in_progress") => {}
            (status, _) if body.get("output").is_some() => {
                let status = status.unwrap_or("completed".into());
                self.end_event(&format!("response.{status}"), body, sink);
            }
            _ => {}
        }
    }
}

impl Reader {
    fn event_of_type(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        match name {
            "response.created" | "response.in_progress" | "response.queued" => {
                // Proxies splice in another response where one broke off or was followed up.
                if name == "response.created" && self.has_begun {
                    *self = Self::default();
                    sink(Delta::Restart);
                }
                sink(Delta::Start { choice: 0 });
            }
            "response.output_item.added" => self.item_event(event, false, sink),
            "response.output_item.done" => self.item_event(event, true, sink),
            "response.content_part.added" | "response.content_part.done" => self.part_event(event, sink),
            "response.reasoning_summary_part.added" | "response.reasoning_summary_part.done" => {
                self.part_event(event, sink);
            }
            "response.output_text.delta" => self.text_event(PartKind::Text, event, false, sink),
            "response.output_text.done" => self.text_event(PartKind::Text, event, true, sink),
            "response.refusal.delta" => self.text_event(PartKind::Refusal, event, false, sink),
            "response.refusal.done" => self.text_event(PartKind::Refusal, event, true, sink),
            "response.reasoning_text.delta" => self.text_event(PartKind::Reasoning, event, false, sink),
            "response.reasoning_text.done" => self.text_event(PartKind::Reasoning, event, true, sink),
            "response.reasoning_summary_text.delta" => {
                self.text_event(PartKind::ReasoningSummary, event, false, sink);
            }
            "response.reasoning_summary_text.done" => {
                self.text_event(PartKind::ReasoningSummary, event, true, sink);
            }
            "response.custom_tool_call_input.delta" => self.text_event(PartKind::Input, event, false, sink),
            "response.custom_tool_call_input.done" => self.text_event(PartKind::Input, event, true, sink),
            "response.function_call_arguments.delta" => self.arguments_event(event, false, sink),
            // Not a proof of completeness: these are the arguments when the model stopped.
            "response.function_call_arguments.done" => self.arguments_event(event, true, sink),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.end_event(name, event, sink);
            }
            "error" | "response.error" => {
                let error = Members::read(event, sink).error;
                sink(error_delta(error.unwrap_or(event)));
            }
            "response.output_text.annotation.added" | "keepalive" => {}
            _ if is_server_tool_event(name) => {}
            _ => sink(Delta::Unknown { parent: "event", name: name.into() }),
        }
    }

    fn item_event(&mut self, event: Value<'_>, is_done: bool, sink: &mut Sink<'_>) {
        let members = Members::read(event, sink);
        let index = self.item_of(&members);
        if let Some(item) = members.item {
            self.know(index, item, is_done, sink);
            self.item(index, item, is_done, sink);
        }
    }

    fn part_event(&mut self, event: Value<'_>, sink: &mut Sink<'_>) {
        let members = Members::read(event, sink);
        let item = self.item_of(&members);
        if let Some(part) = members.part {
            let of = Part { item, number: members.number.unwrap_or(0), kind: PartKind::Text };
            self.part(of, part, sink);
        }
    }

    fn text_event(&mut self, kind: PartKind, event: Value<'_>, is_whole: bool, sink: &mut Sink<'_>) {
        let members = Members::read(event, sink);
        let part = Part { item: self.item_of(&members), number: members.number.unwrap_or(0), kind };
        match members.text.map(|text| (text, read_text(text, sink))) {
            Some((_, Some(text))) => self.text(part, &text, is_whole, sink),
            Some((text, None)) if kind == PartKind::Text => unreadable("", "delta", text, sink),
            Some((text, None)) => unknown("", "delta", text, sink),
            None => {}
        }
    }

    fn arguments_event(&mut self, event: Value<'_>, is_whole: bool, sink: &mut Sink<'_>) {
        let members = Members::read(event, sink);
        self.has_calls = true;
        let arguments = members.text.and_then(|text| read_text(text, sink).or_else(|| text_of(text)));
        let header = CallDelta { index: Some(self.item_of(&members)), ..CallDelta::default() };
        call(CallDelta { arguments: arguments.as_deref().unwrap_or_default(), is_whole, ..header }, sink);
    }

    fn end_event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        let response = Members::read(event, sink).response.unwrap_or(event);
        // The other members repeat the request.
        let text = |name| response.get(name).and_then(Value::as_str);
        let status = text("status");
        let end = match status.as_deref() {
            // Some servers report every response as completed.
            Some(end @ ("incomplete" | "failed" | "cancelled")) if name == "response.completed" => end,
            _ => name.strip_prefix("response.").unwrap_or(name),
        };
        let has_begun = mem::replace(&mut self.has_begun, true);
        let error = response.get("error").filter(|error| is_error(*error));
        if let Some(error) = error.filter(|_| end == "completed") {
            return sink(error_delta(error));
        }
        if matches!(end, "completed" | "incomplete") {
            let items = response.get("output").and_then(Value::as_array).into_iter().flatten();
            if has_begun {
                self.complete(items.collect(), sink);
            } else {
                (0..).zip(items).for_each(|(index, item)| self.item(index, item, true, sink));
            }
        }
        if let Some(usage) = response.get("usage").and_then(read_usage) {
            sink(Delta::Usage(usage));
        }
        let reason = match end {
            "completed" => {
                self.close_inputs(sink);
                if self.has_calls { FinishReason::ToolCalls } else { FinishReason::Stop }
            }
            "incomplete" => {
                let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
                match reason.as_deref().unwrap_or(end) {
                    "max_output_tokens" | "max_tokens" => FinishReason::Length,
                    "content_filter" => FinishReason::ContentFilter,
                    other => FinishReason::other(other),
                }
            }
            "failed" => {
                return sink(error_delta(error.unwrap_or(response)));
            }
            other => FinishReason::other(other),
        };
        sink(Delta::Finish { choice: 0, reason });
        sink(Delta::Terminator);
    }

    /// The item of an event.
    fn item_of(&mut self, members: &Members<'_>) -> u64 {
        self.has_begun = true;
        self.lacks_indexes |= members.item_index.is_none();
        self.latest = members.item_index.unwrap_or(self.latest);
        self.latest
    }
}

/// Whether an event reports the progress of a tool run by the server.
fn is_server_tool_event(event: &str) -> bool {
    const TOOLS: [&str; 8] = [
        "web_search_call",
        "file_search_call",
        "image_generation_call",
        "code_interpreter_call",
        "code_interpreter_call_code",
        "mcp_call",
        "mcp_call_arguments",
        "mcp_list_tools",
    ];
    let tool = event.strip_prefix("response.").and_then(|event| event.split('.').next());
    tool.is_some_and(|tool| TOOLS.contains(&tool))
}

fn read_usage(usage: Value<'_>) -> Option<Usage> {
    usage.as_object()?;
    let tokens = |name| usage.get(name).and_then(as_u64);
    let (input_tokens, output_tokens) = (tokens("input_tokens"), tokens("output_tokens"));
    Some(Usage {
        input_tokens,
        output_tokens,
        total_tokens: tokens("total_tokens"),
        cached_input_tokens: usage.pointer("/input_tokens_details/cached_tokens").and_then(as_u64),
        reasoning_tokens: usage.pointer("/output_tokens_details/reasoning_tokens").and_then(as_u64),
        ..Usage::default()
    })
}
