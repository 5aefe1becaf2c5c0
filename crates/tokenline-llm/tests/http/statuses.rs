//! HTTP errors and retries.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokenline_llm::Provider;
use tokenline_llm::client::{ApiKey, ClientErrorKind};

use crate::common::text;
use crate::server::{ScriptedServer, Step, error_response, events, response};
use crate::{client, fail, request, send, soon};

/// Provider, status, header and body of an error, and the expected message.
type ErrorCase = (Provider, u16, (&'static str, &'static str), Value, &'static str);

/// The original error responses of providers.
fn error_cases() -> Vec<ErrorCase> {
    let id = ("x-request-id", "req_1");
    vec![
        (
            Provider::OpenAiChat,
            401,
            id,
            json!({"error": {"message": "Incorrect API key provided: nonsense.", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}),
            "HOST responded 401 Unauthorized at /v1/chat/completions: Incorrect API key provided: nonsense. (request id req_1)",
        ),
        (
            Provider::OpenAiChat,
            404,
            id,
            json!({"error": {"message": "The model `some-model` does not exist or you do not have access to it.", "type": "invalid_request_error", "param": null, "code": "model_not_found"}}),
            "HOST responded 404 Not Found at /v1/chat/completions: The model `some-model` does not exist or you do not have access to it. (request id req_1)",
        ),
        (
            Provider::OpenAiResponses,
            400,
            id,
            json!({"error": {"message": "Unknown parameter: 'sed'.", "type": "invalid_request_error", "param": "sed", "code": "unknown_parameter"}}),
            "HOST responded 400 Bad Request at /v1/responses: Unknown parameter: 'sed'. (request id req_1)",
        ),
        (
            Provider::Anthropic,
            403,
            ("request-id", "req_2"),
            json!({"type": "error", "error": {"type": "permission_error", "message": "Your API key does not have permission to use the specified resource."}, "request_id": "req_2"}),
            "HOST responded 403 Forbidden at /v1/messages: Your API key does not have permission to use the specified resource. (request id req_2)",
        ),
        (
            Provider::Gemini,
            400,
            ("server-timing", "gfet4t7; dur=22"),
            json!([{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}}]),
            "HOST responded 400 Bad Request at /v1beta/models/some-model:streamGenerateContent: API key not valid. Please pass a valid API key.",
        ),
        (
            Provider::Ollama,
            404,
            ("date", "Fri, 21 Nov 2025 17:00:00 GMT"),
            json!({"error": "model 'some-model' not found"}),
            "HOST responded 404 Not Found at /api/chat: model 'some-model' not found",
        ),
        // Self-hosted servers, and gateways.
        (
            Provider::OpenAiChat,
            404,
            id,
            json!({"detail": "Not Found"}),
            "HOST responded 404 Not Found at /v1/chat/completions: Not Found (request id req_1)",
        ),
        (
            Provider::OpenAiChat,
            413,
            id,
            json!({"unheard": "of"}),
            "HOST responded 413 Payload Too Large at /v1/chat/completions (request id req_1)",
        ),
        (
            Provider::OpenAiChat,
            499,
            id,
            json!(["odd"]),
            "HOST responded 499 at /v1/chat/completions (request id req_1)",
        ),
    ]
}

#[tokio::test]
async fn an_error_shows_the_providers_message_and_is_final() {
    for (provider, status, header, body, expected) in error_cases() {
        let server = ScriptedServer::always(move || vec![error_response(status, &[header], &body)]).await;
        let error =
            fail(client(provider, &server.url()).api_key(ApiKey::new("sk-12345").expect("a key"))).await;
        assert_eq!(error.to_string(), expected.replace("HOST", &server.url()["http://".len()..]));
        assert_eq!((error.kind(), error.status()), (ClientErrorKind::Status, Some(status)));
        let id = Some(header.1).filter(|_| header.0.ends_with("request-id"));
        assert_eq!((error.request_id(), error.attempts(), error.is_retryable()), (id, 1, false));
        assert_eq!(server.requests(), 1, "{provider:?} {status}");
    }
}

#[tokio::test]
async fn plain_text_is_a_message_and_html_is_not() {
    for (content_type, body, expected) in [
        ("text/plain", "  no such model\n", ": no such model"),
        ("text/html", "<html><body>404</body></html>", ""),
        ("application/json", "{\"error\":{\"message\":\"cut o", ""),
        ("application/json", "", ""),
    ] {
        let server =
            ScriptedServer::always(move || vec![response(404, &[("content-type", content_type)], body)])
                .await;
        let error = fail(client(Provider::OpenAiChat, &server.url())).await;
        let port = server.port();
        let expected = format!("127.0.0.1:{port} responded 404 Not Found at /v1/chat/completions{expected}");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_missing_key_is_explained() {
    let server =
        ScriptedServer::always(|| vec![error_response(401, &[], &json!({"error": "unauthorized"}))]).await;
    let text = fail(client(Provider::Gemini, &server.url())).await.to_string();
    let expected = ": unauthorized; the client has no API key: set GOOGLE_API_KEY or GEMINI_API_KEY";
    assert!(text.ends_with(expected), "{text}");
    // The hint is omitted if there are other credentials.
    let base_url = server.url();
    for client in [
        client(Provider::Gemini, &base_url).header("Authorization", "Bearer abcdef"),
        client(Provider::Gemini, &format!("{base_url}/?key=abcdef")),
        client(Provider::Gemini, &base_url.replace("//", "//me:abcdef@")),
    ] {
        let text = fail(client).await.to_string();
        assert!(text.ends_with(": unauthorized"), "{text}");
    }
}

fn busy() -> Step {
    error_response(429, &[("retry-after", "0")], &json!({"error": {"message": "slow down"}}))
}

fn reply() -> Vec<Step> {
    events(&(text("{\"n\":1}\n") + "data: [DONE]\n\n"))
}

#[tokio::test]
async fn a_transient_error_is_retried() {
    let server = ScriptedServer::new(|number, _| if number < 2 { vec![busy()] } else { reply() }).await;
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
    assert_eq!(soon(records.next()).await.expect("a record").expect("a record").value.as_str(), "{\"n\":1}");
    assert!(soon(records.next()).await.is_none());
    assert!(records.report().is_complete());
    let requests = server.log().requests;
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.body == requests[0].body));
}

#[tokio::test]
async fn a_persistent_error_is_retried_up_to_the_limit() {
    for retries in [0, 1, 3] {
        let server = ScriptedServer::always(|| {
            vec![error_response(
                503,
                &[("retry-after-ms", "1")],
                &json!({"error": {"message": "overloaded"}}),
            )]
        })
        .await;
        let error = fail(client(Provider::Anthropic, &server.url()).retries(retries)).await;
        assert_eq!((error.attempts(), server.requests()), (retries + 1, retries as usize + 1));
        assert!(error.is_retryable());
        let attempts = if retries == 0 { String::new() } else { format!("{} attempts, ", retries + 1) };
        let expected =
            format!("503 Service Unavailable at /v1/messages: overloaded ({attempts}try again after 1 s)");
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn retries_back_off_without_retry_after() {
    let server = ScriptedServer::new(|number, _| match number {
        0 => vec![error_response(
            529,
            &[],
            &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        )],
        _ => reply(),
    })
    .await;
    let started = Instant::now();
    drop(send(client(Provider::Anthropic, &server.url()).retries(1)).await.expect("a response"));
    assert!(started.elapsed() >= Duration::from_millis(400), "{:?}", started.elapsed());
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    let none: &[(&str, &str)] = &[];
    let message = |message: &str| json!({"error": {"message": message}});
    let quota = json!({"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}});
    for (status, headers, body, expected) in [
        (429, none, quota, "429 Too Many Requests at /v1/responses: You exceeded your current quota."),
        (
            429,
            &[("retry-after", "3600")],
            message("slow down"),
            "429 Too Many Requests at /v1/responses: slow down (try again after 3600 s)",
        ),
        (504, none, message("upstream"), "504 Gateway Timeout at /v1/responses: upstream"),
        (504, &[("retry-after", "0")], message("upstream"), "504 Gateway Timeout at /v1/responses: upstream"),
        (524, none, message("timeout"), "524 at /v1/responses: timeout"),
        (408, none, message("timeout"), "408 Request Timeout at /v1/responses: timeout"),
        (409, none, message("conflict"), "409 Conflict at /v1/responses: conflict"),
        (
            500,
            &[("x-should-retry", "false")],
            message("server error"),
            "500 Internal Server Error at /v1/responses: server error",
        ),
    ] {
        let server = ScriptedServer::always(move || vec![error_response(status, headers, &body)]).await;
        let error = fail(client(Provider::OpenAiResponses, &server.url()).retries(5)).await;
        assert!(error.to_string().ends_with(expected), "{error}");
        assert_eq!((server.requests(), error.attempts()), (1, 1), "{error}");
    }
}

#[tokio::test]
async fn the_provider_decides_about_retries() {
    let server = ScriptedServer::new(|number, _| match number {
        0 => {
            vec![error_response(
                409,
                &[("x-should-retry", "true"), ("retry-after", "0")],
                &json!({"error": "lock"}),
            )]
        }
        _ => reply(),
    })
    .await;
    drop(send(client(Provider::OpenAiChat, &server.url())).await.expect("a response"));
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn invalid_requests_are_not_sent() {
    let server = ScriptedServer::always(reply).await;
    let client = client(Provider::Anthropic, &server.url()).build().expect("a client");
    let error = client.stream(&request().seed(1)).expect_err("it has none");
    assert_eq!(error.to_string(), "cannot send the request: anthropic does not support seed");
    assert_eq!((error.kind(), error.attempts(), error.status()), (ClientErrorKind::Request, 0, None));
    assert_eq!(server.log().connections, 0);
}
