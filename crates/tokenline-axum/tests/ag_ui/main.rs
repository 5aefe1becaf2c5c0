//! The events of AG-UI, written from recorded responses.

#[path = "../../../tokenline-llm/tests/common/event_stream.rs"]
#[allow(unreachable_pub, dead_code, reason = "a module shared by several test programs")]
mod event_stream;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod grammar;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokenline::json::Raw;
use tokenline::llm::TextMode;
use tokenline::{Options, Provider, ResponseEvent, ResponseParser};
use tokenline_axum::ag_ui::{AgUiEvent, EventWriter};
use tokenline_axum::ai_sdk::chat_options;

use crate::extent::positions;

/// The folder of the recorded responses.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-llm/fixtures")
}

fn parser(provider: Provider, text_as: TextMode) -> ResponseParser<Raw> {
    ResponseParser::new(provider, chat_options(Options::lenient().into()))
        .with_options(|options| options.text_as(text_as))
}

/// Writes a response in these pieces.
fn write<'a>(
    writer: &mut EventWriter,
    mut parser: ResponseParser<Raw>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<ResponseEvent<Raw>> {
    let mut calls = Vec::new();
    let mut take = |parser: &mut ResponseParser<Raw>, writer: &mut EventWriter| {
        while let Some(event) = parser.next_event() {
            writer.push(&event);
            if matches!(event, ResponseEvent::ToolCall { choice: 0, .. }) {
                calls.push(event);
            }
        }
    };
    for piece in pieces {
        parser.push(piece);
        take(&mut parser, writer);
    }
    parser.finish();
    take(&mut parser, writer);
    calls
}

fn taken(writer: &mut EventWriter) -> Vec<Value> {
    let events = std::iter::from_fn(|| writer.next_event());
    events.map(|event| serde_json::from_str(&event.to_json()).expect("JSON")).collect()
}

/// Successive pieces of the same message or call joined.
fn joined(events: Vec<Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for mut event in events {
        let is_same = |last: &&Value| {
            ["type", "messageId", "toolCallId"].iter().all(|name| last[*name] == event[*name])
        };
        if let Some(more) = event["delta"].as_str()
            && let Some(last) = all.last().filter(is_same)
        {
            event["delta"] = format!("{}{more}", last["delta"].as_str().expect("a delta")).into();
            all.pop();
        }
        all.push(event);
    }
    all
}

/// Every recording of every provider, whole and cut off, in pieces of any size.
#[test]
fn every_run_is_well_formed() {
    let mut checked = 0;
    for &provider in Provider::ALL {
        let mut folders = vec![fixtures().join(provider.as_str())];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mut body = std::fs::read(&path).expect("a file");
                if path.extension().is_some_and(|extension| extension == "messages") {
                    body = event_stream::stream(std::str::from_utf8(&body).expect("UTF-8"));
                }
                for text_as in [TextMode::Text, TextMode::ToolCalls, TextMode::Records] {
                    let cuts = if body.len() > 10_000 { 3 } else { 10 };
                    for cut in positions(body.len(), cuts) {
                        let of = format!("{} {text_as:?} cut at {cut}", path.display());
                        let mut writer = EventWriter::new("t", "r").show_errors();
                        write(&mut writer, parser(provider, text_as), [&body[..cut]]);
                        writer.finish();
                        let events = taken(&mut writer);
                        grammar::check(&events, &of);
                        let mut writer = EventWriter::new("t", "r").show_errors();
                        write(&mut writer, parser(provider, text_as), body[..cut].chunks(7));
                        writer.finish();
                        assert_eq!(joined(taken(&mut writer)), joined(events), "{of}");
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}

fn chat(deltas: &[Value], reason: &str) -> Vec<u8> {
    let chunk = |delta: &Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let mut wire: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    wire += &chunk(&json!({}), reason.into());
    wire += "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}}\n\n";
    wire += "data: [DONE]\n\n";
    wire.into_bytes()
}

/// An agent: a call with its result, one that the page runs, a state, and a second response.
#[test]
fn a_run_has_steps_results_and_pending_calls() {
    let call = |id: &str, name: &str| json!({"tool_calls": [{"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]});
    let mut writer = EventWriter::new("t", "r");
    let first = [json!({"reasoning_content": "Hm."}), json!({"content": "Wait."}), call("a", "now")];
    let calls =
        write(&mut writer, parser(Provider::OpenAiChat, TextMode::Text), [&*chat(&first, "tool_calls")]);
    writer.end_response();
    let [ResponseEvent::ToolCall { call: now, .. }] = &calls[..] else { panic!("{calls:?}") };
    writer.tool_result(now, "noon");
    writer.state(Raw::from(json!({"asked": 1})));
    writer.send(AgUiEvent::StateDelta {
        delta: Raw::from(json!([{"op": "replace", "path": "/asked", "value": 2}])),
    });
    writer.start_step();
    write(
        &mut writer,
        parser(Provider::OpenAiChat, TextMode::Text),
        [&*chat(&[call("b", "confirm")], "tool_calls")],
    );
    writer.finish();
    writer.finish();
    let events = taken(&mut writer);
    grammar::check(&events, "a run");
    let usage = json!({"inputTokens": 7, "outputTokens": 5, "totalTokens": 12});
    assert_eq!(
        events,
        [
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
            json!({"type": "STEP_STARTED", "stepName": "step-1"}),
            json!({"type": "REASONING_START", "messageId": "r-1"}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": "r-1", "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r-1", "delta": "Hm."}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": "r-1"}),
            json!({"type": "REASONING_END", "messageId": "r-1"}),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "r-2", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "r-2", "delta": "Wait."}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "r-2"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "now", "parentMessageId": "r-2"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "a", "delta": "{}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "a"}),
            json!({"type": "TOOL_CALL_RESULT", "messageId": "r-3", "toolCallId": "a", "content": "noon", "role": "tool"}),
            json!({"type": "STATE_SNAPSHOT", "snapshot": {"asked": 1}}),
            json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/asked", "value": 2}]}),
            json!({"type": "STEP_FINISHED", "stepName": "step-1"}),
            json!({"type": "STEP_STARTED", "stepName": "step-2"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "b", "toolCallName": "confirm"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "b", "delta": "{}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "b"}),
            json!({"type": "STEP_FINISHED", "stepName": "step-2"}),
            json!({
                "type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [usage.clone(), usage],
                "outcome": {"type": "success", "pendingToolCallIds": ["b"]},
            }),
        ]
    );
}

/// A rejected call is shown, with the reason as its result, and is not pending.
#[test]
fn rejected_calls_have_their_reason_as_result() {
    let half = json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "now", "arguments": "{\"at\":"}}]});
    let mut writer = EventWriter::new("t", "r");
    write(&mut writer, parser(Provider::OpenAiChat, TextMode::Text), [&*chat(&[half], "tool_calls")]);
    writer.finish();
    let events = taken(&mut writer);
    grammar::check(&events, "a rejected call");
    let result = events.iter().find(|event| event["type"] == "TOOL_CALL_RESULT").expect("a result");
    assert!(result["content"].as_str().is_some_and(|reason| !reason.is_empty()), "{result}");
    assert_eq!(events.last().expect("an end")["outcome"], json!({"type": "success"}));
}

/// A response that breaks off ends the run with an error, whose text is masked unless it is asked for.
#[test]
fn failures_are_masked() {
    for (shows, expected) in [(false, "An error occurred."), (true, "slow down")] {
        let writer = EventWriter::new("t", "r");
        let mut writer = if shows { writer.show_errors() } else { writer };
        let wire = b"data: {\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}\n\n";
        write(&mut writer, parser(Provider::OpenAiChat, TextMode::Text), [&wire[..]]);
        writer.finish();
        let events = taken(&mut writer);
        grammar::check(&events, "a failure");
        let last = events.last().expect("an end");
        assert_eq!((&last["type"], &last["message"]), (&json!("RUN_ERROR"), &json!(expected)));
        assert_eq!(last.get("code"), shows.then(|| json!("rate_limit_exceeded")).as_ref());
    }
}
