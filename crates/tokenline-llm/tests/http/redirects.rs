//! Redirects: requests with their secrets only go where they are sent.

use tokenline_llm::Provider;
use tokenline_llm::client::{ApiKey, ClientError, ClientErrorKind, LlmClientBuilder};

use crate::server::{ScriptedServer, Step, events, response};
use crate::{client, fail, send};

fn redirect(status: u16, location: &str) -> Step {
    response(status, &[("location", location)], "")
}

fn anthropic(server: &ScriptedServer) -> LlmClientBuilder {
    client(Provider::Anthropic, &server.url()).api_key(ApiKey::new("sk-12345").expect("a key"))
}

#[tokio::test]
async fn redirects_within_the_server_keep_the_request() {
    for status in [307, 308] {
        let server = ScriptedServer::new(move |number, _| match number {
            0 => vec![redirect(status, "/v2/messages")],
            1 => vec![redirect(status, "messages/now?please")],
            _ => events(""),
        })
        .await;
        drop(send(anthropic(&server)).await.expect("a response"));
        let requests = server.log().requests;
        let paths: Vec<_> = requests.iter().map(|request| &*request.path).collect();
        assert_eq!(paths, ["/v1/messages", "/v2/messages", "/v2/messages/now?please"]);
        for request in &requests {
            assert_eq!((&request.method, &request.body), (&"POST".to_owned(), &requests[0].body));
            for name in ["x-api-key", "anthropic-version", "content-type", "accept"] {
                assert_eq!(request.header(name), requests[0].header(name), "{name}");
            }
            assert_eq!((request.header("x-api-key"), request.header("referer")), (Some("sk-12345"), None));
        }
    }
}

/// Fails with this text, after one request.
async fn stays(server: &ScriptedServer, expected: &str) -> ClientError {
    let error = fail(anthropic(server).retries(5)).await;
    assert!(error.to_string().ends_with(expected), "{error}");
    assert_eq!((error.kind(), error.attempts()), (ClientErrorKind::Status, 1));
    assert_eq!(server.requests(), 1, "{error}");
    error
}

const NOT_FOLLOWED: &str = "which is not followed; if that is correct, set it as the base URL";

#[tokio::test]
async fn redirects_to_another_server_are_not_followed() {
    let other = ScriptedServer::always(|| events("")).await;
    let port = other.port();
    for status in [301, 302, 303, 307, 308] {
        for location in [
            format!("http://127.0.0.1:{port}/v1/messages?secret=1"),
            format!("//127.0.0.1:{port}/"),
            format!("http://localhost:{port}/"),
            format!("http://127.0.0.1:{port}@127.0.0.1:{port}/"),
        ] {
            let host = if location.contains("localhost") { "localhost" } else { "127.0.0.1" };
            let server = ScriptedServer::always(move || vec![redirect(status, &location)]).await;
            let expected = format!(" at /v1/messages: it redirects to http://{host}:{port}, {NOT_FOLLOWED}");
            let error = stays(&server, &expected).await;
            assert_eq!(error.status(), Some(status));
        }
    }
    // The same host and port with another scheme.
    let server = ScriptedServer::new(|_, request| {
        let host = request.header("host").expect("a host");
        vec![redirect(308, &format!("https://{host}/v1/messages"))]
    })
    .await;
    stays(&server, &format!(": it redirects to https://127.0.0.1:{}, {NOT_FOLLOWED}", server.port())).await;
    // Without any host.
    for (location, place) in [("ftp://127.0.0.1/", "ftp://127.0.0.1"), ("data:,hello", "data://")] {
        let server = ScriptedServer::always(move || vec![redirect(307, location)]).await;
        stays(&server, &format!(": it redirects to {place}, {NOT_FOLLOWED}")).await;
    }
    assert_eq!(other.log().connections, 0);
}

#[tokio::test]
async fn a_redirect_that_would_change_the_request_is_not_followed() {
    for status in [301, 302, 303] {
        let server = ScriptedServer::always(move || vec![redirect(status, "/v2/messages?a=b")]).await;
        stays(&server, &format!(": it redirects to /v2/messages, {NOT_FOLLOWED}")).await;
    }
}

#[tokio::test]
async fn a_redirect_without_a_location_is_an_error() {
    for headers in [&[][..], &[("location", "http://[oh/no")], &[("location", "http://h:99999")]] {
        let server = ScriptedServer::always(move || vec![response(307, headers, "gone")]).await;
        stays(&server, "responded 307 Temporary Redirect at /v1/messages: gone").await;
    }
}

#[tokio::test]
async fn redirects_are_limited() {
    for to in ["/v1/messages", "/v1/messages/", "?again"] {
        let server = ScriptedServer::always(move || vec![redirect(307, to)]).await;
        let error = fail(anthropic(&server).retries(5)).await;
        assert!(error.to_string().ends_with(": too many redirects"), "{error}");
        assert_eq!((error.status(), error.attempts(), server.requests()), (Some(307), 1, 4));
    }
}

#[tokio::test]
async fn settings_of_the_http_client_do_not_change_this() {
    let other = ScriptedServer::always(|| events("")).await;
    let location = other.url();
    let server = ScriptedServer::always(move || vec![redirect(307, &location)]).await;
    let careless = anthropic(&server).http(|http| {
        let again =
            reqwest::retry::for_host("127.0.0.1").no_budget().classify_fn(|attempt| match attempt.status() {
                Some(_) => attempt.retryable(),
                None => attempt.success(),
            });
        http.redirect(reqwest::redirect::Policy::limited(10)).referer(true).retry(again)
    });
    let error = fail(careless.retries(0)).await;
    assert_eq!((error.status(), server.requests(), other.log().connections), (Some(307), 1, 0));
}
