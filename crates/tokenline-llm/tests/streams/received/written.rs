//! Requests that are written and read again.

use serde_json::json;
use tokenline_core::ToolDefinition;
use tokenline_core::json::Raw;
use tokenline_llm::Provider::{self, Anthropic, OpenAiChat, OpenAiResponses};
use tokenline_llm::request::{
    AssistantPart, ChatRequest, JsonFormat, Message, Opaque, ReceivedRequest, ResponseFormat, ToolChoice,
    UserPart,
};

use crate::requests::call;

fn schema() -> Raw {
    Raw::new(r#"{"type":"object","properties":{"z":{"type":"number"},"a":{"type":"string"}},"required":["z","a"],"additionalProperties":false}"#)
        .unwrap()
}

fn reasoning(provider: Provider) -> AssistantPart {
    let (text, data) = match provider {
        Anthropic => ("Hm.", r#"{"signature":"EqQB"}"#),
        OpenAiResponses => {
            ("Hm.", r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}]}"#)
        }
        _ => ("Hm.", "\"reasoning_content\""),
    };
    AssistantPart::Reasoning {
        text: text.to_owned(),
        opaque: Some(Opaque { provider, data: Raw::new(data).unwrap() }),
    }
}

fn conversation(provider: Provider) -> ChatRequest {
    let parts = vec![
        reasoning(provider),
        AssistantPart::text("I'll look."),
        AssistantPart::tool_call(call("c1", "weather", r#"{"z": 1.50, "a": "é"}"#)),
        AssistantPart::tool_call(call("c2", "now", "{}")),
    ];
    ChatRequest::new("m")
        .system("Be brief.")
        .message(Message::user_parts([
            UserPart::from("Whose?"),
            UserPart::image("image/png", "AAAA"),
            UserPart::image_url("https://example.com/a.png"),
            UserPart::document("a.pdf", "application/pdf", "AAAA"),
        ]))
        .message(Message::Assistant(parts))
        .message(Message::tool("c1", "21"))
        .message(Message::tool("c2", ""))
        .user("So?")
        .message(Message::assistant("Yes.", []))
        .message(Message::system("In French."))
        .user("Again.")
        .tools([
            ToolDefinition::new("weather").with_description("of a city").with_parameters(schema()),
            ToolDefinition::new("now"),
        ])
        .max_tokens(100)
        .temperature(0.5)
        .top_p(1.0)
}

#[test]
fn a_written_request_is_read_as_it_was() {
    for provider in [OpenAiChat, OpenAiResponses, Anthropic] {
        let name = if provider == Anthropic { "response" } else { "facts" };
        let mut format = JsonFormat::new(name, schema());
        format.strict = (provider != Anthropic).then_some(true);
        let mut requests = vec![
            conversation(provider),
            conversation(provider).tool_choice(ToolChoice::Required).streamed(false),
            conversation(provider).tool_choice(ToolChoice::None),
            conversation(provider).tool_choice(ToolChoice::Tool("now".to_owned())),
            conversation(provider).response_format(format),
        ];
        if provider != Anthropic {
            requests.push(conversation(provider).response_format(ResponseFormat::Json));
        }
        if provider != OpenAiResponses {
            requests.push(conversation(provider).stop(["END"]));
        }
        for request in requests {
            let body = request.to_body(provider).unwrap();
            let received = ReceivedRequest::from_json(provider, body.as_bytes()).unwrap();
            assert_eq!(received.request, request, "{body}");
            let (again, left_out) = received.into_request_for(provider);
            assert_eq!(left_out, [""; 0]);
            assert_eq!(again.to_body(provider).unwrap(), body);
        }
    }
}

#[test]
fn an_own_member_is_read_and_written_in_place() {
    let request = conversation(Anthropic)
        .extra_at("/tools/1/cache_control", json!({"type": "ephemeral"}))
        .extra_at("/messages/2/content/1/cache_control", json!({"type": "ephemeral"}))
        .extra("thinking", json!({"type": "adaptive"}));
    let body = request.to_body(Anthropic).unwrap();
    let received = ReceivedRequest::from_json(Anthropic, body.as_bytes()).unwrap();
    let (again, _) = received.into_request_for(Anthropic);
    let json = |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap();
    assert_eq!(json(&again.to_body(Anthropic).unwrap()), json(&body));
}
