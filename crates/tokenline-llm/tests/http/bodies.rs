//! Responses that are not streams, and errors with unusual bodies.

use std::time::{Duration, Instant};

use serde_json::json;
use tokenline_llm::client::ClientErrorKind;
use tokenline_llm::{Provider, ResponseError};

use crate::server::{ScriptedServer, Step, chunk, error_response, head, response};
use crate::{client, fail, send, soon};

#[tokio::test]
async fn html_is_not_a_stream() {
    for content_type in ["text/html; charset=utf-8", "TEXT/HTML", "application/xml"] {
        let server = ScriptedServer::always(move || {
            vec![response(
                200,
                &[("content-type", content_type), ("x-request-id", "1")],
                "<html>Sign in</html>",
            )]
        })
        .await;
        let error = fail(client(Provider::OpenAiChat, &server.url())).await;
        let essence = content_type.split(';').next().unwrap_or_default().to_lowercase();
        let expected = format!(
            "127.0.0.1:{} responded with {essence} at /v1/chat/completions, not with a stream: check the base URL (request id 1)",
            server.port()
        );
        assert_eq!(error.to_string(), expected);
        assert_eq!((error.kind(), error.status()), (ClientErrorKind::ContentType, Some(200)));
        assert_eq!((server.requests(), error.is_retryable()), (1, false));
    }
}

#[tokio::test]
async fn an_error_may_come_with_success() {
    for provider in [Provider::OpenAiChat, Provider::OpenAiResponses, Provider::Anthropic] {
        let server = ScriptedServer::always(|| {
            vec![error_response(200, &[], &json!({"error": {"message": "no credits"}}))]
        })
        .await;
        let error = fail(client(provider, &server.url())).await;
        let expected =
            format!("127.0.0.1:{} responded with an error at {}: no credits", server.port(), provider.path());
        assert_eq!(error.to_string(), expected);
        assert_eq!((error.kind(), error.status()), (ClientErrorKind::Status, Some(200)));
        assert_eq!(server.requests(), 1);
    }
}

/// If the stream may be JSON, the error is inside it.
#[tokio::test]
async fn an_error_with_success_is_an_error_of_the_stream_too() {
    for (provider, content_type, body) in [
        (
            Provider::Gemini,
            "application/json",
            "[{\n  \"error\": {\"code\": 500, \"message\": \"Internal error\"}\n}\n]",
        ),
        (Provider::Ollama, "application/json", "{\"error\":\"Internal error\"}"),
        (Provider::OpenAiChat, "text/plain", "{\"error\":{\"message\":\"Internal error\"}}"),
        (Provider::OpenAiChat, "application/problem+json", "{\"error\":{\"message\":\"Internal error\"}}"),
    ] {
        let server =
            ScriptedServer::always(move || vec![response(200, &[("content-type", content_type)], body)])
                .await;
        let mut records = send(client(provider, &server.url())).await.expect("a response").records();
        let error = soon(records.next()).await.expect("an error").expect_err("an error");
        assert!(matches!(error, ResponseError::Provider(_)), "{error:?}");
        assert_eq!(error.to_string(), "the provider failed: Internal error");
        assert!(soon(records.next()).await.is_none());
    }
}

#[tokio::test]
async fn a_compressed_response_is_reported() {
    let headers = [("content-type", "text/event-stream"), ("content-encoding", "br")];
    let server = ScriptedServer::always(move || vec![response(200, &headers, "\u{b}")]).await;
    let error = fail(client(Provider::OpenAiChat, &server.url())).await;
    assert_eq!(error.kind(), ClientErrorKind::ContentType);
    assert!(error.to_string().contains("responded with `br` content at "), "{error}");
    let headers = [("content-type", "text/event-stream"), ("content-encoding", "identity")];
    let server = ScriptedServer::always(move || vec![response(200, &headers, "data: [DONE]\n\n")]).await;
    assert!(send(client(Provider::OpenAiChat, &server.url())).await.is_ok());
}

#[tokio::test]
async fn a_json_document_is_not_a_stream() {
    let server =
        ScriptedServer::always(|| vec![error_response(200, &[], &json!({"message": "Welcome!"}))]).await;
    assert_eq!(fail(client(Provider::OpenAiChat, &server.url())).await.kind(), ClientErrorKind::ContentType);

    // Not even a complete response.
    let whole = json!({"object": "chat.completion", "choices": [{"message": {"content": "{\"a\":1}"}, "finish_reason": "stop"}]});
    let server = ScriptedServer::always(move || vec![error_response(200, &[], &whole)]).await;
    let error = fail(client(Provider::OpenAiChat, &server.url())).await;
    let expected = format!(
        "127.0.0.1:{} responded with a JSON document at /v1/chat/completions, not with a stream",
        server.port()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.kind(), ClientErrorKind::ContentType);
}

/// The head of an error with an endless body.
fn endless(content_type: &str) -> Step {
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    Step::Write(head.into_bytes())
}

fn repeat(piece: &str, pause: Duration) -> Step {
    match chunk(piece) {
        Step::Write(bytes) => Step::Repeat(bytes, pause),
        _ => unreachable!("it is written"),
    }
}

#[tokio::test]
async fn an_error_without_end_is_read_to_a_limit() {
    let server =
        ScriptedServer::always(|| vec![endless("text/plain"), repeat(&"no ".repeat(1000), Duration::ZERO)])
            .await;
    let started = Instant::now();
    let error = fail(client(Provider::OpenAiChat, &server.url())).await;
    assert!(error.to_string().ends_with('…'), "{error}");
    assert!(error.to_string().len() < 700);
    // Not by its timeout, which is ten seconds.
    assert!(started.elapsed() < Duration::from_secs(8));
    // What sockets and the HTTP client hold beyond the 64 KiB that are kept.
    let written = server.until(|log| log.open == 0).await.written;
    assert!(written < 8 << 20, "{written} bytes");
}

#[tokio::test]
async fn a_slow_error_is_read_until_a_timeout() {
    for (content_type, piece, expected) in
        [("text/plain", "no ", ": no no "), ("application/json", " ", "400 Bad Request at /v1/messages")]
    {
        let server = ScriptedServer::always(move || {
            vec![endless(content_type), repeat(piece, Duration::from_millis(20))]
        })
        .await;
        // There is never a silence of this length.
        let error =
            fail(client(Provider::Anthropic, &server.url()).read_timeout(Duration::from_millis(700))).await;
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!((error.kind(), error.status()), (ClientErrorKind::Status, Some(400)));
        server.until(|log| log.open == 0).await;
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn an_error_that_breaks_off_is_an_error_still() {
    let server = ScriptedServer::always(|| vec![endless("text/plain"), chunk("not tod"), Step::Close]).await;
    let error = fail(client(Provider::Anthropic, &server.url())).await;
    assert!(error.to_string().ends_with("responded 400 Bad Request at /v1/messages: not tod"), "{error}");
}

#[tokio::test]
async fn a_slow_error_with_success_is_read_until_a_timeout() {
    let server =
        ScriptedServer::always(|| vec![head("application/json"), repeat(" ", Duration::from_millis(20))])
            .await;
    let error =
        fail(client(Provider::OpenAiChat, &server.url()).read_timeout(Duration::from_millis(700))).await;
    assert_eq!(error.kind(), ClientErrorKind::ContentType);
}
