//! Request bodies of Cohere, Gemini's interactions and Bedrock.

use serde_json::{Value, json};
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, ToolCall, ToolDefinition};
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, Message, ResponseFormat, ToolChoice};

use crate::requests::{call, compact, conversation};

const COHERE: Provider = Provider::Cohere;
const INTERACTIONS: Provider = Provider::GeminiInteractions;
const BEDROCK: Provider = Provider::Bedrock;

/// The conversation as far as these providers support it; not all support seeds.
fn rich() -> ChatRequest {
    conversation().tool_choice(ToolChoice::Required).stop(["END", "\n\n"])
}

#[test]
fn a_rich_conversation() {
    let seeded = rich().seed(7);
    for (provider, request, expected) in [
        (COHERE, &seeded, include_str!("../../fixtures/requests/cohere.json")),
        (INTERACTIONS, &seeded, include_str!("../../fixtures/requests/gemini-interactions.json")),
        (BEDROCK, &rich(), include_str!("../../fixtures/requests/bedrock.json")),
    ] {
        let body = request.to_body(provider).unwrap();
        assert_eq!(compact(&body), compact(expected));
        assert!(!body.contains('\n'));
    }
}

fn json_of(provider: Provider, request: &ChatRequest) -> Value {
    serde_json::from_str(&request.to_body(provider).unwrap()).unwrap()
}

#[test]
fn a_bare_question_has_no_other_members() {
    let request = ChatRequest::new("m").user("?");
    for (body, expected) in [
        (COHERE, json!({"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": true})),
        (
            INTERACTIONS,
            json!({"model": "m", "input": [{"type": "user_input", "content": [{"type": "text", "text": "?"}]}], "store": false, "stream": true}),
        ),
        (BEDROCK, json!({"messages": [{"role": "user", "content": [{"text": "?"}]}]})),
    ] {
        assert_eq!(json_of(body, &request), expected);
        // Nothing to choose without tools.
        assert_eq!(json_of(body, &request.clone().tool_choice(ToolChoice::None)), expected);
    }
}

#[test]
fn tool_choices_in_every_format() {
    let request = |choice| {
        let tools = ["now", "then"].map(ToolDefinition::new);
        ChatRequest::new("m").user("?").tools(tools).tool_choice(choice)
    };
    let now = || ToolChoice::Tool("now".to_owned());
    for (body, pointer, choice, expected) in [
        (COHERE, "/tool_choice", ToolChoice::Auto, None),
        (COHERE, "/tool_choice", ToolChoice::None, Some(json!("NONE"))),
        (COHERE, "/tool_choice", ToolChoice::Required, Some(json!("REQUIRED"))),
        (COHERE, "/tool_choice", now(), Some(json!("REQUIRED"))),
        // The only remaining tool.
        (COHERE, "/tools/0/function/name", now(), Some(json!("now"))),
        (COHERE, "/tools/1", now(), None),
        (INTERACTIONS, "/generation_config", ToolChoice::Auto, None),
        (INTERACTIONS, "/generation_config/tool_choice", ToolChoice::None, Some(json!("none"))),
        (INTERACTIONS, "/generation_config/tool_choice", ToolChoice::Required, Some(json!("any"))),
        (
            INTERACTIONS,
            "/generation_config/tool_choice",
            now(),
            Some(json!({"allowed_tools": {"mode": "any", "tools": ["now"]}})),
        ),
        (BEDROCK, "/toolConfig/toolChoice", ToolChoice::Auto, None),
        (BEDROCK, "/toolConfig/toolChoice", ToolChoice::Required, Some(json!({"any": {}}))),
        (BEDROCK, "/toolConfig/toolChoice", now(), Some(json!({"tool": {"name": "now"}}))),
    ] {
        assert_eq!(json_of(body, &request(choice)).pointer(pointer), expected.as_ref(), "{pointer}");
    }
    let error = |provider, choice| request(choice).to_body(provider).unwrap_err().to_string();
    let unknown = ToolChoice::Tool("never".to_owned());
    assert_eq!(error(COHERE, unknown), "the required tool is not defined in the tools of the request");
    let forbidden = "Bedrock cannot forbid tool calls: omit the tools instead";
    assert_eq!(error(BEDROCK, ToolChoice::None), forbidden);
}

#[test]
fn json_without_a_schema() {
    let request = ChatRequest::new("m").user("?").response_format(ResponseFormat::Json);
    let format = |body| json_of(body, &request)["response_format"].clone();
    assert_eq!(format(COHERE), json!({"type": "json_object"}));
    assert_eq!(format(INTERACTIONS), json!({"type": "text", "mime_type": "application/json"}));
}

#[test]
fn unsupported_requests_are_errors() {
    let nameless: Message = serde_json::from_value(json!({"role": "tool", "content": "1"})).unwrap();
    let idless = ToolCall::new("now", Raw::new("{}").unwrap(), CompletedBy::Newline);
    let ask = || ChatRequest::new("m").user("?");
    for provider in [COHERE, INTERACTIONS, BEDROCK] {
        let error = |request: ChatRequest| request.to_body(provider).unwrap_err().to_string();
        let call = ask().message(Message::assistant("", [idless.clone()]));
        assert_eq!(error(call), "message 1: a tool call has no call id");
        assert_eq!(error(ask().message(nameless.clone())), "message 1: the result of a tool has no call id");
    }
    for provider in [INTERACTIONS, BEDROCK] {
        let error = ask().system("Be brief.").to_body(provider).unwrap_err().to_string();
        assert_eq!(error, "message 1: this provider accepts system messages only at the start");
    }
}

/// Empty texts that an API rejects.
#[test]
fn empty_texts_are_omitted() {
    let now = call("c", "now", "{}");
    let request = ChatRequest::new("m").user(" ").user("?").message(Message::assistant("", [now]));
    assert_eq!(
        json_of(BEDROCK, &request)["messages"],
        json!([
            {"role": "user", "content": [{"text": "?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "now", "input": {}}}]},
        ])
    );
    assert_eq!(json_of(COHERE, &request)["messages"][2].get("content"), None);
    assert_eq!(json_of(INTERACTIONS, &request)["input"][2]["type"], "function_call");
}

#[test]
fn complete_responses_are_detected() {
    for (body, expected) in [
        (r#"{"id":"1","message":{"role":"assistant"},"finish_reason":"COMPLETE"}"#, [true, false, false]),
        (r#"{"role":"assistant","tool_plan":"a"}"#, [true, false, false]),
        (r#"{"object":"interaction","status":"completed"}"#, [false, true, false]),
        (r#"{"status":"completed","steps":[]}"#, [false, true, false]),
        (r#"{"status":"completed","outputs":[]}"#, [false, true, false]),
        (r#"{"output":{"message":{"role":"assistant","content":[]}}}"#, [false, false, true]),
        (r#"{"role":"assistant","content":[{"text":"a"}]}"#, [false, false, true]),
        // Those of other providers.
        (r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#, [false; 3]),
        (r#"{"role":"assistant","content":"a"}"#, [false; 3]),
        (r#"{"message":{"role":"assistant","content":"a"},"done":true}"#, [false; 3]),
        (r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#, [false; 3]),
        (r#"{"status":"completed","output":[]}"#, [false; 3]),
        ("[]", [false; 3]),
    ] {
        let found = Provider::of_body(body);
        assert_eq!(
            [COHERE, INTERACTIONS, BEDROCK].map(|provider| found == Some(provider)),
            expected,
            "{body}"
        );
    }
}
