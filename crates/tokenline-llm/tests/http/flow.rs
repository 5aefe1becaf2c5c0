//! Who does not read makes the server wait, and who goes is gone.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::json;
use tokenline_core::EarlyEnd;
use tokenline_llm::{Provider, ResponseError};

use crate::common::text;
use crate::server::{ScriptedServer, Step, chunk, end, head, refusal};
use crate::{client, request, send, settle, soon};

/// As much as the server can send, 64 KiB at a time.
fn endless() -> Vec<Step> {
    let records: String = (0..8).map(|_| format!("{{\"pad\":\"{}\"}}\n", "x".repeat(1000))).collect();
    let piece = chunk(text(&records).repeat(8));
    let Step::Write(bytes) = piece else { unreachable!("it is written") };
    vec![head("text/event-stream"), Step::Repeat(bytes, Duration::ZERO)]
}

#[tokio::test]
async fn whoever_does_not_read_makes_the_server_wait() {
    let server = ScriptedServer::always(endless).await;
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("an answer").records();
    soon(records.next()).await.expect("a record").expect("a record");

    // It stands still when the sockets' buffers are full.
    let mut stalled = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = server.log().written;
        if now == stalled {
            break;
        }
        stalled = now;
    }
    // Linux lets the receiving side of a connection grow to 6 MiB unless told otherwise, and the sending side to 4.
    assert!(stalled < 16 << 20, "{stalled} bytes");

    // It goes on when the reader does, and only as far.
    let mut read = 0_u64;
    while server.log().written < stalled + (4 << 20) {
        read += soon(records.next()).await.expect("a record").expect("a record").value.as_str().len() as u64;
    }
    assert!(server.log().written < read + (20 << 20));
    drop(records);
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 1);
}

/// An answer that begins, and no more.
fn begins() -> Vec<Step> {
    vec![head("text/event-stream"), chunk(text("{\"n\":1}\n")), Step::Hold]
}

#[tokio::test]
async fn dropping_an_answer_closes_its_connection() {
    let server = ScriptedServer::always(begins).await;
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("an answer").records();
    soon(records.next()).await.expect("a record").expect("a record");
    assert_eq!(server.log().open, 1);
    drop(records);
    server.until(|log| log.open == 0).await;

    // Also while it is waited for what comes next.
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("an answer").records();
    soon(records.next()).await.expect("a record").expect("a record");
    let waiting = tokio::spawn(async move { records.next().await.is_some() });
    settle().await;
    assert_eq!(server.log().open, 1);
    waiting.abort();
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn dropping_an_answer_of_which_much_waits_closes_its_connection() {
    let server = ScriptedServer::always(endless).await;
    let answer = send(client(Provider::OpenAiChat, &server.url())).await.expect("an answer");
    server.until(|log| log.written > 1 << 20).await;
    drop(answer);
    server.until(|log| log.open == 0).await;
}

#[tokio::test]
async fn dropping_a_request_before_its_answer_closes_its_connection() {
    let server = ScriptedServer::always(|| vec![Step::Hold]).await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(5).build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    server.until(|log| log.requests.len() == 1).await;
    sending.abort();
    server.until(|log| log.open == 0).await;
    assert_eq!((server.requests(), server.log().connections), (1, 1));
}

#[tokio::test]
async fn dropping_a_request_before_its_connection_is_there_gives_that_up() {
    // It takes connections, and says nothing about TLS.
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let base_url = format!("https://{}", listener.local_addr().expect("an address"));
    let patient = client(Provider::OpenAiChat, &base_url).connect_timeout(Duration::from_secs(600));
    let client = patient.build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    let (mut connection, _) = soon(listener.accept()).await.expect("a connection");
    sending.abort();
    let mut hello = Vec::new();
    // Whether it ends well is of no interest, only that it ends.
    let _ = soon(tokio::io::AsyncReadExt::read_to_end(&mut connection, &mut hello)).await;
}

#[tokio::test]
async fn dropping_a_request_that_waits_to_be_sent_again_ends_it() {
    let server =
        ScriptedServer::always(|| vec![refusal(503, &[("retry-after", "3")], &json!({"error": "later"}))])
            .await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(5).build().expect("a client");
    let sending = tokio::spawn(client.stream(&request()).expect("a request").send());
    server.until(|log| log.written > 0).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    sending.abort();
    tokio::time::sleep(Duration::from_millis(3200)).await;
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn dropping_a_request_while_its_error_comes_closes_its_connection() {
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
    // Not by the time that the body of an error may take, which is ten seconds.
    assert!(started.elapsed() < Duration::from_secs(8));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn nothing_is_sent_before_it_is_waited_for() {
    let server = ScriptedServer::always(begins).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let request = client.stream(&request()).expect("a request");
    let sending = request.send();
    settle().await;
    drop(sending);
    assert_eq!(server.log().connections, 0);
}

/// Records without end, one now and then.
fn tokens() -> Vec<Step> {
    let piece = chunk([text("{\"n\""), text(":1}\n")].concat());
    let Step::Write(bytes) = piece else { unreachable!("it is written") };
    vec![head("text/event-stream"), Step::Repeat(bytes, Duration::from_millis(1))]
}

#[tokio::test]
async fn the_last_record_closes_the_connection_though_the_answer_is_held() {
    let server = ScriptedServer::always(tokens).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = client.stream(&request()).expect("a request").with_max_records(3);
    let mut records = soon(asked.send()).await.expect("an answer").records();
    for _ in 0..3 {
        soon(records.next()).await.expect("a record").expect("a record");
    }
    server.until(|log| log.open == 0).await;
    assert!(records.next().await.is_none());
    assert_eq!((records.report().records(), records.report().ended_by()), (3, Some(EarlyEnd::MaxRecords)));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn one_reject_too_many_closes_the_connection() {
    let server = ScriptedServer::always(tokens).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = client.stream(&request()).expect("a request").typed::<Vec<u8>>().with_error_budget(3);
    let mut records = soon(asked.send()).await.expect("an answer").records();
    let error = soon(records.next()).await.expect("an error").expect_err("no record is an array");
    assert!(matches!(&error, ResponseError::TooManyRejected(error) if error.allowed() == 3), "{error}");
    server.until(|log| log.open == 0).await;
    assert!(records.next().await.is_none());
}

#[tokio::test]
async fn an_answer_of_the_client_is_repaired() {
    let server =
        ScriptedServer::always(|| vec![head("text/event-stream"), chunk(text("{\"n\":NaN}\n")), end()]).await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let asked = client.stream(&request()).expect("a request");
    let asked = asked.with_repair(|rejected| Some(rejected.text.replace("NaN", "7")));
    let mut records = soon(asked.send()).await.expect("an answer").records();
    let record = soon(records.next()).await.expect("a record").expect("a record");
    assert_eq!((record.value.as_str(), record.recovered.is_empty()), ("{\"n\":7}", false));
}
