//! The replay server over real loopback HTTP, with an independent client.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use tokenline_llm::replay::{self, Chunking, ContentType, Fault, Gate, Pace, Recording, ReplayServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{http_client, soon};

const EVENTS: &str = "data: {\"n\":1}\n\n: alive\n\ndata: {\"n\":\"zwölf\"}\n\ndata: [DONE]\n\n";

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

pub(crate) async fn serve(recordings: impl IntoIterator<Item = Recording>) -> ReplayServer {
    ReplayServer::bind(loopback(), recordings).await.expect("a free port")
}

pub(crate) fn client() -> Client {
    http_client()
}

pub(crate) async fn ask(server: &ReplayServer, model: &str) -> Response {
    let request = client().post(format!("{}/v1/chat/completions", server.url()));
    let body = serde_json::json!({"model": model, "stream": true, "messages": []}).to_string();
    soon(request.body(body).send()).await.expect("a response")
}

/// The received chunks, and whether the body ended cleanly.
pub(crate) async fn read(mut response: Response) -> (Vec<Bytes>, bool) {
    let mut pieces = Vec::new();
    loop {
        match soon(response.chunk()).await {
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => return (pieces, true),
            Err(_) => return (pieces, false),
        }
    }
}

pub(crate) async fn message(response: Response) -> String {
    assert_eq!(response.headers()["content-type"], "application/json");
    let body = soon(response.bytes()).await.expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("a JSON body");
    body["error"]["message"].as_str().expect("a message").to_owned()
}

fn every(bytes: usize) -> Chunking {
    Chunking::Bytes(NonZeroUsize::new(bytes).expect("not zero"))
}

pub(crate) fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension().is_some_and(|name| name == "sse" || name == "ndjson" || name == "messages")
        })
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn bytes_arrive_identical_however_they_are_cut() {
    let quirks = fixtures("openai-chat/quirks");
    assert!(quirks.len() > 40);
    for file in quirks.into_iter().chain(fixtures("openai-chat")) {
        let lf = Recording::from_file(&file).expect("a readable fixture");
        let crlf = String::from_utf8(lf.bytes().to_vec()).expect("UTF-8").replace('\n', "\r\n");
        for recording in [lf, Recording::new("crlf", crlf)] {
            for cut in [Chunking::Whole, Chunking::Events, every(1), every(7), every(4096)] {
                if cut == every(1) && recording.bytes().len() > 10_000 {
                    continue;
                }
                let server = serve([recording.clone().pace(cut.into())]).await;
                let (pieces, ended) = read(ask(&server, "any").await).await;
                assert_eq!(&pieces.concat(), recording.bytes(), "{file:?} {cut:?}");
                assert!(ended);
                let traffic = soon(server.wait_for(|traffic| traffic.bodies_finished == 1)).await;
                assert_eq!(traffic.body_bytes, recording.bytes().len() as u64);
                assert_eq!((traffic.requests, traffic.bodies_dropped), (1, 0));
            }
        }
    }
}

#[tokio::test]
async fn a_piece_is_a_chunk_on_the_wire() {
    let server = serve([Recording::new("events", EVENTS).pace(Pace::events())]).await;
    let mut stream = TcpStream::connect(server.local_addr()).await.expect("a connection");
    let request = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("a request sent");
    let mut response = String::new();
    soon(stream.read_to_string(&mut response)).await.expect("a response");

    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let pieces =
        ["data: {\"n\":1}\n\n", ": alive\n\n", "data: {\"n\":\"zwölf\"}\n\n", "data: [DONE]\n\n", ""];
    let chunks = pieces.map(|piece| format!("{:X}\r\n{piece}\r\n", piece.len()));
    assert_eq!(body, chunks.concat());
}

#[tokio::test]
async fn the_first_event_arrives_before_the_next_is_sent() {
    let gate = Gate::new();
    let server = serve([Recording::new("gated", EVENTS).pace(Pace::events()).gate(&gate)]).await;
    // The head arrives although no piece has passed the gate.
    let mut response = ask(&server, "gated").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(server.traffic().body_bytes, 0);

    let mut sent = 0;
    for piece in ["data: {\"n\":1}\n\n", ": alive\n\n", "data: {\"n\":\"zwölf\"}\n\n"] {
        gate.release(1);
        assert_eq!(soon(response.chunk()).await.expect("a piece").expect("no end"), piece);
        sent += piece.len() as u64;
        assert_eq!(soon(server.wait_for(|traffic| traffic.body_bytes >= sent)).await.body_bytes, sent);
    }
    assert_eq!(server.traffic().bodies_finished, 0);
    gate.open();
    assert_eq!(read(response).await, (vec![Bytes::from("data: [DONE]\n\n")], true));
}

#[tokio::test]
async fn the_delay_is_between_pieces() {
    let delay = Duration::from_millis(20);
    let server = serve([Recording::new("slow", EVENTS).pace(Pace::events().delay(delay))]).await;
    let started = Instant::now();
    let (pieces, _) = read(ask(&server, "slow").await).await;
    assert_eq!(pieces.len(), 4);
    assert!(started.elapsed() >= delay * 3);
}

#[tokio::test]
async fn the_server_notices_a_disconnect_between_two_pieces() {
    let gate = Gate::new();
    let server = serve([Recording::new("gated", EVENTS).pace(Pace::events()).gate(&gate)]).await;
    let mut response = ask(&server, "gated").await;
    gate.release(1);
    soon(response.chunk()).await.expect("a piece");
    assert_eq!(server.traffic().open_connections, 1);

    drop(response);
    let traffic = soon(server.wait_for(|traffic| traffic.open_connections == 0)).await;
    assert_eq!((traffic.bodies_dropped, traffic.bodies_finished), (1, 0));
    assert_eq!(traffic.body_bytes, "data: {\"n\":1}\n\n".len() as u64);
}

#[tokio::test]
async fn a_client_that_does_not_read_stalls_the_server() {
    let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n".repeat(1 << 20);
    let total = body.len() as u64;
    let server = serve([Recording::new("large", body).pace(every(16 * 1024).into())]).await;
    let response = ask(&server, "large").await;

    // It stalls when the buffers of the sockets are full.
    let mut stalled = soon(server.wait_for(|traffic| traffic.body_bytes > 0)).await.body_bytes;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = server.traffic().body_bytes;
        if now == stalled {
            break;
        }
        stalled = now;
    }
    assert!(stalled < total / 2, "{stalled} of {total} bytes sent to a client that reads nothing");

    let (pieces, ended) = read(response).await;
    assert_eq!(pieces.iter().map(|piece| piece.len() as u64).sum::<u64>(), total);
    assert!(ended);
    assert_eq!(soon(server.wait_for(|traffic| traffic.bodies_finished == 1)).await.body_bytes, total);
}

#[tokio::test]
async fn a_break_delivers_what_comes_before_it_and_is_an_error() {
    for cut in [Chunking::Whole, Chunking::Events, every(3)] {
        for place in [0, 1, 20, EVENTS.len(), usize::MAX] {
            let recording = Recording::new("broken", EVENTS).pace(cut.into());
            let server = serve([recording.fault(Fault::BreakAfter(place))]).await;
            let (pieces, ended) = read(ask(&server, "broken").await).await;
            let kept = &EVENTS.as_bytes()[..place.min(EVENTS.len())];
            assert_eq!(pieces.concat(), kept, "{cut:?} {place}");
            assert!(!ended);
            soon(server.wait_for(|traffic| traffic.bodies_finished == 1 && traffic.open_connections == 0))
                .await;
        }
    }
}

#[tokio::test]
async fn a_break_waits_for_a_slow_client() {
    let place = 20 << 20;
    let body = Bytes::from(vec![b'x'; place + 1]);
    let server = serve([Recording::new("broken", body).fault(Fault::BreakAfter(place))]).await;
    let response = ask(&server, "broken").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (pieces, ended) = read(response).await;
    assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>(), place);
    assert!(!ended);
}

#[tokio::test]
async fn a_silent_close_looks_like_success() {
    for place in [0, 20, usize::MAX] {
        let recording = Recording::new("silent", EVENTS).pace(Pace::events());
        let server = serve([recording.fault(Fault::EndAfter(place))]).await;
        let (pieces, ended) = read(ask(&server, "silent").await).await;
        assert_eq!(pieces.concat(), EVENTS.as_bytes()[..place.min(EVENTS.len())]);
        assert!(ended);
    }
}

#[tokio::test]
async fn a_recording_may_be_an_error_response() {
    let body = r#"{"error":{"message":"slow down"}}"#;
    let server = serve([Recording::new("busy", body).status(StatusCode::TOO_MANY_REQUESTS)]).await;
    let response = ask(&server, "busy").await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(message(response).await, "slow down");
}

#[tokio::test]
async fn two_clients_are_served_independently() {
    let gates = [Gate::new(), Gate::new()];
    let [a, b] =
        ["a", "b"].map(|name| Recording::new(name, EVENTS.replace("zwölf", name)).pace(Pace::events()));
    let server = serve([a.gate(&gates[0]), b.gate(&gates[1])]).await;
    let (first, second) = tokio::join!(ask(&server, "a"), ask(&server, "b"));

    // The later request is served while the earlier one waits.
    gates[1].open();
    let (pieces, _) = read(second).await;
    assert_eq!(pieces.concat(), EVENTS.replace("zwölf", "b").as_bytes());
    assert_eq!(server.traffic().requests, 2);
    gates[0].open();
    let (pieces, _) = read(first).await;
    assert_eq!(pieces.concat(), EVENTS.replace("zwölf", "a").as_bytes());
}

#[tokio::test]
async fn unknown_requests_are_rejected() {
    let server = serve(replay::builtin()).await;
    let url = |path: &str| format!("{}{path}", server.url());
    let send = async |request: reqwest::RequestBuilder| soon(request.send()).await.expect("a response");

    let response = send(client().post(url("/v1/completions"))).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert!(message(response).await.starts_with("unknown path \"/v1/completions\""));

    let response = send(client().get(url("/v1/chat/completions"))).await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()["allow"], "POST");
    assert_eq!(message(response).await, "GET is not supported at /v1/chat/completions; use POST");

    let response = ask(&server, "gpt-9").await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let names = "definitions, fenced-mixed, tool-calls-in-text, truncated, local-tool-calls, local-tool-use";
    assert_eq!(message(response).await, format!("unknown recording \"gpt-9\"; use one of {names}"));

    for (body, expected) in [
        ("{}", "you must provide a model parameter"),
        ("{\"model\":1}", "you must provide a model parameter"),
        ("{", "the body of the request is not JSON: EOF while parsing an object at line 1 column 1"),
    ] {
        let response = send(client().post(url("/v1/chat/completions")).body(body)).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert_eq!(message(response).await, expected);
    }

    let response = send(client().post(url("/v1/chat/completions")).body(vec![b' '; (16 << 20) + 1])).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(server.traffic().body_bytes, 0);
}

#[tokio::test]
async fn every_provider_path_has_its_content_type() {
    let lines = "{\"done\":false}\n{\"done\":true}\n";
    let server = serve([Recording::new("only", lines).pace(Pace::events())]).await;
    for (path, content_type, pieces) in [
        ("/v1/responses", "text/event-stream", 1),
        ("/v1/messages?beta=true", "text/event-stream", 1),
        ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "text/event-stream", 1),
        ("/v1beta/interactions", "text/event-stream", 1),
        ("/v2/chat", "text/event-stream", 1),
        ("/model/anthropic.claude/converse-stream", "application/vnd.amazon.eventstream", 1),
        ("/api/chat", "application/x-ndjson", 2),
    ] {
        let response = client().post(format!("{}{path}", server.url())).send();
        let response = soon(response).await.expect("a response");
        assert_eq!(response.headers()["content-type"], content_type, "{path}");
        assert_eq!(read(response).await.0.len(), pieces, "{path}");
    }
}

#[tokio::test]
async fn gemini_names_the_model_in_the_path() {
    let named = |name: &str| Recording::new(name, name.to_owned()).content_type(ContentType::Json);
    let server = serve([named("gemini-a"), named("gemini-b")]).await;
    let url = format!("{}/v1beta/models/gemini-b:streamGenerateContent", server.url());
    let response = soon(client().post(url).send()).await.expect("a response");
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(read(response).await.0.concat(), b"gemini-b");
}

#[tokio::test]
async fn a_shutdown_closes_connections_and_the_port() {
    let gate = Gate::new();
    let server = serve([Recording::new("gated", EVENTS).pace(Pace::events()).gate(&gate)]).await;
    let addr = server.local_addr();
    let response = ask(&server, "gated").await;
    soon(server.shutdown()).await;
    assert_eq!(read(response).await, (vec![], false));
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn a_dropped_server_closes_its_connections() {
    let server = serve([Recording::new("gated", EVENTS).gate(&Gate::new())]).await;
    let response = ask(&server, "gated").await;
    drop(server);
    assert_eq!(read(response).await, (vec![], false));
}

#[tokio::test]
async fn only_loopback_addresses_by_default() {
    let recording = || [Recording::new("only", EVENTS)];
    for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let error = ReplayServer::bind(addr.parse().expect("an address"), recording()).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().starts_with(&format!("{addr} is not a loopback address")), "{error}");
    }
    let any = ([0, 0, 0, 0], 0).into();
    let server = ReplayServer::bind_public(any, recording()).await.expect("a free port");
    assert_ne!(server.local_addr().port(), 0);
}

#[tokio::test]
async fn recordings_are_checked_before_anything_is_bound() {
    let error = ReplayServer::bind(loopback(), []).await.unwrap_err();
    assert_eq!(error.to_string(), "no recordings to serve");
    let twice = [Recording::new("a", "1"), Recording::new("a", "2")];
    let error = ReplayServer::bind(loopback(), twice).await.unwrap_err();
    assert_eq!(error.to_string(), "two recordings are named \"a\"");
    let error = Recording::from_file("no/such.sse").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("no/such.sse: "), "{error}");
}

#[test]
fn files_are_limited_in_size() {
    let path = std::env::temp_dir().join(format!("tokenline-recording-{}.sse", std::process::id()));
    let file = std::fs::File::create(&path).expect("a file");
    file.set_len(Recording::MAX_BYTES).expect("a length");
    let recording = Recording::from_file(&path).expect("as large as allowed");
    assert_eq!(recording.bytes().len() as u64, Recording::MAX_BYTES);
    file.set_len(Recording::MAX_BYTES + 1).expect("a length");
    let error = Recording::from_file(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
    assert!(error.to_string().contains("the limit of 64 MiB"), "{error}");
    std::fs::remove_file(path).expect("a file");
}
