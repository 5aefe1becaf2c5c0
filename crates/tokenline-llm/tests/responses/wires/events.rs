//! A response as the list of its wire events, each with what it says.

use serde_json::{Value, json};
use tokenline_llm::Provider;

use super::oracle::Outcome;
use super::writer::{self, sse};
use super::{Atom, End, Entry, Kind, Op, Piece, Wire};
use crate::common::event_stream;

/// The content of an event.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The response begins.
    Begin,
    Entry(Entry),
    /// The end of a call's item.
    End(usize),
    /// A text block begins.
    TextBegin(u64),
    Text(u64, String),
    /// All the text of a block.
    Whole(u64, String),
    /// The provider's own end of the stream.
    Terminator,
    /// Bedrock's last event but for the finish reason, in either order.
    Metadata,
    /// A finish reason, which ends the response in wires whose terminator may be missing.
    Finish,
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) contents: Vec<Content>,
    pub(super) bytes: Vec<u8>,
    /// It says nothing new if it comes again.
    pub(super) is_repeatable: bool,
}

impl Event {
    fn new(contents: impl Into<Vec<Content>>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { contents: contents.into(), bytes: bytes.into(), is_repeatable: false }
    }

    fn repeatable(self) -> Self {
        Self { is_repeatable: true, ..self }
    }

    pub(super) fn finishes(&self) -> bool {
        self.contents.iter().any(|content| matches!(content, Content::Finish))
    }
}

/// The blocks of the texts before and after the calls: the numbers after those of the calls, as the last event of some
/// wires lists them.
fn blocks(calls: usize, texts: &[Vec<String>; 2]) -> [u64; 2] {
    let first = calls as u64;
    [first, first + u64::from(!texts[0].is_empty())]
}

/// The block that the response events give to a text.
pub(super) fn block_of(wire: Wire, block: u64) -> u64 {
    match wire.provider {
        Provider::OpenAiChat | Provider::Gemini | Provider::Ollama => 0,
        Provider::Cohere => 2 * block,
        _ => block,
    }
}

fn of_type(name: &str, mut event: Value) -> Vec<u8> {
    event["type"] = name.into();
    sse(name, &event.to_string()).into_bytes()
}

fn step_event(name: &str, mut event: Value) -> Vec<u8> {
    event["event_type"] = name.into();
    sse(name, &event.to_string()).into_bytes()
}

fn bedrock(name: &str, event: &Value) -> Vec<u8> {
    event_stream::event(name, &event.to_string())
}

/// More text of a block; empty is allowed.
pub(super) fn text(wire: Wire, block: u64, text: &str) -> Event {
    let bytes = match wire.provider {
        Provider::OpenAiChat => {
            let event = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
            sse("", &event.to_string()).into_bytes()
        }
        Provider::OpenAiResponses => of_type(
            "response.output_text.delta",
            json!({"output_index": block, "content_index": 0, "delta": text}),
        ),
        Provider::Anthropic => of_type(
            "content_block_delta",
            json!({"index": block, "delta": {"type": "text_delta", "text": text}}),
        ),
        Provider::Gemini => {
            let event = json!({"candidates": [{"content": {"parts": [{"text": text}]}}]});
            sse("", &event.to_string()).into_bytes()
        }
        Provider::GeminiInteractions => {
            step_event("step.delta", json!({"index": block, "delta": {"type": "text", "text": text}}))
        }
        Provider::Cohere => of_type(
            "content-delta",
            json!({"index": block, "delta": {"message": {"content": {"text": text}}}}),
        ),
        Provider::Bedrock => {
            bedrock("contentBlockDelta", &json!({"contentBlockIndex": block, "delta": {"text": text}}))
        }
        Provider::Ollama => {
            format!("{}\n", json!({"message": {"content": text}, "done": false})).into_bytes()
        }
        other => unreachable!("{other:?}"),
    };
    Event::new([Content::Text(block, text.to_owned())], bytes)
}

fn reasoning(wire: Wire) -> Event {
    let text = "Hm.";
    let bytes = match wire.provider {
        Provider::OpenAiChat => {
            let event = json!({"choices": [{"index": 0, "delta": {"reasoning_content": text}}]});
            sse("", &event.to_string()).into_bytes()
        }
        Provider::OpenAiResponses => {
            of_type("response.reasoning_text.delta", json!({"output_index": 7, "delta": text}))
        }
        Provider::Anthropic => of_type(
            "content_block_delta",
            json!({"index": 7, "delta": {"type": "thinking_delta", "thinking": text}}),
        ),
        Provider::Gemini => {
            let part = json!({"text": text, "thought": true});
            let event = json!({"candidates": [{"content": {"parts": [part]}}]});
            sse("", &event.to_string()).into_bytes()
        }
        Provider::GeminiInteractions => step_event(
            "step.delta",
            json!({"index": 7, "delta": {"type": "thought_summary", "content": {"type": "text", "text": text}}}),
        ),
        Provider::Cohere => of_type("tool-plan-delta", json!({"delta": {"message": {"tool_plan": text}}})),
        Provider::Bedrock => bedrock(
            "contentBlockDelta",
            &json!({"contentBlockIndex": 7, "delta": {"reasoningContent": {"text": text}}}),
        ),
        Provider::Ollama => {
            format!("{}\n", json!({"message": {"content": "", "thinking": text}, "done": false})).into_bytes()
        }
        other => unreachable!("{other:?}"),
    };
    Event::new([], bytes)
}

/// The events around the text of a block. Only some wires have them.
fn text_ends(wire: Wire, block: u64, whole: &str) -> (Option<Event>, Vec<Event>) {
    let begins = |bytes| Some(Event::new([Content::TextBegin(block)], bytes));
    let stops = |bytes| vec![Event::new([], bytes).repeatable()];
    match wire.provider {
        Provider::OpenAiResponses => {
            let item = |status, content: Value| json!({"output_index": block, "item": {"type": "message", "status": status, "content": content}});
            let part = json!([{"type": "output_text", "text": whole}]);
            let is_whole = |bytes| Event::new([Content::Whole(block, whole.to_owned())], bytes).repeatable();
            let done = json!({"output_index": block, "content_index": 0, "text": whole});
            let ends = vec![
                is_whole(of_type("response.output_text.done", done)),
                is_whole(of_type("response.output_item.done", item("completed", part))),
            ];
            (begins(of_type("response.output_item.added", item("in_progress", json!([])))), ends)
        }
        Provider::Anthropic => {
            let start = json!({"index": block, "content_block": {"type": "text", "text": ""}});
            (
                begins(of_type("content_block_start", start)),
                stops(of_type("content_block_stop", json!({"index": block}))),
            )
        }
        Provider::GeminiInteractions => (
            begins(step_event("step.start", json!({"index": block, "step": {"type": "model_output"}}))),
            stops(step_event("step.stop", json!({"index": block}))),
        ),
        Provider::Cohere => {
            let start =
                json!({"index": block, "delta": {"message": {"content": {"type": "text", "text": ""}}}});
            (begins(of_type("content-start", start)), stops(of_type("content-end", json!({"index": block}))))
        }
        Provider::Bedrock => (None, stops(bedrock("contentBlockStop", &json!({"contentBlockIndex": block})))),
        _ => (None, vec![]),
    }
}

fn usage(wire: Wire) -> Option<Event> {
    let bytes = match wire.provider {
        Provider::OpenAiChat => {
            let event = json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
            sse("", &event.to_string()).into_bytes()
        }
        Provider::Anthropic => of_type("message_delta", json!({"delta": {}, "usage": {"output_tokens": 2}})),
        Provider::Gemini => {
            sse("", &json!({"usageMetadata": {"promptTokenCount": 1}}).to_string()).into_bytes()
        }
        _ => return None,
    };
    Some(Event::new([], bytes).repeatable())
}

/// An entry of a call as an event of its own.
pub(super) fn entry(wire: Wire, entry: Entry) -> Event {
    let ops = [Op::Entry(entry)];
    let bytes = writer::op(wire, &ops, 0);
    let [Op::Entry(entry)] = ops else { unreachable!("an entry") };
    Event::new([Content::Entry(entry)], bytes)
}

/// A call of the complete response.
fn whole_call(slot: usize, (_, name, id, arguments): &Outcome) -> Entry {
    let arguments = arguments.as_deref().expect("a call").to_owned();
    let atom = Atom::Object(String::leak(arguments));
    let name: &str = String::leak(name.clone());
    let pieces = vec![Piece::of(atom)];
    Entry { slot, name: Some(name), id: id.clone(), kind: Kind::Whole, pieces, is_raw: false }
}

/// The events of a complete response with these calls and, before and after them, these texts in pieces. `calls` are
/// the outcomes of the entries.
pub(super) fn of_response(
    wire: Wire,
    ops: &[Op],
    texts: &[Vec<String>; 2],
    calls: &[Outcome],
    has_snapshot: bool,
) -> Vec<Event> {
    let mut events = vec![Event::new([Content::Begin], writer::start(wire)), reasoning(wire)];
    let slots = slots(ops);
    let blocks = blocks(slots.len(), texts);
    let mut of_texts: [Vec<Event>; 2] = [0, 1].map(|at| {
        let (block, pieces) = (blocks[at], &texts[at]);
        if pieces.is_empty() {
            return vec![];
        }
        let (begin, ends) = text_ends(wire, block, &pieces.concat());
        begin.into_iter().chain(pieces.iter().map(|piece| text(wire, block, piece))).chain(ends).collect()
    });
    events.append(&mut of_texts[0]);
    for (at, op) in ops.iter().enumerate() {
        let content = match op {
            Op::Entry(entry) => Content::Entry(entry.clone()),
            Op::End(slot) => Content::End(*slot),
            Op::Next(_) => continue,
        };
        let bytes = writer::op(wire, ops, at);
        if bytes.is_empty() {
            events.last_mut().expect("an entry").contents.push(content);
            continue;
        }
        let event = Event::new([content], bytes);
        // A step without a name ends the call that is open.
        let is_end = matches!(op, Op::End(_)) && wire.provider != Provider::Gemini;
        events.push(if is_end { event.repeatable() } else { event });
    }
    events.append(&mut of_texts[1]);
    let (parts, contents) =
        if has_snapshot { snapshot(wire, &slots, texts, calls) } else { Default::default() };
    let ends = writer::ends(wire, End::Clean, &parts);
    let count = ends.len();
    for (at, bytes) in ends.into_iter().enumerate() {
        let mut event = Event::new([], bytes).repeatable();
        if at == 0 {
            event.contents.clone_from(&contents);
            event.contents.push(Content::Finish);
            if count == 1 && wire.provider != Provider::Gemini {
                event.contents.push(Content::Terminator);
            }
            events.push(event);
            events.extend(usage(wire));
        } else {
            let is_metadata = wire.provider == Provider::Bedrock;
            event.contents.push(if is_metadata { Content::Metadata } else { Content::Terminator });
            events.push(event);
        }
    }
    events.retain(|event| !event.bytes.is_empty());
    events
}

/// The slots of the calls, in the order in which they begin.
fn slots(ops: &[Op]) -> Vec<usize> {
    let mut slots = Vec::new();
    for op in ops {
        match op {
            Op::Entry(entry) if !slots.contains(&entry.slot) => slots.push(entry.slot),
            _ => {}
        }
    }
    slots
}

/// The texts and calls that the last event repeats.
fn snapshot(
    wire: Wire,
    slots: &[usize],
    texts: &[Vec<String>; 2],
    calls: &[Outcome],
) -> (String, Vec<Content>) {
    let is_responses = wire.provider == Provider::OpenAiResponses;
    if !is_responses && wire.provider != Provider::GeminiInteractions {
        return Default::default();
    }
    let (mut parts, mut contents) = (Vec::new(), Vec::new());
    // The position of a call without an id is its index.
    for slot in 0..slots.len() {
        let number = slots.iter().position(|of| *of == slot).expect("each has an entry");
        let call = calls.iter().find(|call| call.0 == number as u64 + 1).expect("each slot has a call");
        let entry = whole_call(slot, call);
        parts.push(if is_responses {
            writer::responses_item(&entry, "completed")
        } else {
            writer::interactions_step(&entry)
        });
        contents.push(Content::Entry(entry));
        if is_responses {
            contents.push(Content::End(slot));
        }
    }
    for (block, pieces) in
        blocks(slots.len(), texts).into_iter().zip(texts).filter(|(_, pieces)| !pieces.is_empty())
    {
        let text = pieces.concat();
        let part = json!([{"type": if is_responses { "output_text" } else { "text" }, "text": text}]);
        parts.push(if is_responses {
            json!({"type": "message", "status": "completed", "content": part}).to_string()
        } else {
            json!({"type": "model_output", "content": part}).to_string()
        });
        contents.push(Content::Whole(block, text));
    }
    (parts.join(","), contents)
}
