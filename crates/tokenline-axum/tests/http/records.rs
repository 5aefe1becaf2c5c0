//! `RecordsResponse` and `RecordsFormat`.

use std::io::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use tokenline::json::Raw;
use tokenline::llm::replay::{self, Chunking, Gate, Pace, Recording, ReplayServer};
use tokenline::{
    ChatRequest, JsonlStreamParser, LlmClient, Options, Provider, Record, ResponseParser, ResponseStream,
};
use tokenline_axum::{Entry, IntoEntry, RecordsFormat, RecordsResponse};

use crate::common::{Client, Once, Response, Source, serve, soon};

const NDJSON: &str = "accept: application/x-ndjson\r\n";
const SSE: &str = "accept: text/event-stream\r\n";

/// A server with one response, in the format of the request.
async fn serve_once<S, T>(
    records: S,
    respond: impl FnOnce(RecordsResponse<S>) -> RecordsResponse<S> + Send + 'static,
) -> String
where
    S: Stream<Item = Result<T, Error>> + Send + 'static,
    T: IntoEntry + 'static,
{
    let parts = Once::new((records, respond));
    let handler = move |format: RecordsFormat| async move {
        let (records, respond) = parts.take();
        respond(RecordsResponse::from_entries(format, records))
    };
    serve(Router::new().route("/", get(handler))).await
}

fn body(text: &'static str) -> impl Stream<Item = Result<&'static str, Error>> + Send {
    stream::iter([Ok(text)])
}

/// A good record with unusual literals, a reject, one on two lines, and prose.
const TEXT: &str = "Here:\n{\"n\":1.50,\"big\":1e400,\"s\":\"\\u00e9\"}\n{\"n\":NaN}\n{\"n\":\n 2}\n";
const FIRST: &str = "{\"n\":1.50,\"big\":1e400,\"s\":\"\\u00e9\"}";

fn raw() -> JsonlStreamParser<impl Stream<Item = Result<&'static str, Error>> + Send, Raw> {
    JsonlStreamParser::new(body(TEXT))
}

async fn response_of<S, T, E>(records: impl Fn() -> S, accept: &str) -> Response
where
    S: Stream<Item = Result<T, E>> + Send + 'static,
    T: IntoEntry + 'static,
    E: Into<axum::BoxError> + Send + 'static,
{
    let records = records().map_err(|error| Error::other(error.into()));
    let address = serve_once(records, |response| response).await;
    Client::get(&address, accept).await.response().await
}

#[tokio::test]
async fn ndjson_is_records_and_nothing_else() {
    for response in [
        response_of(|| raw().records(), NDJSON).await,
        response_of(raw, NDJSON).await,
        response_of(|| raw().values().map_ok(Entry::Record), "").await,
    ] {
        assert_eq!((response.status(), response.is_complete), (200, true));
        assert_eq!(response.header("content-type"), Some("application/x-ndjson"));
        assert_eq!(response.header("cache-control"), Some("no-store, no-transform"));
        assert_eq!(response.header("x-accel-buffering"), Some("no"));
        assert_eq!(response.body, format!("{FIRST}\n{{\"n\":2}}\n"));
    }
    let response = response_of(raw, "accept: application/jsonl\r\n").await;
    assert_eq!(response.header("content-type"), Some("application/jsonl"));
    assert_eq!(response.body, format!("{FIRST}\n{{\"n\":2}}\n"));
}

#[tokio::test]
async fn server_sent_events_have_rejects_and_an_end() {
    let record = |id, value: &str| format!("id: {id}\nevent: record\ndata: {value}\n\n");
    let response = response_of(raw, SSE).await;
    assert_eq!((response.status(), response.is_complete), (200, true));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let diagnostic = "{\"code\":\"malformed_json\",\"line\":3,\"start\":42,\"end\":51,\"column\":6,\
                      \"message\":\"expected a value, found a letter\"}";
    let expected = "id: 0\n\n".to_owned()
        + &record(1, FIRST)
        + &format!("id: 2\nevent: rejected\ndata: {diagnostic}\n\n")
        + &record(3, "{\"n\":2}")
        + "id: 4\nevent: done\ndata: {\"records\":2,\"rejected\":1}\n\n";
    assert_eq!(response.body, expected);

    let records = "id: 0\n\n".to_owned()
        + &record(1, FIRST)
        + &record(2, "{\"n\":2}")
        + "id: 3\nevent: done\ndata: {\"records\":2}\n\n";
    assert_eq!(response_of(|| raw().records(), SSE).await.body, records);
}

#[tokio::test]
async fn plain_values_are_records() {
    let values = || stream::iter([Ok::<_, Error>(1), Ok(2)]);
    for (accept, body) in [
        (NDJSON, "1\n2\n"),
        (
            SSE,
            "id: 0\n\nid: 1\nevent: record\ndata: 1\n\nid: 2\nevent: record\ndata: 2\n\n\
             id: 3\nevent: done\ndata: {\"records\":2}\n\n",
        ),
    ] {
        let handler =
            move |format: RecordsFormat| async move { RecordsResponse::from_values(format, values()) };
        let address = serve(Router::new().route("/", get(handler))).await;
        assert_eq!(Client::get(&address, accept).await.response().await.body, body);
    }
}

#[tokio::test]
async fn the_accept_header_decides() {
    let handler = |format: RecordsFormat| async move { format.content_type() };
    let address = serve(Router::new().route("/", get(handler))).await;
    for (headers, body) in [
        ("", "application/x-ndjson"),
        ("accept: */*\r\n", "application/x-ndjson"),
        ("accept: text/event-stream\r\naccept: application/jsonl;q=0.9\r\n", "text/event-stream"),
        ("accept: text/event-stream;q=0.3, application/jsonl;q=0.9\r\n", "application/jsonl"),
        ("accept: text/event-stream;q=0\r\naccept: */*;q=0.1\r\n", "application/x-ndjson"),
        // An interrupted NDJSON response may be requested again.
        ("last-event-id: 3\r\n", "application/x-ndjson"),
    ] {
        assert_eq!(Client::get(&address, headers).await.response().await.body, body, "{headers}");
    }
    for headers in ["accept: application/json\r\n", "accept: */*;q=0\r\n", "accept: \u{e9}\r\n"] {
        let response = Client::get(&address, headers).await.response().await;
        assert_eq!(response.status(), 406, "{headers}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert!(
            response.body.starts_with("{\"code\":\"not_acceptable\",\"message\":\""),
            "{}",
            response.body
        );
        assert!(response.body.contains("accept `application/x-ndjson`"), "{}", response.body);
    }
}

/// Running the handler again would ask the model again.
#[tokio::test]
async fn an_event_source_that_reconnects_is_stopped() {
    let address = serve_once(raw().map_err(Error::other), |response| response).await;
    for id in ["0", "4"] {
        let headers = format!("{SSE}last-event-id: {id}\r\n");
        let response = Client::get(&address, &headers).await.response().await;
        assert_eq!(
            (response.status(), response.header("cache-control")),
            (204, Some("no-store, no-transform"))
        );
    }
}

/// The first record, then a failure with a secret in its text.
fn failing() -> impl Stream<Item = Result<Record<Raw>, Error>> + Send {
    let chunks = [Ok("{\"a\":1}\n{\"a\":"), Err(Error::other("key sk-1234"))];
    JsonlStreamParser::new(stream::iter(chunks)).records().map_err(Error::other)
}

#[tokio::test]
async fn a_failing_source_breaks_the_lines_off() {
    let response = response_of(failing, NDJSON).await;
    assert_eq!((response.body.as_str(), response.is_complete), ("{\"a\":1}\n", false));
}

#[tokio::test]
async fn a_failing_source_is_an_event_that_keeps_secrets() {
    let response = response_of(failing, SSE).await;
    let error = "id: 2\nevent: error\ndata: {\"message\":\"the source of the records failed\"}\n\n";
    assert!(response.body.ends_with(&("data: {\"a\":1}\n\n".to_owned() + error)), "{}", response.body);
    assert!(response.is_complete && !response.body.contains("sk-1234"));
}

#[tokio::test]
async fn the_hook_sees_the_error_and_chooses_the_message() {
    for (accept, end) in [(SSE, "data: {\"message\":\"try \\\"again\\\"\"}\n\n"), (NDJSON, "{\"a\":1}\n")] {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let address = serve_once(failing(), |response| {
            response.on_error(move |error| {
                sender.send(error.to_string()).expect("the test waits");
                "try \"again\"".to_owned()
            })
        });
        let response = Client::get(&address.await, accept).await.response().await;
        assert!(response.body.ends_with(end), "{}", response.body);
        let error = soon("the hook", receiver).await.expect("it was called");
        assert_eq!(error, "the source failed after 13 bytes: key sk-1234");
    }
}

/// `1.0` is not a key of a JSON object.
#[tokio::test]
async fn a_value_that_is_not_json_is_a_failure() {
    let values =
        || stream::iter([Ok::<_, Error>(Entry::Record(std::collections::BTreeMap::from([((1, 2), 3)])))]);
    let response = response_of(values, NDJSON).await;
    assert_eq!((response.body.as_str(), response.is_complete), ("", false));
}

/// A provider's error is an event of the stream, and ends the response nevertheless.
#[tokio::test]
async fn a_failing_provider_ends_the_events() {
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":1}\\n\"}}]}\n\n";
    for end in ["", "data: {\"error\":{\"message\":\"overloaded sk-1234\"}}\n\n"] {
        let events = || {
            let chunks = stream::iter([Ok::<_, Error>(delta.to_owned()), Ok(end.to_owned())]);
            let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
            ResponseStream::new(chunks, parser)
        };
        let response = response_of(events, NDJSON).await;
        assert_eq!((response.body.as_str(), response.is_complete), ("{\"a\":1}\n", false), "{end}");
        let response = response_of(events, SSE).await;
        assert!(response.body.contains("event: error") && !response.body.contains("event: done"), "{end}");
        assert!(!response.body.contains("sk-1234"), "{}", response.body);
    }
}

/// 100 MB of records.
fn endless() -> impl Stream<Item = Result<Entry<String>, Error>> + Send {
    let record = "x".repeat(10_000);
    stream::iter(0..10_000).map(move |_| Ok(Entry::Record(record.clone())))
}

#[tokio::test]
async fn a_reader_that_does_not_read_stops_the_source() {
    for accept in [NDJSON, SSE] {
        let (records, mut watch) = Source::new(endless());
        let client = Client::get(&serve_once(records, |response| response).await, accept).await;
        let polled = watch.settled().await * 10_000;
        println!("{accept:?}: {polled} bytes polled for a reader that does not read");
        assert!((1..12_000_000).contains(&polled), "{polled} bytes");
        drop(client);
        watch.dropped().await;
    }
}

#[tokio::test]
async fn a_reader_that_reads_slowly_gets_everything() {
    let (records, watch) = Source::new(endless().take(2_000));
    let mut client = Client::get(&serve_once(records, |response| response).await, NDJSON).await;
    let stalled = watch.settled().await;
    client.read_until("\"xxx").await;
    let response = client.response().await;
    assert!(response.is_complete && stalled < 2_000);
    assert_eq!((response.body.lines().count(), watch.count()), (2_000, 2_000));
}

#[tokio::test]
async fn a_reader_that_leaves_drops_a_silent_source() {
    for accept in [NDJSON, SSE] {
        let records = failing().take(1).chain(stream::pending());
        let (records, mut watch) = Source::new(records);
        let mut client = Client::get(&serve_once(records, |response| response).await, accept).await;
        client.read_until("{\"a\":1}").await;
        watch.dropped_without(client).await;
    }
}

/// Rejects and prose do not fill the connection, so they must not keep the server from noticing.
#[tokio::test]
async fn a_reader_that_leaves_drops_a_source_without_records() {
    let prose = stream::repeat_with(|| Ok::<_, Error>(Entry::<u8>::Nothing));
    let (records, mut watch) = Source::new(prose);
    let client = Client::get(&serve_once(records, |response| response).await, NDJSON).await;
    while watch.count() == 0 {
        tokio::task::yield_now().await;
    }
    drop(client);
    watch.dropped().await;
}

/// An upstream model behind a gate, through the client.
async fn upstream(recording: Recording, accept: &str) -> (ReplayServer, Client) {
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port");
    let model = Arc::new(LlmClient::new(Provider::OpenAiChat, server.url()).expect("a client"));
    let handler = move |format: RecordsFormat| async move {
        let request = ChatRequest::new("definitions").user("?");
        match model.stream(&request).expect("a request").send().await {
            Ok(response) => RecordsResponse::new(format, response).into_response(),
            Err(error) => error.to_string().into_response(),
        }
    };
    let address = serve(Router::new().route("/", get(handler))).await;
    (server, Client::get(&address, accept).await)
}

fn pieces_of(bytes: usize) -> Pace {
    Pace::from(Chunking::Bytes(NonZeroUsize::new(bytes).expect("not zero")))
}

fn definitions() -> Recording {
    replay::builtin().into_iter().find(|recording| recording.name() == "definitions").expect("it is built in")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_closes_the_connection_to_the_model() {
    for accept in [NDJSON, SSE] {
        let gate = Gate::new();
        let (server, mut client) = upstream(definitions().pace(pieces_of(4096)).gate(&gate), accept).await;
        gate.release(4);
        client.read_until("\"entity\": ").await;
        // The model is silent now: the gate is closed.
        let left = Instant::now();
        drop(client);
        let closed = server.wait_for(|traffic| traffic.bodies_dropped == 1);
        soon("the connection to the model closes", closed).await;
        println!("{accept:?}: the model's connection closed after {:?}", left.elapsed());
        assert!(left.elapsed() < Duration::from_secs(1), "{:?}", left.elapsed());
    }
}

/// A response of 100 MB from the model.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_stops_the_model() {
    let record = format!("{{\\\"entity\\\":\\\"{}\\\"}}\\n", "x".repeat(10_000));
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{record}\"}}}}]}}\n\n");
    let recording = Recording::new("definitions", event.repeat(100_000_000 / event.len()));
    let (server, client) = upstream(recording.pace(pieces_of(16 * 1024)), NDJSON).await;
    let mut last = 0;
    let sent = loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        match server.traffic().body_bytes {
            0 => {}
            sent if sent == last => break sent,
            sent => last = sent,
        }
    };
    println!("{sent} bytes of the model were read for a reader that does not read");
    assert!(sent < 30_000_000, "{sent} bytes");
    drop(client);
}
