//! Request bodies: one rich conversation in every format.

use serde_json::{Value, json};
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, ToolCall, ToolDefinition};
use tokenline_llm::Provider;
use tokenline_llm::request::{ChatRequest, JsonFormat, Message, ResponseFormat, ToolChoice, UserPart};

pub(crate) fn call(id: &str, name: &str, parameters: &str) -> ToolCall {
    let mut call = ToolCall::new(name, Raw::new(parameters).expect("JSON"), CompletedBy::ItemStop);
    call.call_id = Some(id.to_owned());
    call
}

/// Everything that all providers support. The schemas are not sorted by name.
fn conversation() -> ChatRequest {
    let paris = call("call_1", "weather", r#"{"unit": "°C", "city": "Paris"}"#);
    let oslo = call("call_2", "weather", r#"{"city": "Oslo", "days": 1.50}"#);
    let parameters = r#"{
        "type": "object",
        "required": ["city"],
        "properties": {
            "unit": {"type": "string", "enum": ["°C", "°F"]},
            "city": {"type": "string"},
            "days": {"type": "number", "minimum": 1.0}
        }
    }"#;
    let schema = r#"{
        "type": "object",
        "properties": {"verdict": {"type": "string"}, "because": {"type": "string"}},
        "required": ["verdict", "because"],
        "additionalProperties": false
    }"#;
    ChatRequest::new("some-model")
        .system("Be brief.")
        .system("Say \"please\".")
        .user("Coats in Paris\nand Oslo?")
        .message(Message::assistant("I'll look.", [paris.clone(), oslo.clone()]))
        .message(Message::tool_result(&paris, r#"{"celsius": 21}"#))
        .message(Message::tool_error(&oslo, "no such city"))
        .user("And so?")
        .tools([
            ToolDefinition::new("weather")
                .with_description("The weather in a city.")
                .with_parameters(Raw::new(parameters).expect("a schema")),
            ToolDefinition::new("now"),
        ])
        .response_format(ResponseFormat::json_schema("coats", Raw::new(schema).expect("a schema")))
        .max_tokens(500)
        .temperature(0.5)
        .top_p(1.0)
}

/// The conversation with everything else that this provider supports.
fn rich(provider: Provider) -> ChatRequest {
    let mut request = conversation();
    if provider != Provider::Ollama {
        request = request.tool_choice(ToolChoice::Required);
    }
    if provider != Provider::OpenAiResponses {
        request = request.stop(["END", "\n\n"]);
    }
    if !matches!(provider, Provider::OpenAiResponses | Provider::Anthropic | Provider::Bedrock) {
        request = request.seed(7);
    }
    request
}

pub(crate) fn body(provider: Provider, request: &ChatRequest) -> Value {
    serde_json::from_str(&request.to_body(provider).expect("a body")).expect("JSON")
}

/// JSON byte for byte, except for white space between tokens.
fn compact(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |char: &char| {
        let was_in_string = in_string;
        in_string ^= *char == '"' && !is_escaped;
        is_escaped = in_string && *char == '\\' && !is_escaped;
        was_in_string || !char.is_ascii_whitespace()
    };
    json.chars().filter(is_kept).collect()
}

#[test]
fn a_rich_conversation_in_every_format() {
    for provider in Provider::ALL {
        let name = format!("requests/{}.json", provider.as_str());
        let expected = String::from_utf8(crate::common::fixture(&name)).expect("text");
        let body = rich(*provider).to_body(*provider).expect("a body");
        assert_eq!(compact(&body), compact(&expected), "{name}");
        assert!(!body.contains('\n'));
    }
}

#[test]
fn schemas_keep_their_order() {
    for provider in Provider::ALL {
        // Bedrock has the schema as a string.
        let body = rich(*provider).to_body(*provider).expect("a body").replace("\\\"", "\"");
        let place = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text} in {body}"));
        assert!(place(r#""unit":{"type":"string""#) < place(r#""city":{"type":"string"}"#), "{provider:?}");
        assert!(place(r#""verdict":{"#) < place(r#""because":{"#), "{provider:?}");
        // So do calls, and numbers stay as written.
        assert!(body.contains("1.0}") && body.contains("1.50}"), "{provider:?}");
    }
}

#[test]
fn a_bare_question_has_no_other_members() {
    let request = ChatRequest::new("m").user("?");
    for (provider, expected) in [
        (
            Provider::OpenAiChat,
            json!({"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": true, "stream_options": {"include_usage": true}}),
        ),
        (
            Provider::OpenAiResponses,
            json!({"model": "m", "input": [{"type": "message", "role": "user", "content": "?"}], "stream": true}),
        ),
        (
            Provider::Anthropic,
            json!({"model": "m", "max_tokens": 8192, "messages": [{"role": "user", "content": [{"type": "text", "text": "?"}]}], "stream": true}),
        ),
        (Provider::Gemini, json!({"contents": [{"role": "user", "parts": [{"text": "?"}]}]})),
        (
            Provider::Ollama,
            json!({"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": true}),
        ),
        (
            Provider::Cohere,
            json!({"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": true}),
        ),
        (
            Provider::GeminiInteractions,
            json!({"model": "m", "input": [{"type": "user_input", "content": [{"type": "text", "text": "?"}]}], "store": false, "stream": true}),
        ),
        (Provider::Bedrock, json!({"messages": [{"role": "user", "content": [{"text": "?"}]}]})),
    ] {
        assert_eq!(body(provider, &request), expected);
        // Providers reject a tool choice without tools.
        let request = request.clone().tool_choice(ToolChoice::None);
        assert_eq!(body(provider, &request), expected);
    }
    let mut request = request;
    request.include_usage = false;
    assert_eq!(body(Provider::OpenAiChat, &request).get("stream_options"), None);
}

#[test]
fn json_without_a_schema_in_every_format() {
    let request = ChatRequest::new("m").user("?").response_format(ResponseFormat::Json);
    for (provider, pointer, expected) in [
        (Provider::OpenAiChat, "/response_format", json!({"type": "json_object"})),
        (Provider::OpenAiResponses, "/text", json!({"format": {"type": "json_object"}})),
        (Provider::Gemini, "/generationConfig", json!({"responseMimeType": "application/json"})),
        (Provider::Ollama, "/format", json!("json")),
        (Provider::Cohere, "/response_format", json!({"type": "json_object"})),
        (
            Provider::GeminiInteractions,
            "/response_format",
            json!({"type": "text", "mime_type": "application/json"}),
        ),
    ] {
        assert_eq!(body(provider, &request).pointer(pointer), Some(&expected), "{provider:?}");
    }
}

#[test]
fn a_schema_is_strict_if_possible() {
    let strict = |schema: Value, strict: Option<bool>| {
        let mut format = JsonFormat::new("s", schema);
        format.strict = strict;
        let request = ChatRequest::new("m").user("?").response_format(format);
        let chat = body(Provider::OpenAiChat, &request)["response_format"]["json_schema"]["strict"].clone();
        assert_eq!(body(Provider::OpenAiResponses, &request)["text"]["format"]["strict"], chat);
        chat
    };
    let closed = json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": false});
    assert_eq!(strict(closed.clone(), None), true);
    assert_eq!(strict(closed, Some(false)), false);
    let open = json!({"type": "object", "properties": {"a": {"type": "null"}}});
    assert_eq!(strict(open.clone(), None), false);
    assert_eq!(strict(open, Some(true)), true);
    let any =
        json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false});
    assert_eq!([None, Some(true)].map(|asked| strict(any.clone(), asked)), [false, false]);
}

#[test]
fn members_are_added_inside_the_body() {
    let tool =
        ToolDefinition::new("now").with_parameters(json!({"type": "object", "properties": {"zone": {}}}));
    let request =
        ChatRequest::new("m").system("Be brief.").user("Hi").message(Message::assistant("Hello", []));
    let request = request.user("The time?").tools([tool]).extra("metadata", json!({"a": [{}]}));
    for (provider, at, place) in [
        (Provider::Anthropic, "/system/-/x", "/system/0"),
        (Provider::Anthropic, "/tools/-/x", "/tools/0"),
        // Into a schema, and into an additional member.
        (
            Provider::Anthropic,
            "/tools/0/input_schema/properties/zone/x",
            "/tools/0/input_schema/properties/zone",
        ),
        (Provider::OpenAiChat, "/metadata/a/0/x", "/metadata/a/0"),
        (Provider::OpenAiChat, "/messages/0/content/0/x", "/messages/0/content/0"),
        (Provider::OpenAiResponses, "/input/2/content/-/x", "/input/2/content/0"),
    ] {
        let mut expected = body(provider, &request.clone().extra_at(at, 1));
        assert_eq!(
            expected.pointer_mut(place).and_then(|place| place.as_object_mut()?.remove("x")),
            Some(1.into())
        );
        // Nothing else has changed, but that a text became a block.
        let plain = body(provider, &request);
        let text = plain.pointer(place.trim_end_matches("/0")).filter(|text| text.is_string());
        match text {
            Some(text) => assert_eq!(expected.pointer(place).and_then(|block| block.get("text")), Some(text)),
            None => assert_eq!(expected, plain, "{at}"),
        }
    }
    let kinds = |at: &str| {
        body(Provider::OpenAiResponses, &request.clone().extra_at(at, 1))
            .pointer(&at.replace("/x", "/type"))
            .cloned()
    };
    assert_eq!(kinds("/input/1/content/0/x"), Some("output_text".into()));
    for (provider, at) in [
        (Provider::OpenAiChat, "/model/0/x"),
        (Provider::Anthropic, "/tools/1/x"),
        (Provider::Anthropic, "tools/0/x"),
        (Provider::Anthropic, ""),
        (Provider::Anthropic, "/stream"),
    ] {
        assert!(request.clone().extra_at(at, 1).to_body(provider).is_err(), "{at}");
    }
}

#[test]
fn a_tool_is_strict_if_possible() {
    let any = ToolDefinition::new("any").with_strict(true);
    let parameters = r#"{"type":"object","properties":{"days":{"type":["integer","null"],"minimum":1}}}"#;
    let days = ToolDefinition::new("days").with_parameters(Raw::new(parameters).expect("JSON"));
    let strict = days.clone().with_strict(true);
    let request = ChatRequest::new("m").user("Hi").tools([any, days, strict]);
    let places = [
        (Provider::OpenAiChat, "/function/strict", "/function/parameters"),
        (Provider::OpenAiResponses, "/strict", "/parameters"),
        (Provider::Anthropic, "/strict", "/input_schema"),
        (Provider::Bedrock, "/toolSpec/strict", "/toolSpec/inputSchema/json"),
    ];
    for (provider, flag, schema) in places {
        let body = body(provider, &request);
        let tools = body.pointer("/toolConfig/tools").unwrap_or(&body["tools"]);
        let is_strict = |at: usize| tools[at].pointer(flag).is_some_and(|flag| *flag == json!(true));
        assert_eq!([0, 1, 2].map(is_strict), [false, false, true], "{provider:?}");
        let required = |at: usize| tools[at].pointer(schema).expect("it is there")["required"].clone();
        assert_eq!((required(1), required(2)), (Value::Null, json!(["days"])), "{provider:?}");
    }
}

#[test]
fn extra_members_are_merged() {
    let request = ChatRequest::new("m").user("?").max_tokens(5).extra("reasoning_effort", "low");
    let request = request
        .extra("options", json!({"num_ctx": 8192, "num_predict": 6}))
        .extra("stream_options", Value::Null);
    let request = request.extra("generationConfig", json!({"thinkingConfig": {"thinkingBudget": 0}}));
    assert_eq!(
        body(Provider::Ollama, &request)["options"],
        json!({"num_predict": 6, "num_ctx": 8192}),
        "what is there too is replaced"
    );
    let chat = body(Provider::OpenAiChat, &request);
    assert_eq!((&chat["reasoning_effort"], &chat["stream_options"]), (&json!("low"), &Value::Null));
    assert_eq!(
        body(Provider::Gemini, &request)["generationConfig"],
        json!({"maxOutputTokens": 5, "thinkingConfig": {"thinkingBudget": 0}})
    );
}

#[test]
fn unsupported_requests_are_errors() {
    use Provider::{
        Anthropic, Bedrock, Cohere, Gemini, GeminiInteractions, Ollama, OpenAiChat, OpenAiResponses,
    };
    let ask = || ChatRequest::new("m").user("?");
    let now = || ask().tools([ToolDefinition::new("now")]);
    let nameless: Message =
        serde_json::from_value(json!({"role": "tool", "content": "1"})).expect("a message");
    let idless = ToolCall::new("now", Raw::new("{}").expect("JSON"), CompletedBy::Newline);
    let all: &[Provider] = Provider::ALL;
    let no_message = "the conversation has no user, assistant or tool message";
    let no_tools = "a tool call is required, but there are no tools";
    let not_finite = "temperature and top_p must be finite numbers";
    for (providers, request, expected) in [
        (all, ChatRequest::new("m"), no_message),
        (all, ChatRequest::new("m").system("Be brief."), no_message),
        (all, ask().tool_choice(ToolChoice::Required), no_tools),
        (all, ask().tool_choice(ToolChoice::Tool("now".to_owned())), no_tools),
        (all, ask().temperature(f64::NAN), not_finite),
        (all, ask().top_p(f64::INFINITY), not_finite),
        (&[OpenAiResponses], ask().seed(1), "openai-responses does not support seed"),
        (&[Anthropic], ask().seed(1), "anthropic does not support seed"),
        (&[OpenAiResponses], ask().stop(["x"]), "openai-responses does not support stop sequences"),
        (&[Ollama], now().tool_choice(ToolChoice::Required), "ollama does not support tool choice"),
        (&[Ollama], now().tool_choice(ToolChoice::None), "ollama does not support tool choice"),
        (
            &[Anthropic],
            ask().response_format(ResponseFormat::Json),
            "anthropic does not support JSON format without a schema",
        ),
        (
            &[Gemini, GeminiInteractions, Bedrock],
            ask().system("Be brief."),
            "message 1: this provider accepts system messages only at the start",
        ),
        (
            &[OpenAiChat, OpenAiResponses, Anthropic, Cohere, GeminiInteractions, Bedrock],
            ask().message(Message::assistant("", [idless.clone()])),
            "message 1: a tool call has no call id",
        ),
        (
            &[OpenAiChat, OpenAiResponses, Anthropic, Cohere, GeminiInteractions, Bedrock],
            ask().message(nameless.clone()),
            "message 1: the result of a tool has no call id",
        ),
        (
            &[Gemini, Ollama],
            ask().message(nameless),
            "message 1: the tool result has neither a tool name nor the id of an earlier call",
        ),
    ] {
        for provider in providers {
            let error = request.to_body(*provider).expect_err(expected);
            assert_eq!(error.to_string(), expected, "{provider:?}");
        }
        // Other providers have no such error.
        for provider in all.iter().filter(|provider| !providers.contains(provider)) {
            let error = request.to_body(*provider).err().map(|error| error.to_string());
            assert_ne!(error.as_deref(), Some(expected), "{provider:?}");
        }
    }
}

/// The tool's name is looked up by the id of the call, and synthetic ids are not sent.
#[test]
fn results_find_their_calls() {
    let mut synthetic = call("call_0", "now", "{}");
    synthetic.is_synthetic_id = true;
    let given = call("call_x", "weather", "{}");
    let result = |call_id: &str| -> Message {
        let message = json!({"role": "tool", "tool_call_id": call_id, "content": "[1]"});
        serde_json::from_value(message).expect("a message")
    };
    let request = ChatRequest::new("m").user("?").message(Message::assistant("", [synthetic, given.clone()]));
    let request = request.messages([result("call_x"), result("call_0")]);
    assert_eq!(
        body(Provider::Gemini, &request)["contents"],
        json!([
            {"role": "user", "parts": [{"text": "?"}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "now", "args": {}}},
                {"functionCall": {"id": "call_x", "name": "weather", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "call_x", "name": "weather", "response": {"output": "[1]"}}},
                {"functionResponse": {"name": "now", "response": {"output": "[1]"}}},
            ]},
        ])
    );
    let messages = &body(Provider::Ollama, &request)["messages"];
    assert_eq!((&messages[2]["tool_name"], &messages[3]["tool_name"]), (&json!("weather"), &json!("now")));
    // If an id is required, the synthetic one is used.
    let messages = &body(Provider::OpenAiChat, &request)["messages"];
    assert_eq!(
        (&messages[1]["content"], &messages[1]["tool_calls"][0]["id"]),
        (&Value::Null, &json!("call_0"))
    );
}

/// Empty texts that an API rejects.
#[test]
fn empty_texts_are_omitted() {
    let now = call("c", "now", "{}");
    let request = ChatRequest::new("m").user(" ").user("?").message(Message::assistant("", [now]));
    assert_eq!(
        body(Provider::Bedrock, &request)["messages"],
        json!([
            {"role": "user", "content": [{"text": "?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "now", "input": {}}}]},
        ])
    );
    assert_eq!(body(Provider::Cohere, &request)["messages"][2].get("content"), None);
    assert_eq!(body(Provider::GeminiInteractions, &request)["input"][2]["type"], "function_call");
}

#[test]
fn images_and_documents_in_every_format() {
    let parts = [
        UserPart::from("See:"),
        UserPart::image("image/png", "iVBO"),
        UserPart::document("a_b.pdf", "application/pdf", "JVBE"),
    ];
    let request = ChatRequest::new("m").message(Message::user_parts(parts));
    let text = json!({"type": "text", "text": "See:"});
    for (provider, pointer, expected) in [
        (
            Provider::OpenAiChat,
            "/messages/0/content",
            json!([text, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
                {"type": "file", "file": {"filename": "a_b.pdf", "file_data": "data:application/pdf;base64,JVBE"}}]),
        ),
        (
            Provider::OpenAiResponses,
            "/input/0/content",
            json!([{"type": "input_text", "text": "See:"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBO"},
                {"type": "input_file", "filename": "a_b.pdf", "file_data": "data:application/pdf;base64,JVBE"}]),
        ),
        (
            Provider::Anthropic,
            "/messages/0/content",
            json!([text, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}, "title": "a_b.pdf"}]),
        ),
        (
            Provider::Gemini,
            "/contents/0/parts",
            json!([{"text": "See:"}, {"inlineData": {"mimeType": "image/png", "data": "iVBO"}},
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBE"}}]),
        ),
        (
            Provider::GeminiInteractions,
            "/input/0/content",
            json!([text, {"type": "image", "mime_type": "image/png", "data": "iVBO"},
                {"type": "document", "mime_type": "application/pdf", "data": "JVBE"}]),
        ),
        (
            Provider::Bedrock,
            "/messages/0/content",
            json!([{"text": "See:"}, {"image": {"format": "png", "source": {"bytes": "iVBO"}}},
                {"document": {"format": "pdf", "source": {"bytes": "JVBE"}, "name": "a-b-pdf"}}]),
        ),
    ] {
        assert_eq!(body(provider, &request).pointer(pointer), Some(&expected), "{provider:?}");
    }
    for provider in [Provider::Cohere, Provider::Ollama] {
        let error = request.to_body(provider).unwrap_err().to_string();
        assert_eq!(error, format!("message 0: {} does not accept documents in base64", provider.as_str()));
    }

    let shown = ChatRequest::new("m").message(Message::user_parts([
        UserPart::from("See:"),
        UserPart::image_url("data:image/png;base64,iVBO"),
    ]));
    let ollama = body(Provider::Ollama, &shown)["messages"][0].clone();
    assert_eq!(ollama, json!({"role": "user", "content": "See:", "images": ["iVBO"]}));
    let cohere = body(Provider::Cohere, &shown)["messages"][0]["content"][1].clone();
    assert_eq!(cohere, json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}));
    let by_url = ChatRequest::new("m").message(Message::user_parts([UserPart::image_url("https://a/b.png")]));
    let file = body(Provider::Gemini, &by_url)["contents"][0]["parts"][0].clone();
    assert_eq!(file, json!({"fileData": {"fileUri": "https://a/b.png"}}));
    let error = by_url.to_body(Provider::Ollama).unwrap_err().to_string();
    assert_eq!(error, "message 0: ollama does not accept images by URL");

    // Stored and read back, and read in the format of the Responses.
    for request in [request, shown, by_url] {
        let stored = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<ChatRequest>(&stored).unwrap(), request);
    }
    let message: Message = serde_json::from_str(
        r#"{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://a/b.png"},
            {"type":"input_file","filename":"f","file_url":"https://a/f.pdf"}]}"#,
    )
    .unwrap();
    let Message::User(parts) = &message else { panic!() };
    assert_eq!(parts[1], UserPart::image_url("https://a/b.png"));
    assert!(matches!(&parts[2], UserPart::Document { name: Some(name), .. } if name == "f"));
    let error =
        serde_json::from_str::<Message>(r#"{"role":"user","content":[{"type":"video"}]}"#).unwrap_err();
    assert!(error.to_string().starts_with("content of type \"video\" cannot be sent"), "{error}");
}
