//! Tool choices in every format.

use serde_json::{Value, json};
use tokenline_core::ToolDefinition;
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, ToolChoice};

use crate::requests::body;

#[test]
fn tool_choices_of_openai_anthropic_and_gemini() {
    let function = json!({"type": "function", "function": {"name": "now"}});
    let gemini = |config: Value| json!({"functionCallingConfig": config});
    for (provider, member, [none, required, tool]) in [
        (Provider::OpenAiChat, "tool_choice", [json!("none"), json!("required"), function]),
        (
            Provider::OpenAiResponses,
            "tool_choice",
            [json!("none"), json!("required"), json!({"type": "function", "name": "now"})],
        ),
        (
            Provider::Anthropic,
            "tool_choice",
            [json!({"type": "none"}), json!({"type": "any"}), json!({"type": "tool", "name": "now"})],
        ),
        (
            Provider::Gemini,
            "toolConfig",
            [
                gemini(json!({"mode": "NONE"})),
                gemini(json!({"mode": "ANY"})),
                gemini(json!({"mode": "ANY", "allowedFunctionNames": ["now"]})),
            ],
        ),
    ] {
        let request =
            |choice| ChatRequest::new("m").user("?").tools([ToolDefinition::new("now")]).tool_choice(choice);
        let choice = |choice| body(provider, &request(choice)).get(member).cloned();
        assert_eq!(choice(ToolChoice::Auto), None);
        assert_eq!(choice(ToolChoice::None), Some(none), "{provider:?}");
        assert_eq!(choice(ToolChoice::Required), Some(required), "{provider:?}");
        assert_eq!(choice(ToolChoice::Tool("now".to_owned())), Some(tool), "{provider:?}");
    }
}

#[test]
fn tool_choices_of_cohere_interactions_and_bedrock() {
    let request = |choice| {
        let tools = ["now", "then"].map(ToolDefinition::new);
        ChatRequest::new("m").user("?").tools(tools).tool_choice(choice)
    };
    let now = || ToolChoice::Tool("now".to_owned());
    for (provider, pointer, choice, expected) in [
        (Provider::Cohere, "/tool_choice", ToolChoice::Auto, None),
        (Provider::Cohere, "/tool_choice", ToolChoice::None, Some(json!("NONE"))),
        (Provider::Cohere, "/tool_choice", ToolChoice::Required, Some(json!("REQUIRED"))),
        (Provider::Cohere, "/tool_choice", now(), Some(json!("REQUIRED"))),
        // The only remaining tool.
        (Provider::Cohere, "/tools/0/function/name", now(), Some(json!("now"))),
        (Provider::Cohere, "/tools/1", now(), None),
        (Provider::GeminiInteractions, "/generation_config", ToolChoice::Auto, None),
        (
            Provider::GeminiInteractions,
            "/generation_config/tool_choice",
            ToolChoice::None,
            Some(json!("none")),
        ),
        (
            Provider::GeminiInteractions,
            "/generation_config/tool_choice",
            ToolChoice::Required,
            Some(json!("any")),
        ),
        (
            Provider::GeminiInteractions,
            "/generation_config/tool_choice",
            now(),
            Some(json!({"allowed_tools": {"mode": "any", "tools": ["now"]}})),
        ),
        (Provider::Bedrock, "/toolConfig/toolChoice", ToolChoice::Auto, None),
        (Provider::Bedrock, "/toolConfig/toolChoice", ToolChoice::Required, Some(json!({"any": {}}))),
        (Provider::Bedrock, "/toolConfig/toolChoice", now(), Some(json!({"tool": {"name": "now"}}))),
    ] {
        assert_eq!(body(provider, &request(choice)).pointer(pointer), expected.as_ref(), "{pointer}");
    }
    let error = |provider, choice| request(choice).to_body(provider).unwrap_err().to_string();
    let unknown = ToolChoice::Tool("never".to_owned());
    assert_eq!(
        error(Provider::Cohere, unknown),
        "the required tool is not defined in the tools of the request"
    );
    let forbidden = "Bedrock cannot forbid tool calls: omit the tools instead";
    assert_eq!(error(Provider::Bedrock, ToolChoice::None), forbidden);
}
