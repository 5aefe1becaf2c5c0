//! Faulty upstreams: each fault is an error of the client's format, and one request.

use std::time::Duration;

use serde_json::Value;
use tokenline::llm::Provider;
use tokenline::{CallFormat, LlmClient};
use tokenline_axum::gateway::Gateway;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::common::{CLIENTS, Served, chat_stream, json_of, request, text, upstream};
use crate::server::{ScriptedServer, Step, chunk, end, error_response, events, head, response};
use crate::soon;

/// The error in a body, or in the last event of a stream.
fn error(client: Provider, body: &str) -> Value {
    let data = body.trim_end().rsplit("data: ").next().expect("data");
    let data = json_of(data);
    match client {
        Provider::OpenAiResponses if data["type"] == "response.failed" => data["response"]["error"].clone(),
        _ => data["error"].clone(),
    }
}

#[tokio::test]
async fn errors_of_the_upstream_are_translated() {
    // The upstream's status and headers; the client's status, its wait, and whether it may try again.
    let cases = [
        (400, vec![], 400, None, true),
        (401, vec![], 401, None, true),
        (404, vec![], 404, None, true),
        (429, vec![("retry-after", "7")], 429, Some("7"), true),
        (500, vec![], 500, None, true),
        (503, vec![], 503, None, true),
        (504, vec![], 504, None, false),
        (529, vec![("retry-after", "3")], 529, Some("3"), true),
        (418, vec![], 502, None, false),
    ];
    for (status, headers, expected, wait, may_retry) in cases {
        let server = ScriptedServer::always(move || {
            vec![error_response(
                status,
                &headers,
                &serde_json::json!({"error": {"message": "no luck today"}}),
            )]
        })
        .await;
        let gateway = Served::new(Gateway::new(upstream(Provider::Ollama, &server))).await;
        for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
            let got = gateway.post(path, &request(client, is_streamed)).send().await.expect("sent");
            assert_eq!(got.status().as_u16(), expected, "{status}");
            let retry_after = got.headers().get("retry-after").cloned();
            assert_eq!(retry_after.as_ref().map(|value| value.to_str().expect("text")), wait);
            let is_final = got.headers().get("x-should-retry").is_some_and(|value| value == "false");
            assert_eq!(is_final, !may_retry, "{status}");
            let body = text(got).await;
            let error = error(client, &body);
            assert!(error["message"].as_str().expect("a message").contains("no luck today"), "{body}");
            assert!(error["type"].is_string(), "{body}");
            assert_eq!(json_of(&body)["type"] == "error", client == Provider::Anthropic, "{body}");
        }
        assert_eq!(server.requests(), 6);
    }
}

/// The provider's code of an error is the client's: libraries look for `context_length_exceeded`.
#[tokio::test]
async fn codes_of_errors_go_through() {
    let too_long =
        r#"{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    let busy = r#"{"error":{"type":"overloaded_error","message":"busy"}}"#;
    let before = vec![error_response(400, &[], &json_of(too_long))];
    let within = events(&format!("data: {too_long}\n\n"));
    for (upstream_api, script, codes, status) in [
        (Provider::OpenAiChat, before, ["context_length_exceeded", "invalid_request_error"], 400),
        (Provider::OpenAiChat, within, ["context_length_exceeded", "invalid_request_error"], 400),
        (
            Provider::Anthropic,
            events(&format!("event: error\ndata: {busy}\n\n")),
            ["server_error", "overloaded_error"],
            529,
        ),
    ] {
        let server = ScriptedServer::always(move || script.clone()).await;
        let gateway = Gateway::new(upstream(upstream_api, &server)).call_format(CallFormat::Auto);
        let gateway = Served::new(gateway).await;
        for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
            let got = gateway.post(path, &request(client, is_streamed)).send().await.expect("sent");
            assert!(is_streamed || got.status() == status, "{}", got.status());
            let body = text(got).await;
            let error = error(client, &body);
            let (name, expected) =
                if client == Provider::Anthropic { ("type", codes[1]) } else { ("code", codes[0]) };
            let is_expected =
                error[name] == expected || (codes[0] == "server_error" && error[name].is_null());
            assert!(is_expected, "{} {is_streamed}: {body}", client.as_str());
        }
    }
    let server = ScriptedServer::always(|| events("")).await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
    let response =
        gateway.post("/v1/v1/responses", &request(Provider::OpenAiChat, true)).send().await.expect("sent");
    assert_eq!(response.status(), 404);
    let error = json_of(&text(response).await)["error"].clone();
    assert_eq!(error["code"], "unknown_url");
    assert!(error["message"].as_str().expect("text").contains("base URL"), "{error}");
}

/// The steps of a faulty server.
type Script = Box<dyn Fn() -> Vec<Step> + Send + Sync>;

/// Streams that end too early, in every way.
#[tokio::test]
async fn broken_streams_are_errors() {
    let wire = chat_stream(&["Hello", " there"], "stop");
    let at = wire.find("\n\n").expect("an event") + 2;
    let (part, inside) = (wire[..at].to_owned(), wire[..at + 20].to_owned());
    let failing = format!("{part}data: {{\"error\":{{\"message\":\"out of memory\"}}}}\n\n");
    let cases: Vec<(&str, Script)> = vec![
        (
            "silent close",
            Box::new({
                let part = part.clone();
                move || events(&part)
            }),
        ),
        (
            "inside an event",
            Box::new({
                let part = inside.clone();
                move || events(&part)
            }),
        ),
        (
            "reset",
            Box::new({
                let part = part.clone();
                move || vec![head("text/event-stream"), chunk(&part), Step::Close]
            }),
        ),
        (
            "silence",
            Box::new({
                let part = part.clone();
                move || vec![head("text/event-stream"), chunk(&part), Step::Hold]
            }),
        ),
        ("an error event", Box::new(move || events(&failing))),
        ("nothing", Box::new(|| events(""))),
        ("no response", Box::new(|| vec![Step::Close])),
        ("html", Box::new(|| vec![response(200, &[("content-type", "text/html")], "<p>Hi</p>")])),
        ("not JSON", Box::new(|| events("data: {\"choices\"\n\ndata: [DONE]\n\n"))),
        (
            "no chunked end",
            Box::new({
                let part = part.clone();
                move || vec![head("text/event-stream"), chunk(&part), chunk("data: x"), end()]
            }),
        ),
    ];
    for (name, script) in cases {
        let server = ScriptedServer::always(script).await;
        let gateway = Gateway::new(upstream(Provider::OpenAiChat, &server)).call_format(CallFormat::Auto);
        let gateway = Served::new(gateway).await;
        let mut sent = 0;
        for ((client, path), is_streamed) in CLIENTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
            let got = gateway.post(path, &request(client, is_streamed)).send().await.expect("sent");
            let status = got.status().as_u16();
            assert!(status == 502 || status == 504 || (is_streamed && status == 200), "{name}: {status}");
            let should_retry = got.headers().get("x-should-retry").cloned();
            assert!(status == 200 || should_retry.is_some_and(|value| value == "false"), "{name}");
            let body = text(got).await;
            let error = error(client, &body);
            assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{name}: {body}");
            for end in ["data: [DONE]", "event: message_stop", "event: response.completed"] {
                assert!(!body.contains(end), "{name}: {body}");
            }
            sent += 1;
            assert_eq!(server.requests(), sent, "{name}");
        }
        for summary in gateway.ended(6).await {
            assert!(summary.failure.is_some() && !summary.client_left, "{name}: {summary}");
        }
    }
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_an_error() {
    let upstream = LlmClient::builder(Provider::OpenAiChat).base_url("http://127.0.0.1:9").retries(0);
    let gateway = Served::new(Gateway::new(upstream.build().expect("a client"))).await;
    for (client, path) in CLIENTS {
        let got = gateway.post(path, &request(client, true)).send().await.expect("sent");
        assert_eq!(got.status(), 502);
        // Nothing was sent: the client may try again.
        assert!(!got.headers().contains_key("x-should-retry"));
        let body = text(got).await;
        assert!(
            error(client, &body)["message"].as_str().is_some_and(|message| message.contains("connect")),
            "{body}"
        );
    }
}

/// A client that leaves closes the connection of the upstream at once, while that is silent.
#[tokio::test]
async fn a_client_that_leaves_closes_the_upstream() {
    for provider in [Provider::OpenAiChat, Provider::Ollama] {
        for is_streamed in [true, false] {
            let part = match provider {
                Provider::OpenAiChat => {
                    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"
                }
                _ => "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n",
            };
            let content_type =
                if provider == Provider::OpenAiChat { "text/event-stream" } else { "application/x-ndjson" };
            let server =
                ScriptedServer::always(move || vec![head(content_type), chunk(part), Step::Hold]).await;
            let gateway = Served::new(Gateway::new(upstream(provider, &server))).await;
            let body = request(Provider::OpenAiChat, is_streamed);
            let mut socket = send_raw(&gateway, "/v1/chat/completions", &body).await;
            server.until(|log| log.written > 0).await;
            if is_streamed {
                let mut received = Vec::new();
                while !String::from_utf8_lossy(&received).contains("Hi") {
                    assert_ne!(socket.read_buf(&mut received).await.expect("a response"), 0);
                }
            }
            drop(socket);
            let closed = server.until(|log| log.open == 0);
            tokio::time::timeout(Duration::from_millis(100), closed).await.expect("it closes at once");
            assert!(gateway.ended(1).await[0].client_left);
        }
    }
}

/// Sends a request over a connection of its own.
async fn send_raw(gateway: &Served, path: &str, body: &Value) -> TcpStream {
    let address = gateway.url.strip_prefix("http://").expect("a URL");
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.expect("it is read");
    socket
}

/// A client that does not read stalls its upstream, and no other; when it reads again, the response goes on.
#[tokio::test]
async fn a_slow_client_slows_its_upstream_alone() {
    for (client, path) in CLIENTS {
        let piece = chat_stream(&["x".repeat(60_000).as_str()], "stop");
        let Step::Write(piece) = chunk(piece.split_inclusive("\n\n").next().expect("an event")) else {
            unreachable!("it is written")
        };
        let server = ScriptedServer::new(move |number, _| match number {
            0 => vec![head("text/event-stream"), Step::Repeat(piece.clone(), Duration::ZERO)],
            _ => events(&chat_stream(&["Hi"], "stop")),
        })
        .await;
        let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
        let mut slow = send_raw(&gateway, path, &request(client, true)).await;
        // It stalls when the buffers of both connections are full, with which Linux begins at some 10 MiB each.
        let mut stalled = 0;
        loop {
            // Longer than the upstream may be silent.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let written = server.log().written;
            if written == stalled {
                break;
            }
            stalled = written;
        }
        assert!((1..32 << 20).contains(&stalled), "{stalled} bytes");

        let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
        assert!(body.contains("Hi"), "{body}");

        let begun = server.log().written;
        let mut received = vec![0; 1 << 16];
        while server.log().written < begun + (8 << 20) {
            assert_ne!(soon(slow.read(&mut received)).await.expect("a response"), 0);
        }
        drop(slow);
        server.until(|log| log.open <= 1).await;
        let summaries = gateway.ended(2).await;
        assert_eq!(summaries.iter().filter(|summary| summary.client_left).count(), 1);
        assert!(summaries.iter().all(|summary| summary.failure.is_none()), "{summaries:?}");
    }
}
