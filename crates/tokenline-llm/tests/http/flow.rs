//! Backpressure and cancellation: a slow reader stalls the server, and a dropped stream closes its connection.

use std::time::{Duration, Instant};

use serde_json::json;
use tokenline_core::json::Raw;
use tokenline_core::{EarlyEnd, Options, Rejected, RepetitionLimits};
use tokenline_llm::{
    ContinuationOptions, FinishReason, Provider, ResponseError, ResponseEvent, ResponseOptions,
    ResponseParser, ResponseStream,
};

use crate::common::text;
use crate::server::{ScriptedServer, Step, chunk, end, error_response, head};
use crate::{client, request, send, settle, soon};

/// Everything the server can send, 64 KiB at a time.
fn endless() -> Vec<Step> {
    let records: String = (0..8).map(|_| format!("{{\"pad\":\"{}\"}}\n", "x".repeat(1000))).collect();
    let piece = chunk(text(&records).repeat(8));
    let Step::Write(bytes) = piece else { unreachable!("it is written") };
    vec![head("text/event-stream"), Step::Repeat(bytes, Duration::ZERO)]
}

#[tokio::test]
async fn a_slow_reader_stalls_the_server() {
    let server = ScriptedServer::always(endless).await;
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
    soon(records.next()).await.expect("a record").expect("a record");

    // It stalls when the buffers of the sockets are full.
    let mut stalled = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = server.log().written;
        if now == stalled {
            break;
        }
        stalled = now;
    }
    // By default, Linux grows the receiving side of a connection to 6 MiB and the sending side to 4.
    assert!(stalled < 16 << 20, "{stalled} bytes");

    // It continues with the reader, and no further.
    let mut read = 0_u64;
    while server.log().written < stalled + (4 << 20) {
        read += soon(records.next()).await.expect("a record").expect("a record").value.as_str().len() as u64;
    }
    assert!(server.log().written < read + (20 << 20));
    drop(records);
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 1);
}

/// A response that starts, and stops.
fn begins() -> Vec<Step> {
    vec![head("text/event-stream"), chunk(text("{\"n\":1}\n")), Step::Hold]
}

#[tokio::test]
async fn dropping_a_response_closes_its_connection() {
    let server = ScriptedServer::always(begins).await;
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
    soon(records.next()).await.expect("a record").expect("a record");
    assert_eq!(server.log().open, 1);
    drop(records);
    server.until(|log| log.open == 0).await;

    // Also while waiting for more.
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
    soon(records.next()).await.expect("a record").expect("a record");
    let waiting = tokio::spawn(async move { records.next().await.is_some() });
    settle().await;
    assert_eq!(server.log().open, 1);
    waiting.abort();
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn dropping_a_response_with_unread_data_closes_its_connection() {
    let server = ScriptedServer::always(endless).await;
    let response = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response");
    server.until(|log| log.written > 1 << 20).await;
    drop(response);
    server.until(|log| log.open == 0).await;
}

#[tokio::test]
async fn dropping_a_request_before_its_response_closes_its_connection() {
    let server = ScriptedServer::always(|| vec![Step::Hold]).await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(5).build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    server.until(|log| log.requests.len() == 1).await;
    sending.abort();
    server.until(|log| log.open == 0).await;
    assert_eq!((server.requests(), server.log().connections), (1, 1));
}

#[tokio::test]
async fn dropping_a_request_while_connecting_closes_the_connection() {
    // It accepts connections, but never speaks TLS.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base_url = format!("https://{}", listener.local_addr().expect("an address"));
    let patient = client(Provider::OpenAiChat, &base_url).connect_timeout(Duration::from_secs(600));
    let client = patient.build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    let (mut connection, _) = soon(listener.accept()).await.expect("a connection");
    sending.abort();
    let mut hello = Vec::new();
    // Whether it ends cleanly does not matter, only that it ends.
    let _ = soon(tokio::io::AsyncReadExt::read_to_end(&mut connection, &mut hello)).await;
}

#[tokio::test]
async fn dropping_a_request_between_retries_ends_it() {
    let server = ScriptedServer::always(|| {
        vec![error_response(503, &[("retry-after", "2")], &json!({"error": "later"}))]
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(5).build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    server.until(|log| log.written > 0).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    sending.abort();
    tokio::time::sleep(Duration::from_millis(2200)).await;
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn dropping_a_request_while_reading_its_error_closes_its_connection() {
    let server = ScriptedServer::always(|| {
        let head = "HTTP/1.1 500 Internal Server Error\r\ntransfer-encoding: chunked\r\n\r\n";
        vec![Step::Write(head.into()), Step::Hold]
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(5).build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    server.until(|log| log.written > 0).await;
    let started = Instant::now();
    sending.abort();
    server.until(|log| log.open == 0).await;
    // Not by the timeout for the body of an error, which is ten seconds.
    assert!(started.elapsed() < Duration::from_secs(8));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let server = ScriptedServer::always(begins).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let request = client.stream(&request()).expect("a request");
    let sending = request.send();
    settle().await;
    drop(sending);
    assert_eq!(server.log().connections, 0);
}

/// Endless records, one now and then.
fn tokens() -> Vec<Step> {
    let piece = chunk([text("{\"n\""), text(":1}\n")].concat());
    let Step::Write(bytes) = piece else { unreachable!("it is written") };
    vec![head("text/event-stream"), Step::Repeat(bytes, Duration::from_millis(1))]
}

#[tokio::test]
async fn the_last_record_closes_the_connection_while_the_stream_is_held() {
    let server = ScriptedServer::always(tokens).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = client.stream(&request()).expect("a request").with_options(|options| options.max_records(3));
    let mut records = soon(asked.send()).await.expect("a response").records();
    for _ in 0..3 {
        soon(records.next()).await.expect("a record").expect("a record");
    }
    server.until(|log| log.open == 0).await;
    assert!(records.next().await.is_none());
    assert_eq!((records.report().records(), records.report().ended_by()), (3, Some(EarlyEnd::MaxRecords)));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_response_that_repeats_itself_closes_the_connection() {
    let server = ScriptedServer::always(|| {
        let piece = chunk(text("and so on and so forth, "));
        let Step::Write(bytes) = piece else { unreachable!("it is written") };
        vec![head("text/event-stream"), Step::Repeat(bytes, Duration::from_millis(1))]
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = client.stream(&request()).expect("a request");
    let limits = RepetitionLimits::default();
    let asked = asked.with_options(|options| options.stop_on_repetition(limits));
    let mut records = soon(asked.send()).await.expect("a response").records();
    assert!(soon(records.next()).await.is_none());
    server.until(|log| log.open == 0).await;
    assert_eq!(records.report().ended_by(), Some(EarlyEnd::Repetition));
    assert_eq!(records.parser().finish_reason(0), Some(&FinishReason::Repetition));

    // It is not complete as a text, and is not continued.
    let asked = client.stream(&request()).expect("a request");
    let asked = asked.with_options(|options| options.stop_on_repetition(limits));
    let mut pieces = soon(asked.send()).await.expect("a response").text();
    let error = loop {
        match soon(pieces.next()).await.expect("an error at the end") {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ResponseError::Truncated(FinishReason::Repetition)), "{error}");
    let before = server.requests();
    let asked = client.continued(&request(), ContinuationOptions::new()).expect("a request");
    let mut records = asked.stop_on_repetition(limits).records();
    let error = soon(records.next()).await.expect("an error").expect_err("it repeats itself");
    assert!(error.to_string().contains("repetition"), "{error}");
    assert!(soon(records.next()).await.is_none());
    assert_eq!(server.requests(), before + 1);
}

#[tokio::test]
async fn a_response_is_stopped_while_a_repair_is_awaited() {
    let pieces = ["{\"a\":1}\n{\"a\":\""].into_iter().chain(std::iter::repeat_n("and so on, ", 200));
    let body = futures_util::stream::iter(pieces.map(|piece| Ok::<_, std::io::Error>(text(piece))));
    let options = ResponseOptions::from(Options::lenient()).stop_on_repetition(RepetitionLimits::default());
    let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, options);
    let mut response = ResponseStream::new(body, parser).with_async_repair(|_| async {
        settle().await;
        None
    });
    let mut seen = Vec::new();
    while let Some(event) = soon(response.next()).await {
        seen.push(match event.expect("an event") {
            ResponseEvent::Record { .. } => "record".to_owned(),
            ResponseEvent::Finish { reason, .. } => reason.to_string(),
            event => event.diagnostic().expect("a diagnostic").code.to_string(),
        });
    }
    assert_eq!(seen, ["record", "truncated", "repetition", "repetition"]);
    assert!(response.parser().is_cut_off());
}

#[tokio::test]
async fn one_reject_too_many_closes_the_connection() {
    let server = ScriptedServer::always(tokens).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = client
        .stream(&request())
        .expect("a request")
        .typed::<Vec<u8>>()
        .with_options(|options| options.error_budget(3));
    let mut records = soon(asked.send()).await.expect("a response").records();
    let error = soon(records.next()).await.expect("an error").expect_err("no record is an array");
    assert!(matches!(&error, ResponseError::TooManyRejected(error) if error.allowed() == 3), "{error}");
    server.until(|log| log.open == 0).await;
    assert!(records.next().await.is_none());
}

#[tokio::test]
async fn a_response_of_the_client_is_repaired() {
    let server =
        ScriptedServer::always(|| vec![head("text/event-stream"), chunk(text("{\"n\":NaN}\n")), end()]).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = || client.stream(&request()).expect("a request");
    let fix = |rejected: Rejected| Some(rejected.text.replace("NaN", "7"));
    let later = asked().with_async_repair(move |rejected| async move { fix(rejected) });
    for asked in [asked().with_options(|options| options.repair(fix)), later] {
        let mut records = soon(asked.send()).await.expect("a response").records();
        let record = soon(records.next()).await.expect("a record").expect("a record");
        assert_eq!((record.value.as_str(), record.recovered.is_empty()), ("{\"n\":7}", false));
    }
}
