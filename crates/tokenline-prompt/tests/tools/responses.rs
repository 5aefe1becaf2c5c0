//! Responses without native calls, and text that is not a response.

use tokenline_core::Code;
use tokenline_llm::Provider;

use crate::common::{described, parser};

#[test]
fn an_empty_list_of_calls_does_not_hide_calls_in_the_text() {
    let lines = r#"{\"name\": \"now\", \"parameters\": {}}\n{\"name\": \"weather\", \"parameters\": {\"city\": \"Oslo\"}}\n"#;
    let tagged = r#"<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call><tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>"#;
    for text in [lines, tagged] {
        for response in [
            r#"{"choices": [{"message": {"content": "TEXT", "tool_calls": []}, "finish_reason": "stop"}]}"#,
            r#"{"choices": [{"message": {"content": "TEXT", "tool_calls": null}, "finish_reason": "stop"}]}"#,
            r#"{"choices": [{"message": {"content": "TEXT"}, "finish_reason": "stop"}]}"#,
            r#"{"choices": [{"message": {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "TEXT"}]}, "finish_reason": "stop"}]}"#,
            r#"{"role": "assistant", "content": "TEXT", "tool_calls": []}"#,
            r#"{"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "TEXT"}]}]}"#,
            r#"{"type": "message", "content": [{"type": "thinking", "thinking": "..."}, {"type": "text", "text": "TEXT"}], "stop_reason": "end_turn"}"#,
            r#"{"candidates": [{"content": {"parts": [{"text": "No.", "thought": true}, {"text": "TEXT"}]}, "finishReason": "STOP"}]}"#,
            r#"{"message": {"role": "assistant", "content": "TEXT", "tool_calls": []}, "done": true, "done_reason": "stop"}"#,
            r#"{"response": "TEXT", "done": true}"#,
        ] {
            let (calls, rejected) =
                described(&parser("function_calling").parse(&response.replace("TEXT", text)));
            assert_eq!(
                calls,
                [r#"{"name":"now","parameters":{}}"#, r#"{"name":"weather","parameters":{"city":"Oslo"}}"#,],
                "{response}: {rejected:?}"
            );
        }
    }
}

#[test]
fn text_beside_native_calls_is_text() {
    let response = r#"{"choices": [{"message": {"content": "{\"name\": \"now\", \"parameters\": {}}", "tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": "{}"}}]}, "finish_reason": "stop"}]}"#;
    let parsed = parser("function_calling").parse(response);
    assert_eq!((parsed.calls.len(), parsed.calls[0].call_id.as_deref()), (1, Some("c1")));
}

#[test]
fn a_truncated_text_releases_no_call_at_its_end() {
    for (end, code) in [("}}", Code::Unsealed), ("}", Code::Truncated)] {
        for response in [
            r#"{"choices": [{"message": {"content": "TEXT", "tool_calls": []}, "finish_reason": "length"}]}"#,
            r#"{"status": "incomplete", "output": [{"type": "message", "content": [{"type": "output_text", "text": "TEXT"}]}]}"#,
            r#"{"type": "message", "content": [{"type": "text", "text": "TEXT"}], "stop_reason": "max_tokens"}"#,
            r#"{"candidates": [{"content": {"parts": [{"text": "TEXT"}]}, "finishReason": "MAX_TOKENS"}]}"#,
            r#"{"message": {"content": "TEXT"}, "done": true, "done_reason": "length"}"#,
        ] {
            let call = r#"{\"name\": \"now\", \"parameters\": {END"#.replace("END", end);
            let text = [&call.replace(end, "}}"), &*call].join("\\n");
            let parsed = parser("function_calling").parse(&response.replace("TEXT", &text));
            assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 1), "{response}");
            assert_eq!(parsed.rejected[0].diagnostic.code, code);
        }
    }
}

#[test]
fn separate_texts_are_not_joined() {
    let response = r#"{"type": "message", "content": [
        {"type": "text", "text": "{\"name\": \"now\", \"parameters\": {}}"},
        {"type": "text", "text": "{\"name\": \"now\", \"parameters\": {}}"}
    ], "stop_reason": "end_turn"}"#;
    assert_eq!(parser("function_calling").parse(response).calls.len(), 2);
    // Chunks of one response are joined.
    let chunks = r#"[{"candidates": [{"content": {"parts": [{"text": "{\"name\": \"now\", "}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "\"parameters\": {}}"}]}, "finishReason": "STOP"}]}]"#;
    let parsed = parser("function_calling").parse(chunks);
    assert_eq!((parsed.calls.len(), parsed.rejected.len()), (1, 0));
}

#[test]
fn a_json_response_is_not_a_rejected_call() {
    let response = r#"{"choices": [{"message": {"content": "{\"temperature\": 20}\n{\"name\": \"wether\", \"args\": {}}", "tool_calls": []}, "finish_reason": "stop"}]}"#;
    let (calls, rejected) = described(&parser("function_calling").parse(response));
    assert!(calls.is_empty());
    assert_eq!(
        rejected,
        [
            "2:10: unknown_tool: no such tool; did you mean `weather`? Defined tools: `weather`, `now` (at /name)"
        ]
    );
}

#[test]
fn anything_but_a_response_is_read_as_text() {
    let parser = parser("function_calling");
    for text in [
        r#"{"name": "now", "arguments": {}}"#,
        r#"[{"name": "now", "arguments": {}}]"#,
        "Let me see.\n```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n",
        "[now()]",
    ] {
        assert_eq!(Provider::of_body(text), None);
        assert_eq!(parser.parse(text).calls.len(), 1, "{text}");
        assert_eq!(parser.clone().with_provider(Provider::Anthropic).parse(text).calls.len(), 1, "{text}");
    }
    let failed = r#"{"name": "now", "parameters": {}, "error": "too late"}"#;
    assert_eq!(described(&parser.parse(failed)).0, [failed.replace(": ", ":").replace(", ", ",")]);
    let parsed = parser.parse("It is late.");
    assert_eq!((parsed.calls.len(), parsed.rejected.len(), parsed.report.notes()), (0, 0, 1));
    let broken = r#"{"choices": [{"message": {"tool_calls": [{"name": "now", "arguments": {}}"#;
    let parsed = parser.parse(broken);
    assert!(parsed.calls.is_empty(), "inner objects do not pass for calls");
    assert_eq!(parsed.rejected[0].diagnostic.code, Code::Truncated);
}

#[test]
fn a_response_without_calls_has_none() {
    for response in [
        r#"{"choices": [{"message": {"content": "It is late."}, "finish_reason": "stop"}]}"#,
        r#"{"choices": []}"#,
        r#"{"type": "message", "content": [], "stop_reason": "end_turn"}"#,
        r#"{"candidates": []}"#,
    ] {
        let parsed = parser("function_calling").parse(response);
        assert!(parsed.calls.is_empty() && parsed.rejected.is_empty(), "{response}: {parsed:?}");
    }
}

#[test]
fn provider_errors_are_reported() {
    for (response, message) in [
        (r#"{"error": {"message": "overloaded", "type": "server_error"}}"#, "overloaded"),
        (
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#,
            "Overloaded",
        ),
        (r#"{"error": "model not found"}"#, "model not found"),
        (r#"{"object": "error", "message": "no such model"}"#, "no such model"),
        (r#"{"status": "failed", "error": {"code": "server_error"}, "output": []}"#, "server_error"),
        (r#"{"promptFeedback": {"blockReason": "SAFETY"}}"#, "the provider refused the prompt"),
    ] {
        let parsed = parser("function_calling").parse(response);
        let [rejected] = &*parsed.rejected else { panic!("{response}: {parsed:?}") };
        assert_eq!((rejected.diagnostic.code, &*rejected.diagnostic.message), (Code::ProviderError, message));
    }
    let response =
        r#"{"candidates": [{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}"#;
    let parsed = parser("function_calling").parse(response);
    assert_eq!(parsed.rejected[0].diagnostic.code, Code::MalformedJson);
}

#[test]
fn calls_that_are_not_a_list_are_reported() {
    let response = |calls: &str| {
        format!(
            r#"{{"choices": [{{"message": {{"content": null, "tool_calls": {calls}}}, "finish_reason": "tool_calls"}}]}}"#
        )
    };
    let (calls, rejected) = described(
        &parser("function_calling")
            .parse(&response(r#"{"id": "a", "function": {"name": "now", "arguments": "{}"}}"#)),
    );
    assert_eq!((calls.len(), rejected.len()), (1, 0), "{rejected:?}");
    let (calls, rejected) = described(&parser("function_calling").parse(&response("\"x\"")));
    assert_eq!((calls.len(), rejected.len()), (0, 1), "{rejected:?}");
    // A byte order mark is not part of a response.
    let marked =
        format!("\u{feff}{}", response(r#"[{"id": "a", "function": {"name": "now", "arguments": "{}"}}]"#));
    assert_eq!(parser("function_calling").parse(&marked).calls.len(), 1);
}
