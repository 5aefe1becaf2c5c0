//! Deltas that another client has decoded, against the bytes they were decoded from.

use std::fs;
use std::iter;

use crate::common::{Seen, decode, fixtures, parser_of};
use tokenline_core::Limits;
use tokenline_core::sse::{SseDecoder, SseItem};
use tokenline_llm::providers::EventDecoder;
use tokenline_llm::{Delta, Provider, ResponseEvent, TextMode};

/// Reads a response by its deltas. `None` if the deltas lack a part of it, such as an event that is not JSON.
fn by_deltas(provider: Provider, wire: &[u8], text_as: TextMode) -> Option<Seen> {
    let mut response = parser_of(provider, text_as);
    let (mut frames, mut decoder) = (SseDecoder::default(), EventDecoder::new(provider, &Limits::default()));
    let (mut events, mut rest) = (Vec::new(), wire);
    let mut push = |delta: Delta<'_>| {
        response.push_delta(delta);
        events.extend(iter::from_fn(|| response.next_event()));
    };
    while !rest.is_empty() {
        let decoded = frames.decode(rest);
        rest = &rest[decoded.consumed..];
        match decoded.item {
            Some(SseItem::Event(event)) if event.lossy => return None,
            Some(SseItem::Event(event)) if event.data.is_empty() => {}
            Some(SseItem::Event(event)) => {
                decoder.decode(event.event, event.data, &mut push).ok()?;
            }
            Some(_) => return None,
            None => {}
        }
    }
    decoder.finish(&mut push);
    response.finish();
    events.extend(iter::from_fn(|| response.next_event()));
    let (is_complete, unknown) = (response.is_complete(), response.unknown().to_string());
    Some(Seen { events, is_complete, unknown, report: response.report().clone() })
}

#[test]
fn deltas_of_another_client_are_read_like_the_bytes() {
    let mut equal = 0;
    for provider in [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic, Provider::Cohere] {
        for file in fixtures(provider) {
            let wire = fs::read(&file).expect("a fixture");
            // A stream that ends within an event, or has other lines, has no deltas of its own.
            let is_plain = wire.ends_with(b"\n\n")
                && wire
                    .split(|byte| *byte == b'\n')
                    .all(|line| line.is_empty() || line.starts_with(b"data:") || line.starts_with(b"event:"));
            if !is_plain {
                continue;
            }
            for text_as in [TextMode::Records, TextMode::ToolCalls] {
                let Some(pushed) = by_deltas(provider, &wire, text_as) else { continue };
                let read = decode(&mut parser_of(provider, text_as), [&*wire]);
                assert_eq!(pushed.summary(), read.summary(), "{}", file.display());
                assert_eq!(
                    (pushed.is_complete, &pushed.report.records()),
                    (read.is_complete, &read.report.records())
                );
                equal += 1;
            }
        }
    }
    assert!(equal > 200, "only {equal} streams could be compared");
}

#[test]
fn the_end_that_is_pushed_decides() {
    let ends = ["stop", "length", ""].map(|reason| {
        let mut response = parser_of(Provider::OpenAiChat, TextMode::Records);
        response.push_delta(Delta::reasoning("Now."));
        response.push_delta(Delta::text("{\"a\":1}\n{\"a\":"));
        if !reason.is_empty() {
            response.push_delta(Delta::finish(reason));
        }
        response.finish();
        let mut seen = Vec::new();
        while let Some(event) = response.next_event() {
            match event {
                ResponseEvent::Record { record, .. } => seen.push(record.value.to_string()),
                ResponseEvent::Rejected { diagnostic, .. } => {
                    seen.push(format!("{} on line {}", diagnostic.code, diagnostic.line));
                }
                _ => {}
            }
        }
        (seen.join(", "), response.is_complete(), response.is_cut_off())
    });
    assert_eq!(ends[0], (r#"{"a":1}, truncated on line 2"#.to_owned(), true, false));
    assert_eq!(ends[1], (r#"{"a":1}, truncated on line 2"#.to_owned(), true, true));
    let unended = r#"{"a":1}, truncated on line 2, stream_incomplete on line 2"#;
    assert_eq!(ends[2], (unended.to_owned(), false, false));
    // After the end, nothing is read.
    let mut response = parser_of(Provider::OpenAiChat, TextMode::Records);
    response.finish();
    response.push_delta(Delta::text("{\"a\":1}\n"));
    assert_eq!(response.held_bytes(), 0);
}

#[test]
fn halves_of_a_character_are_joined() {
    let mut response = parser_of(Provider::OpenAiChat, TextMode::Records);
    let mut decoder = EventDecoder::new(Provider::OpenAiChat, &Limits::default());
    for content in [r#"{\"a\":\"\ud83d"#, r#"\ude00\"}\n"#] {
        let data = format!(r#"{{"choices":[{{"delta":{{"content":"{content}"}}}}]}}"#);
        decoder.decode("message", &data, |delta| response.push_delta(delta)).expect("JSON");
    }
    let Some(ResponseEvent::Record { record, .. }) = response.next_event() else { panic!("no record") };
    assert_eq!(record.value, "{\"a\":\"😀\"}");
}
