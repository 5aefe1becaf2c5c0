//! Connections that fail, break, or go silent.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FusedStream;
use tokenline_llm::client::{ClientError, ClientErrorKind};
use tokenline_llm::{Provider, ResponseError, ResponseEvent};
use tokio::net::TcpListener;

use crate::common::{call, text};
use crate::server::{ScriptedServer, Step, chunk, end, events, head, response};
use crate::{client, fail, request, send, settle, soon};

/// Long enough for a busy machine to send, short enough for a test.
const PATIENCE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let port = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    for retries in [0, 1] {
        let base_url = format!("http://127.0.0.1:{port}");
        let error = fail(client(Provider::Ollama, &base_url).retries(retries)).await;
        assert_eq!((error.kind(), error.status()), (ClientErrorKind::Connect, None));
        assert_eq!((error.attempts(), error.is_retryable()), (retries + 1, true));
        let expected = format!("cannot connect to 127.0.0.1:{port}: Connection refused");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn an_unknown_host_is_named() {
    let error = fail(
        client(Provider::OpenAiChat, "http://no-such-host.invalid/v1").connect_timeout(PATIENCE).retries(0),
    )
    .await;
    assert_eq!((error.kind(), error.attempts()), (ClientErrorKind::Connect, 1));
    assert!(error.to_string().starts_with("cannot connect to no-such-host.invalid: "), "{error}");
}

#[tokio::test]
async fn a_connect_timeout_is_a_connect_error() {
    // It accepts connections, but never speaks TLS.
    let server = ScriptedServer::always(|| vec![Step::Hold]).await;
    let base_url = server.url().replace("http:", "https:");
    let error = fail(client(Provider::OpenAiChat, &base_url).connect_timeout(PATIENCE).retries(0)).await;
    assert_eq!(error.kind(), ClientErrorKind::Connect, "{error:?}");
    assert!(error.to_string().starts_with(&format!("cannot connect to 127.0.0.1:{}: ", server.port())));
}

#[tokio::test]
async fn a_connection_closed_before_the_response_is_not_retried() {
    for steps in [|| vec![Step::Close], || vec![Step::Write(b"HTTP/1.1 200 O".to_vec()), Step::Close]] {
        let server = ScriptedServer::always(steps).await;
        let error = fail(client(Provider::OpenAiChat, &server.url()).retries(5)).await;
        assert_eq!((error.kind(), error.attempts()), (ClientErrorKind::Transport, 1), "{error}");
        let expected = format!("the connection to 127.0.0.1:{} broke before a response: ", server.port());
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert_eq!((server.requests(), error.is_retryable()), (1, false));
    }
}

/// HTTP clients retry on their own for kept connections.
#[tokio::test]
async fn a_kept_connection_closed_at_the_next_request_is_not_retried() {
    let server = ScriptedServer::new(|number, _| match number {
        0 => vec![response(200, &[("content-type", "text/event-stream")], "data: [DONE]\n\n")],
        _ => vec![Step::Close],
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(5).build().expect("a client");
    let reply = soon(client.stream(&request()).expect("a request").send()).await.expect("a response");
    assert_eq!(soon(reply.count()).await, 0);
    settle().await;
    let error = soon(client.stream(&request()).expect("a request").send()).await.expect_err("it closed");
    assert_eq!((error.kind(), error.attempts()), (ClientErrorKind::Transport, 1));
    assert_eq!((server.requests(), server.log().connections), (2, 1));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_is_replaced() {
    let server = ScriptedServer::always(|| {
        vec![response(200, &[("content-type", "text/event-stream")], "data: [DONE]\n\n"), Step::Close]
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).retries(0).build().expect("a client");
    for number in 1..4 {
        let reply = soon(client.stream(&request()).expect("a request").send()).await.expect("a response");
        assert_eq!(soon(reply.count()).await, 0);
        server.until(|log| log.open == 0).await;
        settle().await;
        assert_eq!((server.requests(), server.log().connections), (number, number));
    }
}

#[tokio::test]
async fn a_response_that_never_starts_is_requested_once() {
    let server = ScriptedServer::always(|| vec![Step::Hold]).await;
    let error = fail(client(Provider::OpenAiChat, &server.url()).read_timeout(PATIENCE).retries(5)).await;
    assert_eq!((error.kind(), error.attempts()), (ClientErrorKind::Timeout, 1));
    let port = server.port();
    assert_eq!(error.to_string(), format!("no response from 127.0.0.1:{port} within 1 s"));
    // The server notices that the client has gone.
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 1);
}

/// Two records, and the start of a third.
fn begun() -> Vec<Step> {
    let pieces = [text("{\"n\":0}\n"), text("{\"n\":1}\n{\"n\":"), call("a", "f", "{\"x\"")];
    let mut steps = vec![head("text/event-stream")];
    steps.extend(pieces.map(chunk));
    steps
}

/// The number of delivered records, and the final error.
async fn ends(server: &ScriptedServer) -> (usize, ResponseError<ClientError>) {
    let client = client(Provider::OpenAiChat, &server.url()).read_timeout(PATIENCE).retries(5);
    let mut records = send(client).await.expect("a response").records();
    let mut delivered = 0;
    let error = loop {
        match soon(records.next()).await.expect("an error") {
            Ok(_) => delivered += 1,
            Err(error) => break error,
        }
    };
    for _ in 0..3 {
        assert!(soon(records.next()).await.is_none(), "it has ended");
    }
    assert!(records.is_terminated() && !records.report().is_complete());
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 1, "what has begun is never sent again");
    (delivered, error)
}

#[tokio::test]
async fn the_received_part_of_a_broken_response_is_delivered() {
    for broken in [
        // Between chunks, inside one, and inside its size.
        || vec![Step::Close],
        || vec![Step::Write(b"50\r\ndata: {\"cho".to_vec()), Step::Close],
        || vec![Step::Write(b"5".to_vec()), Step::Close],
        || vec![Step::Write(b"this is no chunk\r\n".to_vec()), Step::Close],
    ] {
        let server = ScriptedServer::always(move || begun().into_iter().chain(broken()).collect()).await;
        let (delivered, error) = ends(&server).await;
        assert_eq!(delivered, 2);
        let text = error.to_string();
        let ResponseError::Source(error) = error else { panic!("{error:?}") };
        assert_eq!(text, format!("the source of the response failed: {error}"));
        assert_eq!((error.kind(), error.status()), (ClientErrorKind::Transport, Some(200)));
        assert_eq!((error.attempts(), error.is_retryable()), (1, false));
        let text = error.to_string();
        assert!(
            text.starts_with("the connection broke: ") && text.ends_with(" bytes into the response"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_response_shorter_than_its_length_is_an_error() {
    let server = ScriptedServer::always(|| {
        let body = text("{\"n\":0}\n");
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req_7\r\ncontent-length: {}\r\n\r\n",
            body.len() + 1
        );
        vec![Step::Write((head + &body).into_bytes()), Step::Close]
    })
    .await;
    let (delivered, error) = ends(&server).await;
    assert_eq!(delivered, 1);
    let ResponseError::Source(error) = error else { panic!("{error:?}") };
    assert_eq!((error.kind(), error.request_id()), (ClientErrorKind::Transport, Some("req_7")));
    assert!(error.to_string().ends_with(", 88 bytes into the response (request id req_7)"), "{error}");
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    let server = ScriptedServer::always(|| begun().into_iter().chain([Step::Hold]).collect()).await;
    let (delivered, error) = ends(&server).await;
    assert_eq!(delivered, 2);
    let ResponseError::Source(error) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), ClientErrorKind::Timeout);
    assert!(error.to_string().starts_with("the provider was silent for 1 s, "), "{error}");
}

/// Servers send comments as signs of life.
#[tokio::test]
async fn comments_prevent_the_read_timeout() {
    let server = ScriptedServer::new(|_, _| {
        let ping = chunk(": ping\n\n");
        let Step::Write(ping) = ping else { unreachable!("it is written") };
        vec![head("text/event-stream"), Step::Repeat(ping, PATIENCE / 20)]
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).read_timeout(PATIENCE);
    let mut records = send(client).await.expect("a response").records();
    // Longer than the read timeout, and not the end.
    assert!(tokio::time::timeout(PATIENCE * 2, records.next()).await.is_err());
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_timeout_of_the_http_client_is_not_reported_as_silence() {
    let ping = || match chunk(": ping\n\n") {
        Step::Write(ping) => Step::Repeat(ping, PATIENCE / 20),
        _ => unreachable!("it is written"),
    };
    let server = ScriptedServer::always(move || vec![head("text/event-stream"), ping()]).await;
    let client_of = |server: &ScriptedServer| client(Provider::OpenAiChat, &server.url());
    // Side by side: each waits.
    let by_the_client = async {
        // By now it has lasted longer than the read timeout.
        let limited = client_of(&server).read_timeout(PATIENCE).http(|http| http.timeout(PATIENCE * 2));
        let mut records = send(limited).await.expect("a response").records();
        let Some(Err(ResponseError::Source(error))) = soon(records.next()).await else { panic!("no error") };
        assert_eq!(error.kind(), ClientErrorKind::Timeout);
        let expected = "the response took longer than the timeout of the HTTP client, ";
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    let by_the_response_timeout = async {
        // The response timeout ends endless comments.
        let limited = client_of(&server).read_timeout(PATIENCE).response_timeout(PATIENCE * 2);
        let mut records = send(limited).await.expect("a response").records();
        let Some(Err(ResponseError::Source(error))) = soon(records.next()).await else { panic!("no error") };
        assert_eq!(error.kind(), ClientErrorKind::Timeout);
    };
    let before_the_response = async {
        let server = ScriptedServer::always(|| vec![Step::Hold]).await;
        let error = fail(client_of(&server).http(|http| http.timeout(PATIENCE))).await;
        assert!(error.to_string().ends_with("within the timeout of the HTTP client"), "{error}");
        assert_eq!(error.kind(), ClientErrorKind::Timeout);
    };
    tokio::join!(by_the_client, by_the_response_timeout, before_the_response);
}

#[tokio::test]
async fn a_silent_close_is_not_an_end() {
    let server = ScriptedServer::always(|| begun().into_iter().chain([end()]).collect()).await;
    let (delivered, error) = ends_with(&server).await;
    assert_eq!(delivered, 2);
    let ResponseError::Incomplete(diagnostic) = &error else { panic!("{error:?}") };
    assert_eq!(diagnostic.code.as_str(), "stream_incomplete");
    let expected = "the response is incomplete: the stream ended without a finish reason or `[DONE]`";
    assert_eq!(error.to_string(), expected);
}

/// The oldest way to end a body: only the provider's terminator shows that it is complete.
#[tokio::test]
async fn a_response_ended_by_its_connection_is_complete_with_the_terminator() {
    for (terminator, is_whole) in [("data: [DONE]\n\n", true), ("", false)] {
        let server = ScriptedServer::always(move || {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
            vec![Step::Write((head + &text("{\"n\":0}\n") + terminator).into()), Step::Close]
        })
        .await;
        let mut records =
            send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
        let items: Vec<_> = soon(records.by_ref().collect()).await;
        let incomplete =
            items.iter().filter(|item| matches!(item, Err(ResponseError::Incomplete(_)))).count();
        assert_eq!((items.len(), incomplete), if is_whole { (1, 0) } else { (2, 1) });
        assert_eq!((records.report().is_complete(), server.requests()), (is_whole, 1));
    }
}

#[tokio::test]
async fn a_complete_response_stays_complete_whatever_its_connection_does() {
    for after in [|| Step::Hold, || Step::Close, || Step::Write(b"this is no chunk\r\n".to_vec())] {
        let server = ScriptedServer::always(move || {
            let whole = chunk(text("{\"n\":0}\n") + "data: [DONE]\n\n");
            vec![head("text/event-stream"), whole, after(), Step::Hold]
        })
        .await;
        // Waiting for the connection would take minutes.
        let mut records =
            send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
        let items: Vec<_> = soon(records.by_ref().collect()).await;
        assert!(matches!(items[..], [Ok(_)]), "{items:?}");
        assert!(records.report().is_complete() && records.is_terminated());
        server.until(|log| log.open == 0).await;
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_is_a_provider_error() {
    let error = "data: {\"error\":{\"message\":\"The server is overloaded\",\"code\":503}}\n\n";
    let server = ScriptedServer::always(move || events(&(text("{\"n\":0}\n") + error))).await;
    let (delivered, error) = ends_with(&server).await;
    assert_eq!(delivered, 1);
    assert!(matches!(error, ResponseError::Provider(_)), "{error:?}");
    assert_eq!(error.to_string(), "the provider failed: The server is overloaded");
}

/// Like [`ends`], for responses whose connection ends cleanly: it stays open for the next one.
async fn ends_with(server: &ScriptedServer) -> (usize, ResponseError<ClientError>) {
    let mut records =
        send(client(Provider::OpenAiChat, &server.url()).retries(5)).await.expect("a response").records();
    let items: Vec<_> = soon(records.by_ref().collect()).await;
    let delivered = items.iter().filter(|item| item.is_ok()).count();
    let mut errors: Vec<_> = items.into_iter().filter_map(Result::err).collect();
    assert!(records.is_terminated() && !records.report().is_complete());
    assert_eq!((errors.len(), server.requests()), (1, 1));
    (delivered, errors.remove(0))
}

#[tokio::test]
async fn the_events_end_with_the_error_too() {
    let server = ScriptedServer::always(|| begun().into_iter().chain([Step::Close]).collect()).await;
    let reply = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response");
    let events: Vec<_> = soon(reply.collect()).await;
    let errors = events.iter().filter(|event| event.is_err()).count();
    let records = events.iter().filter(|event| matches!(event, Ok(ResponseEvent::Record { .. }))).count();
    assert_eq!((records, errors), (2, 1));
    assert!(events.last().is_some_and(Result::is_err));
}
