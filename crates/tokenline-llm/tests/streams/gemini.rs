//! Gemini: what fixtures cannot show.

use tokenline_core::{CompletedBy, Limits};
use tokenline_llm::providers::EventDecoder;
use tokenline_llm::{Delta, FinishReason, Provider};

/// The deltas of these data.
fn deltas<'a>(data: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut decoder = EventDecoder::new(Provider::Gemini, &Limits::default());
    let mut deltas = Vec::new();
    for data in data {
        decoder.decode("message", data, |delta| deltas.push(format!("{delta:?}"))).expect("it is JSON");
    }
    decoder.finish(|delta| deltas.push(format!("{delta:?}")));
    decoder.finish(|delta| panic!("{delta:?}"));
    deltas
}

#[test]
fn data_that_is_not_an_object() {
    assert_eq!(deltas(["", " ", "[DONE]", "{}"]), [""; 0]);
    let unknown = |name: &str| format!("{:?}", Delta::Unknown { parent: "data", name: name.into() });
    assert_eq!(deltas(["[1]", "whatever", "\"x\""]), ["array", "text", "string"].map(unknown));
    let mut decoder = EventDecoder::new(Provider::Gemini, &Limits::default());
    assert!(decoder.decode("message", "{\"candidates\":", |_| {}).is_err());
    let error = Delta::Error { message: "no healthy upstream".into(), code: None };
    decoder
        .decode("error", "no healthy upstream", |delta| assert_eq!(delta, error))
        .expect("it need not be JSON");
}

#[test]
fn reasons() {
    for (name, reason) in [
        ("STOP", Some(FinishReason::Stop)),
        ("MAX_TOKENS", Some(FinishReason::Length)),
        ("SAFETY", Some(FinishReason::ContentFilter)),
        ("RECITATION", Some(FinishReason::ContentFilter)),
        ("BLOCKLIST", Some(FinishReason::ContentFilter)),
        ("PROHIBITED_CONTENT", Some(FinishReason::ContentFilter)),
        ("SPII", Some(FinishReason::ContentFilter)),
        ("IMAGE_SAFETY", Some(FinishReason::ContentFilter)),
        ("MALFORMED_FUNCTION_CALL", Some(FinishReason::MalformedCall)),
        ("UNEXPECTED_TOOL_CALL", Some(FinishReason::MalformedCall)),
        ("LANGUAGE", Some(FinishReason::other("LANGUAGE"))),
        ("OTHER", Some(FinishReason::other("OTHER"))),
        ("FINISH_REASON_UNSPECIFIED", None),
        ("", None),
    ] {
        let data = format!(r#"{{"candidates":[{{"finishReason":"{name}"}}]}}"#);
        let mut expected = vec![format!("{:?}", Delta::Start { choice: 0 })];
        expected.extend(reason.map(|reason| format!("{:?}", Delta::Finish { choice: 0, reason })));
        assert_eq!(deltas([&*data]), expected);
    }
}

#[test]
fn an_unknown_part_makes_a_call_incomplete() {
    for part in [
        r#"{"jsonPath":"$.a"}"#,
        r#"{"stringValue":"a"}"#,
        r#"{"jsonPath":"$.a","numberValue":"NaN"}"#,
        r#"{"jsonPath":"$.a","stringValue":"a","boolValue":true}"#,
        "7",
    ] {
        let data = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f","partialArgs":[{part}]}}}}]}}}}]}}"#
        );
        let cut = format!("{:?}", Delta::BlockStop { choice: 0, block: 1, completion: None });
        let whole = format!(
            "{:?}",
            Delta::BlockStop { choice: 0, block: 1, completion: Some(CompletedBy::ItemStop) }
        );
        let deltas = deltas([&*data]);
        assert!(deltas.ends_with(&[cut, whole]), "{part}: {deltas:?}");
    }
}

#[test]
fn invented_candidates_do_not_fill_the_memory() {
    let mut decoder = EventDecoder::new(Provider::Gemini, &Limits::default());
    for index in 0..10_000 {
        let data = format!(r#"{{"candidates":[{{"index":{index},"finishReason":"STOP"}}]}}"#);
        decoder.decode("message", &data, |_| {}).expect("it is JSON");
    }
    let mut ends = 0;
    decoder.finish(|_| ends += 1);
    assert_eq!(ends, 128);
    decoder.reset();
    assert!(format!("{decoder:?}").contains("Reader([])"));
}

#[test]
fn lines_before_an_array_are_counted_once() {
    let seen = crate::common::at_every_cut(
        crate::common::parser_of(Provider::Gemini, tokenline_llm::TextMode::Records),
        b"\n[\n\n{\n\n[\n\n\n",
    );
    assert_eq!(seen.report.diagnostics()[0].line, 4);
}

#[test]
fn a_parser_that_is_reset_takes_either_framing() {
    let mut parser = crate::common::parser_of(Provider::Gemini, tokenline_llm::TextMode::Records);
    let [events, array] =
        ["text.sse", "array-compact.json"].map(|name| crate::common::fixture(&format!("gemini/{name}")));
    for wire in [&events, &array, &events] {
        assert!(crate::common::decode(&mut parser, [&wire[..]]).is_complete);
    }
}
