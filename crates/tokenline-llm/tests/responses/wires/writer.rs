//! Writes the entries of a response as a provider does.

use tokenline_llm::Provider;

use super::{End, Entry, Flavor, Kind, Op, Wire};
use crate::common::event_stream;

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A member, with a comma after it.
fn member(name: &str, value: Option<String>) -> String {
    value.map_or(String::new(), |value| format!("\"{name}\":{value},"))
}

/// An object of members that end with commas.
fn object(members: &[String]) -> String {
    format!("{{{}}}", members.concat().trim_end_matches(','))
}

impl Entry {
    /// The arguments as a JSON value: as they are, or in a string.
    fn value(&self) -> String {
        if self.is_raw { self.text() } else { quoted(&self.text()) }
    }

    fn id(&self, name: &str) -> String {
        member(name, self.id.as_deref().map(quoted))
    }

    fn name(&self) -> String {
        member("name", self.name.map(quoted))
    }

    /// The arguments under this name; if there are none, an empty text or nothing.
    fn arguments(&self, name: &str) -> String {
        member(name, Some(self.value()).filter(|_| !(self.pieces.is_empty() && self.is_raw)))
    }

    fn function(&self) -> String {
        member("function", Some(object(&[self.name(), self.arguments("arguments")])))
    }
}

pub(super) fn sse(name: &str, data: &str) -> String {
    let event = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
    format!("{event}data: {data}\n\n")
}

/// The events as the elements of an array, which a cut leaves open.
pub(super) fn array(events: &[u8], end: End) -> Vec<u8> {
    let events = std::str::from_utf8(events).expect("a text");
    let elements: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    format!("[{}{}", elements.join(",\r\n"), if end == End::Cut { "" } else { "]" }).into_bytes()
}

/// The finish reason under this name: clean, or that of a limit.
fn reason(end: End, [clean, limit]: [&str; 2]) -> &str {
    if end == End::Limit { limit } else { clean }
}

pub(super) fn write(wire: Wire, ops: &[Op], end: End) -> Vec<u8> {
    if wire.is_body {
        return body(wire, ops, end).into_bytes();
    }
    let mut events = start(wire);
    for at in 0..ops.len() {
        events.extend(op(wire, ops, at));
    }
    for event in ends(wire, end, "") {
        events.extend(event);
    }
    let is_array = wire.provider == Provider::Gemini && ops.len() % 2 == 1;
    if is_array { array(&events, end) } else { events }
}

/// The event that begins a response.
pub(super) fn start(wire: Wire) -> Vec<u8> {
    let event = match wire.provider {
        Provider::Anthropic => sse("message_start", r#"{"type":"message_start","message":{"content":[]}}"#),
        Provider::OpenAiResponses => sse("response.created", r#"{"type":"response.created","response":{}}"#),
        Provider::GeminiInteractions => {
            sse("interaction.created", r#"{"event_type":"interaction.created","interaction":{}}"#)
        }
        Provider::Cohere => sse("message-start", r#"{"type":"message-start","delta":{"message":{}}}"#),
        Provider::Bedrock => return event_stream::event("messageStart", r#"{"role":"assistant"}"#),
        _ => String::new(),
    };
    event.into_bytes()
}

/// The event of the entry or the end at this place; empty if another event implies it.
pub(super) fn op(wire: Wire, ops: &[Op], at: usize) -> Vec<u8> {
    let event = match &ops[at] {
        Op::Next(_) => String::new(),
        Op::Entry(entry) if wire.provider == Provider::Bedrock => return bedrock_entry(entry),
        Op::End(slot) if wire.provider == Provider::Bedrock => {
            let event = format!(r#"{{"contentBlockIndex":{slot}}}"#);
            return event_stream::event("contentBlockStop", &event);
        }
        Op::Entry(entry) => self::entry(wire, entry, ops.get(at + 1)),
        Op::End(slot) => item_end(wire, *slot, at.checked_sub(1).map(|at| &ops[at])),
    };
    event.into_bytes()
}

/// The events that end a response. The last one that repeats its parts repeats these.
pub(super) fn ends(wire: Wire, end: End, parts: &str) -> Vec<Vec<u8>> {
    let events = match wire.provider {
        _ if end == End::Cut => vec![],
        Provider::OpenAiChat => {
            let reason = reason(end, ["tool_calls", "length"]);
            let finish = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#);
            vec![sse("", &finish), crate::DONE.to_owned()]
        }
        Provider::OpenAiResponses => {
            let status = reason(end, ["completed", "incomplete"]);
            let name = format!("response.{status}");
            let details = r#""incomplete_details":{"reason":"max_output_tokens"}"#;
            let response = format!(r#"{{"status":"{status}","output":[{parts}],{details}}}"#);
            vec![sse(&name, &format!(r#"{{"type":"{name}","response":{response}}}"#))]
        }
        Provider::Anthropic => {
            let reason = reason(end, ["tool_use", "max_tokens"]);
            let change = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
            vec![sse("message_delta", &change), sse("message_stop", r#"{"type":"message_stop"}"#)]
        }
        Provider::Gemini => {
            let reason = reason(end, ["STOP", "MAX_TOKENS"]);
            vec![sse("", &format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#))]
        }
        Provider::GeminiInteractions => {
            let status = reason(end, ["requires_action", "incomplete"]);
            let steps = if parts.is_empty() { String::new() } else { format!(r#","steps":[{parts}]"#) };
            let interaction = format!(r#"{{"status":"{status}"{steps}}}"#);
            vec![sse(
                "interaction.completed",
                &format!(r#"{{"event_type":"interaction.completed","interaction":{interaction}}}"#),
            )]
        }
        Provider::Cohere => {
            let reason = reason(end, ["TOOL_CALL", "MAX_TOKENS"]);
            let delta = format!(r#"{{"finish_reason":"{reason}"}}"#);
            vec![sse("message-end", &format!(r#"{{"type":"message-end","delta":{delta}}}"#))]
        }
        Provider::Ollama => {
            let reason = reason(end, ["stop", "length"]);
            vec![format!("{{\"message\":{{\"content\":\"\"}},\"done\":true,\"done_reason\":\"{reason}\"}}\n")]
        }
        Provider::Bedrock => {
            let stop = format!(r#"{{"stopReason":"{}"}}"#, reason(end, ["tool_use", "max_tokens"]));
            return vec![event_stream::event("messageStop", &stop), event_stream::event("metadata", "{}")];
        }
        other => unreachable!("{other:?}"),
    };
    events.into_iter().map(String::into_bytes).collect()
}

/// The event of an entry; `next` is what follows it.
fn entry(wire: Wire, entry: &Entry, next: Option<&Op>) -> String {
    let index = member("index", Some(entry.slot.to_string()));
    match wire.provider {
        Provider::OpenAiChat => {
            let index = match wire.flavor {
                Flavor::Indexed => index,
                Flavor::Ids { has_index: true } | Flavor::Headers | Flavor::Names { has_index: true } => {
                    member("index", Some("0".to_owned()))
                }
                Flavor::Ids { .. } | Flavor::Names { .. } => String::new(),
            };
            let call = object(&[index, entry.id("id"), entry.function()]);
            sse("", &format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#))
        }
        Provider::OpenAiResponses => {
            let item = |status| member("item", Some(responses_item(entry, status)));
            let (kind, members) = match (entry.kind, entry.name.is_some()) {
                (Kind::Whole, true) => {
                    let is_end = matches!(next, Some(Op::End(slot)) if *slot == entry.slot);
                    let status = if is_end { "completed" } else { "in_progress" };
                    ("response.output_item.done", item(status))
                }
                (_, true) => ("response.output_item.added", item("in_progress")),
                (Kind::Whole, false) => {
                    ("response.function_call_arguments.done", entry.arguments("arguments"))
                }
                (_, false) => ("response.function_call_arguments.delta", entry.arguments("delta")),
            };
            let index = member("output_index", Some(entry.slot.to_string()));
            sse(kind, &object(&[member("type", Some(quoted(kind))), index, members]))
        }
        Provider::Anthropic if entry.name.is_some() => {
            // It stands for arguments that follow.
            let block = anthropic_block(entry, "{}");
            let kind = member("type", Some(quoted("content_block_start")));
            sse("content_block_start", &object(&[kind, index, member("content_block", Some(block))]))
        }
        Provider::Anthropic => {
            let kind = member("type", Some(quoted("input_json_delta")));
            let delta = member("delta", Some(object(&[kind, entry.arguments("partial_json")])));
            let kind = member("type", Some(quoted("content_block_delta")));
            sse("content_block_delta", &object(&[kind, index, delta]))
        }
        Provider::Gemini => {
            let part = gemini_part(entry);
            sse("", &format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}"#))
        }
        Provider::GeminiInteractions if entry.name.is_some() => {
            let kind = member("event_type", Some(quoted("step.start")));
            sse("step.start", &object(&[kind, index, member("step", Some(interactions_step(entry)))]))
        }
        Provider::GeminiInteractions => {
            let kind = member("type", Some(quoted("arguments_delta")));
            let delta = member("delta", Some(object(&[kind, entry.arguments("arguments")])));
            let kind = member("event_type", Some(quoted("step.delta")));
            sse("step.delta", &object(&[kind, index, delta]))
        }
        Provider::Cohere => {
            let name = if entry.name.is_some() { "tool-call-start" } else { "tool-call-delta" };
            let call = object(&[entry.id("id"), entry.function()]);
            let delta = format!(r#"{{"message":{{"tool_calls":{call}}}}}"#);
            let kind = member("type", Some(quoted(name)));
            sse(name, &object(&[kind, index, member("delta", Some(delta))]))
        }
        Provider::Ollama => {
            let call = object(&[entry.id("id"), entry.function()]);
            format!("{{\"message\":{{\"content\":\"\",\"tool_calls\":[{call}]}},\"done\":false}}\n")
        }
        other => unreachable!("{other:?}"),
    }
}

/// The end of an item, unless the entry before it says so.
fn item_end(wire: Wire, slot: usize, before: Option<&Op>) -> String {
    let is_item = |entry: &Entry| {
        let has_header = entry.name.is_some() || wire.provider != Provider::OpenAiResponses;
        entry.kind == Kind::Whole && entry.slot == slot && has_header
    };
    if matches!(before, Some(Op::Entry(entry)) if is_item(entry)) {
        return String::new();
    }
    match wire.provider {
        Provider::Anthropic => {
            sse("content_block_stop", &format!(r#"{{"type":"content_block_stop","index":{slot}}}"#))
        }
        Provider::GeminiInteractions => {
            sse("step.stop", &format!(r#"{{"event_type":"step.stop","index":{slot}}}"#))
        }
        Provider::Cohere => sse("tool-call-end", &format!(r#"{{"type":"tool-call-end","index":{slot}}}"#)),
        Provider::OpenAiResponses => {
            let item = r#"{"type":"function_call","status":"completed"}"#;
            let name = "response.output_item.done";
            sse(name, &format!(r#"{{"type":"{name}","output_index":{slot},"item":{item}}}"#))
        }
        Provider::Gemini => sse("", r#"{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}"#),
        other => unreachable!("{other:?}"),
    }
}

pub(super) fn responses_item(entry: &Entry, status: &str) -> String {
    let kind = member("type", Some(quoted("function_call")));
    let status = member("status", Some(quoted(status)));
    object(&[kind, entry.id("call_id"), entry.name(), entry.arguments("arguments"), status])
}

fn anthropic_block(entry: &Entry, nothing: &str) -> String {
    let input = if entry.pieces.is_empty() { nothing.to_owned() } else { entry.value() };
    let kind = member("type", Some(quoted("tool_use")));
    object(&[kind, entry.id("id"), entry.name(), member("input", Some(input))])
}

pub(super) fn interactions_step(entry: &Entry) -> String {
    let kind = member("type", Some(quoted("function_call")));
    object(&[kind, entry.id("id"), entry.name(), entry.arguments("arguments")])
}

fn gemini_part(entry: &Entry) -> String {
    let goes_on = member("willContinue", (entry.kind == Kind::Fragment).then(|| "true".to_owned()));
    let call = object(&[entry.id("id"), entry.name(), entry.arguments("args"), goes_on]);
    object(&[member("functionCall", Some(call))])
}

fn bedrock_entry(entry: &Entry) -> Vec<u8> {
    let index = member("contentBlockIndex", Some(entry.slot.to_string()));
    let call = object(&[entry.id("toolUseId"), entry.name(), entry.arguments("input")]);
    let is_start = entry.name.is_some();
    let (name, part) = if is_start { ("contentBlockStart", "start") } else { ("contentBlockDelta", "delta") };
    let part = member(part, Some(object(&[member("toolUse", Some(call))])));
    event_stream::event(name, &object(&[index, part]))
}

/// A complete response: each call is one entry.
fn body(wire: Wire, ops: &[Op], end: End) -> String {
    let calls = ops.iter().filter_map(|op| match op {
        Op::Entry(entry) => Some(entry),
        Op::End(_) | Op::Next(_) => None,
    });
    let list = |call: &dyn Fn(&Entry) -> String| calls.clone().map(call).collect::<Vec<_>>().join(",");
    let openai = |entry: &Entry| object(&[entry.id("id"), entry.function()]);
    match wire.provider {
        Provider::OpenAiChat => {
            let (calls, reason) = (list(&openai), reason(end, ["tool_calls", "length"]));
            let message = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{calls}]}}"#);
            format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"{reason}"}}]}}"#)
        }
        Provider::OpenAiResponses => {
            let has_end =
                |entry: &Entry| ops.iter().any(|op| matches!(op, Op::End(slot) if *slot == entry.slot));
            let items = list(&|entry| {
                responses_item(entry, if has_end(entry) { "completed" } else { "in_progress" })
            });
            let status = reason(end, ["completed", "incomplete"]);
            let details = r#""incomplete_details":{"reason":"max_output_tokens"}"#;
            format!(r#"{{"object":"response","status":"{status}","output":[{items}],{details}}}"#)
        }
        Provider::Anthropic => {
            let (blocks, reason) =
                (list(&|entry| anthropic_block(entry, "null")), reason(end, ["tool_use", "max_tokens"]));
            format!(
                r#"{{"type":"message","role":"assistant","content":[{blocks}],"stop_reason":"{reason}"}}"#
            )
        }
        Provider::Gemini => {
            let (parts, reason) = (list(&gemini_part), reason(end, ["STOP", "MAX_TOKENS"]));
            format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}]}},"finishReason":"{reason}"}}]}}"#)
        }
        Provider::GeminiInteractions => {
            let (steps, status) = (list(&interactions_step), reason(end, ["requires_action", "incomplete"]));
            format!(r#"{{"object":"interaction","status":"{status}","steps":[{steps}]}}"#)
        }
        Provider::Cohere => {
            let (calls, reason) = (list(&openai), reason(end, ["TOOL_CALL", "MAX_TOKENS"]));
            format!(
                r#"{{"message":{{"role":"assistant","tool_calls":[{calls}]}},"finish_reason":"{reason}"}}"#
            )
        }
        Provider::Bedrock => {
            let blocks = list(&|entry| {
                let call = object(&[entry.id("toolUseId"), entry.name(), entry.arguments("input")]);
                format!(r#"{{"toolUse":{call}}}"#)
            });
            let reason = reason(end, ["tool_use", "max_tokens"]);
            let message = format!(r#"{{"message":{{"role":"assistant","content":[{blocks}]}}}}"#);
            format!(r#"{{"output":{message},"stopReason":"{reason}"}}"#)
        }
        Provider::Ollama => {
            let (calls, reason) = (list(&openai), reason(end, ["stop", "length"]));
            let message = format!(r#"{{"role":"assistant","content":"","tool_calls":[{calls}]}}"#);
            format!(r#"{{"message":{message},"done":true,"done_reason":"{reason}"}}"#)
        }
        other => unreachable!("{other:?}"),
    }
}
