//! Requests in the upstream's own format.

use serde_json::json;
use tokenline::LlmClient;
use tokenline::llm::Provider;
use tokenline_axum::gateway::Gateway;

use crate::common::{CLIENTS, Served, request, text, upstream};
use crate::server::{ScriptedServer, Step, chunk, end, events, head, response};

/// Whole and recorded streams, whose bytes must not change.
fn stream(provider: Provider) -> String {
    match provider {
        Provider::Anthropic => "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[], \"usage\":{}}}\n\n\
            event: odd\ndata: {\"type\":\"odd\"}\n\n\
            event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
            event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
            .to_owned(),
        Provider::OpenAiResponses => "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n\
            event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[]}}\n\n"
            .to_owned(),
        _ => ": odd\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\", \"odd\":1.50},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_owned(),
    }
}

#[tokio::test]
async fn bytes_and_headers_pass_unchanged() {
    for (client, path) in CLIENTS {
        let wire = stream(client);
        let sent = wire.clone();
        let server = ScriptedServer::always(move || {
            let pieces = sent.as_bytes().chunks(7).map(chunk);
            [head("text/event-stream; charset=utf-8")].into_iter().chain(pieces).chain([end()]).collect()
        })
        .await;
        let gateway = Served::new(Gateway::new(upstream(client, &server))).await;
        // White space, the order of members, numbers and unknown members stay.
        let body = request(client, true).to_string().replacen('{', "{ \"odd\" : 1.50e0,", 1);
        let sent = gateway
            .post(&format!("{path}?beta=true&x=%20"), &json!({}))
            .header("anthropic-version", "2026-10-21")
            .header("anthropic-beta", "one,two")
            .header("authorization", "Bearer client-key")
            .header("x-stainless-lang", "python")
            .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
            .header("connection", "x-mine")
            .header("x-mine", "1")
            .header("cookie", "a=b")
            .body(body.clone())
            .send()
            .await
            .expect("sent");
        assert_eq!(sent.status(), 200);
        assert_eq!(sent.headers()["content-type"], "text/event-stream; charset=utf-8");
        assert_eq!(text(sent).await, wire);
        let request = server.log().requests.pop().expect("a request");
        assert_eq!(request.body, body);
        assert_eq!(request.path, format!("{path}?beta=true&x=%20"));
        for (name, value) in [
            ("anthropic-version", "2026-10-21"),
            ("anthropic-beta", "one,two"),
            ("authorization", "Bearer client-key"),
            ("x-stainless-lang", "python"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("accept-encoding", "identity"),
        ] {
            assert_eq!(request.header(name), Some(value), "{name}");
        }
        for name in ["x-mine", "cookie"] {
            assert_eq!(request.header(name), None, "{name}");
        }
        let summary = gateway.ended(1).await.remove(0);
        assert!(!summary.is_translated && summary.is_streamed && summary.failure.is_none(), "{summary}");
    }
}

#[tokio::test]
async fn errors_of_the_upstream_pass_unchanged() {
    let body = "{\"error\" : {\"message\":\"slow down\"}}";
    let server = ScriptedServer::always(move || {
        vec![response(
            429,
            &[("content-type", "application/json"), ("retry-after", "7"), ("x-request-id", "up")],
            body,
        )]
    })
    .await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
    let got = gateway
        .post("/v1/chat/completions", &request(Provider::OpenAiChat, true))
        .send()
        .await
        .expect("sent");
    assert_eq!(got.status(), 429);
    assert_eq!(
        (&got.headers()["retry-after"], &got.headers()["x-request-id"]),
        (&"7".parse().unwrap(), &"up".parse().unwrap())
    );
    assert_eq!(text(got).await, body);
    assert_eq!(server.requests(), 1);
}

/// A server that refuses a key may quote it. The client does not know the gateway's.
#[tokio::test]
async fn errors_do_not_show_the_key_of_the_gateway() {
    let server = ScriptedServer::always(|| {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-of-the-gateway."}}"#;
        vec![response(401, &[("content-type", "application/json")], body)]
    })
    .await;
    let upstream =
        LlmClient::builder(Provider::OpenAiChat).base_url(server.url()).api_key("sk-of-the-gateway");
    let gateway = Served::new(Gateway::new(upstream.build().expect("a client"))).await;
    let got = gateway.post("/v1/chat/completions", &request(Provider::OpenAiChat, true)).send().await;
    let body = text(got.expect("sent")).await;
    assert_eq!(body, r#"{"error":{"message":"Incorrect API key provided: [secret]."}}"#);
}

/// Neither does the error in a stream.
#[tokio::test]
async fn a_stream_does_not_show_the_key_of_the_gateway() {
    let wire = "data: {\"error\":{\"message\":\"bad key sk-of-the-gateway\"}}\n\n";
    let server = ScriptedServer::always(move || events(wire)).await;
    let upstream =
        LlmClient::builder(Provider::OpenAiChat).base_url(server.url()).api_key("sk-of-the-gateway");
    let gateway = Served::new(Gateway::new(upstream.build().expect("a client"))).await;
    let got = gateway.post("/v1/chat/completions", &request(Provider::OpenAiChat, true)).send().await;
    assert_eq!(text(got.expect("sent")).await, wire.replace("sk-of-the-gateway", "[secret]"));
}

/// An error that a client's library would not see as one is followed by one that it does.
#[tokio::test]
async fn errors_in_other_forms_are_told_again() {
    let chunk =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"},\"finish_reason\":null}]}\n\n";
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n";
    let (chat, anthropic) = (CLIENTS[0], CLIENTS[2]);
    for ((client, path), begin, error, is_told) in [
        (chat, chunk, "data: {\"error\":{\"message\":\"oops\"}}\n\n", true),
        (chat, chunk, "event: error\ndata: {\"message\":\"oops\"}\n\n", false),
        (
            anthropic,
            start,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"oops\"}}\n\n",
            true,
        ),
        (anthropic, start, "data: {\"type\":\"error\",\"error\":{\"message\":\"oops\"}}\n\n", false),
    ] {
        let wire = format!("{begin}{error}");
        let sent = wire.clone();
        let server = ScriptedServer::always(move || events(&sent)).await;
        let gateway = Served::new(Gateway::new(upstream(client, &server))).await;
        let body = text(gateway.post(path, &request(client, true)).send().await.expect("sent")).await;
        let added = body.strip_prefix(&wire).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(added.is_empty(), is_told, "{body}");
        assert!(is_told || (added.contains("\"error\"") && added.contains("oops")), "{body}");
        assert!(gateway.ended(1).await[0].failure.is_some());
    }
}

/// A stream is one whatever its content type says, and is not read if it is compressed.
#[tokio::test]
async fn streams_are_recognized() {
    let client = Provider::OpenAiChat;
    for (headers, status) in [
        (&[("content-type", "Text/Event-Stream; charset=utf-8")][..], 200),
        (&[("content-type", "text/plain")], 200),
        (&[], 200),
        (&[("content-type", "text/event-stream"), ("content-encoding", "gzip")], 502),
    ] {
        let server = ScriptedServer::always(move || vec![response(200, headers, "data: {\"cho")]).await;
        let gateway = Served::new(Gateway::new(upstream(client, &server))).await;
        let got = gateway.post("/v1/chat/completions", &request(client, true)).send().await.expect("sent");
        assert_eq!(got.status(), status);
        let body = text(got).await;
        assert!(body.contains("\"error\""), "{body}");
        assert_eq!(gateway.ended(1).await[0].is_streamed, status == 200, "{headers:?}");
    }
}

/// A stream that breaks off ends with an error of its own format.
#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error() {
    for (client, path) in CLIENTS {
        let wire = stream(client);
        // Between two events, and within one.
        for cut in [wire.find("\n\n").expect("an event") + 2, wire.find("\n\n").expect("an event") + 9] {
            let part = wire[..cut].to_owned();
            let server = ScriptedServer::always(move || events(&part)).await;
            let gateway = Served::new(Gateway::new(upstream(client, &server))).await;
            let got = gateway.post(path, &request(client, true)).send().await.expect("sent");
            let body = text(got).await;
            assert!(body.starts_with(&wire[..cut]), "{body}");
            let last = body.trim_end().rsplit("\n\n").next().expect("an event");
            assert!(last.contains("\"error\"") && last.contains("data: {"), "{body}");
            let summary = gateway.ended(1).await.remove(0);
            assert!(summary.failure.is_some(), "{summary}");
        }
    }
}

/// A body that is not streamed is known to be whole before the client gets it.
#[tokio::test]
async fn a_body_that_breaks_off_is_an_error() {
    let body = "{\"choices\" : [{\"index\":0,\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}";
    for is_whole in [true, false] {
        let server = ScriptedServer::always(move || {
            let pieces = [head("application/json"), chunk(&body[..20])];
            let rest = if is_whole { vec![chunk(&body[20..]), end()] } else { vec![Step::Close] };
            pieces.into_iter().chain(rest).collect()
        })
        .await;
        let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
        let request = request(Provider::OpenAiChat, false);
        let got = gateway.post("/v1/chat/completions", &request).send().await.expect("sent");
        assert_eq!(got.status(), if is_whole { 200 } else { 502 });
        assert_eq!(got.headers().contains_key("x-should-retry"), !is_whole);
        let got = text(got).await;
        assert_eq!(got == body, is_whole, "{got}");
        assert_eq!(server.requests(), 1);
    }
}

#[tokio::test]
async fn models_and_token_counts() {
    let list = "{\"object\":\"list\",\"data\":[{\"id\":\"a\",\"object\":\"model\"},{\"id\":\"b/c\",\"object\":\"model\"}]}";
    let server =
        ScriptedServer::always(move || vec![response(200, &[("content-type", "application/json")], list)])
            .await;
    let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
    let client = tokenline::llm::client::reqwest::Client::new();
    let get = |path: &str| client.get(format!("{}{path}", gateway.url));
    assert_eq!(text(get("/v1/models").send().await.expect("sent")).await, list);
    let of_anthropic =
        get("/v1/models").header("anthropic-version", "2026-10-21").send().await.expect("sent");
    let models = crate::common::json_of(&text(of_anthropic).await);
    assert_eq!((&models["data"][1]["id"], &models["data"][0]["type"]), (&json!("b/c"), &json!("model")));
    assert_eq!(models["first_id"], "a");
    let one = get("/v1/models/b/c").header("anthropic-version", "2026-10-21").send().await.expect("sent");
    assert_eq!(crate::common::json_of(&text(one).await)["id"], "b/c");
    for path in ["/v1/models/%2e%2e", "/v1/models/a%0d%0aX:1"] {
        let asked = server.requests();
        assert_eq!(
            (get(path).send().await.expect("sent").status(), server.requests()),
            (404.try_into().unwrap(), asked)
        );
    }
    let none = get("/v1/models/d").header("anthropic-version", "2026-10-21").send().await.expect("sent");
    assert_eq!(none.status(), 404);
    let count = gateway.post("/v1/messages/count_tokens", &json!({"model": "a", "messages": []}));
    let count = count.send().await.expect("sent");
    assert_eq!(count.status(), 404);
    assert_eq!(crate::common::json_of(&text(count).await)["error"]["type"], "not_found_error");

    let server = ScriptedServer::always(|| {
        vec![response(200, &[("content-type", "application/json")], "{\"input_tokens\":3}")]
    })
    .await;
    let gateway = Served::new(Gateway::new(upstream(Provider::Anthropic, &server))).await;
    let count = gateway.post("/v1/messages/count_tokens", &json!({"model": "a", "messages": []}));
    assert_eq!(text(count.send().await.expect("sent")).await, "{\"input_tokens\":3}");
    assert_eq!(server.log().requests[0].path, "/v1/messages/count_tokens");
    let head = client.head(&gateway.url).send().await.expect("sent");
    assert_eq!(head.status(), 200);
}

/// A connection may break behind the end of a response.
#[tokio::test]
async fn a_complete_stream_stands_whatever_the_connection_does() {
    for (client, path) in CLIENTS {
        let wire = stream(client);
        let sent = wire.clone();
        let server =
            ScriptedServer::always(move || vec![head("text/event-stream"), chunk(&sent), Step::Close]).await;
        let gateway = Served::new(Gateway::new(upstream(client, &server))).await;
        let got = gateway.post(path, &request(client, true)).send().await.expect("sent");
        assert_eq!(text(got).await, wire);
        assert!(gateway.ended(1).await[0].failure.is_none());
    }
}

/// A client must not follow the upstream to another host, and no other page may read the response.
#[tokio::test]
async fn redirects_cookies_and_permissions_stay_behind() {
    let body = "{\"choices\":[]}";
    let headers = [
        ("content-type", "application/json"),
        ("location", "http://127.0.0.1:9/"),
        ("set-cookie", "a=b"),
        ("access-control-allow-origin", "*"),
    ];
    for (status, expected) in [(307, 502), (200, 200)] {
        let server = ScriptedServer::always(move || vec![response(status, &headers, body)]).await;
        let gateway = Served::new(Gateway::new(upstream(Provider::OpenAiChat, &server))).await;
        let got = gateway.post("/v1/chat/completions", &request(Provider::OpenAiChat, false));
        let got = got.send().await.expect("sent");
        assert_eq!(got.status(), expected);
        assert!(got.headers().contains_key("x-request-id"));
        for name in ["set-cookie", "access-control-allow-origin"] {
            assert!(!got.headers().contains_key(name), "{name}");
        }
    }
}

/// What only one API has is not lost because an option is set.
#[tokio::test]
async fn own_tools_citations_and_log_probabilities_are_forwarded() {
    let own = |client: Provider, member: &str, value: serde_json::Value| {
        let mut body = request(client, true);
        body[member] = value;
        body
    };
    let cases = [
        (Provider::OpenAiChat, own(Provider::OpenAiChat, "logprobs", json!(true))),
        (
            Provider::OpenAiChat,
            own(Provider::OpenAiChat, "tools", json!([{"type": "custom", "custom": {"name": "f"}}])),
        ),
        (Provider::OpenAiResponses, own(Provider::OpenAiResponses, "tools", json!([{"type": "web_search"}]))),
        (
            Provider::OpenAiResponses,
            own(Provider::OpenAiResponses, "include", json!(["message.output_text.logprobs"])),
        ),
        (
            Provider::Anthropic,
            own(Provider::Anthropic, "tools", json!([{"type": "web_search_20260209", "name": "s"}])),
        ),
        (
            Provider::Anthropic,
            own(
                Provider::Anthropic,
                "messages",
                json!([{"role": "user", "content": [
                {"type": "document", "citations": {"enabled": true}, "source": {"type": "text", "data": "a"}}]}]),
            ),
        ),
    ];
    for (client, body) in cases {
        let wire = stream(client);
        let sent = wire.clone();
        let server = ScriptedServer::always(move || events(&sent)).await;
        let path = CLIENTS.iter().find(|(known, _)| *known == client).expect("a client").1;
        let gateway = Served::new(Gateway::new(upstream(client, &server)).repair_syntax()).await;
        assert_eq!(text(gateway.post(path, &body).send().await.expect("sent")).await, wire, "{body}");
        let translated = gateway.post(path, &request(client, true)).send().await.expect("sent");
        assert_ne!(text(translated).await, wire);
        let summaries = gateway.ended(2).await;
        assert_eq!(summaries.iter().map(|it| it.is_translated).collect::<Vec<_>>(), [false, true]);
        assert_eq!(server.log().requests[0].json(), body);
    }
}

/// Below a path of another server.
#[tokio::test]
async fn a_gateway_can_be_nested() {
    let wire = stream(Provider::Anthropic);
    let sent = wire.clone();
    let server = ScriptedServer::always(move || events(&sent)).await;
    let gateway = Gateway::new(upstream(Provider::Anthropic, &server)).into_router();
    let url = crate::common::serve(axum::Router::new().nest("/model", gateway)).await;
    let client = tokenline::llm::client::reqwest::Client::new();
    let post = client.post(format!("{url}/model/v1/messages")).header("content-type", "application/json");
    let got = post.body(request(Provider::Anthropic, true).to_string()).send().await.expect("sent");
    assert_eq!(text(got).await, wire);
    let got = client.get(format!("{url}/model/v1/%FF")).send().await.expect("sent");
    assert_eq!(got.status(), 404);
}
