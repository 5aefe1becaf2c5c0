//! Anthropic messages: what fixtures cannot show.

use crate::common::{at_every_cut, fixture, parser_of};
use tokenline_core::{CompletedBy, Limits};
use tokenline_llm::providers::EventDecoder;
use tokenline_llm::{Delta, FinishReason, Provider, TextMode};

#[test]
fn recorded_text_truncated_by_the_token_limit() {
    let seen =
        at_every_cut(parser_of(Provider::Anthropic, TextMode::Text), &fixture("anthropic/text-recorded.sse"));
    let lines: Vec<_> = (0..31)
        .map(|line| match line {
            3 | 9 | 13 => "<|im_start|>",
            _ if line % 2 == 1 => "<|im_end|>",
            _ => "Assistant, Food and Beverage",
        })
        .collect();
    assert_eq!(
        seen.summary(),
        [
            "usage 101 0 101",
            "usage 101 200 301",
            "note token_limit",
            "finish length",
            &format!("text {}", lines.join("⏎")),
        ]
    );
    assert!(seen.is_complete && seen.unknown.is_empty());
}

/// The deltas of these events, with these names.
fn deltas(events: &[(&str, &str)]) -> Vec<String> {
    let mut decoder = EventDecoder::new(Provider::Anthropic, &Limits::default());
    let mut log = Vec::new();
    for (event, data) in events {
        decoder.decode(event, data, |delta| log.push(format!("{delta:?}"))).expect("it is JSON");
    }
    log
}

#[test]
fn the_type_takes_precedence_over_the_name() {
    let stop = [format!("{:?}", Delta::Terminator)];
    assert_eq!(deltas(&[("message_start", r#"{"type":"message_stop"}"#)]), stop);
    assert_eq!(deltas(&[("message_stop", r#"{"type":null}"#)]), stop);
    assert_eq!(deltas(&[("message_stop", "{}")]), stop);
}

#[test]
fn data_that_is_not_an_object() {
    let unknown = |name: &'static str| format!("{:?}", Delta::Unknown { parent: "data", name: name.into() });
    let error_with = |message: &'static str, code: Option<&'static str>| {
        format!("{:?}", Delta::Error { message: message.into(), code: code.map(Into::into) })
    };
    let error = |message| error_with(message, None);
    assert_eq!(deltas(&[("message_stop", ""), ("message_stop", "[DONE]")]), [""; 0]);
    assert_eq!(deltas(&[("message_stop", "[1]"), ("message", "stop")]), [unknown("array"), unknown("text")]);
    assert_eq!(
        deltas(&[("error", "gone"), ("error", r#""gone""#), ("error", "{}")]),
        [error("gone"), error("gone"), error("no message")]
    );
    let overloaded = Some("overloaded_error");
    for (data, code) in [
        (r#"{"message":"gone"}"#, None),
        (r#"{"type":"error","message":"gone"}"#, None),
        (r#"{"type":"overloaded_error","message":"gone"}"#, overloaded),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"gone"}}"#, overloaded),
        (r#"{"error":"gone"}"#, None),
    ] {
        let log = deltas(&[("error", data)]);
        assert_eq!(log.last(), Some(&error_with("gone", code)), "{data}");
    }
    let mut decoder = EventDecoder::new(Provider::Anthropic, &Limits::default());
    assert!(decoder.decode("message_stop", r#"{"type":"#, |delta| panic!("{delta:?}")).is_err());
}

/// The end of a text block that is followed by these events.
fn text_ends_with(events: &[(&str, &str)]) -> Vec<Option<CompletedBy>> {
    let mut decoder = EventDecoder::new(Provider::Anthropic, &Limits::default());
    let mut ends = Vec::new();
    let before = [
        ("", r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"a"}}"#),
        ("", r#"{"type":"content_block_stop","index":3}"#),
    ];
    for (event, data) in before.iter().chain(events) {
        let sink = |delta: Delta<'_>| {
            if let Delta::BlockStop { choice: 0, block: 3, completion } = delta {
                ends.push(completion);
            }
        };
        decoder.decode(event, data, sink).expect("it is JSON");
    }
    ends
}

#[test]
fn the_end_of_a_text_is_held_back() {
    let whole = vec![Some(CompletedBy::ItemStop)];
    let reason = |reason: &str| format!(r#"{{"type":"message_delta","delta":{{"stop_reason":{reason}}}}}"#);
    assert_eq!(text_ends_with(&[]), []);
    assert_eq!(text_ends_with(&[("", r#"{"type":"ping"}"#), ("", &reason("null"))]), []);
    assert_eq!(text_ends_with(&[("", r#"{"type":"message_start","message":{}}"#)]), []);
    for follows in [
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":""}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"b"}}"#,
        r#"{"type":"message_stop"}"#,
        &reason(r#""end_turn""#),
        &reason(r#""tool_use""#),
        &reason(r#""stop_sequence""#),
    ] {
        assert_eq!(text_ends_with(&[("", follows)]), whole, "{follows}");
    }
    for cut in ["max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "whatever"] {
        let follows = [("", &*reason(&format!("{cut:?}"))), ("", r#"{"type":"message_stop"}"#)];
        assert_eq!(text_ends_with(&follows), [None], "{cut}");
    }
}

#[test]
fn endless_blocks_do_not_fill_the_memory() {
    let mut decoder = EventDecoder::new(Provider::Anthropic, &Limits::default());
    for index in 0..10_000 {
        let start = format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"t","name":"n","input":{{"a":1}}}}}}"#
        );
        decoder.decode("", &start, |_| {}).expect("it is JSON");
        let stop = format!(r#"{{"type":"content_block_stop","index":{}}}"#, index + 20_000);
        decoder.decode("", &stop, |_| {}).expect("it is JSON");
    }
    assert!(format!("{decoder:?}").len() < 20_000);
    decoder.reset();
    let fresh = EventDecoder::new(Provider::Anthropic, &Limits::default());
    let message = |decoder: &EventDecoder| {
        let shown = format!("{decoder:?}");
        shown[shown.find("reader").expect("it is shown")..].to_owned()
    };
    assert_eq!(message(&decoder), message(&fresh));
}

#[test]
fn reasons() {
    for (name, reason) in [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("tool_use", FinishReason::ToolCalls),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
        ("pause_turn", FinishReason::other("pause_turn")),
        ("compaction", FinishReason::other("compaction")),
    ] {
        let data = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{name}"}}}}"#);
        assert_eq!(deltas(&[("", &data)]), [format!("{:?}", Delta::Finish { choice: 0, reason })]);
    }
}
