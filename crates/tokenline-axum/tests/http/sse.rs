//! Server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use tokenline_axum::sse::{FieldValue, ServerSentEvent, SseResponse};

use crate::common::{Client, Once, Source, serve};

type Events = Result<ServerSentEvent, std::io::Error>;

/// A server whose only response is made of `response`.
async fn serve_once<S>(response: SseResponse<S>) -> String
where
    SseResponse<S>: axum::response::IntoResponse + Send + 'static,
{
    let response = Once::new(response);
    serve(Router::new().route("/", get(move || async move { response.take() }))).await
}

fn numbered() -> impl Stream<Item = Events> {
    const TICK: FieldValue = FieldValue::from_static("tick");
    stream::iter(1..=2_u64).map(|n| Ok(ServerSentEvent::new("a\nb").with_name(TICK).with_id(n)))
}

#[tokio::test]
async fn events_arrive_with_headers_for_proxies() {
    let (events, mut watch) = Source::new(numbered());
    let response = Client::get(&serve_once(SseResponse::new(events)).await, "").await.response().await;
    assert_eq!((response.status(), response.is_complete), (200, true));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.header("cache-control"), Some("no-store, no-transform"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    let event = |id| format!("id: {id}\nevent: tick\ndata: a\ndata: b\n\n");
    assert_eq!(response.body, event(1) + &event(2));
    watch.dropped().await;
}

#[tokio::test]
async fn a_failure_breaks_the_connection_off() {
    let failure = stream::iter([Ok(ServerSentEvent::new("a")), Err(std::io::Error::other("gone"))]);
    let response = Client::get(&serve_once(SseResponse::new(failure)).await, "").await.response().await;
    assert_eq!((response.body.as_str(), response.is_complete), ("data: a\n\n", false));
}

#[tokio::test]
async fn comments_keep_a_silent_connection_alive() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<&'static str>(1);
    let events = stream::poll_fn(move |cx| receiver.poll_recv(cx))
        .map(|text| Ok::<_, Infallible>(ServerSentEvent::new(text)));
    let response = SseResponse::new(events).with_keep_alive(Duration::from_millis(20));
    let mut client = Client::get(&serve_once(response).await, "").await;
    client.read_until(": keep-alive\n\n").await;
    sender.send("one").await.expect("it is read");
    client.read_until("data: one\n\n").await;
    client.received.clear();
    client.read_until(": keep-alive\n\n").await;
}

/// 100 MB and a reader that reads nothing: what is polled fits the buffers of the sockets.
#[tokio::test]
async fn a_reader_that_does_not_read_stops_the_stream() {
    const CHUNK: u64 = 10_000;
    let chunk = Bytes::from(ServerSentEvent::new("x".repeat(CHUNK as usize)));
    let (events, mut watch) =
        Source::new(stream::iter(0..10_000).map(move |_| Ok::<_, Infallible>(chunk.clone())));
    let client = Client::get(&serve_once(SseResponse::new(events)).await, "").await;
    let polled = watch.settled().await * CHUNK;
    println!("{polled} bytes polled for a reader that does not read");
    assert!((1..12_000_000).contains(&polled), "{polled} bytes");
    drop(client);
    watch.dropped().await;
}

#[tokio::test]
async fn a_reader_that_leaves_drops_a_silent_stream() {
    let (events, mut watch) =
        Source::new(stream::iter([Ok::<_, Infallible>(ServerSentEvent::new("a"))]).chain(stream::pending()));
    let mut client = Client::get(&serve_once(SseResponse::new(events)).await, "").await;
    client.read_until("data: a").await;
    watch.dropped_without(client).await;
}

/// Also one that ends beyond the times of the clock.
#[tokio::test]
async fn keep_alive_may_be_of_any_length() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<&'static str>(1);
    let events = stream::poll_fn(move |cx| receiver.poll_recv(cx))
        .map(|text| Ok::<_, Infallible>(ServerSentEvent::new(text)));
    let response = SseResponse::new(events).with_keep_alive(Duration::MAX);
    let mut client = Client::get(&serve_once(response).await, "").await;
    for text in ["one", "two", "three"] {
        sender.send(text).await.expect("it is read");
        client.read_until(&format!("data: {text}\n\n")).await;
    }
}
