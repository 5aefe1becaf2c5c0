//! `JsonLines`.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request};
use axum::response::IntoResponse as _;
use axum::routing::post;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::json::Raw;
use tokenline::{Event, Limits, Record, SchemaValidator};
use tokenline_axum::{JsonLines, JsonLinesError};
use tokio::sync::{mpsc, watch};

use crate::common::{self, Client, serve, soon};

#[derive(Debug, Deserialize, JsonSchema)]
struct Fact {
    entity: String,
    #[schemars(range(max = 9))]
    n: u8,
}

/// Every kind of line: good, empty, malformed, too many braces, against the schema, not UTF-8, ended by CRLF and by
/// the end of the body.
const BODY: &[u8] = b"{\"entity\":\"D\xc3\xa9A\",\"n\":1}\n\n{\"entity\":}\r\n{\"entity\":\"b\",\"n\":2}}\n\
    {\"entity\":\"b\",\"n\":30}\r\n[]\n{\"entity\":\"\xff\",\"n\":1}\n{\"entity\":\"z\",\"n\":9}";

const EVENTS: &str = "1: DéA 1
3:11: malformed_json: expected a value, found `}`
4:21: trailing_data: the object is balanced, but the line goes on with `}`
5:19: schema_violation: more than the maximum 9 (at /n)
6:1: not_an_object: expected an object, found an array
7:12: invalid_utf8: the line is not UTF-8
8: z 9
";

/// The events as text.
async fn events(mut lines: JsonLines<Fact>) -> String {
    let mut text = String::new();
    while let Some(event) = lines.next().await {
        text += &match event {
            Ok(Event::Record(Record { line, value, .. })) => {
                format!("{line}: {} {}\n", value.entity, value.n)
            }
            Ok(Event::Rejected(diagnostic)) => format!("{diagnostic}\n"),
            Ok(event) => panic!("{event:?}"),
            Err(error) => format!("error: {error}\n"),
        };
    }
    text
}

async fn values(lines: JsonLines<Fact>) -> Result<String, JsonLinesError> {
    Ok(lines.values().try_collect::<Vec<Fact>>().await?.len().to_string())
}

/// How many bytes of the body have arrived, for clients that wait until the server has read a part.
fn counted(request: Request, arrived: watch::Sender<usize>) -> Request {
    request.map(|body| {
        let count = move |chunk: &Bytes| arrived.send_modify(|sum| *sum += chunk.len());
        Body::from_stream(body.into_data_stream().inspect_ok(count))
    })
}

fn head(headers: &str) -> String {
    format!("POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\r\n")
}

fn sized(length: usize) -> String {
    head(&format!("content-type: application/x-ndjson\r\ncontent-length: {length}\r\n"))
}

fn chunked() -> String {
    head("content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n")
}

/// Sends a body with a length as a whole.
async fn send(address: &str, body: &[u8]) -> common::Response {
    let mut client = Client::connect(address).await;
    client.write(&[sized(body.len()).as_bytes(), body].concat()).await;
    client.response().await
}

#[tokio::test]
async fn any_cut_of_the_body_gives_the_same_events() {
    let arrived = watch::Sender::new(0);
    let sender = arrived.clone();
    let handler = move |request: Request| async move {
        let lines = JsonLines::from_request(counted(request, sender), &()).await.expect("JSON Lines");
        events(lines).await
    };
    let address = serve(Router::new().route("/", post(handler))).await;
    let every_byte: Vec<usize> = (1..BODY.len()).collect();
    let cuts = (1..BODY.len()).map(|cut| vec![cut]).chain([vec![], every_byte]);
    for cuts in cuts {
        arrived.send_replace(0);
        let mut client = Client::connect(&address).await;
        client.write(sized(BODY.len()).as_bytes()).await;
        let mut from = 0;
        for &cut in &cuts {
            client.write(&BODY[from..cut]).await;
            from = cut;
            soon("the server reads", arrived.subscribe().wait_for(|sum| *sum == cut))
                .await
                .expect("a sender");
        }
        client.write(&BODY[from..]).await;
        let response = client.response().await;
        assert_eq!(response.body, EVENTS, "{cuts:?}");
    }
}

#[tokio::test]
async fn the_first_record_is_seen_before_the_body_has_ended() {
    let (sender, mut records) = mpsc::unbounded_channel();
    let handler = move |mut lines: JsonLines<Fact>| async move {
        while let Some(Ok(Event::Record(record))) = lines.next().await {
            sender.send(record.value.entity).expect("the test waits");
        }
        lines.report().records().to_string()
    };
    let address = serve(Router::new().route("/", post(handler))).await;
    let mut client = Client::connect(&address).await;
    client.write((chunked() + "16\r\n{\"entity\":\"a\",\"n\":1}\n{\r\n").as_bytes()).await;
    assert_eq!(soon("the first record", records.recv()).await.as_deref(), Some("a"));
    client.write(b"14\r\n\"entity\":\"b\",\"n\":2}\n\r\n0\r\n\r\n").await;
    assert_eq!(client.response().await.body, "2");
}

#[tokio::test]
async fn the_first_reject_is_a_response() {
    let address = serve(Router::new().route("/", post(values))).await;
    let response = send(&address, b"{\"entity\":\"a\",\"n\":1}\n{\"entity\":\"b\",\"n\":2}").await;
    assert_eq!((response.status(), response.body.as_str()), (200, "2"));

    let response = send(&address, b"{\"entity\":\"a\",\"n\":1}\n{\"entity\":\"b\",\"n\":30}\n{").await;
    assert_eq!((response.status(), response.header("content-type")), (422, Some("application/json")));
    let expected = "{\"code\":\"schema_violation\",\"line\":2,\"start\":21,\"end\":42,\"column\":19,\
        \"instance_path\":\"/n\",\"schema_path\":\"/properties/n/maximum\",\"message\":\"more than the maximum 9\"}";
    assert_eq!(response.body, expected);

    let response = send(&address, b"{\"entity\":\"a\",\"n\":1}\n{\"entity\"").await;
    assert_eq!(response.status(), 422);
    assert!(response.body.starts_with("{\"code\":\"truncated\",\"line\":2,"), "{}", response.body);
}

#[tokio::test]
async fn rejects_have_a_budget() {
    let handler = |lines: JsonLines<Fact>| async move { events(lines.with_error_budget(1)).await };
    let address = serve(Router::new().route("/", post(handler))).await;
    let response = send(&address, b"1\n2\n3\n").await;
    let expected = "1:1: not_an_object: expected an object, found a number\n\
        2:1: not_an_object: expected an object, found a number\n\
        error: the stream was ended: more than 1 rejected\n";
    assert_eq!(response.body, expected);

    let handler = |lines: JsonLines<Fact>| async move {
        lines.with_error_budget(0).try_for_each(|_| async { Ok(()) }).await.map(|()| "complete")
    };
    let address = serve(Router::new().route("/", post(handler))).await;
    let response = send(&address, b"1\n2\n").await;
    assert_eq!(response.status(), 422);
    let start = "{\"code\":\"too_many_rejected\",\"message\":\"the stream was ended: more than 0 rejected\",\
        \"last\":{\"code\":\"not_an_object\",\"line\":1,";
    let body: serde_json::Value = serde_json::from_str(&response.body).expect("JSON");
    let expected: serde_json::Value = serde_json::from_str(
        &(start.to_owned()
            + "\"start\":0,\"end\":1,\"column\":1,\"message\":\"expected an object, found a number\"}}"),
    )
    .expect("JSON");
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_schema_and_limits_may_be_known_at_run_time() {
    let handler = |lines: JsonLines<Raw>| async move {
        let validator: SchemaValidator = r#"{"required":["id"]}"#.parse().expect("a schema");
        let limits = Limits { line_bytes: 30, ..Limits::default() };
        let mut lines = lines.with_validator(validator).with_limits(limits);
        let mut text = String::new();
        while let Some(Ok(event)) = lines.next().await {
            text += &match event {
                Event::Record(record) => format!("{}\n", record.value),
                Event::Rejected(diagnostic) => format!("{} {}\n", diagnostic.line, diagnostic.code),
                event => panic!("{event:?}"),
            };
        }
        text
    };
    let address = serve(Router::new().route("/", post(handler))).await;
    let body =
        format!("{{\"id\": 1e400}}\n{{\"ID\":1}}\n{{\"id\":\"{}\"}}\n{{\"id\":0.90}}\n", "x".repeat(30));
    let response = send(&address, body.as_bytes()).await;
    let expected = "{\"id\": 1e400}\n2 schema_violation\n3 line_too_long\n{\"id\":0.90}\n";
    assert_eq!(response.body, expected);
}

#[tokio::test]
async fn the_content_type_is_checked() {
    let address = serve(Router::new().route("/", post(values))).await;
    for (headers, status, code) in [
        ("", 415, "unsupported_content_type"),
        ("content-type: application/json\r\n", 415, "unsupported_content_type"),
        ("content-type: text/plain\r\n", 415, "unsupported_content_type"),
        ("content-type: application/x-ndjsonp\r\n", 415, "unsupported_content_type"),
        (
            "content-type: application/x-ndjson\r\ncontent-encoding: gzip\r\n",
            415,
            "unsupported_content_encoding",
        ),
        ("content-type: application/x-ndjson\r\ncontent-encoding: identity\r\n", 200, "0"),
        ("content-type: Application/X-NDJSON; charset=utf-8\r\n", 200, "0"),
        ("content-type: application/ndjson\r\n", 200, "0"),
        ("content-type: application/jsonl\r\n", 200, "0"),
        ("content-type: application/jsonlines\r\n", 200, "0"),
        ("content-type: application/x-jsonlines\r\n", 200, "0"),
        ("content-type: application/json-lines\r\n", 200, "0"),
    ] {
        let mut client = Client::connect(&address).await;
        client.write(head(&format!("{headers}content-length: 0\r\n")).as_bytes()).await;
        let response = client.response().await;
        assert_eq!(response.status(), status, "{headers}");
        assert!(response.body.contains(code), "{headers}: {}", response.body);
        if code == "unsupported_content_type" {
            assert!(response.body.contains("send `content-type: application/x-ndjson`"), "{}", response.body);
        }
    }
}

const LINE: &str = "{\"entity\":\"a\",\"n\":1}\n";

fn limited(limit: DefaultBodyLimit) -> Router {
    let text = |lines: JsonLines<Fact>| async move { events(lines).await };
    Router::new().route("/", post(values)).route("/events", post(text)).layer(limit)
}

#[tokio::test]
async fn an_announced_body_over_the_limit_is_refused_at_once() {
    let address = serve(limited(DefaultBodyLimit::max(100))).await;
    // Only the head: nothing of the body is needed.
    let mut client = Client::connect(&address).await;
    client.write(sized(101).as_bytes()).await;
    let response = client.response().await;
    let expected =
        "{\"code\":\"body_too_large\",\"message\":\"the body is larger than this server accepts\"}";
    assert_eq!((response.status(), response.body.as_str()), (413, expected));

    let address = serve(limited(DefaultBodyLimit::max(3 * LINE.len()))).await;
    let response = send(&address, LINE.repeat(3).as_bytes()).await;
    assert_eq!((response.status(), response.body.as_str()), (200, "3"));
    let address = serve(limited(DefaultBodyLimit::disable())).await;
    let response = send(&address, LINE.repeat(120_000).as_bytes()).await;
    assert_eq!((response.status(), response.body.as_str()), (200, "120000"));
    // axum's own limit.
    let address = serve(Router::new().route("/", post(values))).await;
    let mut client = Client::connect(&address).await;
    client.write(sized(2_097_153).as_bytes()).await;
    assert_eq!(client.response().await.status(), 413);
}

/// A line in a chunk of its own.
fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

#[tokio::test]
async fn a_body_over_the_limit_is_an_error() {
    let address = serve(limited(DefaultBodyLimit::max(50))).await;
    let truncated = "3:9: truncated: expected the rest of the string, found the end of the input\nerror: the body is larger than this server accepts\n";
    for (path, status, body) in [
        ("/events", 200, format!("1: a 1\n2: a 1\n{truncated}")),
        (
            "/",
            413,
            "{\"code\":\"body_too_large\",\"message\":\"the body is larger than this server accepts\"}"
                .to_owned(),
        ),
    ] {
        let mut client = Client::connect(&address).await;
        client.write(chunked().replacen("/", path, 1).as_bytes()).await;
        // 42 bytes, the start of a third line up to 50, and the rest of it.
        for part in [LINE, LINE, "{\"entity", "\":\"a\",\"n\":1}\n"] {
            client.write(chunk(part).as_bytes()).await;
        }
        let response = client.response().await;
        assert_eq!((response.status(), response.body), (status, body), "{path}");
    }
}

#[tokio::test]
async fn a_client_that_disconnects_is_an_error() {
    for head in [sized(1000), chunked()] {
        let (sender, mut events) = mpsc::unbounded_channel();
        let handler = move |lines: JsonLines<Fact>| async move {
            let mut values = lines.values();
            while let Some(value) = values.next().await {
                sender.send(value.map(|fact| fact.entity)).expect("the test waits");
            }
            sender.send(Ok("the end".to_owned())).expect("the test waits");
        };
        let address = serve(Router::new().route("/", post(handler))).await;
        let mut client = Client::connect(&address).await;
        let body = format!("{LINE}{{\"entity\":\"b\"");
        let body = if head.contains("chunked") { chunk(&body) } else { body };
        client.write((head + &body).as_bytes()).await;
        let first = soon("the first record", events.recv()).await.expect("a record");
        assert_eq!(first.expect("a record"), "a");
        drop(client);
        let error = soon("the error", events.recv()).await.expect("an error");
        let error = error.expect_err("the body is cut off");
        assert!(matches!(error, JsonLinesError::Body(_)), "{error:?}");
        assert_eq!(error.into_response().status(), 400);
        let end = soon("the end", events.recv()).await.expect("an end");
        assert_eq!(end.expect("nothing else"), "the end");
    }
}

/// The server reads from the connection when the handler asks for more.
#[tokio::test]
async fn a_slow_handler_slows_the_client_down() {
    let arrived = watch::Sender::new(0);
    let (sender, go) = (arrived.clone(), watch::Sender::new(false));
    let mut waits = go.subscribe();
    let handler = move |request: Request| async move {
        let mut lines =
            JsonLines::<Fact>::from_request(counted(request, sender), &()).await.expect("JSON Lines");
        let _ = lines.next().await;
        waits.wait_for(|go| *go).await.expect("a sender");
        (1 + lines.count().await).to_string()
    };
    let address = serve(Router::new().route("/", post(handler)).layer(DefaultBodyLimit::disable())).await;
    let count = 1_000_000;
    let mut client = Client::connect(&address).await;
    client.write(sized(LINE.len() * count).as_bytes()).await;
    let part = LINE.repeat(1000);
    let mut written = 0;
    let write = async |client: &mut Client| {
        tokio::time::timeout(
            Duration::from_millis(500),
            tokio::io::AsyncWriteExt::write_all(&mut client.socket, part.as_bytes()),
        )
        .await
        .is_ok()
    };
    while write(&mut client).await {
        written += part.len();
        assert!(written < 12_000_000, "the server reads on");
    }
    let read = *arrived.borrow();
    println!("{read} bytes read, {written} written before the handler asks for more");
    assert!(read < 1_000_000, "{read} bytes");
    drop(client);
    go.send_replace(true);
}

/// A reject is a response for handlers that read the events, too.
#[tokio::test]
async fn a_handler_makes_a_response_of_any_reject() {
    async fn handler(mut lines: JsonLines<Fact>) -> Result<String, JsonLinesError> {
        let mut facts = 0;
        while let Some(event) = lines.try_next().await? {
            match event {
                Event::Rejected(diagnostic) if diagnostic.line > 2 => return Err(diagnostic.into()),
                _ => facts += 1,
            }
        }
        Ok(facts.to_string())
    }
    let address = serve(Router::new().route("/", post(handler))).await;
    assert_eq!(send(&address, b"{}\n{}").await.body, "2");
    let response = send(&address, b"{}\n{}\n{}").await;
    assert_eq!(response.status(), 422);
    assert!(response.body.contains("\"line\":3,"), "{}", response.body);
}
