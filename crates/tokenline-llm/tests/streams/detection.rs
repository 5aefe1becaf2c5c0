//! The provider of a complete response, detected by its members.

use tokenline_llm::Provider;

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
            [Provider::Cohere, Provider::GeminiInteractions, Provider::Bedrock]
                .map(|provider| found == Some(provider)),
            expected,
            "{body}"
        );
    }
}
