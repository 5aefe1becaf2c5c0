//! The text of a response as a stream: complete or an error, and usable as another parser's source.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::{call, chunk, chunk_of, decode, fixture, fixtures, parser, parser_of, text};
use futures_util::future::ready;
use futures_util::stream::{self, FusedStream, Stream, StreamExt, TryStreamExt};
use tokenline_codec::{JsonlStreamParser, StreamError};
use tokenline_core::Code;
use tokenline_core::json::Raw;
use tokenline_llm::{
    FinishReason, Provider, ResponseError, ResponseEvent, ResponseStream, TextMode, TextPieces,
};

const DONE: &str = "data: [DONE]\n\n";

type Wire<'a> = stream::Iter<std::vec::IntoIter<Result<&'a [u8], &'static str>>>;

fn source(wire: &[u8], size: usize) -> Wire<'_> {
    stream::iter(wire.chunks(size).map(Ok).collect::<Vec<_>>())
}

fn text_of(provider: Provider, wire: &[u8], size: usize) -> TextPieces<Wire<'_>, Raw> {
    ResponseStream::new(source(wire, size), parser_of(provider, TextMode::Records)).text()
}

/// The text, and the error at its end, or an empty string.
async fn read(
    mut pieces: TextPieces<impl Stream<Item = Result<&[u8], &'static str>> + Unpin>,
) -> (String, String) {
    let mut text = String::new();
    let mut end = String::new();
    while let Some(piece) = pieces.next().await {
        assert!(end.is_empty(), "nothing comes after the error");
        match piece {
            Ok(piece) => text.push_str(&piece),
            Err(error) => end = error.to_string(),
        }
    }
    assert!(pieces.is_terminated() && pieces.next().await.is_none());
    (text, end)
}

async fn read_chat(wire: &[String]) -> (String, String) {
    let wire = wire.concat();
    let whole = read(text_of(Provider::OpenAiChat, wire.as_bytes(), wire.len())).await;
    for size in [1, 7, 100] {
        assert_eq!(read(text_of(Provider::OpenAiChat, wire.as_bytes(), size)).await, whole, "{size}");
    }
    whole
}

#[tokio::test]
async fn every_fixture_has_one_text_however_it_is_cut() {
    for provider in Provider::ALL.iter().copied() {
        for file in fixtures(provider) {
            let wire = std::fs::read(&file).expect("it can be read");
            let whole = read(text_of(provider, &wire, wire.len().max(1))).await;
            for size in [1, 5, 64, 1000] {
                assert_eq!(read(text_of(provider, &wire, size)).await, whole, "{file:?} {size}");
            }

            // The text of the events, except for line feeds between two texts.
            let seen = decode(&mut parser_of(provider, TextMode::Text), [&wire[..]]);
            let (text, end) = whole;
            let mut rest = text.as_str();
            let mut pieces = seen.events.iter().filter_map(|event| match event {
                ResponseEvent::Text { choice: 0, text, .. } => Some(text.as_str()),
                _ => None,
            });
            while !rest.is_empty() {
                let piece = pieces.next().expect("no more than that");
                rest = rest.strip_prefix(piece).unwrap_or_else(|| {
                    rest.strip_prefix('\n').and_then(|rest| rest.strip_prefix(piece)).expect("the text")
                });
            }
            if end.is_empty() {
                assert_eq!(pieces.next(), None, "{file:?}");
                assert!(seen.is_complete, "{file:?}");
            }
        }
    }
}

#[tokio::test]
async fn another_parser_reads_the_records_in_the_text() {
    let mut compared = 0;
    for provider in Provider::ALL.iter().copied() {
        for file in fixtures(provider) {
            let wire = std::fs::read(&file).expect("it can be read");
            let response = ResponseStream::new(source(&wire, 50), parser_of(provider, TextMode::Records));
            let of_the_response: Vec<_> = response
                .filter_map(|event| {
                    ready(match event {
                        Ok(ResponseEvent::Record { choice: 0, record, .. }) => Some(record.value.to_string()),
                        _ => None,
                    })
                })
                .collect()
                .await;
            let mut of_the_text = Vec::new();
            let text = text_of(provider, &wire, 50);
            let mut values = JsonlStreamParser::<_, Raw>::new(text).values().infallible();
            while let Some(value) = values.next().await {
                of_the_text.push(value.to_string());
            }
            // The text ends at an unreadable event.
            let is_lost = match values.take_error().and_then(StreamError::into_source) {
                Some(ResponseError::Incomplete(diagnostic)) => diagnostic.code != Code::StreamIncomplete,
                _ => false,
            };
            assert!(of_the_response.starts_with(&of_the_text), "{file:?}: {of_the_text:?}");
            assert!(is_lost || of_the_response.len() == of_the_text.len(), "{file:?}: {of_the_text:?}");
            compared += of_the_text.len();
        }
    }
    assert!(compared > 50, "{compared}");
}

#[tokio::test]
async fn no_line_mixes_two_texts() {
    // Two blocks; a response that started over after its end, and one inside a line.
    for (name, expected) in [
        ("two-texts", "{\"a\":1}\n{\"a\":2}"),
        ("second-message-cut", "{\"a\":1}\n{\"a\":"),
        ("second-message-start", "{\"a\":1}\n{\"a\":2\n{\"a\":3}\n{\"a\":4}"),
    ] {
        let wire = fixture(&format!("anthropic/{name}.sse"));
        assert_eq!(read(text_of(Provider::Anthropic, &wire, 9)).await.0, expected, "{name}");
    }
}

#[tokio::test]
async fn it_is_the_text_of_the_first_choice() {
    let said = |index, text: &str| chunk_of(index, &serde_json::json!({"content": text}).to_string(), "");
    let wire = [
        said(1, "other"),
        said(0, "{\"a\""),
        said(1, " words"),
        said(0, ":1}"),
        chunk("{\"reasoning_content\":\"why\"}", ""),
        chunk("{\"refusal\":\"no\"}", ""),
        call("c1", "f", "{}"),
        chunk("{}", "tool_calls"),
        chunk_of(1, "{}", "length"),
        DONE.to_owned(),
    ];
    assert_eq!(read_chat(&wire).await, ("{\"a\":1}".to_owned(), String::new()));
    // A response is incomplete if another choice is.
    let (said, end) = read_chat(&wire[..8]).await;
    assert_eq!(said, "{\"a\":1}");
    assert_eq!(end, "the response is incomplete: the stream ended without a finish reason or `[DONE]`");
}

#[tokio::test]
async fn incomplete_texts_end_with_an_error() {
    let said = text("{\"a\":1}\n{\"b\"");
    let expect = async |wire: &[&str], expected: &str| {
        let wire: Vec<_> = [&said[..]].iter().chain(wire).map(|event| (*event).to_owned()).collect();
        assert_eq!(read_chat(&wire).await, ("{\"a\":1}\n{\"b\"".to_owned(), expected.to_owned()), "{wire:?}");
    };
    let (stop, length) = (chunk("{}", "stop"), chunk("{}", "length"));
    let more = text(":2}\n");
    let incomplete = "the response is incomplete: the stream ended without a finish reason or `[DONE]`";
    let lost = "the response is incomplete: the event is not JSON: expected `:` after the name, found a letter \
                (byte 10 of its data); its part of the response is missing";
    let bad = "data: {\"choices\"x\n\n";

    expect(&[&stop, DONE], "").await;
    expect(&[DONE], "").await;
    expect(&[], incomplete).await;
    expect(&["data: {\"choi"], incomplete).await;
    expect(
        &["data: {\"error\":{\"message\":\"overloaded\"}}\n\n", &more, DONE],
        "the provider failed: overloaded",
    )
    .await;
    expect(&[&length, DONE], "the response may be incomplete: the provider ended it with `length`").await;
    expect(
        &[&chunk("{}", "content_filter"), DONE],
        "the response may be incomplete: the provider ended it with `content_filter`",
    )
    .await;
    // The missing part may have been text, unless the text had ended.
    expect(&[bad, &more, &stop, DONE], lost).await;
    expect(&[bad, &stop, DONE], lost).await;
    expect(&[&stop, bad, DONE], "").await;
}

#[tokio::test]
async fn reason_and_usage_are_known_after_a_cut() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7}}\n\n";
    let wire = [&text("{\"a\":")[..], &chunk("{}", "length"), usage, DONE].concat();
    let mut pieces = text_of(Provider::OpenAiChat, wire.as_bytes(), 1000);
    assert_eq!(pieces.next().await.expect("a piece"), Ok("{\"a\":".to_owned()));
    assert_eq!(pieces.next().await.expect("an error"), Err(ResponseError::Truncated(FinishReason::Length)));
    assert_eq!(pieces.parser().usage().expect("usage").output_tokens, Some(7));
    assert_eq!(pieces.report().by_code().len(), 1);
}

#[tokio::test]
async fn a_call_in_a_truncated_text_is_not_delivered() {
    let said = text("{\"name\":\"f\",\"parameters\":{}}");
    for (reason, calls) in [("stop", 1), ("length", 0), ("content_filter", 0)] {
        let wire = [&said[..], &chunk("{}", reason), DONE].concat();
        let text = text_of(Provider::OpenAiChat, wire.as_bytes(), 1000);
        let mut found = JsonlStreamParser::new(text).tool_calls().infallible();
        let mut count = 0;
        while found.next().await.is_some() {
            count += 1;
        }
        assert_eq!((count, found.error().is_none()), (calls, calls == 1), "{reason}");
    }
}

#[tokio::test]
async fn the_source_is_dropped_at_the_first_error() {
    struct Guard(Rc<Cell<bool>>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let dropped = Rc::new(Cell::new(false));
    let guard = Guard(dropped.clone());
    let wire = ["data: {\"error\":\"down\"}\n\n", "data: [DONE]\n\n"];
    let endless = stream::iter(wire.map(Ok::<_, &str>)).chain(stream::pending()).inspect(move |_| {
        let _held = &guard;
    });
    let mut pieces = ResponseStream::new(endless, parser(TextMode::Records)).text();
    assert!(matches!(pieces.next().await, Some(Err(ResponseError::Provider(_)))));
    assert!(dropped.get() && pieces.is_terminated() && pieces.next().await.is_none());

    // An error of the source is passed on, after the text before it.
    let failing = stream::iter([Ok(text("a")), Err("reset"), Ok(text("b"))]);
    let seen: Vec<_> = ResponseStream::new(failing, parser(TextMode::Records)).text().collect().await;
    assert_eq!(seen, [Ok("a".to_owned()), Err(ResponseError::Source("reset"))]);
}

#[tokio::test]
async fn pieces_without_result() {
    let wire = [&text("a")[..], &text("b"), DONE].concat();
    let pieces = text_of(Provider::OpenAiChat, wire.as_bytes(), 1000);
    assert_eq!(pieces.try_collect::<String>().await, Ok("ab".to_owned()));
    let pieces = text_of(Provider::OpenAiChat, &wire.as_bytes()[..10], 1000);
    let mut pieces = pieces.infallible();
    assert!(pieces.next().await.is_none());
    assert!(matches!(pieces.error(), Some(ResponseError::Incomplete(_))));
}

#[test]
fn it_can_be_sent_to_another_thread() {
    fn assert_send<T: Send>(_: &T) {}
    let body = stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
    assert_send(&ResponseStream::new(body, parser(TextMode::Records)).text());
}
