//! What another provider receives, and what it cannot.

use serde_json::{Value, json};
use tokenline_llm::Provider::{
    self, Anthropic, Bedrock, Gemini, GeminiInteractions, Ollama, OpenAiChat, OpenAiResponses,
};

use super::{anthropic, received, responses};

fn sent(from: Provider, body: &Value, to: Provider) -> (Value, Vec<String>) {
    let (request, left_out) = received(from, body).into_request_for(to);
    let written = request.to_body(to).unwrap_or_else(|error| panic!("{error}\n{body}"));
    (serde_json::from_str(&written).expect("JSON"), left_out)
}

#[test]
fn claude_code_with_another_model() {
    let (body, left_out) = sent(Anthropic, &anthropic::claude_code(), OpenAiResponses);
    assert_eq!(body["reasoning"]["effort"], "high");
    assert_eq!(body["user"], "{\"device_id\":\"d\"}");
    let expected = [
        "/context_management",
        "/messages/0/content/1/cache_control",
        "/messages/3/content/1/cache_control",
        "/messages/3/content/1/is_error",
        "/system/1/cache_control",
        "/system/2/cache_control",
        "/thinking",
        "/tools/0/eager_input_streaming",
        "/tools/1/cache_control",
    ];
    assert_eq!(left_out, expected);
}

/// An error of a tool is marked where that is possible, and reported elsewhere.
#[test]
fn errors_of_tools_are_marked_or_reported() {
    let content = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true},
        {"type": "tool_result", "tool_use_id": "b", "content": "yes", "is_error": false},
    ]);
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": content},
    ]});
    for to in Provider::ALL.iter().copied().filter(|to| *to != Anthropic) {
        let (written, left_out) = sent(Anthropic, &body, to);
        let is_marked = matches!(to, Gemini | GeminiInteractions | Bedrock);
        let expected: &[&str] = if is_marked { &[] } else { &["/messages/2/content/0/is_error"] };
        assert_eq!(left_out, expected, "{written}");
        assert_eq!(written.to_string().matches("error").count(), usize::from(is_marked), "{written}");
    }
}

#[test]
fn blocks_of_one_provider_are_reported() {
    let (body, left_out) = sent(Anthropic, &anthropic::own_blocks(), OpenAiChat);
    assert_eq!((&body["parallel_tool_calls"], &body["top_k"]), (&json!(false), &json!(5)));
    assert_eq!(body["messages"][3]["content"], "done");
    let expected = [
        "/messages/0/content/1",
        "/messages/0/content/2",
        "/messages/0/content/3",
        "/messages/1/content/0",
        "/messages/1/content/1",
        "/messages/1/content/2/citations",
        "/system/0/cache_control",
        "/tools/0",
        "/tools/1/defer_loading",
    ];
    assert_eq!(left_out, expected);
}

#[test]
fn codex_with_another_model() {
    let (body, left_out) = sent(OpenAiResponses, &responses::codex(), OpenAiChat);
    assert_eq!((&body["reasoning_effort"], &body["verbosity"]), (&json!("medium"), &json!("low")));
    assert_eq!((&body["store"], &body["prompt_cache_key"]), (&json!(false), &json!("k")));
    assert_eq!(body["response_format"]["json_schema"]["name"], "codex_output_schema");
    let expected = [
        "/client_metadata",
        "/input/3/phase",
        "/input/8",
        "/input/9",
        "/reasoning/summary",
        "/tools/2",
        "/tools/3",
    ];
    assert_eq!(left_out, expected);
}

/// Members of a chat request beside a user message, what the provider receives, and what it does not.
#[test]
fn settings_are_translated() {
    let tool = json!([{"type": "function", "function": {"name": "f"}}]);
    let cases: [(Provider, Value, Value, &[&str]); 16] = [
        (
            Anthropic,
            json!({"parallel_tool_calls": false, "tools": tool}),
            json!({"tool_choice": {"type": "auto", "disable_parallel_tool_use": true}}),
            &[],
        ),
        (
            Anthropic,
            json!({"parallel_tool_calls": false, "tools": tool, "tool_choice": "required"}),
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}}),
            &[],
        ),
        (Anthropic, json!({"parallel_tool_calls": true}), json!({}), &[]),
        (Gemini, json!({"parallel_tool_calls": false, "tools": tool}), json!({}), &["/parallel_tool_calls"]),
        (Anthropic, json!({"reasoning_effort": "minimal"}), json!({"output_config": {"effort": "low"}}), &[]),
        (Anthropic, json!({"reasoning_effort": "none"}), json!({}), &["/reasoning_effort"]),
        (Ollama, json!({"reasoning_effort": "none"}), json!({"think": false}), &[]),
        (Ollama, json!({"reasoning_effort": "low"}), json!({"think": null}), &["/reasoning_effort"]),
        (
            OpenAiResponses,
            json!({"user": "u", "metadata": {"a": "b"}}),
            json!({"user": "u", "metadata": {"a": "b"}}),
            &[],
        ),
        (
            Anthropic,
            json!({"user": "u", "metadata": {"a": "b"}}),
            json!({"metadata": {"user_id": "u"}}),
            &["/metadata"],
        ),
        (Gemini, json!({"top_k": 5}), json!({"generationConfig": {"topK": 5}}), &[]),
        (OpenAiResponses, json!({"stop": "x", "seed": 1}), json!({}), &["/seed", "/stop"]),
        (Anthropic, json!({"response_format": {"type": "json_object"}}), json!({}), &["/response_format"]),
        (Anthropic, json!({"max_completion_tokens": 5}), json!({"max_tokens": 5}), &[]),
        (
            Anthropic,
            json!({"tools": tool, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}}),
            json!({"tool_choice": {"type": "any"}}),
            &["/tool_choice/allowed_tools/tools"],
        ),
        (
            Anthropic,
            json!({"tools": [{"type": "custom", "custom": {"name": "f"}}], "tool_choice": "required"}),
            json!({}),
            &["/tool_choice", "/tools"],
        ),
    ];
    for (to, members, expected, reported) in cases {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let (written, left_out) = sent(OpenAiChat, &body, to);
        assert_eq!(left_out, reported, "{body}");
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&written[name], value, "{body}");
        }
    }
}

#[test]
fn broken_arguments_are_reported() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "bad"}
    ]});
    let (written, left_out) = sent(OpenAiChat, &body, Anthropic);
    assert_eq!(written["messages"][1]["content"][0]["input"], json!({}));
    assert_eq!(left_out, ["/messages/1/tool_calls/0/function/arguments"]);
}

/// A system message inside the conversation goes to every provider: as the user's, where none may stand there.
#[test]
fn system_messages_inside_the_conversation_arrive() {
    let body = json!({"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "The date is today."},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Why?"},
    ]});
    for provider in Provider::ALL.iter().copied().filter(|provider| *provider != Anthropic) {
        let (written, _) = sent(Anthropic, &body, provider);
        let text = written.to_string();
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
        assert!(at("Hi") < at("The date is today.") && at("The date is today.") < at("Hello"), "{text}");
    }
}
