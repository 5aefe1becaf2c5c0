//! Streams of providers.

use crate::common::{fixture, tokenline};

#[test]
fn provider_text_cannot_control_the_terminal() {
    let error = "data: {\"error\":{\"message\":\"boom \\u001b[31m\\nsecond\"}}\n\n";
    let run = tokenline(&["parse", "--from", "openai-chat"], error);
    assert!(!run.err.contains('\u{1b}') && run.err.contains("boom \\u001b[31m\\nsecond"), "{}", run.err);
    let refusal = ["I can", "not do that."].map(|text| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"refusal\":\"{text}\"}}}}]}}\n\n")
    });
    let run = tokenline(&["parse", "--from", "openai-chat"], format!("{}data: [DONE]\n\n", refusal.concat()));
    assert!(run.err.starts_with("stdin: the model refused: I cannot do that.\n"), "{}", run.err);
}

#[test]
fn an_openai_stream_becomes_records_and_calls() {
    let definitions = tokenline(&["parse", "--from", "openai-chat", &fixture("definitions.sse")], "");
    assert_eq!((definitions.code, definitions.lines().len()), (0, 8), "{}", definitions.err);
    for line in definitions.lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(record["type"], "definition");
    }
    let calls = ["parse", "--from", "openai-chat", "--emit", "tool-calls"];
    let calls_in_text = fixture("tool-calls-in-text.sse");
    let in_text = tokenline(&[&calls[..], &[&calls_in_text]].concat(), "");
    assert_eq!((in_text.code, in_text.lines().len()), (0, 4), "{}", in_text.err);
    let bytewise = [&calls[..], &["--chunk-size", "1", &calls_in_text]].concat();
    assert_eq!(tokenline(&bytewise, "").out, in_text.out);

    // Cut off by its token limit: a complete source with a truncated response.
    let truncated = fixture("truncated.sse");
    let run = tokenline(&["parse", "--from", "openai-chat", &truncated], "");
    assert_eq!(run.code, 0);
    assert!(run.err.contains("truncated"), "{}", run.err);
    assert_eq!(tokenline(&["parse", "--from", "openai-chat", "--deny", &truncated], "").code, 1);

    // Cut off without a reason: complete records are printed, and the source is incomplete.
    let bytes = std::fs::read(fixture("definitions.sse")).expect("readable");
    let run = tokenline(&["parse", "--from", "openai-chat"], &bytes[..bytes.len() / 2]);
    assert_eq!(run.code, 3);
    assert!(!run.lines().is_empty() && run.lines().len() < 8);
    assert!(run.err.contains("stream_incomplete"), "{}", run.err);

    let error = "data: {\"error\":{\"message\":\"the model is overloaded\"}}\n\n";
    let run = tokenline(&["parse", "--from", "openai-chat"], error);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("the model is overloaded"), "{}", run.err);
}

#[test]
fn every_provider_is_read() {
    for (from, path, text, call) in [
        ("openai-chat", "openai-chat/quirks/text-then-call.sse", "Let me look that up.", "fjord"),
        ("openai-responses", "openai-responses/text-then-call.sse", "Let me look that up.", "fjord"),
        ("anthropic", "anthropic/text-then-tool.sse", "I'll look that up.", "fjord"),
        ("gemini", "gemini/text-then-call.sse", "Let me look that up.", "fjord"),
        ("ollama", "ollama/text-then-call.ndjson", "Let me look that up.", "fjord"),
    ] {
        let path = format!("{}/../tokenline-llm/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
        for chunk_size in ["1", "65536"] {
            let parse = ["parse", "--from", from, "--chunk-size", chunk_size, &path, "--emit"];
            let run = tokenline(&[&parse[..], &["tool-calls"]].concat(), "");
            assert_eq!((run.code, run.lines().len()), (0, 1), "{from}: {}{}", run.out, run.err);
            let line: serde_json::Value = serde_json::from_str(run.lines()[0]).expect("JSON");
            assert_eq!(
                (&line["name"], &line["parameters"]["query"]),
                (&"search".into(), &call.into()),
                "{from}"
            );

            let run = tokenline(&[&parse[..], &["events"]].concat(), "");
            let events: Vec<serde_json::Value> =
                run.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            let texts = events.iter().filter(|event| event["event"] == "text");
            assert_eq!(texts.filter_map(|event| event["text"].as_str()).collect::<String>(), text, "{from}");
            assert!(events.iter().any(|event| event["event"] == "finish"), "{from}");
        }
        // Without its end the source is incomplete, and an unconfirmed call is not delivered.
        let whole = std::fs::read(&path).expect("readable");
        let run = tokenline(&["parse", "--from", from], &whole[..whole.len() / 3]);
        assert_eq!(run.code, 3, "{from}: {}", run.err);
        assert!(run.err.contains("stream_incomplete"), "{from}: {}", run.err);
    }
}

#[test]
fn a_wrong_from_option_is_pointed_out() {
    for (path, named) in [
        ("openai-chat/definitions.sse", "openai-chat"),
        ("openai-responses/text.sse", "openai-responses"),
        ("anthropic/text.sse", "anthropic"),
        ("gemini/text.sse", "gemini"),
        ("gemini/array-pretty.json", "gemini"),
        ("ollama/text.ndjson", "ollama"),
    ] {
        let path = format!("{}/../tokenline-llm/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
        for from in ["text", "openai-chat", "openai-responses", "anthropic", "gemini", "ollama"] {
            let run = tokenline(&["parse", "--from", from, &path], "");
            let hint = format!("this looks like --from {named}\n");
            assert_eq!(run.err.contains(&hint), from != named, "{path} as {from}: {}", run.err);
        }
    }
    assert!(!tokenline(&["parse"], "{\"choices\": 1}\n{\"a\":1}\n").err.contains("--from"));
}
