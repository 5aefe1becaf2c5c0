//! OpenAI Responses.

use serde_json::{Value, json};
use tokenline_llm::Provider;
use tokenline_llm::request::{AssistantPart, Message, ResponseFormat, ToolChoice, UserPart};

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

#[test]
fn kept_parts_replace_the_items_of_the_turn() {
    let parts = vec![AssistantPart::text("one"), AssistantPart::text("two")];
    let data = format!("tokenline:{}", serde_json::to_string(&parts).unwrap());
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "a"},
        {"type": "message", "role": "assistant", "content": "before"},
        {"type": "reasoning", "summary": [], "encrypted_content": data},
        {"type": "message", "role": "assistant", "content": "after", "id": "msg_1"},
        {"role": "user", "content": "b"},
        {"type": "message", "role": "assistant", "content": "c", "id": "msg_2"},
        {"role": "user", "content": "d"}
    ]});
    assert_eq!(read(RESPONSES, &body).messages[1], Message::Assistant(parts));
    let (written, _) = sent(RESPONSES, &body);
    let input = written["input"].as_array().unwrap();
    let texts: Vec<_> = input.iter().map(|item| item["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "one", "two", "b", "c", "d"]);
    assert_eq!(input[4]["id"], "msg_2");
}
