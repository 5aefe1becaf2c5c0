//! Responses written for clients: every fixture of every provider, in every format that has a writer, read back.

mod content;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use tokenline_core::adapter::char_start;
use tokenline_core::call_format::CallSyntax;
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, ToolCall};
use tokenline_llm::request::{AssistantPart, ChatRequest, Message};
use tokenline_llm::writer::{Failure, ResponseHead, ResponseWriter};
use tokenline_llm::{FinishReason, Provider, ResponseEvent, TextMode, Usage};

use crate::common::extent::cases;
use crate::common::fixtures;
use crate::random::Random;
use content::{Choice, Content, parser, read};

const WRITTEN: [Provider; 3] = [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic];

fn head(provider: Provider) -> ResponseHead {
    ResponseHead::new("x7", "a model").created(1_700_000_000).include_usage(true).upstream(provider)
}

struct Written {
    /// What was read.
    source: Content,
    message: Option<Message>,
    stream: Vec<u8>,
    body: Result<String, Failure>,
}

/// Reads a recording in pieces, and writes it for a client of `to`.
fn write(from: Provider, to: Provider, wire: &[u8], size: usize, text_as: TextMode, grows: bool) -> Written {
    let mut streamed = ResponseWriter::streamed(to, head(from)).expect("it has a writer");
    let mut whole = ResponseWriter::whole(to, head(from)).expect("it has a writer");
    let (source, message) = read(parser(from, text_as, grows), wire.chunks(size.max(1)), |event| {
        streamed.push(event);
        whole.push(event);
    });
    for writer in [&mut streamed, &mut whole] {
        if let Some(message) = message.as_ref().filter(|_| source.is_complete) {
            writer.keep_message(message);
        }
        writer.finish();
        assert!(writer.is_ended());
    }
    Written { source, message, stream: streamed.take(), body: whole.into_body() }
}

/// The events of a stream: the name in front of the data, and the data.
fn events(stream: &[u8]) -> Vec<(Option<String>, Value)> {
    let text = std::str::from_utf8(stream).expect("UTF-8");
    assert!(text.is_empty() || text.ends_with("\n\n"), "an event is cut off");
    let events = text.split_terminator("\n\n").filter(|event| *event != "data: [DONE]").map(|event| {
        let (name, data) = match event.strip_prefix("event: ") {
            Some(named) => named.split_once('\n').map(|(name, data)| (Some(name.to_owned()), data)),
            None => Some((None, event)),
        }
        .expect("data after the name");
        let data = data.strip_prefix("data: ").expect("one line of data");
        (name, serde_json::from_str(data).expect("JSON"))
    });
    events.collect()
}

/// What the libraries of the clients need of the stream, whatever was written.
fn check_shape(to: Provider, stream: &[u8], name: &str) {
    let events = events(stream);
    match to {
        Provider::OpenAiChat => {
            let (mut roles, mut opened) = (HashSet::new(), HashSet::new());
            for (event, data) in &events {
                assert_eq!(*event, None, "{name}");
                for choice in data["choices"].as_array().into_iter().flatten() {
                    let (index, delta) = (choice["index"].as_u64().expect(name), &choice["delta"]);
                    // The role first, and once.
                    let is_first = roles.insert(index);
                    assert_eq!(delta.get("role").is_some(), is_first, "{name}: {data}");
                    for call in delta["tool_calls"].as_array().into_iter().flatten() {
                        let at = call["index"].as_u64().expect(name);
                        let before = opened.iter().filter(|(choice, _)| *choice == index).count() as u64;
                        let begins = opened.insert((index, at));
                        assert!(!begins || at == before, "{name}: {data}");
                        for member in [&call["id"], &call["type"], &call["function"]["name"]] {
                            assert_eq!(member.is_string(), begins, "{name}: {data}");
                        }
                    }
                }
            }
        }
        Provider::OpenAiResponses => {
            let mut items = Vec::new();
            for (number, (event, data)) in events.iter().enumerate() {
                assert_eq!(data["type"].as_str(), event.as_deref(), "{name}");
                assert_eq!(data["sequence_number"].as_u64(), Some(number as u64), "{name}");
                match event.as_deref() {
                    Some("response.output_item.added") => {
                        assert_eq!(data["output_index"].as_u64(), Some(items.len() as u64), "{name}");
                        items.push(data["item"].clone());
                    }
                    Some("response.output_item.done") => {
                        let last = items.last_mut().expect(name);
                        for member in ["id", "type", "call_id", "name"] {
                            assert_eq!(last[member], data["item"][member], "{name}: {data}");
                        }
                        *last = data["item"].clone();
                    }
                    Some("response.completed" | "response.incomplete") => {
                        assert_eq!(data["response"]["output"], Value::from(items.clone()), "{name}");
                        assert_eq!(number + 1, events.len(), "{name}");
                    }
                    _ => {
                        let item = data.get("item_id").map(|id| id == &items.last().expect(name)["id"]);
                        assert_ne!(item, Some(false), "{name}: {data}");
                    }
                }
            }
            let ids: HashSet<_> = items.iter().map(|item| item["id"].to_string()).collect();
            assert_eq!(ids.len(), items.len(), "{name}");
        }
        _ => {
            let (mut next, mut open) = (0, None);
            for (event, data) in &events {
                assert_eq!(data["type"].as_str(), event.as_deref(), "{name}");
                let index = data.get("index").and_then(Value::as_u64);
                match event.as_deref() {
                    Some("content_block_start") => {
                        assert_eq!((open, index), (None, Some(next)), "{name}");
                        (open, next) = (index, next + 1);
                    }
                    Some("content_block_stop") => assert!(index == open && open.take().is_some(), "{name}"),
                    Some("message_delta") => assert!(data["delta"]["stop_reason"].is_string(), "{name}"),
                    _ => assert!(index.is_none() || index == open, "{name}: {data}"),
                }
            }
            assert_eq!(events[0].0.as_deref(), Some("message_start"), "{name}");
        }
    }
}

/// The reason as a client of another API sees it.
fn expected_reason(to: Provider, choice: &Choice) -> FinishReason {
    // Where a refusal has no part of its own, it is the reason.
    if to == Provider::Anthropic && !choice.joined("refusal", false).is_empty() && choice.calls.is_empty() {
        return FinishReason::ContentFilter;
    }
    match &choice.reason {
        None | Some(FinishReason::Stop | FinishReason::ToolCalls) if !choice.calls.is_empty() => {
            FinishReason::ToolCalls
        }
        None => FinishReason::Stop,
        Some(FinishReason::Repetition) => FinishReason::Length,
        Some(reason) => reason.clone(),
    }
}

/// The form in which a response was written.
#[derive(Clone, Copy)]
struct Form {
    to: Provider,
    /// Calls grow, so that they come in the order in which they begin.
    grows: bool,
    /// It has the end of each call.
    has_ends: bool,
}

fn check(form: Form, source: &Content, back: &Content, name: &str) {
    let Form { to, grows, has_ends } = form;
    assert!(back.is_complete, "{name}: {back:?}");
    assert_eq!(back.failure, None, "{name}");
    let is_chat = to == Provider::OpenAiChat;
    let choices = if is_chat { source.choices.clone() } else { BTreeMap::from([(0, source.first())]) };
    for (index, choice) in &choices {
        let read = back.choices.get(index).cloned().unwrap_or_default();
        for kind in ["text", "reasoning", "refusal"] {
            assert_eq!(read.joined(kind, is_chat), choice.joined(kind, is_chat), "{name}: {kind}");
        }
        let is_clean = choice.reason.as_ref().is_none_or(FinishReason::is_clean);
        if !has_ends && !is_clean && read.rejected > 0 {
            // Without the end of a call, nothing proves that it was complete.
            assert!(read.calls.iter().all(|call| choice.calls.contains(call)), "{name}");
            assert_eq!(read.calls.len() + read.rejected, choice.calls.len(), "{name}");
            continue;
        }
        let in_order = |calls: &[(String, Value)]| {
            let mut calls: Vec<String> =
                calls.iter().map(|(name, value)| format!("{name} {value}")).collect();
            // A chunk without arguments may be a placeholder: its call is delivered last.
            if grows || !has_ends {
                calls.sort();
            }
            calls
        };
        assert_eq!(in_order(&read.calls), in_order(&choice.calls), "{name}");
        let ids: HashSet<_> = read.ids.iter().map(|id| id.as_deref().expect("an id")).collect();
        assert_eq!(ids.len(), read.ids.len(), "{name}: {ids:?}");
        for (own, given) in read.ids.iter().zip(&choice.ids).filter(|_| !grows && has_ends) {
            let is_kept = given.is_none() || own == given;
            assert!(is_kept || choice.ids.iter().filter(|id| *id == given).count() > 1, "{name}: {own:?}");
        }
        assert_eq!(read.reason, Some(expected_reason(to, choice)), "{name}");
    }
    let (own, read) = (source.usage.unwrap_or_default(), back.usage.unwrap_or_default());
    // Each API has its own details.
    let is_anthropic = to == Provider::Anthropic;
    let counts = |usage: Usage| {
        [
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.cache_creation_input_tokens.filter(|_| is_anthropic),
            usage.reasoning_tokens.filter(|_| !is_anthropic),
        ]
        .map(Option::unwrap_or_default)
    };
    assert_eq!(counts(read), counts(own), "{name}");
}

/// Why a response cannot be complete for its client.
fn must_fail(to: Provider, source: &Content) -> bool {
    let cannot_end = |choice: &Choice| {
        let is_clean = choice.reason.as_ref().is_none_or(FinishReason::is_clean);
        let has_none = choice.rejected > 0 || choice.reason == Some(FinishReason::ToolCalls);
        is_clean && choice.calls.is_empty() && has_none
    };
    let choices = source.choices.iter().filter(|(index, _)| to == Provider::OpenAiChat || **index == 0);
    source.failure.is_some() || choices.into_iter().any(|(_, choice)| cannot_end(choice))
}

/// The next request to the same provider, without what another reading may change: synthetic ids, white space that makes
/// no part, and how arguments are spaced.
fn next_body(provider: Provider, message: Option<Message>) -> String {
    let Some(Message::Assistant(parts)) = message else { return String::new() };
    let parts = parts.into_iter().filter_map(|part| match part {
        AssistantPart::Text { text, opaque: None } if text.trim_start().is_empty() => None,
        AssistantPart::ToolCall { mut call, opaque } => {
            let is_made_up = |id: &str| id.starts_with("call_x7_") || id.starts_with("synthetic_");
            if call.call_id.as_deref().is_some_and(is_made_up) {
                call.call_id = Some("made_up".to_owned());
            }
            call.parameters = Raw::new(&call.parameters.to_compact()).expect("JSON");
            Some(AssistantPart::ToolCall { call, opaque })
        }
        // The mere name of a member: each server has its own.
        AssistantPart::Reasoning { opaque: Some(opaque), .. } if opaque.data.as_str().starts_with('"') => {
            None
        }
        part => Some(part),
    });
    let request = ChatRequest::new("m").user("Go.").message(Message::Assistant(parts.collect())).user("On.");
    request.to_body(provider).expect("a body")
}

#[test]
fn every_fixture_is_written_in_every_format() {
    let (mut complete, mut failed, mut messages) = (0, 0, 0);
    for from in Provider::ALL.iter().copied() {
        for file in fixtures(from) {
            let wire = std::fs::read(&file).expect("a fixture");
            for (to, grows) in WRITTEN.into_iter().flat_map(|to| [(to, false), (to, true)]) {
                let name = format!("{} for {}, growing {grows}", file.display(), to.as_str());
                let written = write(from, to, &wire, wire.len(), TextMode::Text, grows);
                for size in [1, 7, 61, 4096] {
                    let cut = write(from, to, &wire, size, TextMode::Text, grows);
                    let texts = [&cut, &written].map(|written| String::from_utf8_lossy(&written.stream));
                    assert_eq!(texts[0], texts[1], "{name} in pieces of {size}");
                    assert_eq!(cut.body, written.body, "{name} in pieces of {size}");
                }
                check_shape(to, &written.stream, &name);
                let (back, message) = read(parser(to, TextMode::Text, false), [&*written.stream], |_| {});
                if must_fail(to, &written.source) || back.failure.is_some() {
                    // A call that fails while it grows ends the response, even if others were delivered.
                    let may_fail = must_fail(to, &written.source) || (grows && written.source.is_taken_back);
                    assert!(may_fail, "{name}: {:?} {:?}", back.failure, written.source);
                    assert!(back.failure.is_some() && !back.is_complete, "{name}: {back:?}");
                    let failure = written.body.expect_err(&name);
                    // Another status is that of the provider's code.
                    assert!(failure.status == 502 || failure.code.is_some(), "{name}: {failure:?}");
                    failed += 1;
                    continue;
                }
                let form = Form { to, grows, has_ends: to != Provider::OpenAiChat };
                check(form, &written.source, &back, &name);
                let body = written.body.expect(&name);
                let (of_body, _) =
                    read(parser(to, TextMode::Text, false).whole_body(), [body.as_bytes()], |_| {});
                let form = Form { has_ends: false, ..form };
                check(form, &written.source, &of_body, &format!("{name}, whole: {body}"));
                complete += 1;
                // A message has its calls in the order in which they begin; they come when they are complete.
                let names = |message: &Message| message.tool_calls().map(|call| call.name.clone()).collect();
                let begun: Vec<String> = written.message.as_ref().map(names).unwrap_or_default();
                let first = written.source.first();
                let ended = first.calls.iter().map(|(name, _)| name);
                // Of two responses in one stream, the message has the last.
                let is_one = !file.file_name().is_some_and(|name| name.to_string_lossy().contains("second-"));
                let is_ordered = is_one && (grows || begun.iter().eq(ended));
                if from == to && first.rejected == 0 && written.source.choices.len() < 2 && is_ordered {
                    assert_eq!(next_body(to, message), next_body(to, written.message), "{name}");
                    messages += 1;
                }
            }
        }
    }
    println!("{complete} complete, {failed} failed, {messages} messages");
    assert!(complete > 500 && failed > 300 && messages > 100, "{complete} {failed} {messages}");
}

/// Texts, and calls whose events come in any order of the calls: a client that takes one at a time gets each once, in the
/// order in which they began.
#[test]
fn interleaved_calls_come_one_after_the_other() {
    let mut most = 0;
    for seed in 0..cases(2000) {
        let random = &mut Random::new(seed as u64);
        // The next step of each call: how much of it has come.
        let (mut begun, mut steps) = (Vec::new(), Vec::<usize>::new());
        let (mut events, mut expected, mut texts) = (Vec::new(), Vec::new(), String::new());
        let count = 1 + random.below(5);
        while begun.len() < count || steps.iter().any(|step| *step < 3) {
            let open: Vec<usize> = (0..steps.len()).filter(|call| steps[*call] < 3).collect();
            if random.once_in(6) {
                let text = format!("<{}>", texts.len());
                texts += &text;
                events.push(ResponseEvent::Text { choice: 0, block: 0, text });
            } else if begun.len() < count && (open.is_empty() || random.once_in(2)) {
                begun.push(format!("tool_{}", begun.len()));
                steps.push(1);
                most = most.max(open.len() + 1);
                let (number, name) = (begun.len() as u64, begun[begun.len() - 1].clone());
                expected.push((name.clone(), json!({"n": number})));
                events.push(ResponseEvent::ToolCallBegan { choice: 0, number, call_id: None, name });
            } else if let Some(call) = (!open.is_empty()).then(|| *random.pick(&open)) {
                let number = call as u64 + 1;
                let arguments = Raw::from(json!({"n": number}));
                steps[call] += 1;
                events.push(if steps[call] == 2 {
                    let text = arguments.as_str()[..3].to_owned();
                    ResponseEvent::ToolCallArguments { choice: 0, number, text }
                } else {
                    let call = ToolCall::new(&begun[call], arguments, CompletedBy::ItemStop);
                    ResponseEvent::ToolCall { choice: 0, number: Some(number), block: 0, call, record: None }
                });
            }
        }
        for to in WRITTEN {
            let name = format!("seed {seed} for {}: {events:?}", to.as_str());
            let mut writer = ResponseWriter::streamed(to, head(to)).expect("it has a writer");
            events.iter().for_each(|event| writer.push(event));
            writer.finish();
            let stream = writer.take();
            check_shape(to, &stream, &name);
            let (back, _) = read(parser(to, TextMode::Text, false), [&*stream], |_| {});
            assert!(back.is_complete && back.failure.is_none(), "{name}: {back:?}");
            let mut calls = back.first().calls;
            if to == Provider::OpenAiChat {
                // Its deltas are interleaved: the calls come in the order of their ends.
                calls.sort_by(|(one, _), (other, _)| one.cmp(other));
            }
            assert_eq!(calls, expected, "{name}");
            assert_eq!(back.first().joined("text", true), texts, "{name}");
        }
    }
    assert!(most > 3, "{most}");
}

/// Parts of texts around calls.
const GLUE: [&str; 14] = [
    "",
    "\n",
    "\n\n",
    "Hm. ",
    "Here:\n",
    "<think>",
    "</think>",
    "```json\n",
    "```\n",
    "`",
    "<tool_call>",
    "{\"a\":1}\n",
    "{\"name\":\"now\",\"parameters\":{}}\n",
    "é",
];

/// Calls that models write in their text, in every syntax, whole, cut and mixed with text.
#[test]
fn calls_in_texts_become_native() {
    let (mut calls, mut failed) = (0, 0);
    for seed in 0..cases(600) {
        let random = &mut Random::new(seed as u64);
        let parts: Vec<&str> = (0..1 + random.below(6))
            .map(|_| match random.once_in(2) {
                true => *random.pick(&GLUE),
                false => random.pick(CallSyntax::built_in()).example.as_str(),
            })
            .collect();
        let text = parts.concat();
        let text =
            if random.once_in(4) { &text[..char_start(&text, random.below(text.len() + 1))] } else { &text };
        let pieces = random.pieces(text.as_bytes(), 12);
        // Half a character is a surrogate half in a real stream; here, pieces end between characters.
        let mut wire = String::new();
        let mut at = 0;
        for piece in pieces {
            let end = char_start(text, at + piece.len());
            wire += &crate::common::text(&text[at.min(end)..end]);
            at = at.max(end);
        }
        wire += &crate::common::text(&text[at..]);
        wire += &crate::common::chunk("{}", ["stop", "stop", "length"][random.below(3)]);
        wire += "data: [DONE]\n\n";
        for (to, grows) in WRITTEN.into_iter().flat_map(|to| [(to, false), (to, true)]) {
            let name = format!("seed {seed} for {}, growing {grows}: {text:?}", to.as_str());
            let written =
                write(Provider::OpenAiChat, to, wire.as_bytes(), wire.len(), TextMode::ToolCalls, grows);
            let cut = write(Provider::OpenAiChat, to, wire.as_bytes(), 7, TextMode::ToolCalls, grows);
            assert_eq!(cut.stream, written.stream, "{name}");
            check_shape(to, &written.stream, &name);
            let (back, _) = read(parser(to, TextMode::Text, false), [&*written.stream], |_| {});
            if back.failure.is_some() {
                let may_fail = must_fail(to, &written.source) || (grows && written.source.is_taken_back);
                assert!(may_fail && written.body.is_err(), "{name}: {:?} {:?}", back.failure, written.source);
                failed += 1;
                continue;
            }
            assert!(!must_fail(to, &written.source), "{name}: {:?}", written.source);
            let form = Form { to, grows, has_ends: to != Provider::OpenAiChat };
            check(form, &written.source, &back, &name);
            calls += back.first().calls.len();
        }
    }
    println!("{calls} calls, {failed} failed");
    assert!(calls > 1000 && failed > 50, "{calls} {failed}");
}
