//! Native calls in complete responses, in every format.

use tokenline_core::{Code, CompletedBy};
use tokenline_llm::Provider;
use tokenline_prompt::tools::ParsedCalls;

use crate::common::{described, parser};

/// Reads a response, with its provider given and detected.
fn read(shape: Provider, response: &str) -> ParsedCalls {
    assert_eq!(Provider::of_body(response), Some(shape), "{response}");
    let found = parser("function_calling").parse(response);
    assert_eq!(parser("function_calling").with_provider(shape).parse(response), found, "{response}");
    found
}

/// The same response in every format: `weather` of Paris, `weather` with truncated arguments (if these are text) or
/// arguments of the wrong type, and `now`.
fn responses() -> [(Provider, &'static str); 5] {
    [
        (
            Provider::OpenAiChat,
            r#"{"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Paris\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": "}},
                {"id": "c3", "type": "function", "function": {"name": "now", "arguments": ""}}
            ]}, "finish_reason": "tool_calls"}], "usage": {}}"#,
        ),
        (
            Provider::OpenAiResponses,
            r#"{"id": "resp_1", "status": "completed", "error": null, "output": [
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": "{\"city\": \"Paris\"}", "status": "completed"},
                {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "weather", "arguments": "{\"city\": ", "status": "completed"},
                {"type": "function_call", "id": "fc_3", "call_id": "c3", "name": "now", "arguments": "{}", "status": "completed"}
            ]}"#,
        ),
        (
            Provider::Anthropic,
            r#"{"id": "msg_1", "type": "message", "role": "assistant", "content": [
                {"type": "text", "text": "I look it up."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": 7}},
                {"type": "tool_use", "id": "c3", "name": "now", "input": {}}
            ], "stop_reason": "tool_use"}"#,
        ),
        (
            Provider::Gemini,
            r#"{"candidates": [{"content": {"role": "model", "parts": [
                {"text": "Thinking.", "thought": true},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}, "thoughtSignature": "x"},
                {"functionCall": {"id": "c2", "name": "weather", "args": {"city": 7}}},
                {"functionCall": {"id": "c3", "name": "now"}}
            ]}, "finishReason": "STOP"}]}"#,
        ),
        (
            Provider::Ollama,
            r#"{"model": "gemma3", "message": {"role": "assistant", "content": "", "tool_calls": [
                {"id": "c1", "function": {"name": "weather", "arguments": {"city": "Paris"}}},
                {"id": "c2", "function": {"name": "weather", "arguments": {"city": 7}}},
                {"id": "c3", "function": {"name": "now", "arguments": {}}}
            ]}, "done": true, "done_reason": "stop"}"#,
        ),
    ]
}

#[test]
fn parallel_calls_and_a_bad_one_in_the_middle() {
    for (shape, response) in responses() {
        let parsed = read(shape, response);
        assert_eq!(
            described(&parsed).0,
            [
                r#"{"name":"weather","parameters":{"city":"Paris"},"call_id":"c1"}"#,
                r#"{"name":"now","parameters":{},"call_id":"c3"}"#,
            ],
            "{shape:?}"
        );
        let [rejected] = &*parsed.rejected else { panic!("{shape:?}: {parsed:?}") };
        assert_eq!((rejected.name.as_deref(), rejected.call_id.as_deref()), (Some("weather"), Some("c2")));
        let (code, column) = match shape {
            // Without the white space around complete arguments.
            Provider::OpenAiChat | Provider::OpenAiResponses => (Code::Truncated, 9),
            _ => (Code::InvalidParameters, 10),
        };
        assert_eq!((rejected.diagnostic.code, rejected.diagnostic.column), (code, column), "{rejected}");
        assert_eq!((parsed.report.tool_calls(), parsed.report.rejected()), (2, 1));
    }
}

#[test]
fn the_message_alone_is_accepted() {
    for (shape, message) in [
        (
            Provider::OpenAiChat,
            r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": "{}"}}]}"#,
        ),
        (
            Provider::OpenAiChat,
            r#"{"role": "assistant", "content": "", "function_call": {"name": "now", "arguments": "{}"}}"#,
        ),
        (
            Provider::OpenAiResponses,
            r#"[{"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"}]"#,
        ),
        (
            Provider::Anthropic,
            r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "now", "input": {}}]}"#,
        ),
        (
            Provider::Anthropic,
            r#"[{"type": "text", "text": ""}, {"type": "tool_use", "id": "c1", "name": "now", "input": {}}]"#,
        ),
        (Provider::Gemini, r#"{"role": "model", "parts": [{"functionCall": {"name": "now", "args": {}}}]}"#),
        (
            Provider::Gemini,
            r#"{"response": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "now"}}]}}]}}"#,
        ),
        (
            Provider::Gemini,
            r#"[{"candidates": [{"content": {"parts": [{"text": "Now"}]}}]}, {"candidates": [{"content": {"parts": [{"functionCall": {"name": "now"}}]}, "finishReason": "STOP"}]}]"#,
        ),
        (
            Provider::Ollama,
            r#"{"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now", "arguments": {}}}]}}"#,
        ),
    ] {
        let parsed = read(shape, message);
        assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 0), "{message}: {parsed:?}");
        assert_eq!((&*parsed.calls[0].name, parsed.calls[0].parameters.as_str()), ("now", "{}"));
        assert!(parsed.calls[0].call_id.is_some());
    }
}

#[test]
fn a_call_without_an_id_gets_one() {
    let response = r#"{"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "now", "arguments": {}}}, {"function": {"name": "now", "arguments": {}}}]}, "done": true}"#;
    let parsed = read(Provider::Ollama, response);
    let ids: Vec<_> =
        parsed.calls.iter().map(|call| (call.call_id.as_deref(), call.is_synthetic_id)).collect();
    assert_eq!(ids, [(Some("synthetic_1"), true), (Some("synthetic_2"), true)]);
}

#[test]
fn calls_with_the_same_id_are_separate_calls() {
    let response = r#"{"choices": [{"message": {"tool_calls": [
        {"id": "call_0", "function": {"name": "now", "arguments": "{}"}},
        {"id": "call_0", "function": {"name": "now", "arguments": "{}"}}
    ]}, "finish_reason": "stop"}]}"#;
    assert_eq!(read(Provider::OpenAiChat, response).calls.len(), 2);
}

#[test]
fn more_calls_than_the_assembler_remembers() {
    let call = r#"{"function": {"name": "now", "arguments": "{}"}}"#;
    let calls = vec![call; 1000].join(",");
    let response =
        format!(r#"{{"choices": [{{"message": {{"tool_calls": [{calls}]}}, "finish_reason": "stop"}}]}}"#);
    assert_eq!(read(Provider::OpenAiChat, &response).calls.len(), 1000);
}

#[test]
fn errors_of_calls_are_reported() {
    let response = r#"{"choices": [{"message": {"tool_calls": [
        null,
        {},
        {"id": "c3", "function": {"arguments": "{}"}},
        {"id": "c4", "function": {"name": "wether", "arguments": "{}"}},
        {"id": "c5", "function": {"name": "weather", "arguments": "{}"}},
        {"id": "c6", "function": {"name": "weather", "arguments": "[\"Paris\"]"}},
        {"id": "c7", "function": {"name": "weather", "arguments": "{\"city\": \"Paris\"}"}}
    ]}, "finish_reason": "tool_calls"}]}"#;
    let (calls, rejected) = described(&read(Provider::OpenAiChat, response));
    assert_eq!(calls, [r#"{"name":"weather","parameters":{"city":"Paris"},"call_id":"c7"}"#]);
    assert_eq!(
        rejected,
        [
            "1:1 of the wire: not_an_object: invalid member of a tool call: choices[].message.tool_calls[]",
            "1:1 of the wire: not_an_object: invalid member of a tool call: choices[].message.tool_calls[]",
            "1:1 of the arguments: invalid_parameters: call 4 (`weather`): the arguments must be an object, found array",
            "1:1 of the arguments: missing_field: call 1: the name of the tool is missing",
            "1:1 of the arguments: unknown_tool: call 2 (`wether`): no such tool; did you mean `weather`? Defined tools: `weather`, `now` (at /name)",
            "1:1 of the arguments: invalid_parameters: call 3 (`weather`): missing required member `city` (at /parameters)",
        ]
    );
}

#[test]
fn truncated_calls_are_not_released() {
    let chat = |reason: &str| {
        format!(
            r#"{{"choices": [{{"message": {{"tool_calls": [{{"id": "c1", "function": {{"name": "now", "arguments": "{{\"x\":1}}"}}}}, {{"id": "c2", "function": {{"name": "now", "arguments": "{{\"x\":1}}"}}}}]}}, {reason}}}]}}"#
        )
    };
    for (response, shape) in [
        (chat(r#""finish_reason": "length""#), Provider::OpenAiChat),
        (chat(r#""finish_reason": "tool_calls", "native_finish_reason": "max_output_tokens""#), Provider::OpenAiChat),
        (
            r#"{"status": "incomplete", "output": [{"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{\"x\":1}", "status": "completed"}, {"type": "function_call", "call_id": "c2", "name": "now", "arguments": "{\"x\":1}", "status": "incomplete"}]}"#.to_owned(),
            Provider::OpenAiResponses,
        ),
        (
            r#"{"content": [{"type": "tool_use", "id": "c1", "name": "now", "input": {"x": 1}}, {"type": "tool_use", "id": "c2", "name": "now", "input": {"x": 1}}], "stop_reason": "max_tokens"}"#.to_owned(),
            Provider::Anthropic,
        ),
    ] {
        let parsed = read(shape, &response);
        assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 1), "{response}");
        assert_eq!(parsed.calls[0].call_id.as_deref(), Some("c1"));
        assert_eq!(parsed.rejected[0].diagnostic.code, Code::Unsealed);
        assert_eq!(parsed.rejected[0].call_id.as_deref(), Some("c2"));
    }
    let parsed = read(Provider::OpenAiChat, &chat(r#""finish_reason": "tool_calls""#));
    let proofs = parsed.calls.iter().map(|call| call.completion);
    assert_eq!(proofs.collect::<Vec<_>>(), [CompletedBy::NextItem, CompletedBy::FinishReason]);
}

#[test]
fn tools_with_text_input() {
    for (shape, response) in [
        (
            Provider::OpenAiChat,
            r#"{"choices": [{"message": {"tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "now", "input": "say \"now\"\n"}}]}, "finish_reason": "tool_calls"}]}"#,
        ),
        (
            Provider::OpenAiResponses,
            r#"{"output": [{"type": "custom_tool_call", "call_id": "c1", "name": "now", "input": "say \"now\"\n"}]}"#,
        ),
    ] {
        assert_eq!(read(shape, response).calls[0].parameters, r#"{"input":"say \"now\"\n"}"#);
    }
}

#[test]
fn the_choice_with_calls_is_used() {
    let response = r#"{"choices": [
        {"message": {"role": "assistant", "content": "I look it up."}, "finish_reason": "tool_calls"},
        {"message": {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": "{}"}}]}, "finish_reason": "tool_calls"},
        {"message": {"role": "assistant", "tool_calls": [{"id": "c2", "function": {"name": "now", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}
    ]}"#;
    let parsed = read(Provider::OpenAiChat, response);
    assert_eq!(parsed.calls.len(), 1);
    assert_eq!(parsed.calls[0].call_id.as_deref(), Some("c1"));
}

#[test]
fn arguments_in_pieces_are_joined() {
    let response = r#"[
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "now", "willContinue": true}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": [{"jsonPath": "$.zone", "stringValue": "CET"}], "willContinue": true}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {}}]}, "finishReason": "STOP"}]}
    ]"#;
    let parsed = read(Provider::Gemini, response);
    assert_eq!(parsed.calls[0].parameters, r#"{"zone":"CET"}"#);
    let parsed = read(
        Provider::Gemini,
        &response.replace(r#"{"functionCall": {}}"#, "").replace("STOP", "MAX_TOKENS"),
    );
    assert!(parsed.calls.is_empty());
    assert_eq!(parsed.rejected[0].diagnostic.code, Code::Truncated);
}
