//! OpenAI chat completions.

use serde_json::{Value, json};
use tokenline_llm::Provider;
use tokenline_llm::request::{AssistantPart, Message, Opaque, ResponseFormat, ToolChoice, UserPart};

use super::{assert_passes, read, received, sent};

const CHAT: Provider = Provider::OpenAiChat;

/// As the AI SDK sends it.
fn ai_sdk() -> Value {
    json!({
        "model": "gpt-5", "stream": true, "stream_options": {"include_usage": true},
        "max_completion_tokens": 500, "reasoning_effort": "low", "verbosity": "low", "temperature": 0.5, "seed": 7,
        "stop": ["END", "STOP"], "parallel_tool_calls": false, "prompt_cache_key": "k", "n": 1,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Weather here?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "high"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Paris\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "now", "arguments": ""}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "21"}]},
            {"role": "tool", "tool_call_id": "c2", "content": "late"}
        ],
        "tools": [
            {"type": "function", "function": {"name": "weather", "description": "of a city", "strict": true, "parameters": {
                "type": "object", "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "number"}},
                "required": ["city"]}}},
            {"type": "function", "function": {"name": "now", "strict": false}}
        ],
        "tool_choice": "auto",
        "response_format": {"type": "json_schema", "json_schema": {"name": "w", "strict": true, "description": "d",
            "schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}}}
    })
}

/// As a conversation of the SDK's own objects, and with tools of the provider.
fn own_parts() -> Value {
    json!({
        "model": "gpt-5-audio", "stop": "END", "modalities": ["text", "audio"], "logit_bias": {"50256": -100},
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}], "name": "s"},
            {"role": "user", "name": "ada", "content": [
                {"type": "text", "text": "Hear"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file_1"}}
            ]},
            {"role": "assistant", "content": "Ok.", "refusal": null, "annotations": [], "audio": {"id": "audio_1"},
             "function_call": null, "tool_calls": [
                {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
                {"id": "c2", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{broken"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "tool", "tool_call_id": "c2", "content": "bad arguments"},
            {"role": "assistant", "content": null, "refusal": "I can't."},
            {"role": "user", "content": "Why?"}
        ],
        "tools": [
            {"type": "custom", "custom": {"name": "patch", "format": {"type": "text"}}},
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
        ],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}}
    })
}

/// As sent to compatible servers, with their reasoning.
fn reasoning() -> Value {
    json!({
        "model": "deepseek-chat", "max_tokens": 100, "seed": -1, "stream": false, "top_k": 20,
        "chat_template_kwargs": {"enable_thinking": true}, "response_format": {"type": "text"},
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "reasoning_content": "Hm."},
            {"role": "user", "content": "c"},
            {"role": "assistant", "content": "d", "reasoning": "Ah.", "reasoning_details": [{"type": "reasoning.text", "signature": "s"}]},
            {"role": "user", "content": "e"},
            {"role": "assistant", "content": "f", "reasoning": "So."},
            {"role": "system", "content": "Now in French."},
            {"role": "user", "content": "g"}
        ]
    })
}

pub(super) fn bodies() -> Vec<Value> {
    vec![ai_sdk(), own_parts(), reasoning()]
}

#[test]
fn the_same_provider_receives_everything() {
    for body in bodies() {
        assert_passes(CHAT, &body);
    }
}

#[test]
fn parts_are_read() {
    let received = received(CHAT, &ai_sdk());
    assert!(received.include_usage);
    let request = received.request;
    assert_eq!((request.max_tokens, request.seed, request.stream), (Some(500), Some(7), true));
    assert_eq!(request.stop, ["END", "STOP"]);
    assert_eq!(request.messages[0], Message::system("Be brief."));
    let parts = [
        UserPart::from("Weather here?"),
        UserPart::image("image/png", "AAAA"),
        UserPart::document("a.pdf", "application/pdf", "AAAA"),
    ];
    assert_eq!(request.messages[1], Message::user_parts(parts));
    let calls: Vec<_> = request.messages[2].tool_calls().map(|call| call.parameters.as_str()).collect();
    assert_eq!(calls, [r#"{"city": "Paris"}"#, "{}"]);
    assert_eq!(request.messages[3], Message::tool("c1", "21"));
    assert!(request.tools[0].strict);
    assert!(
        matches!(&request.response_format, ResponseFormat::JsonSchema(format) if format.strict == Some(true))
    );

    let request = read(CHAT, &own_parts());
    assert_eq!(request.messages[0], Message::system("A\n\nB"));
    assert_eq!(request.messages[1], Message::user("Hear"));
    assert_eq!((request.tool_choice, request.include_usage), (ToolChoice::Required, true));
    let calls: Vec<_> = request.messages[2].tool_calls().map(|call| call.parameters.as_str()).collect();
    assert_eq!(calls, [r#"{"input":"*** Begin"}"#, "{}"]);
    assert_eq!(request.messages[5], Message::assistant("I can't.", []));
    assert_eq!(request.stop, ["END"]);

    let request = read(CHAT, &reasoning());
    let details =
        json!({"reasoning": "Ah.", "reasoning_details": [{"type": "reasoning.text", "signature": "s"}]});
    let expected = [("Hm.", json!("reasoning_content")), ("Ah.", details), ("So.", json!("reasoning"))];
    for (index, (expected, data)) in [1, 3, 5].into_iter().zip(expected) {
        let Message::Assistant(parts) = &request.messages[index] else { panic!() };
        let AssistantPart::Reasoning { text, opaque: Some(Opaque { provider: CHAT, data: sent }) } =
            &parts[0]
        else {
            panic!()
        };
        assert_eq!((text.as_str(), sent.to_value().unwrap()), (expected, data));
    }
    assert_eq!(request.seed, None);
}

#[test]
fn deprecated_functions_become_tools() {
    let body = json!({"model": "m", "function_call": {"name": "f"}, "functions": [{"name": "f", "parameters": {"type": "object"}}], "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"}
    ]});
    let (written, left_out) = sent(CHAT, &body);
    assert_eq!(left_out, [""; 0]);
    assert_eq!(written["tools"][0]["function"]["name"], "f");
    assert_eq!(written["tool_choice"]["function"]["name"], "f");
    let call = &written["messages"][1]["tool_calls"][0];
    assert_eq!(call["id"], written["messages"][2]["tool_call_id"]);
    assert_eq!(written["messages"][2]["role"], "tool");
    assert!(written.get("functions").is_none() && written.get("function_call").is_none());
}

#[test]
fn a_server_is_asked_for_usage_only_if_the_client_asks() {
    for (options, expected) in [(json!(null), false), (json!({"include_usage": true}), true)] {
        let body = json!({"model": "m", "stream": true, "stream_options": options, "messages": [{"role": "user", "content": "a"}]});
        let received = received(CHAT, &body);
        assert_eq!((received.include_usage, received.request.include_usage), (expected, expected));
    }
}

#[test]
fn schemas_keep_their_order_and_literals() {
    let body =
        br#"{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":
        {"name":"f","parameters":{"type":"object","properties":{"z":{"minimum":1.50},"a":{}}}}}]}"#;
    let received = super::ReceivedRequest::from_json(CHAT, body).unwrap();
    let schema = r#"{"type":"object","properties":{"z":{"minimum":1.50},"a":{}}}"#;
    assert_eq!(received.request.tools[0].parameters, schema);
}
