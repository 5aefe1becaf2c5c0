//! Requests that are refused, and keys that go no further.

use serde_json::{Value, json};
use tokenline::LlmClient;
use tokenline::llm::Provider;
use tokenline::llm::client::reqwest::{Client, Method};
use tokenline_axum::gateway::Gateway;

use crate::common::{CLIENTS, Served, chat_stream, json_of, request, text, upstream};
use crate::server::{ScriptedServer, events};

async fn server() -> ScriptedServer {
    let wire = chat_stream(&["Hi"], "stop");
    ScriptedServer::always(move || events(&wire)).await
}

fn kind(client: Provider, body: &str) -> String {
    let body = json_of(body);
    assert_eq!(body["type"] == "error", client == Provider::Anthropic, "{body}");
    body["error"]["type"].as_str().expect("a type").to_owned()
}

/// A refused request never reaches the upstream, in its own format or another.
#[tokio::test]
async fn hostile_requests_are_refused() {
    let server = server().await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
    for (client, path) in CLIENTS {
        let good = request(client, true);
        let post = || gateway.post(path, &good);
        let big = format!("{{\"a\":\"{}\"}}", "x".repeat(16 << 20));
        let deep = "[".repeat(100_000);
        let cases = [
            ("another host", post().header("host", "evil.example"), 403),
            ("a page", post().header("origin", "https://evil.example"), 403),
            ("an opaque page", post().header("origin", "null"), 403),
            ("no JSON type", post().header("content-type", "text/plain"), 415),
            ("compressed", post().header("content-encoding", "gzip"), 415),
            ("too large", post().body(big), 413),
            ("not JSON", post().body("{\"model\": }"), 400),
            ("cut off", post().body("{\"model\": \"m"), 400),
            ("not UTF-8", post().body(&b"{\"model\":\"\xff\"}"[..]), 400),
            ("an array", post().body("[]"), 400),
            ("too deep", post().body(deep), 400),
            ("empty", post().body(""), 400),
        ];
        for (name, request, expected) in cases {
            let got = request.send().await.expect("sent");
            assert_eq!(got.status().as_u16(), expected, "{name}");
            let body = text(got).await;
            kind(client, &body);
        }
    }
    // What cannot be translated.
    for body in
        [json!({}), json!({"model": 7}), json!({"model": "m", "messages": "hi"}), json!({"model": "m"})]
    {
        for (client, path) in [CLIENTS[1], CLIENTS[2]] {
            let got = gateway.post(path, &body).send().await.expect("sent");
            assert_eq!(got.status(), 400, "{body}");
            assert_eq!(kind(client, &text(got).await), "invalid_request_error");
        }
    }
    for (path, method) in
        [("/v1/other", Method::POST), ("/v1/chat/completions", Method::GET), ("//evil.example", Method::POST)]
    {
        let got = Client::new().request(method, format!("{}{path}", gateway.url)).send().await.expect("sent");
        assert_eq!(got.status(), 404, "{path}");
        kind(Provider::OpenAiChat, &text(got).await);
    }
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn a_listed_page_may_use_the_gateway() {
    let server = server().await;
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).origins(["https://app.example.com"]);
    let gateway = Served::new(gateway).await;
    let origin = "https://app.example.com";
    let preflight = Client::new().request(Method::OPTIONS, format!("{}/v1/messages", gateway.url));
    let preflight = preflight
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "x-api-key,content-type");
    let got = preflight.send().await.expect("sent");
    assert_eq!(got.status(), 204);
    assert_eq!(got.headers()["access-control-allow-origin"], origin);
    assert_eq!(got.headers()["access-control-allow-headers"], "x-api-key,content-type");
    let post = gateway.post("/v1/messages", &request(Provider::Anthropic, true)).header("origin", origin);
    let got = post.send().await.expect("sent");
    assert_eq!(
        (got.status().as_u16(), &got.headers()["access-control-allow-origin"]),
        (200, &origin.parse().unwrap())
    );
    text(got).await;
    assert_eq!(server.requests(), 1);
}

/// The token of the gateway is not the upstream's key, and a client's key is in no summary.
#[tokio::test]
async fn keys_go_where_they_belong() {
    let server = server().await;
    let secret = "sk-secret-of-the-client";
    let own = "sk-own-of-the-gateway";
    let with_key = LlmClient::builder(Provider::OpenAiChat).base_url(server.url()).api_key(own).retries(0);
    let token = Gateway::new(with_key.build().expect("a client")).token("let-me-in-please");
    let without_key = Gateway::new(upstream(Provider::OpenAiChat, &server));
    let (token, without_key) = (Served::new(token).await, Served::new(without_key).await);
    for (client, path) in CLIENTS {
        let headers = |key: &str| match client {
            Provider::Anthropic => ("x-api-key", key.to_owned()),
            _ => ("authorization", format!("Bearer {key}")),
        };
        let post = |gateway: &Served, key: &str| {
            let (name, value) = headers(key);
            gateway.post(path, &request(client, true)).header(name, value)
        };
        let got = post(&token, "wrong").send().await.expect("sent");
        assert_eq!(got.status(), 401);
        kind(client, &text(got).await);
        let got = token.post(path, &request(client, true)).send().await.expect("sent");
        assert_eq!(got.status(), 401);
        let before = server.requests();
        text(post(&token, "let-me-in-please").send().await.expect("sent")).await;
        text(post(&without_key, secret).send().await.expect("sent")).await;
        let log = server.log();
        let keys = log.requests[before..].iter().map(|request| request.header("authorization"));
        let expected = [own, secret].map(|key| format!("Bearer {key}"));
        assert!(keys.eq(expected.iter().map(|key| Some(key.as_str()))), "{:?}", log.requests);
        for request in &log.requests {
            assert_eq!(request.header("x-api-key"), None);
            assert!(!format!("{request:?}").contains("let-me-in"));
        }
    }
    for summary in token.ended(3).await.iter().chain(&without_key.ended(3).await) {
        let shown = format!("{summary} {summary:?}");
        assert!(!shown.contains("sk-") && !shown.contains("Paris") && !shown.contains("Hi"), "{shown}");
    }
    let metrics = Client::new().get(format!("{}/metrics", without_key.url)).send().await.expect("sent");
    let metrics = text(metrics).await;
    assert!(
        metrics.contains("tokenline_gateway_requests_total{client=\"anthropic\",status=\"200\"} 1\n"),
        "{metrics}"
    );
    assert!(metrics.contains("tokenline_gateway_output_tokens_total 15\n"), "{metrics}");
    let hidden = Client::new().get(format!("{}/metrics", token.url)).send().await.expect("sent");
    assert_eq!(hidden.status(), 401);
    let _: Value = json_of(&text(hidden).await);
}

/// Only that the server runs is open to all; routes answer a HEAD as they answer a GET, which spends the key.
#[tokio::test]
async fn a_head_request_needs_the_token_as_well() {
    let server = server().await;
    let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).token("let-me-in-please");
    let gateway = Served::new(gateway).await;
    for (path, status) in [("/", 200), ("/v1/models", 401), ("/v1/models/m", 401), ("/metrics", 401)] {
        let got = Client::new().head(format!("{}{path}", gateway.url)).send().await.expect("sent");
        assert_eq!(got.status(), status, "{path}");
    }
    assert_eq!(server.requests(), 0);
}

/// A body that is too large by its own account is refused before it comes, and a path that is not UTF-8 in the API's form.
#[tokio::test]
async fn bodies_and_paths_are_refused_early() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let server = server().await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
    let address = gateway.url.strip_prefix("http://").expect("a URL");
    let head = "content-type: application/json\r\ncontent-length: 17825792\r\nconnection: close\r\n\r\n";
    for (line, expected) in [
        (format!("POST /v1/messages HTTP/1.1\r\nhost: {address}\r\n{head}"), "413"),
        (format!("GET /v1/models/%FF HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"), "404"),
    ] {
        let mut socket = tokio::net::TcpStream::connect(address).await.expect("connected");
        socket.write_all(line.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        let read = socket.read_to_end(&mut answer);
        let _ = tokio::time::timeout(std::time::Duration::from_secs(5), read).await.expect("at once");
        let answer = String::from_utf8(answer).expect("text");
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {expected} ")) && answer.contains("\"error\""),
            "{answer}"
        );
    }
    assert_eq!(server.requests(), 0);
    assert!(
        gateway
            .ended(2)
            .await
            .iter()
            .all(|summary| !summary.was_sent && summary.to_string().contains(" refused "))
    );
}
