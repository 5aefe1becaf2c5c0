//! Messages kept by parsers: independent of the cuts, and ready to be sent and stored.

use serde_json::json;
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::request::{AssistantPart, ChatRequest, Message};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

use crate::common::fixtures;

/// The events of the first choice's native calls, and the message.
fn read<'a>(
    provider: Provider,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Option<String>>, Option<Message>) {
    let mut parser = ResponseParser::<Raw>::new(provider, Options::lenient())
        .with_options(|options| options.text_as(TextMode::Text).keep_message());
    let mut calls = Vec::new();
    let mut take = |parser: &mut ResponseParser<Raw>| {
        while let Some(event) = parser.next_event() {
            if let ResponseEvent::ToolCall { choice: 0, call, record: None, .. } = event {
                calls.push(call.call_id);
            }
        }
    };
    for piece in pieces {
        parser.push(piece);
        take(&mut parser);
    }
    parser.finish();
    take(&mut parser);
    (calls, parser.message(0))
}

#[test]
fn every_fixture_keeps_one_message_however_it_is_cut() {
    let mut with_opaque = 0;
    for provider in Provider::ALL {
        for file in fixtures(*provider) {
            let wire = std::fs::read(&file).expect("a fixture");
            let (calls, whole) = read(*provider, [&wire[..]]);
            for size in [1, 7, 61, 4096] {
                assert_eq!(read(*provider, wire.chunks(size)).1, whole, "{file:?} in pieces of {size}");
            }
            for at in (0..=wire.len()).step_by(wire.len().div_ceil(60).max(1)) {
                let (left, right) = wire.split_at(at);
                assert_eq!(read(*provider, [left, right]).1, whole, "{file:?} cut at {at}");
            }
            let Some(message) = whole else { continue };
            let kept: Vec<_> = message.tool_calls().map(|call| call.call_id.clone()).collect();
            assert!(calls.iter().all(|id| kept.contains(id)), "{file:?}: {calls:?} in {kept:?}");
            let stored = serde_json::to_string(&message).expect("JSON");
            let read: Message = serde_json::from_str(&stored).expect("a message");
            assert_eq!(serde_json::to_string(&read).expect("JSON"), stored);
            let Message::Assistant(parts) = &message else { panic!("{message:?}") };
            let opaque: Vec<_> = parts.iter().filter_map(AssistantPart::opaque).collect();
            with_opaque += usize::from(!opaque.is_empty());
            if parts.is_empty() {
                continue;
            }
            let request = ChatRequest::new("m").user("?").messages([read]).user("!");
            for other in Provider::ALL {
                let body = request.to_body(*other).expect("it can be sent");
                let is_own = other == provider;
                for data in
                    opaque.iter().filter_map(|opaque| opaque.data.deserialize::<serde_json::Value>().ok())
                {
                    let signature = ["signature", "thoughtSignature", "encrypted_content", "redactedContent"]
                        .into_iter()
                        .find_map(|name| data.get(name)?.as_str());
                    if let Some(signature) = signature {
                        assert_eq!(body.contains(signature), is_own, "{file:?} for {other:?}");
                    }
                }
                assert_eq!(request.omitted_opaque(*other).count(), if is_own { 0 } else { opaque.len() });
            }
        }
    }
    assert!(with_opaque > 10, "{with_opaque}");
}

#[test]
fn parts_are_in_the_models_order() {
    let start = |index: u64, block: serde_json::Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let tool = |id| json!({"type": "tool_use", "id": id, "name": id, "input": {}});
    // The call without arguments is released last.
    let payloads = [
        start(0, json!({"type": "text", "text": "Look."})),
        stop(0),
        start(1, tool("first")),
        stop(1),
        start(2, json!({"type": "thinking", "thinking": "Hm", "signature": "Eq"})),
        stop(2),
        start(3, json!({"type": "thinking", "thinking": "Hm, hm", "signature": "Er"})),
        stop(3),
        start(4, tool("second")),
        json!({"type": "content_block_delta", "index": 4, "delta": {"type": "input_json_delta", "partial_json": "{\"x\":1}"}}),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    let wire: String = payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect();
    let (calls, message) = read(Provider::Anthropic, [wire.as_bytes()]);
    assert_eq!(calls, [Some("second".to_owned()), Some("first".to_owned())]);
    let Some(Message::Assistant(parts)) = message else { panic!("{message:?}") };
    let said: Vec<_> = parts
        .iter()
        .map(|part| match part {
            AssistantPart::Text { text, .. } => format!("text {text}"),
            AssistantPart::Reasoning { text, opaque } => {
                format!("reasoning {text} {}", opaque.as_ref().expect("a signature").data)
            }
            AssistantPart::ToolCall { call, .. } => format!("call {}", call.name),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        said,
        [
            "text Look.",
            "call first",
            r#"reasoning Hm {"signature":"Eq"}"#,
            r#"reasoning Hm, hm {"signature":"Er"}"#,
            "call second",
        ]
    );
}
