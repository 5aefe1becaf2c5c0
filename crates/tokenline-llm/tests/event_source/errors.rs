//! Responses that are not event streams.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokenline_llm::ResponseError;
use tokenline_llm::event_source::{EventSourceBody, EventSourceError};
use tokenline_llm::replay::{ContentType, Recording, StatusCode};

use super::server::{Server, Then};
use super::{chain, records, request, serve, soon, source_error};
use reqwest_eventsource::RequestBuilderExt;

/// The error message for this response, requested once.
async fn message(response: &'static str) -> String {
    let server = Server::start(response, Then::Close).await;
    let error = source_error(&server.url()).await;
    assert_eq!(server.requests(), 1);
    error.to_string()
}

#[tokio::test]
async fn too_many_requests() {
    let response = "HTTP/1.1 429 Too Many Requests\nretry-after: 20\ncontent-type: application/json\n\n\
                    {\"error\":{\"message\":\"Rate limit reached\",\"type\":\"tokens\"}}";
    let server = Server::start(response, Then::Close).await;
    let (seen, error) = records(&server.url()).await;
    assert!(seen.is_empty());
    let Some(ResponseError::Source(error)) = error else { panic!("{error:?}") };
    assert_eq!(
        chain(&error),
        "the server responded with status 429 Too Many Requests: Rate limit reached (it asks to wait 20s)"
    );
    let EventSourceError::Status { status, message, retry_after } = error else { panic!("{error:?}") };
    assert_eq!((status, message.as_deref()), (429, Some("Rate limit reached")));
    assert_eq!(retry_after, Some(Duration::from_secs(20)));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn other_statuses() {
    let cases = [
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            "{\"error\":\"out of memory\"}",
            "500 Internal Server Error: out of memory",
        ),
        (
            StatusCode::UNAUTHORIZED,
            "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}",
            "401 Unauthorized: invalid x-api-key",
        ),
        (StatusCode::BAD_GATEWAY, "<html><h1>Bad Gateway</h1></html>", "502 Bad Gateway"),
        (StatusCode::NOT_FOUND, "{\"detail\":\"Not Found\"}", "404 Not Found: {\"detail\":\"Not Found\"}"),
        (StatusCode::CREATED, "", "201 Created"),
    ];
    // Side by side: each waits for a retry that does not come.
    let checks = cases.map(|(status, body, expected)| async move {
        let server = serve(Recording::new("refused", body).status(status)).await;
        let error = source_error(&server.url()).await;
        assert_eq!(error.to_string(), format!("the server responded with status {expected}"));
        assert_eq!(server.traffic().requests, 1);
    });
    join_all(checks).await;
}

#[tokio::test]
async fn html_instead_of_a_stream() {
    let page = "HTTP/1.1 200 OK\ncontent-type: text/html; charset=utf-8\n\n<html>Please sign in</html>";
    assert_eq!(
        message(page).await,
        "the server responded with `text/html; charset=utf-8` instead of an event stream; check that the request asks for a stream"
    );
    assert_eq!(
        message("HTTP/1.1 200 OK\n\nhello").await,
        "the server responded without a content type instead of an event stream; check that the request asks for a stream"
    );
}

#[tokio::test]
async fn json_instead_of_a_stream() {
    let failure = "{\"error\":{\"message\":\"The model is overloaded\"}}";
    let server = serve(Recording::new("json", failure).content_type(ContentType::Json)).await;
    let (seen, error) = records(&server.url()).await;
    assert!(seen.is_empty());
    assert_eq!(
        chain(&error.expect("an error")),
        "the source of the response failed: the server responded with `application/json` instead of an event stream: \
         The model is overloaded"
    );
    assert_eq!(server.traffic().requests, 1);

    // A complete response is not shown.
    let reply = "{\"choices\":[{\"message\":{\"content\":\"private\"}}]}";
    for content_type in [ContentType::Json, ContentType::Ndjson] {
        let server = serve(Recording::new("json", reply).content_type(content_type)).await;
        assert_eq!(
            source_error(&server.url()).await.to_string(),
            format!(
                "the server responded with `{}` instead of an event stream; check that the request asks for a stream",
                content_type.as_str()
            )
        );
        assert_eq!(server.traffic().requests, 1);
    }
}

#[tokio::test]
async fn a_long_message_is_truncated() {
    let body = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "word ".repeat(5_000));
    let server = serve(Recording::new("long", body).status(StatusCode::BAD_REQUEST)).await;
    let expected = format!("the server responded with status 400 Bad Request: {}…", "word ".repeat(100));
    assert_eq!(source_error(&server.url()).await.to_string(), expected);

    // Of an endless body, only this much is read.
    let endless = Recording::new("endless", "word ".repeat(1 << 22)).status(StatusCode::BAD_REQUEST);
    let server = serve(endless).await;
    assert_eq!(source_error(&server.url()).await.to_string(), expected);
    let traffic = soon(server.wait_for(|traffic| traffic.open_connections == 0)).await;
    assert_eq!((traffic.bodies_dropped, traffic.requests), (1, 1));
}

#[tokio::test]
async fn a_slow_message_is_not_awaited() {
    let response = "HTTP/1.1 503 Service Unavailable\ncontent-length: 1000\n\nstarting";
    let server = Server::start(response, Then::Hold).await;
    let error = source_error(&server.url()).await;
    assert_eq!(error.to_string(), "the server responded with status 503 Service Unavailable: starting");
    server.wait_for(|counts| counts.closed == 1).await;
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn the_clients_timeouts() {
    for (response, expected) in [
        (
            "",
            "the client's timeout passed before the server responded; the server may have received the request",
        ),
        (
            "HTTP/1.1 200 OK\ncontent-type: text/event-stream\n\n: alive\n\n",
            "the client's timeout passed before the response ended (`timeout` covers the whole response, \
             `read_timeout` each read)",
        ),
    ] {
        let server = Server::start(response, Then::Hold).await;
        let request = request(&server.url()).timeout(Duration::from_millis(200));
        let mut body = EventSourceBody::new(request.eventsource().expect("a request that can be cloned"));
        let error = soon(body.next()).await.expect("an error").expect_err("an error");
        assert_eq!(error.to_string(), expected, "{}", chain(&error));
        assert!(body.next().await.is_none());
        server.wait_for(|counts| counts.closed == 1).await;
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn a_redirect_to_nowhere() {
    let response =
        "HTTP/1.1 307 Temporary Redirect\nlocation: ftp://elsewhere/?key=SECRET\ncontent-length: 0\n\n";
    assert_eq!(
        message(response).await,
        "the event source failed: the server redirects to a location that the client does not follow"
    );
}
