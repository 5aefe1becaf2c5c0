//! The stream: lazy, fused, cooperative, and with the same events as the parser.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::common::{call, chunk, decode, fixture, parser, text};
use futures_util::stream::{self, FusedStream, Stream, StreamExt, TryStreamExt};
use tokenline_llm::{ResponseError, ResponseEvent, ResponseStream, TextMode};

type Bytes = Vec<u8>;

fn source(wire: &str, size: usize) -> impl Stream<Item = Result<Bytes, &'static str>> + Unpin + use<> {
    stream::iter(wire.as_bytes().chunks(size).map(|piece| Ok(piece.to_vec())).collect::<Vec<_>>())
}

fn response(wire: &str) -> ResponseStream<impl Stream<Item = Result<Bytes, &'static str>> + Unpin + use<>> {
    ResponseStream::new(source(wire, 7), parser(TextMode::Records))
}

/// A source that counts polls, and records when it is dropped.
struct Counting<S> {
    inner: S,
    polled: Rc<Cell<usize>>,
    dropped: Rc<Cell<bool>>,
}

impl<S: Stream + Unpin> Stream for Counting<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.polled.set(self.polled.get() + 1);
        self.inner.poll_next_unpin(cx)
    }
}

impl<S> Drop for Counting<S> {
    fn drop(&mut self) {
        self.dropped.set(true);
    }
}

#[tokio::test]
async fn the_events_are_those_of_the_parser() {
    for name in
        ["definitions.sse", "truncated.sse", "quirks/silent-close-in-text.sse", "quirks/error-object.sse"]
    {
        let wire = String::from_utf8(fixture(&format!("openai-chat/{name}"))).expect("UTF-8");
        let whole = decode(&mut parser(TextMode::Records), [wire.as_bytes()]);
        for size in [1, 100, 1 << 20] {
            let mut stream = ResponseStream::new(source(&wire, size), parser(TextMode::Records));
            let events: Vec<_> = (&mut stream).try_collect().await.expect("a source that does not fail");
            assert_eq!(events, whole.events, "{name} {size}");
            assert_eq!(stream.report(), &whole.report);
            assert!(stream.is_terminated() && stream.next().await.is_none());
        }
    }
}

#[tokio::test]
async fn it_is_lazy() {
    let wire: Vec<Result<Bytes, &str>> =
        (0..1000).map(|n| Ok(text(&format!("{{\"n\":{n}}}\n")).into_bytes())).collect();
    let (polled, dropped) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let counting = Counting { inner: stream::iter(wire), polled: polled.clone(), dropped: dropped.clone() };
    let mut records = ResponseStream::new(counting, parser(TextMode::Records)).records();
    assert_eq!(polled.get(), 0);
    for taken in 1..=100 {
        assert!(records.next().await.is_some());
        assert_eq!(polled.get(), taken);
    }
    assert!(!dropped.get());
    drop(records);
    assert!(dropped.get());
}

#[tokio::test]
async fn the_source_is_dropped_at_its_end() {
    let (polled, dropped) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let counting = Counting {
        inner: source(&text("{\"a\":1}"), 1000),
        polled: polled.clone(),
        dropped: dropped.clone(),
    };
    let mut stream = ResponseStream::new(counting, parser(TextMode::Text));
    assert!(matches!(stream.next().await, Some(Ok(ResponseEvent::Text { .. }))));
    assert!(!dropped.get());
    assert!(matches!(stream.next().await, Some(Ok(ResponseEvent::Rejected { .. }))));
    assert!(dropped.get() && stream.is_terminated());
    assert!(stream.next().await.is_none() && stream.next().await.is_none());
    assert_eq!(polled.get(), 2);
}

#[tokio::test]
async fn a_closed_stream_yields_complete_items_only() {
    let (polled, dropped) = (Rc::default(), Rc::default());
    let wire = text("{\"a\":1}\n{\"a\":2}\n{\"a\"") + &text(":3}\n");
    let inner = source(&wire, wire.len() / 2);
    let source = Counting { inner, polled: Rc::clone(&polled), dropped: Rc::clone(&dropped) };
    let mut response = ResponseStream::new(source, parser(TextMode::Records));
    assert!(matches!(response.next().await, Some(Ok(ResponseEvent::Record { .. }))));
    Pin::new(&mut response).close();
    assert!(dropped.get());
    let before = polled.get();
    let rest: Vec<_> = (&mut response).map(|event| event.expect("no error")).collect().await;
    let records = rest.iter().filter(|event| matches!(event, ResponseEvent::Record { .. }));
    assert_eq!((records.count(), polled.get()), (1, before));
    assert!(response.is_terminated() && !response.report().is_complete());
    Pin::new(&mut response).close();
    assert!(response.next().await.is_none());
}

#[tokio::test]
async fn complete_items_come_before_the_sources_error() {
    let wire = [text("{\"a\":1}\n{\"b\""), call("c1", "f", "{}")].concat();
    let failing = || source(&wire, 7).chain(stream::iter([Err("reset"), Ok(text("more").into_bytes())]));

    let mut events = ResponseStream::new(failing(), parser(TextMode::Records));
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(ResponseEvent::Record { record, .. }) => seen.push(record.value.to_string()),
            Ok(ResponseEvent::Rejected { diagnostic, .. }) => seen.push(diagnostic.code.to_string()),
            Ok(ResponseEvent::RejectedCall { call, .. }) => seen.push(call.diagnostic.code.to_string()),
            Ok(ResponseEvent::Text { .. }) => {}
            Ok(other) => panic!("{other:?}"),
            Err(ResponseError::Source(error)) => seen.push(error.to_owned()),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(seen, ["{\"a\":1}", "truncated", "unsealed", "reset"]);
    assert!(events.is_terminated() && events.next().await.is_none());
    let report = events.report();
    assert!(!report.is_complete());
    let last = report.by_code().iter().map(|(code, count)| (code.as_str(), *count)).collect::<Vec<_>>();
    assert_eq!(last, [("truncated", 1), ("unsealed", 1), ("stream_incomplete", 1)]);

    let records: Vec<_> = ResponseStream::new(failing(), parser(TextMode::Records)).records().collect().await;
    assert!(matches!(&records[..], [Ok(_), Err(ResponseError::Source("reset"))]), "{records:?}");
}

#[tokio::test]
async fn an_incomplete_response_is_an_error_of_its_items() {
    let whole = call("c1", "f", "{}");
    let items = async |wire: &str| {
        let items: Vec<_> = response(wire).tool_calls().collect().await;
        items
            .into_iter()
            .map(|item| item.map_or_else(|error| error.to_string(), |call| call.name))
            .collect::<Vec<_>>()
    };
    let done = "data: [DONE]\n\n";
    let error = "data: {\"error\":\"down\"}\n\n";
    assert_eq!(items(&[&whole, done].concat()).await, ["f"]);
    assert_eq!(items(&[&whole, error, done].concat()).await, ["the provider failed: down"]);
    assert_eq!(
        items(&whole).await,
        ["the response is incomplete: the stream ended without a finish reason or `[DONE]`"]
    );
    // A response that reached its token limit is a complete source: a reject, not an error.
    let cut = [&whole, &chunk("{}", "length")[..], done].concat();
    assert_eq!(items(&cut).await, [""; 0]);
    let mut calls = response(&cut).tool_calls();
    assert!(calls.next().await.is_none());
    assert_eq!((calls.report().rejected(), calls.report().is_complete()), (1, true));
    assert_eq!(calls.parser().finish_reason(0).expect("a reason").as_str(), "length");
}

#[tokio::test]
async fn items_without_result() {
    let wire = [text("{\"a\":1}\n{\"a\":x}\n{\"a\":3}\n"), "data: [DONE]\n\n".to_owned()].concat();
    let mut records = response(&wire).records().infallible();
    let mut seen = Vec::new();
    while let Some(record) = records.next().await {
        seen.push(record.value.to_string());
    }
    assert_eq!(seen, ["{\"a\":1}", "{\"a\":3}"]);
    assert!(records.error().is_none() && records.report().is_complete() && records.is_terminated());
    assert_eq!(records.report().rejected(), 1);

    let mut calls = response(&call("c1", "f", "{}")).tool_calls().infallible();
    assert!(calls.next().await.is_none() && calls.next().await.is_none());
    assert!(matches!(calls.error(), Some(ResponseError::Incomplete(_))));
    assert_eq!(calls.report().by_code().len(), 2);
}

#[tokio::test]
async fn native_and_textual_calls_are_one_stream() {
    let wire = [
        text("Here: {\"name\":\"a\",\"parameters\":{}}\n"),
        call("c1", "b", "{}"),
        chunk("{}", "tool_calls"),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    let calls: Vec<_> = response(&wire).tool_calls().try_collect().await.expect("a complete response");
    assert_eq!(calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    // Unless the text is read as plain text.
    let stream = ResponseStream::new(source(&wire, 7), parser(TextMode::Text));
    let calls: Vec<_> = stream.tool_calls().try_collect().await.expect("a complete response");
    assert_eq!(calls.len(), 1);
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls until it is ready or would wait; returns how often it asked to be polled again.
fn rounds<S: Stream + Unpin>(mut stream: S) -> (usize, Option<S::Item>) {
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(count.clone());
    let mut rounds = 0;
    loop {
        if let Poll::Ready(item) = stream.poll_next_unpin(&mut Context::from_waker(&waker)) {
            return (rounds, item);
        }
        rounds += 1;
        assert_eq!(count.0.load(Ordering::Relaxed), rounds, "it asks to be polled again");
    }
}

#[test]
fn one_poll_is_bounded() {
    // Comments only; then events of another kind only.
    let quiet = stream::iter(vec![Ok::<_, ()>(": keep-alive\n\n"); 10_000]);
    let (came_back, item) = rounds(ResponseStream::new(quiet, parser(TextMode::Records)));
    assert!(came_back > 100, "{came_back}");
    assert!(matches!(item, Some(Ok(ResponseEvent::Rejected { .. }))));

    let texts = stream::iter(vec![Ok::<_, ()>(text("word ")); 10_000]);
    let (came_back, item) = rounds(ResponseStream::new(texts, parser(TextMode::Records)).tool_calls());
    assert!(came_back > 10, "{came_back}");
    assert!(matches!(item, Some(Err(ResponseError::Incomplete(_)))));
}

#[test]
fn it_can_be_sent_to_another_thread() {
    fn assert_send<T: Send>(_: &T) {}
    let body = stream::iter([Ok::<_, std::io::Error>("data: [DONE]\n\n")]);
    let stream = ResponseStream::new(body, parser(TextMode::Records));
    assert_send(&stream);
    assert_send(&stream.tool_calls().infallible());
}
