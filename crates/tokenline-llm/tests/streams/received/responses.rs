//! OpenAI Responses.

use serde_json::{Value, json};
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, ToolCall};
use tokenline_llm::Provider;
use tokenline_llm::request::{AssistantPart, Message, ReceivedRequest, ResponseFormat, ToolChoice, UserPart};

use super::{assert_passes, read, sent};

const RESPONSES: Provider = Provider::OpenAiResponses;

/// As Codex sends it.
pub(super) fn codex() -> Value {
    json!({
        "model": "gpt-5-codex",
        "instructions": "You are Codex.",
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>"}]},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "<environment_context>"}, {"type": "input_text", "text": "Fix it."}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look"}], "content": null, "encrypted_content": "gAAAA"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I'll look."}], "phase": "commentary"},
            {"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "call_1"},
            {"type": "function_call", "name": "view_image", "arguments": "{\"path\":\"a.png\"}", "call_id": "call_2"},
            {"type": "function_call_output", "call_id": "call_1", "output": "a.png"},
            {"type": "function_call_output", "call_id": "call_2", "output": [
                {"type": "input_text", "text": "the image"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
            {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "call_3", "output": "Done"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]}
        ],
        "tools": [
            {"type": "function", "name": "shell", "description": "Runs.", "strict": false, "parameters": {
                "type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}, "required": ["command"]}},
            {"type": "function", "name": "view_image", "strict": false, "parameters": {"type": "object"}},
            {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
            {"type": "web_search", "external_web_access": false}
        ],
        "tool_choice": "auto", "parallel_tool_calls": true,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": false, "stream": true, "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k", "client_metadata": {"x": "y"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "codex_output_schema", "strict": true,
            "schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}}}
    })
}

/// The easy forms.
fn easy() -> Value {
    json!({
        "model": "gpt-5", "max_output_tokens": 100, "temperature": 1, "previous_response_id": "resp_1",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"type": "item_reference", "id": "msg_1"},
            {"role": "developer", "content": "In French."},
            {"role": "user", "content": [
                {"type": "input_image", "detail": "low", "image_url": "https://example.com/a.png"},
                {"type": "input_file", "file_url": "https://example.com/a.pdf"},
                {"type": "input_file", "file_id": "file_1"}]},
            {"type": "message", "id": "msg_2", "status": "completed", "role": "assistant", "content": [
                {"type": "output_text", "text": "It ", "annotations": [], "logprobs": []},
                {"type": "output_text", "text": "is.", "annotations": []}]},
            {"role": "user", "content": "So?"}
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": true}],
        "tool_choice": {"type": "function", "name": "f"}, "text": {"format": {"type": "text"}}
    })
}

pub(super) fn bodies() -> Vec<Value> {
    vec![
        codex(),
        easy(),
        json!({"model": "m", "input": "Hi", "tools": [{"type": "web_search"}], "tool_choice": "required"}),
    ]
}

#[test]
fn the_same_provider_receives_everything() {
    for body in bodies() {
        assert_passes(RESPONSES, &body);
    }
}

#[test]
fn consecutive_items_form_one_message() {
    let request = read(RESPONSES, &codex());
    let texts: Vec<_> = request.messages.iter().map(|message| message.text().into_owned()).collect();
    let user = "<environment_context>Fix it.";
    let expected = ["You are Codex.", "<permissions>", user, "I'll look.", "a.png", "the image", "", "And?"];
    assert_eq!(texts, expected);
    let Message::Assistant(parts) = &request.messages[3] else { panic!() };
    let [AssistantPart::Reasoning { text, opaque }, AssistantPart::Text { .. }, rest @ ..] = &parts[..]
    else {
        panic!()
    };
    assert_eq!(text, "Look");
    assert!(opaque.as_ref().unwrap().data.as_str().contains("gAAAA"));
    assert!(matches!(rest, [AssistantPart::ToolCall { .. }, AssistantPart::ToolCall { .. }]));
    assert!(
        matches!(&request.response_format, ResponseFormat::JsonSchema(format) if format.name == "codex_output_schema")
    );
    assert_eq!(request.tools.len(), 2);

    let request = read(RESPONSES, &easy());
    assert_eq!(request.tool_choice, ToolChoice::Tool("f".to_owned()));
    assert!(request.tools[0].strict && !request.stream);
    let Message::User(parts) = &request.messages[4] else { panic!("{:?}", request.messages) };
    assert_eq!(parts[0], UserPart::image_url("https://example.com/a.png"));
    assert_eq!(parts.len(), 2);
    assert_eq!(request.messages[5].text(), "It is.");
}

/// The data that another provider attached goes back with the parts that the client saw, and with those alone.
#[test]
fn kept_parts_replace_what_the_client_saw_of_them() {
    let parts = vec![AssistantPart::text("one"), AssistantPart::text("two")];
    let data = format!("tokenline:{}", serde_json::to_string(&parts).unwrap());
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "a"},
        {"type": "message", "role": "assistant", "content": "one two"},
        {"type": "reasoning", "summary": [], "encrypted_content": data},
        {"role": "user", "content": "b"},
        {"type": "message", "role": "assistant", "content": "c", "id": "msg_2"},
        {"role": "user", "content": "d"}
    ]});
    assert_eq!(read(RESPONSES, &body).messages[1], Message::Assistant(parts.clone()));
    let (written, _) = sent(RESPONSES, &body);
    let input = written["input"].as_array().unwrap();
    let texts: Vec<_> = input.iter().map(|item| item["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "one", "two", "b", "c", "d"]);
    assert_eq!(input[4]["id"], "msg_2");

    // Of several responses in one turn, each has its own.
    let mut body = body;
    let items = body["input"].as_array_mut().unwrap();
    items.insert(3, json!({"type": "message", "role": "assistant", "content": "after"}));
    let joined = [parts, vec![AssistantPart::text("after")]].concat();
    assert_eq!(read(RESPONSES, &body).messages[1], Message::Assistant(joined));

    // What the client has changed stands, and the data is left out.
    for content in ["one", "one three", ""] {
        body["input"][1]["content"] = json!(content);
        let own = Message::Assistant(vec![AssistantPart::text(content), AssistantPart::text("after")]);
        assert_eq!(read(RESPONSES, &body).messages[1], own);
        let received = ReceivedRequest::from_json(RESPONSES, body.to_string().as_bytes()).unwrap();
        assert_eq!(received.into_request_for(Provider::Gemini).1, ["/input/2", "/input/5/id"]);
    }
}

#[test]
fn kept_calls_are_those_that_the_client_saw() {
    let call = |id: &str, city: &str| {
        let mut call =
            ToolCall::new("weather", Raw::from(json!({"city": city, "days": 2})), CompletedBy::ItemStop);
        call.call_id = Some(id.to_owned());
        AssistantPart::tool_call(call)
    };
    let kept = vec![AssistantPart::text("Let me see."), call("c1", "Paris"), call("c2", "Rome")];
    let data = format!("tokenline:{}", serde_json::to_string(&kept).unwrap());
    let turn = |calls: &[Value]| {
        let text = json!({"type": "text", "text": "Let me see."});
        let data = json!({"type": "redacted_thinking", "data": data});
        let content: Vec<Value> = [text].into_iter().chain(calls.iter().cloned()).chain([data]).collect();
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"},
            {"role": "assistant", "content": content}]})
    };
    let seen = |id: &str, city: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {"days": 2, "city": city}});
    let said = |body: &Value| match read(Provider::Anthropic, body).messages.pop() {
        Some(Message::Assistant(parts)) => parts,
        other => panic!("{other:?}"),
    };
    assert_eq!(said(&turn(&[seen("c1", "Paris"), seen("c2", "Rome")])), kept);
    for changed in [
        vec![seen("c1", "Paris")],
        vec![seen("c1", "Paris"), seen("c2", "Oslo")],
        vec![seen("c2", "Rome"), seen("c1", "Paris")],
        vec![seen("c1", "Paris"), seen("c2", "Rome"), seen("c3", "Rome")],
    ] {
        let body = turn(&changed);
        assert_eq!(said(&body).len(), 1 + changed.len(), "{body}");
        let received = ReceivedRequest::from_json(Provider::Anthropic, body.to_string().as_bytes()).unwrap();
        let (_, left_out) = received.into_request_for(Provider::Gemini);
        assert_eq!(left_out, [format!("/messages/1/content/{}", 1 + changed.len())]);
    }
}
