//! Responses over an event source and real loopback HTTP: one POST, the first error is the last item, and only a
//! complete response is a success.

#[path = "../common/mod.rs"]
mod common;
mod errors;
mod server;

use std::error::Error;
use std::future::Future;
use std::iter;
use std::time::Duration;

use common::{Seen, chunk, decode, fixtures, parser, parser_of, text};
use futures_util::StreamExt;
use futures_util::future::{join_all, ready};
use futures_util::stream::FusedStream;
use reqwest::{Client, RequestBuilder};
use reqwest_eventsource::{Event, EventSource, RequestBuilderExt};
use server::{Server, Then};
use tokenline_codec::{JsonlStreamParser, StreamError};
use tokenline_core::json::Raw;
use tokenline_llm::event_source::{EventSourceBody, EventSourceError};
use tokenline_llm::replay::{ContentType, Fault, Gate, Pace, Recording, ReplayServer};
use tokenline_llm::{Provider, ResponseError, ResponseStream, TextMode};
use tokio::net::TcpListener;

const REQUEST: &str = "{\"model\":\"any\",\"stream\":true}";
const DONE: &str = "data: [DONE]\n\n";
/// Longer than the 300 ms after which an event source retries.
const WAIT: Duration = Duration::from_millis(400);

/// Fails instead of hanging.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it never came")
}

async fn serve(recording: Recording) -> ReplayServer {
    ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port")
}

fn request(url: &str) -> RequestBuilder {
    request_at(url, Provider::OpenAiChat)
}

fn request_at(url: &str, provider: Provider) -> RequestBuilder {
    let client = Client::builder().no_proxy().build().expect("a client without TLS");
    let path = provider.path().replace('*', "any");
    client.post(format!("{url}{path}?key=SECRET")).body(REQUEST)
}

fn event_source(url: &str) -> EventSource {
    request(url).eventsource().expect("a request that can be cloned")
}

fn response(url: &str) -> ResponseStream<EventSourceBody> {
    ResponseStream::new(EventSourceBody::new(event_source(url)), parser(TextMode::Records))
}

/// Two records, the second one without a line end.
fn two_records() -> String {
    text("{\"n\":1}\n") + &text("{\"n\":2}")
}

/// An error and its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = iter::successors(Some(error), |error| (*error).source()).map(ToString::to_string);
    let chain = causes.collect::<Vec<_>>().join(": ");
    assert!(!chain.contains("SECRET") && !format!("{error:?}").contains("SECRET"), "{error:?}");
    chain
}

/// The delivered items, and the error, after which nothing follows.
async fn read<I, E: Error + 'static>(
    mut stream: impl FusedStream<Item = Result<I, E>> + Unpin,
) -> (Vec<I>, Option<E>) {
    let (mut items, mut error) = (Vec::new(), None);
    while let Some(item) = soon(stream.next()).await {
        match item {
            Ok(item) if error.is_none() => items.push(item),
            Ok(_) => panic!("an item after the error"),
            Err(first) => assert!(error.replace(first).is_none(), "one error"),
        }
    }
    for _ in 0..5 {
        assert!(soon(stream.next()).await.is_none() && stream.is_terminated());
        tokio::time::sleep(WAIT / 5).await;
    }
    if let Some(error) = &error {
        chain(error);
    }
    (items, error)
}

/// The text of the records, and the error of the source or the response.
async fn records(url: &str) -> (Vec<String>, Option<ResponseError<EventSourceError>>) {
    let (records, error) = read(response(url).records()).await;
    (records.into_iter().map(|record| record.value.to_string()).collect(), error)
}

/// The error of a source that yields nothing else.
async fn source_error(url: &str) -> EventSourceError {
    let (body, error) = read(EventSourceBody::new(event_source(url))).await;
    assert!(body.is_empty(), "{body:?}");
    error.expect("an error")
}

#[tokio::test]
async fn a_complete_response() {
    let wire = [two_records(), chunk("{}", "stop"), DONE.to_owned()].concat();
    let server = serve(Recording::new("good", wire).pace(Pace::events())).await;
    let (seen, error) = records(&server.url()).await;
    assert_eq!(seen, ["{\"n\":1}", "{\"n\":2}"]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(server.traffic().requests, 1);

    // Through the text, like any other stream of bytes.
    let mut values = JsonlStreamParser::<_, Raw>::new(response(&server.url()).text()).values();
    let (seen, error) = read(&mut values).await;
    assert_eq!(seen.iter().map(ToString::to_string).collect::<Vec<_>>(), ["{\"n\":1}", "{\"n\":2}"]);
    assert!(error.is_none() && values.report().is_complete());
    assert_eq!(server.traffic().requests, 2);
}

#[tokio::test]
async fn a_silent_close_is_an_error() {
    let wire = [two_records(), chunk("{}", "stop"), DONE.to_owned()].concat();
    let recording = Recording::new("silent", wire).fault(Fault::EndAfter(two_records().len()));
    let server = serve(recording).await;
    let (seen, error) = records(&server.url()).await;
    assert_eq!(seen, ["{\"n\":1}", "{\"n\":2}"]);
    assert_eq!(
        error.expect("an error").to_string(),
        "the response is incomplete: the stream ended without a finish reason or `[DONE]`"
    );
    assert_eq!(server.traffic().requests, 1);

    // A parser of the text does not take it for a success either.
    let (seen, error) = read(JsonlStreamParser::<_, Raw>::new(response(&server.url()).text()).values()).await;
    assert_eq!(seen.len(), 2);
    assert!(matches!(error.and_then(StreamError::into_source), Some(ResponseError::Incomplete(_))));
}

#[tokio::test]
async fn a_broken_connection() {
    let wire = two_records() + &text("\n");
    let server =
        serve(Recording::new("broken", wire).fault(Fault::BreakAfter(two_records().len() + 9))).await;
    let (seen, error) = records(&server.url()).await;
    assert_eq!(seen, ["{\"n\":1}", "{\"n\":2}"]);
    let Some(ResponseError::Source(error @ EventSourceError::Interrupted(_))) = error else {
        panic!("{error:?}")
    };
    assert!(
        chain(&error).starts_with("the connection broke before the response ended: "),
        "{}",
        chain(&error)
    );
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn a_connection_reset_before_the_response() {
    let server = Server::start("", Then::Reset).await;
    let error = source_error(&server.url()).await;
    assert!(matches!(error, EventSourceError::NoResponse(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the connection failed before the server responded; the server may have received the request"
    );
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_refused_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("its address");
    drop(listener);
    let mut body = EventSourceBody::new(event_source(&format!("http://{addr}")));
    let Some(Err(error @ EventSourceError::Connect(_))) = soon(body.next()).await else { panic!() };
    assert_eq!(error.to_string(), "cannot connect to the server; nothing was sent");
    assert!(chain(&error).to_lowercase().contains("refused"), "{}", chain(&error));

    // Nothing is sent later, once there is a server.
    let server = Server::start_at(addr, "", Then::Close).await;
    assert!(read(body).await.0.is_empty());
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn a_server_that_asks_for_a_pause() {
    let wire = [two_records(), "retry: 1\n\n".to_owned(), "retry: 1\ndata: {}\n\n".to_owned()].concat();
    let server = serve(Recording::new("feed", wire)).await;
    let (seen, error) = records(&server.url()).await;
    assert_eq!(seen.len(), 2);
    assert!(matches!(error, Some(ResponseError::Incomplete(_))), "{error:?}");
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn an_error_inside_the_stream() {
    let failure = "event: error\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let server = serve(Recording::new("failing", [&two_records(), failure].concat())).await;
    let (seen, error) = records(&server.url()).await;
    assert_eq!(seen, ["{\"n\":1}", "{\"n\":2}"]);
    assert_eq!(error.expect("an error").to_string(), "the provider failed: overloaded");
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn bytes_that_are_not_utf_8() {
    let rest = [&text("{\"n\":3}\n"), DONE].concat();
    let wire = [two_records().as_bytes(), b"data: \xFF\n\n", rest.as_bytes()].concat();
    let server = serve(Recording::new("mangled", wire).pace(Pace::events())).await;
    let (seen, error) = records(&server.url()).await;
    assert_eq!(seen, ["{\"n\":1}", "{\"n\":2}"]);
    let Some(ResponseError::Source(EventSourceError::NotUtf8 { unread })) = error else {
        panic!("{error:?}")
    };
    assert_eq!(unread, b"\xFF\n\n".len() + rest.len());
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn a_byte_order_mark() {
    let server = serve(Recording::new("marked", ["\u{feff}", &two_records(), DONE].concat())).await;
    let error = source_error(&server.url()).await;
    assert!(matches!(error, EventSourceError::Failed(_)), "{error:?}");
    assert_eq!(server.traffic().requests, 1);
}

/// Streams after which an event source retries, including a clean end.
fn endings() -> [Recording; 5] {
    let wire = two_records() + DONE;
    let [cut, broken] = [Fault::EndAfter(9), Fault::BreakAfter(9)];
    [
        Recording::new("good", wire.clone()),
        Recording::new("silent", wire.clone()).fault(cut),
        Recording::new("broken", wire.clone()).fault(broken),
        Recording::new("feed", "retry: 1\ndata: {}\n\n"),
        Recording::new("mangled", [wire.as_bytes(), b"\xFF"].concat()),
    ]
}

#[tokio::test]
async fn the_body_never_retries() {
    // Side by side: each waits for a retry that does not come.
    let checks = endings().into_iter().map(|recording| async move {
        let name = recording.name().to_owned();
        let server = serve(recording).await;
        let (_, error) = read(EventSourceBody::new(event_source(&server.url()))).await;
        assert_eq!(error.is_none(), ["good", "silent", "feed"].contains(&&*name), "{name}: {error:?}");
        assert_eq!(server.traffic().requests, 1, "{name}");
    });
    join_all(checks).await;
}

#[tokio::test]
async fn a_bare_event_source_retries() {
    // Shows that the tests above could fail: this takes 300 ms after the end, before they finish.
    for recording in endings() {
        let name = recording.name().to_owned();
        let server = serve(recording).await;
        let source = event_source(&server.url()).for_each(|_| ready(()));
        let asked_again = async {
            tokio::select! {
                () = source => panic!("{name}: it never ends"),
                traffic = server.wait_for(|traffic| traffic.requests >= 2) => traffic,
            }
        };
        soon(asked_again).await;
    }
}

#[tokio::test]
async fn dropping_it_closes_the_connection() {
    let gate = Gate::new();
    let server = serve(Recording::new("gated", two_records() + DONE).pace(Pace::events()).gate(&gate)).await;
    let mut records = response(&server.url()).records();
    gate.release(1);
    assert_eq!(soon(records.next()).await.expect("a record").expect("no error").line, 1);
    assert_eq!(server.traffic().open_connections, 1);
    drop(records);
    let traffic = soon(server.wait_for(|traffic| traffic.open_connections == 0)).await;
    assert_eq!((traffic.bodies_dropped, traffic.requests), (1, 1));
}

#[tokio::test]
async fn a_source_that_was_polled_before() {
    let server = serve(Recording::new("good", two_records() + DONE)).await;
    let mut source = event_source(&server.url());
    assert!(matches!(soon(source.next()).await, Some(Ok(Event::Open))));
    let (body, error) = read(EventSourceBody::new(source)).await;
    assert_eq!(body.concat(), two_records() + DONE);
    assert!(error.is_none());

    let mut closed = event_source(&server.url());
    closed.close();
    let (records, error) =
        read(ResponseStream::new(EventSourceBody::new(closed), parser(TextMode::Text)).records()).await;
    assert!(records.is_empty() && matches!(error, Some(ResponseError::Incomplete(_))));
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_polled() {
    let server = serve(Recording::new("good", DONE)).await;
    let body = EventSourceBody::new(event_source(&server.url()));
    tokio::time::sleep(WAIT / 5).await;
    assert_eq!(server.traffic().requests, 0);
    assert_eq!(format!("{body:?}"), "EventSourceBody { has_responded: false, is_ended: false, .. }");
    drop(body);
}

#[tokio::test]
async fn every_fixture_yields_the_same_events() {
    let mut others = Vec::new();
    for provider in Provider::ALL.iter().copied().filter(|provider| *provider != Provider::Ollama) {
        for file in fixtures(provider)
            .into_iter()
            .filter(|file| file.extension().is_some_and(|extension| extension == "sse"))
        {
            let recording = Recording::from_file(&file).expect("it can be read");
            let direct = decode(&mut parser_of(provider, TextMode::Records), [&recording.bytes()[..]]);
            let server = serve(recording.content_type(ContentType::EventStream)).await;
            let source = request_at(&server.url(), provider).eventsource();
            let body = EventSourceBody::new(source.expect("a request that can be cloned"));
            let mut response = ResponseStream::new(body, parser_of(provider, TextMode::Records));
            let mut events = Vec::new();
            while let Some(Ok(event)) = soon(response.next()).await {
                events.push(event);
            }
            let parser = response.parser();
            let (is_complete, unknown) = (parser.is_complete(), parser.unknown().to_string());
            let over = Seen { events, is_complete, unknown, report: parser.report().clone() };
            assert_eq!(server.traffic().requests, 1, "{file:?}");
            if (over.summary(), is_complete, &over.unknown)
                != (direct.summary(), direct.is_complete, &direct.unknown)
            {
                others.push(file.file_name().expect("a name").to_owned());
            }
        }
    }
    // It ends inside an event, which the source drops: the only sign is the incomplete response.
    assert_eq!(others, ["silent-close-in-chunk.sse"]);
}
