//! Content after the provider's own end of the stream, and calls that come again.

use serde_json::{Value, json};
use tokenline_core::Code;
use tokenline_llm::{Provider, TextMode};

use crate::common::{at_every_cut, call, chunk, delivered, parser_of, text};
use crate::{DONE, codes};

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The delivered records and calls, the codes, and whether the response is complete.
fn seen(provider: Provider, wire: &str) -> (Vec<String>, Vec<Code>, bool) {
    let seen = at_every_cut(parser_of(provider, TextMode::Records), wire.as_bytes());
    (delivered(&seen), codes(&seen), seen.is_complete)
}

#[test]
fn what_contradicts_a_record_after_the_end_is_late() {
    let ollama = |text: &str| lines(&[json!({"message": {"content": text}, "done": false})]);
    let end = lines(&[json!({"message": {"content": ""}, "done": true, "done_reason": "stop"})]);
    let wire = |late: &[&str]| {
        [
            (
                Provider::OpenAiChat,
                text("{\"x\":1}")
                    + &chunk("{}", "stop")
                    + DONE
                    + &late.iter().map(|late| text(late)).collect::<String>(),
            ),
            (
                Provider::Ollama,
                ollama("{\"x\":1}") + &end + &late.iter().map(|late| ollama(late)).collect::<String>(),
            ),
        ]
    };
    for (late, is_late) in [
        (&[",\"limit\":10}"][..], true),
        (&["", " ", ",", "\"limit\":10}"], true),
        (&["}"], true),
        (&["\n{\"y\":2}"], false),
        (&["{\"y\":2", "}"], false),
        (&[" "], false),
    ] {
        let expected = if is_late { vec![Code::LateFragment] } else { vec![] };
        for (provider, wire) in wire(late) {
            assert_eq!(
                seen(provider, &wire),
                (vec!["0 0 {\"x\":1}".to_owned()], expected.clone(), !is_late),
                "{wire}"
            );
        }
    }
}

#[test]
fn what_contradicts_a_call_after_the_end_is_late() {
    let finish = chunk("{}", "tool_calls");
    for (late, is_late) in [
        (call("a", "f", ",\"y\":2}"), true),
        (call("a", "f", "{\"x\":2}"), true),
        (call("", "", "{\"x\":2}"), true),
        // The beginning of other arguments, or of the same.
        (call("", "", "{\"x\""), true),
        (call("a", "f", "{\"x\":1}"), false),
        (call("a", "f", ""), false),
        // Another call is not read, with its arguments.
        (call("b", "f", "{\"x\":") + &call("", "", "2}"), false),
    ] {
        let wire = call("a", "f", "{\"x\":1}") + &finish + DONE + &late;
        let expected = if is_late { vec![Code::LateFragment] } else { vec![] };
        let call = "0 f {\"x\":1} Some(\"a\")".to_owned();
        assert_eq!(seen(Provider::OpenAiChat, &wire), (vec![call], expected, !is_late), "{late}");
    }
}

#[test]
fn a_call_that_comes_again_with_its_id_is_delivered_once() {
    let ollama = |calls: &[Value]| {
        let line = |call: &Value| json!({"message": {"content": "", "tool_calls": [call]}, "done": false});
        let end = json!({"message": {"content": ""}, "done": true, "done_reason": "stop"});
        lines(&calls.iter().map(line).chain([end]).collect::<Vec<_>>())
    };
    let gemini = |calls: &[Value]| {
        let event = |call: &Value| json!({"candidates": [{"content": {"parts": [{"functionCall": call}]}}]});
        let end = json!({"candidates": [{"finishReason": "STOP"}]});
        events(&calls.iter().map(event).chain([end]).collect::<Vec<_>>())
    };
    for (ids, arguments, expected, is_late) in
        [(["a", "a"], [1, 1], 1, false), (["a", "a"], [1, 2], 1, true), (["a", "b"], [1, 1], 2, false)]
    {
        let pair =
            |call: fn(&str, Value) -> Value| [0, 1].map(|at| call(ids[at], json!({"x": arguments[at]})));
        let wires = [
            (
                Provider::Ollama,
                ollama(&pair(
                    |id, arguments| json!({"id": id, "function": {"name": "f", "arguments": arguments}}),
                )),
            ),
            (
                Provider::Gemini,
                gemini(&pair(|id, arguments| json!({"id": id, "name": "f", "args": arguments}))),
            ),
        ];
        for (provider, wire) in wires {
            let (calls, codes, is_complete) = seen(provider, &wire);
            let late = if is_late { vec![Code::LateFragment] } else { vec![] };
            assert_eq!((calls.len(), codes, is_complete), (expected, late, !is_late), "{wire}");
        }
    }
}

#[test]
fn values_for_a_delivered_call_are_late() {
    let part = |call: Value| json!({"candidates": [{"content": {"parts": [{"functionCall": call}]}}]});
    let value = |value: u64, goes_on: bool| {
        part(json!({"partialArgs": [{"jsonPath": "$.x", "numberValue": value}], "willContinue": goes_on}))
    };
    let begin = part(json!({"id": "a", "name": "f", "willContinue": true}));
    let end = json!({"candidates": [{"finishReason": "STOP"}]});
    let wire = events(&[begin, value(1, false), value(2, true), end]);
    let call = "0 f {\"x\":1} Some(\"a\")".to_owned();
    assert_eq!(seen(Provider::Gemini, &wire), (vec![call], vec![Code::LateFragment], false));
}

#[test]
fn a_message_that_begins_again_is_not_delivered_again() {
    let message = json!({"type": "message", "status": "completed", "content": [{"type": "output_text", "text": "{\"x\":1}"}]});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": []}});
    let wire = |again: &[&Value]| {
        let delta = json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "{\"x\":1}"});
        let done = json!({"type": "response.output_item.done", "output_index": 0, "item": message});
        let end =
            json!({"type": "response.completed", "response": {"status": "completed", "output": [message]}});
        events(&[&[&added, &delta, &done], again, &[&end]].concat().into_iter().cloned().collect::<Vec<_>>())
    };
    let record = "0 0 {\"x\":1}".to_owned();
    for again in [&[][..], &[&added]] {
        assert_eq!(seen(Provider::OpenAiResponses, &wire(again)), (vec![record.clone()], vec![], true));
    }
}

#[test]
fn a_complete_interaction_has_steps_that_were_not_streamed() {
    let text_step = |text: &str| json!({"type": "model_output", "content": [{"type": "text", "text": text}]});
    let call = json!({"type": "function_call", "name": "f", "arguments": {"x": 1}});
    let start = |index: u64, step: &Value| json!({"event_type": "step.start", "index": index, "step": step});
    let delta =
        json!({"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "{\"a\":1}"}});
    let end = |steps: Value| json!({"event_type": "interaction.completed", "interaction": {"status": "requires_action", "steps": steps}});
    let all = ["0 0 {\"a\":1}", "0 2 {\"b\":2}", "0 f {\"x\":1} Some(\"synthetic_1\")"];
    let steps = json!([text_step("{\"a\":1}"), call, text_step("{\"b\":2}")]);
    let begin = json!({"event_type": "interaction.created", "interaction": {}});
    let first = start(0, &json!({"type": "model_output"}));
    for streamed in [
        vec![first.clone(), delta.clone()],
        // The start of a step, or of a text, may be missing.
        vec![delta.clone()],
        vec![first, delta, start(1, &call)],
    ] {
        let wire = events(&[vec![begin.clone()], streamed, vec![end(steps.clone())]].concat());
        let (mut found, codes, is_complete) = seen(Provider::GeminiInteractions, &wire);
        found.sort();
        assert_eq!((found, codes, is_complete), (all.map(str::to_owned).to_vec(), vec![], true), "{wire}");
    }
}

#[test]
fn a_header_with_another_id_is_not_that_of_a_call_without_a_name() {
    let header = |id: &str, function: Value| {
        chunk(&json!({"tool_calls": [{"index": 0, "id": id, "function": function}]}).to_string(), "")
    };
    let wire = header("b", json!({}))
        + &header("a", json!({"name": "f", "arguments": "{\"x\":1}"}))
        + &header("b", json!({"name": "g", "arguments": "{\"y\":1}"}))
        + &chunk("{}", "tool_calls")
        + DONE;
    let (mut calls, ..) = seen(Provider::OpenAiChat, &wire);
    calls.sort();
    assert_eq!(calls, ["0 f {\"x\":1} Some(\"a\")", "0 g {\"y\":1} Some(\"b\")"]);
}
