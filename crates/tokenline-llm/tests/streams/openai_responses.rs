//! OpenAI Responses: what fixtures cannot show.

use crate::common::{decode, delivered, fixture, parser_of};
use tokenline_core::Limits;
use tokenline_llm::providers::EventDecoder;
use tokenline_llm::{Delta, FinishReason, Provider, ResponseEvent, TextMode};

#[test]
fn every_item_has_a_text_of_its_own() {
    let mut parser = parser_of(Provider::OpenAiResponses, TextMode::Records);
    let seen = decode(&mut parser, [&fixture("openai-responses/two-messages.sse")[..]]);
    assert_eq!(delivered(&seen), [r#"0 0 {"a":1}"#, r#"0 0 {"a":2}"#, r#"0 1 {"b":3}"#]);
}

/// The deltas of these data.
fn deltas<'a>(data: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut decoder = EventDecoder::new(Provider::OpenAiResponses, &Limits::default());
    let mut deltas = Vec::new();
    for data in data {
        decoder.decode("message", data, |delta| deltas.push(format!("{delta:?}"))).expect("it is JSON");
    }
    deltas
}

#[test]
fn data_that_is_not_an_object() {
    assert_eq!(deltas(["", " ", "[DONE]"]), [""; 0]);
    let unknown = |name: &str| format!("{:?}", Delta::Unknown { parent: "data", name: name.into() });
    assert_eq!(deltas(["[1]", "whatever", "\"x\""]), ["array", "text", "string"].map(unknown));
    assert_eq!(deltas(["{}"]), [format!("{:?}", Delta::Unknown { parent: "event", name: "message".into() })]);
    let mut decoder = EventDecoder::new(Provider::OpenAiResponses, &Limits::default());
    assert!(decoder.decode("response.completed", "{\"type\":", |_| {}).is_err());
}

#[test]
fn reasons() {
    for (data, reason) in [
        (r#"{"type":"response.completed"}"#, FinishReason::Stop),
        (r#"{"type":"response.completed","response":{"status":"completed"}}"#, FinishReason::Stop),
        (
            r#"{"type":"response.completed","response":{"output":[{"type":"function_call","name":"f","arguments":""}]}}"#,
            FinishReason::ToolCalls,
        ),
        (
            r#"{"type":"response.completed","response":{"status":"cancelled"}}"#,
            FinishReason::other("cancelled"),
        ),
        (r#"{"type":"response.cancelled","response":{}}"#, FinishReason::other("cancelled")),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_tokens"}}}"#,
            FinishReason::Length,
        ),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"boredom"}}}"#,
            FinishReason::other("boredom"),
        ),
        (
            r#"{"type":"response.incomplete","response":{"incomplete_details":null}}"#,
            FinishReason::other("incomplete"),
        ),
    ] {
        let end = [format!("{:?}", Delta::Finish { choice: 0, reason }), format!("{:?}", Delta::Terminator)];
        assert!(deltas([data]).ends_with(&end), "{data}");
    }
}

#[test]
fn invented_items_do_not_fill_the_memory() {
    let mut decoder = EventDecoder::new(Provider::OpenAiResponses, &Limits::default());
    for index in 0..20_000 {
        for kind in ["output_text", "custom_tool_call_input"] {
            let data = format!(r#"{{"type":"response.{kind}.delta","output_index":{index},"delta":"a"}}"#);
            decoder.decode("", &data, |_| {}).expect("it is JSON");
        }
    }
    assert!(format!("{decoder:?}").len() < 100_000);
    decoder.reset();
    let fresh = EventDecoder::new(Provider::OpenAiResponses, &Limits::default());
    let response = |decoder: &EventDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("reader").expect("it is shown")..].to_owned()
    };
    assert_eq!(response(&decoder), response(&fresh));
}

#[test]
fn a_custom_tools_input_is_escaped_in_pieces_of_any_size() {
    let input: String =
        (0..0x250_u32).filter_map(char::from_u32).chain("\u{2028}\u{1F600}".chars()).collect();
    let event = |piece: &str| {
        let data = serde_json::json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": piece});
        data.to_string()
    };
    let whole = serde_json::json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": input, "status": "completed"});
    let done = serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": whole})
        .to_string();
    let mut wire: String =
        input.chars().map(|char| format!("data: {}\n\n", event(&char.to_string()))).collect();
    wire.push_str(&format!("data: {done}\n\n"));
    let seen = decode(&mut parser_of(Provider::OpenAiResponses, TextMode::Text), [wire.as_bytes()]);
    let ResponseEvent::ToolCall { call, .. } = &seen.events[0] else { panic!("{seen:?}") };
    assert_eq!(call.parameters.to_value().expect("numbers are none")["input"], input);
}

#[test]
fn a_truncated_input_of_a_custom_tool_is_not_a_call() {
    let event = |data: serde_json::Value| format!("data: {data}\n\n");
    let added = serde_json::json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": ""}});
    let delta = serde_json::json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": "rm -rf /tm"});
    let item = |input: &str, status: Option<&str>| {
        let mut item =
            serde_json::json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": input});
        if let Some(status) = status {
            item["status"] = status.into();
        }
        serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": item})
    };
    let done = serde_json::json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": "rm -rf /tmp/x"});
    let other =
        serde_json::json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": "ls"});
    let completed = serde_json::json!({"type": "response.completed", "response": {"status": "completed"}});
    let incomplete = serde_json::json!({"type": "response.incomplete", "response": {
        "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}});
    let calls = |events: &[&serde_json::Value]| {
        let wire: String = [&added, &delta].iter().chain(events).map(|data| event((*data).clone())).collect();
        let mut parser = parser_of(Provider::OpenAiResponses, TextMode::Text);
        delivered(&decode(&mut parser, [wire.as_bytes()]))
    };
    let none: [&str; 0] = [];
    let whole = [r#"0 f {"input":"rm -rf /tmp/x"} Some("c")"#];
    // Without a status, only the end of the response proves it complete.
    assert_eq!(calls(&[&item("rm -rf /tm", None), &incomplete]), none);
    assert_eq!(calls(&[&item("rm -rf /tm", Some("in_progress")), &incomplete]), none);
    assert_eq!(calls(&[&item("rm -rf /tmp/x", None), &completed]), whole);
    assert_eq!(calls(&[&item("rm -rf /tmp/x", Some("completed")), &incomplete]), whole);
    // The final text is used if it continues the received one.
    assert_eq!(calls(&[&done, &completed]), whole);
    assert_eq!(calls(&[&done, &incomplete]), none);
    assert_eq!(calls(&[&other, &completed]), none);
}
