//! Anthropic messages.

use serde_json::{Value, json};
use tokenline_llm::Provider;
use tokenline_llm::request::{AssistantPart, Message, Source, ToolChoice, UserPart};

use super::{assert_passes, read, sent};

const ANTHROPIC: Provider = Provider::Anthropic;

/// As Claude Code sends it.
pub(super) fn claude_code() -> Value {
    let cached = json!({"type": "ephemeral", "ttl": "1h"});
    json!({
        "model": "claude-opus-4-8",
        "max_tokens": 32000,
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.165"},
            {"type": "text", "text": "You are Claude Code.", "cache_control": cached},
            {"type": "text", "text": "Be brief.", "cache_control": cached}
        ],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "<system-reminder>Today</system-reminder>"},
                {"type": "text", "text": "List the files.", "cache_control": cached}
            ]},
            {"role": "system", "content": "The user has opened main.rs."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I need ls.", "signature": "EqQBCgIYAhIk"},
                {"type": "redacted_thinking", "data": "EmwKAhgB"},
                {"type": "text", "text": "I'll look."},
                {"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": {"timeout": 1.50, "command": "ls"}},
                {"type": "tool_use", "id": "toolu_02", "name": "Read", "input": {}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_01", "content": [
                    {"type": "text", "text": "a.rs"}, {"type": "text", "text": "b.rs"}
                ]},
                {"type": "tool_result", "tool_use_id": "toolu_02", "is_error": true, "content": "no such file",
                 "cache_control": cached}
            ]}
        ],
        "tools": [
            {"name": "Bash", "description": "Runs.", "eager_input_streaming": true, "input_schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
                "properties": {"timeout": {"type": "number"}, "command": {"type": "string"}},
                "required": ["command"], "additionalProperties": false}},
            {"type": "custom", "name": "Read", "input_schema": {"type": "object"}, "cache_control": cached}
        ],
        "metadata": {"user_id": "{\"device_id\":\"d\"}"},
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "stream": true
    })
}

/// Blocks that only the provider understands, and content that the request has in another form.
pub(super) fn own_blocks() -> Value {
    json!({
        "model": "claude-opus-4-8", "max_tokens": 100, "temperature": 1, "top_k": 5, "stop_sequences": ["END"],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Who?"},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Facts."}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
            ]},
            {"role": "assistant", "content": [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "who"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "text", "text": "Ada.", "citations": [{"type": "web_search_result_location"}]},
                {"type": "tool_use", "id": "toolu_1", "name": "show", "input": {"size": 1}}
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                {"type": "text", "text": "done"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
            ]}]}
        ],
        "tools": [
            {"type": "web_search_20260318", "name": "web_search", "max_uses": 3},
            {"name": "show", "input_schema": {"type": "object"}, "defer_loading": true}
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true}
    })
}

/// As the AI SDK and LangChain send it.
fn plain() -> Value {
    json!({
        "model": "claude-sonnet-4-5", "max_tokens": 4096, "system": "Be brief.", "temperature": 0,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
                {"type": "text", "text": "Compare."}
            ]}
        ],
        "tools": [{"name": "json", "description": "Answers.", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "json", "disable_parallel_tool_use": true},
        "output_config": {"format": {"type": "json_schema", "schema": {
            "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}}}
    })
}

pub(super) fn bodies() -> Vec<Value> {
    vec![claude_code(), own_blocks(), plain()]
}

#[test]
fn the_same_provider_receives_everything() {
    for body in bodies() {
        assert_passes(ANTHROPIC, &body);
    }
}

#[test]
fn parts_are_read() {
    let request = read(ANTHROPIC, &claude_code());
    assert_eq!(request.max_tokens, Some(32000));
    let roles: Vec<_> = request.messages.iter().map(|message| message.text().into_owned()).collect();
    let system = "x-anthropic-billing-header: cc_version=2.1.165\n\nYou are Claude Code.\n\nBe brief.";
    let asked = "<system-reminder>Today</system-reminder>List the files.";
    let opened = "The user has opened main.rs.";
    assert_eq!(roles, [system, asked, opened, "I'll look.", "a.rs\nb.rs", "no such file"]);
    let Message::Assistant(parts) = &request.messages[3] else { panic!() };
    let [AssistantPart::Reasoning { text, opaque }, AssistantPart::Reasoning { .. }, ..] = &parts[..] else {
        panic!()
    };
    assert_eq!(
        (&**text, opaque.as_ref().unwrap().data.as_str()),
        ("I need ls.", r#"{"signature":"EqQBCgIYAhIk"}"#)
    );
    let redacted = parts[1].opaque().unwrap().data.to_value().unwrap();
    assert_eq!(redacted, json!({"type": "redacted_thinking", "data": "EmwKAhgB"}));
    let calls: Vec<_> =
        request.messages[3].tool_calls().map(|call| (&*call.name, call.call_id.as_deref())).collect();
    assert_eq!(calls, [("Bash", Some("toolu_01")), ("Read", Some("toolu_02"))]);
    assert!(matches!(&request.messages[5], Message::Tool(result) if result.is_error));
    assert_eq!(request.tools[1].name, "Read");

    let request = read(ANTHROPIC, &plain());
    assert_eq!(request.tool_choice, ToolChoice::Tool("json".to_owned()));
    let Message::User(parts) = &request.messages[3] else { panic!() };
    let document = UserPart::document("a.pdf", "application/pdf", "AAAA");
    assert_eq!(parts[..2], [UserPart::image_url("https://example.com/a.png"), document]);
    let request = read(ANTHROPIC, &own_blocks());
    let Message::User(parts) = &request.messages[1] else { panic!() };
    assert_eq!(parts[..], [UserPart::from("Who?"), UserPart::from("Facts.")]);
    assert!(!matches!(parts[0], UserPart::Image(Source::Url(_))));
}

/// The body for the same provider has other positions.
#[test]
fn members_follow_their_element() {
    let cached = json!({"type": "ephemeral"});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": " "}, {"type": "text", "text": "b", "cache_control": cached}]},
        {"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]},
        {"role": "assistant", "content": []},
        {"role": "user", "content": [{"type": "text", "text": "c", "cache_control": cached}]}
    ]});
    let (written, left_out) = sent(ANTHROPIC, &body);
    assert_eq!(left_out, ["/messages/2/content/0"]);
    let text = |text| json!({"type": "text", "text": text});
    let marked = |text| json!({"type": "text", "text": text, "cache_control": cached});
    assert_eq!(
        written["messages"],
        json!([{"role": "user", "content": [text("a"), marked("b"), marked("c")]}])
    );
}

#[test]
fn opening_system_messages_follow_the_system_prompt() {
    let system = json!([{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}]);
    let body = json!({"model": "m", "max_tokens": 9, "system": system, "messages": [
        {"role": "system", "content": "B"}, {"role": "user", "content": "c"}]});
    let (written, left_out) = sent(ANTHROPIC, &body);
    assert_eq!(left_out, [""; 0]);
    assert_eq!(written["system"], json!([system[0], {"type": "text", "text": "B"}]));
    assert_eq!(written["messages"].as_array().unwrap().len(), 1);
}

/// The server enforces more schemas than strict mode has here.
#[test]
fn a_schema_that_cannot_be_strict_passes() {
    let schema = json!({"type": "object", "patternProperties": {"^a": {"type": "string"}}});
    let format = json!({"type": "json_schema", "schema": schema});
    assert_passes(
        ANTHROPIC,
        &json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "c"}], "output_config": {"format": format}}),
    );
}

#[test]
fn kept_parts_replace_the_turn() {
    let parts = vec![AssistantPart::text("kept")];
    let data = format!("tokenline:{}", serde_json::to_string(&parts).unwrap());
    let body = |data: &str| {
        json!({"model": "m", "max_tokens": 9, "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "ke"}, {"type": "text", "text": "pt"}, {"type": "redacted_thinking", "data": data}]},
            {"role": "user", "content": [{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]}
        ]})
    };
    assert_eq!(read(ANTHROPIC, &body(&data)).messages[1], Message::Assistant(parts));
    let (written, left_out) = sent(ANTHROPIC, &body(&data));
    assert_eq!(left_out, [""; 0]);
    assert_eq!(written["messages"][1]["content"], json!([{"type": "text", "text": "kept"}]));
    assert_eq!(written["messages"][2]["content"][0]["cache_control"]["type"], "ephemeral");
    for broken in ["tokenline:[", r#"tokenline:[{"type":"tool_call","name":"a","arguments":"7"}]"#] {
        let body = body(broken).to_string();
        let error = super::ReceivedRequest::from_json(ANTHROPIC, body.as_bytes()).unwrap_err();
        assert_eq!(error.pointer(), "/messages/1/content/2/data");
    }
}

/// Results of tools are texts for most providers: images in them go into a user message behind the results.
#[test]
fn images_in_results_reach_other_providers() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}});
    let result =
        |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "shot", "input": {}});
    let body = |last: Value| {
        json!({"model": "m", "max_tokens": 9, "messages": [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [call("c1"), call("c2")]},
            {"role": "user", "content": [
                result("c1", json!([{"type": "text", "text": "done"}, image])), result("c2", json!("nothing")), last]},
            {"role": "assistant", "content": [call("c3")]},
            {"role": "user", "content": [result("c3", json!([image]))]},
        ]})
    };
    let body = body(json!({"type": "text", "text": "And?"}));
    assert_passes(ANTHROPIC, &body);
    let received = super::ReceivedRequest::from_json(ANTHROPIC, body.to_string().as_bytes()).unwrap();
    let (request, left_out) = received.clone().into_request_for(Provider::OpenAiChat);
    assert_eq!(left_out, [""; 0]);
    let image = |id: &str| {
        [
            UserPart::Text(format!("From the result of the tool call {id}:")),
            UserPart::image("image/png", "QUJD"),
        ]
    };
    let [first, third] = [image("c1"), image("c3")];
    let mut with_text = first.to_vec();
    with_text.push(UserPart::Text("And?".to_owned()));
    assert!(matches!(&request.messages[2], Message::Tool(result) if result.content == "done"));
    assert!(matches!(&request.messages[3], Message::Tool(result) if result.content == "nothing"));
    assert_eq!(request.messages[4], Message::User(with_text));
    assert_eq!(request.messages[7..], [Message::User(third.to_vec())]);
    // A provider that takes no images gets none, and the client is told so.
    let (request, left_out) = received.into_request_for(Provider::Cohere);
    let is_image = |part: &UserPart| matches!(part, UserPart::Image(_));
    let has_image = request
        .messages
        .iter()
        .any(|message| matches!(message, Message::User(parts) if parts.iter().any(is_image)));
    assert_eq!(has_image, left_out.is_empty(), "{left_out:?}");
}
