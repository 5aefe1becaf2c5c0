//! Secrets are sent, but never shown, even if the provider repeats them.

use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokenline_llm::client::{ApiKey, LlmClient, LlmClientBuilder};
use tokenline_llm::{Provider, ResponseEvent};

use crate::server::{Request, ScriptedServer, Step, chunk, end, error_response, events, head, response};
use crate::{client, error_text, request, soon};

const KEY: &str = "sk-HUSH-0123456789abcdefghij";

/// A client with every kind of secret.
fn secretive(provider: Provider, server: &ScriptedServer) -> LlmClientBuilder {
    let base_url = format!("http://me:pass%2Fword-HUSH@127.0.0.1:{}/?key=query-HUSH", server.port());
    client(provider, &base_url)
        .api_key(ApiKey::new(format!(" {KEY}\n")).expect("a key"))
        .header("X-My", "HUSH value of mine")
        .header("Proxy-Authorization", "Bearer HUSH-token")
}

/// All secrets of a request, in every form in which a server may repeat them.
fn secrets(request: &Request) -> String {
    let names = ["authorization", "x-api-key", "x-goog-api-key", "x-my", "proxy-authorization"];
    let values = names.iter().filter_map(|name| request.header(name));
    let credentials = values.clone().filter_map(|value| value.split_once(' ')).map(|(_, value)| value);
    let all: Vec<_> = values.clone().chain(credentials).collect();
    format!("{} {} {} pass/word-HUSH pass%2Fword-HUSH query-HUSH", all.join(" "), all.join(","), request.path)
}

/// Fails if the text contains a secret, in any case.
#[track_caller]
fn assert_hushed(text: &str, request: Option<&Request>) {
    let lower = text.to_lowercase();
    assert!(!lower.contains("hush"), "{text}");
    // User and password together, in base64.
    let basic = request.and_then(|request| request.header("authorization")?.strip_prefix("Basic "));
    if let Some(basic) = basic {
        assert!(!lower.contains(&basic.to_lowercase()), "{text}");
    }
}

fn debugged(value: &impl Debug) -> String {
    format!("{value:?}\n{value:#?}\n")
}

/// Everything visible about a request and its result, except the response itself.
async fn seen(client: &LlmClient) -> String {
    let request = client.stream(&request()).expect("a request");
    let mut seen = debugged(client) + &debugged(&request);
    let mut reply = match soon(request.send()).await {
        Ok(reply) => reply,
        Err(error) => return seen + &error_text(&error),
    };
    seen += &debugged(&reply);
    while let Some(event) = soon(reply.next()).await {
        match event {
            Ok(event) => {
                let finding = event.diagnostic().map(|finding| finding.to_string() + &debugged(finding));
                seen += &finding.unwrap_or_default();
                if let ResponseEvent::Rejected { .. } | ResponseEvent::RejectedCall { .. } = event {
                    seen += &debugged(&event);
                }
            }
            Err(error) => seen += &error_text(&error),
        }
    }
    let report = reply.report();
    seen += &serde_json::to_string(report).expect("a report");
    seen + &debugged(report) + &debugged(reply.parser()) + &debugged(&reply)
}

/// Like [`seen`], through an adapter.
async fn seen_as_records(client: &LlmClient) -> String {
    let request = client.stream(&request()).expect("a request");
    let Ok(reply) = soon(request.send()).await else { return String::new() };
    let mut records = reply.records();
    let mut seen = debugged(&records);
    while let Some(record) = soon(records.next()).await {
        if let Err(error) = record {
            seen += &error_text(&error);
        }
    }
    seen + &debugged(&records)
}

type Echo = fn(&str) -> Vec<Step>;

/// Ways in which a server may repeat secrets, and whether its message is shown.
const ECHOES: &[(&str, bool, Echo)] = &[
    ("a message", true, |secrets| vec![json_error(401, secrets)]),
    ("a message of whoever stands before", true, |secrets| {
        let body = json!({"detail": secrets}).to_string();
        vec![response(403, &[("content-type", "application/json")], &body)]
    }),
    ("a text", true, |secrets| {
        vec![response(400, &[("content-type", "text/plain")], &format!("no {secrets}"))]
    }),
    ("a message for which it is waited", true, |secrets| {
        vec![response(429, &[("retry-after", "0")], &json!({"error": secrets}).to_string())]
    }),
    ("success with an error", true, |secrets| vec![json_error(200, secrets)]),
    ("success with a page", false, |secrets| vec![response(200, &[("content-type", "text/html")], secrets)]),
    ("headers", true, |secrets| {
        let names = ["x-request-id", "request-id", "retry-after", "x-should-retry", "server"];
        vec![response(500, &names.map(|name| (name, secrets)), "{}")]
    }),
    ("headers of a success", true, |secrets| {
        let names = ["x-request-id", "request-id"];
        let headers = names.iter().map(|name| format!("{name}: {secrets}\r\n")).collect::<String>();
        let head = format!("HTTP/1.1 200 OK\r\n{headers}transfer-encoding: chunked\r\n\r\n");
        vec![Step::Write(head.into()), chunk(": one\n\n"), Step::Write(b"no chunk".to_vec()), Step::Close]
    }),
    ("a content type", false, |secrets| vec![response(200, &[("content-type", secrets)], "{}")]),
    ("a place elsewhere", true, |_| {
        let place = format!("http://{KEY}.example.com/{KEY}?{KEY}");
        vec![response(307, &[("location", &place)], &place)]
    }),
    ("a place here", true, |_| vec![response(302, &[("location", &format!("/{KEY}?{KEY}#{KEY}"))], KEY)]),
    ("a status", false, |secrets| {
        vec![Step::Write(format!("HTTP/1.1 401 {secrets}\r\n\r\n").into()), Step::Close]
    }),
    ("what is no HTTP", false, |secrets| {
        vec![Step::Write(format!("HTTP/1.1 {secrets}\r\n\r\n").into()), Step::Close]
    }),
    ("what is no chunk", false, |secrets| {
        vec![head("text/event-stream"), Step::Write(secrets.into()), Step::Close]
    }),
    ("what is no event", false, |secrets| {
        events(&format!("{secrets}\n\ndata: {secrets}\n\ndata: {{\"{secrets}\n\n"))
    }),
];

fn json_error(status: u16, secrets: &str) -> Step {
    let body = json!({"error": {"message": format!("no key {secrets}!"), "type": secrets}});
    response(status, &[("content-type", "application/json")], &body.to_string())
}

/// A response with an error in the middle that repeats secrets.
fn failing(provider: Provider, secrets: &str) -> Vec<Step> {
    let error: Value = json!({"message": secrets, "type": "invalid_request_error", "code": secrets});
    let event = |name: &str, data: Value| format!("event: {name}\ndata: {data}\n\n");
    let body = match provider {
        Provider::OpenAiChat => crate::common::text("{\"a\":1}\n") + &event("", json!({"error": error})),
        Provider::OpenAiResponses => {
            event("error", json!({"type": "error", "message": secrets, "code": secrets}))
        }
        Provider::Anthropic => event("error", json!({"type": "error", "error": error})),
        Provider::Gemini => event("", json!({"error": error})),
        Provider::GeminiInteractions => event("error", json!({"event_type": "error", "error": error})),
        Provider::Cohere => {
            event("", json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": secrets}}))
        }
        Provider::Ollama => json!({"error": secrets}).to_string() + "\n",
        // Its messages are binary.
        Provider::Bedrock => json!({"message": secrets}).to_string(),
        other => panic!("{other:?}"),
    };
    let content_type =
        if provider == Provider::Ollama { "application/x-ndjson" } else { "text/event-stream" };
    vec![head(content_type), chunk(body), end()]
}

#[tokio::test]
async fn secrets_are_sent_and_never_shown() {
    for provider in Provider::ALL {
        for (how, is_shown, echo) in ECHOES {
            let server = ScriptedServer::new(move |_, request| echo(&secrets(request))).await;
            check(*provider, &server, how, *is_shown).await;
        }
        let provider = *provider;
        let server = ScriptedServer::new(move |_, request| failing(provider, &secrets(request))).await;
        let seen = check(provider, &server, "an error in the middle", true).await;
        assert!(seen.contains("provider_error"), "{seen}");
    }
}

async fn check(provider: Provider, server: &ScriptedServer, how: &str, is_shown: bool) -> String {
    let builder = secretive(provider, server).retries(0);
    let mut all = debugged(&builder);
    let client = builder.build().expect("a client");
    write!(all, "{}{}", seen(&client).await, seen_as_records(&client).await).expect("a text");
    let requests = server.log().requests;
    let sent = secrets(&requests[0]) + &requests[0].path;
    for secret in [KEY, "HUSH value of mine", "Bearer HUSH-token", "key=query-HUSH"] {
        assert!(sent.contains(secret), "{provider:?}: {sent}");
    }
    println!("{provider:?}, {how}");
    assert_eq!(all.contains("[secret]"), is_shown, "{all}");
    assert_hushed(&all, requests.first());
    all
}

/// A redirect to a URL chosen by the server, which errors show.
#[tokio::test]
async fn the_target_of_a_redirect_is_shown_without_secrets() {
    let server = ScriptedServer::new(|number, _| match number {
        0 => vec![response(307, &[("location", &format!("/{KEY}/on"))], "")],
        _ => vec![json_error(404, "?")],
    })
    .await;
    let client = secretive(Provider::Gemini, &server).build().expect("a client");
    let seen = seen(&client).await;
    assert!(seen.contains("at /[secret]/on: no key ?!"), "{seen}");
    assert_hushed(&seen, server.log().requests.first());
}

#[tokio::test]
async fn a_truncated_secret_is_not_shown() {
    for cut in [10, 20, KEY.len() - 1] {
        let server = ScriptedServer::always(move || {
            let head = "HTTP/1.1 401 Unauthorized\r\ntransfer-encoding: chunked\r\n\r\n";
            vec![Step::Write(head.into()), chunk(format!("no key {}", &KEY[..cut])), Step::Close]
        })
        .await;
        let client = secretive(Provider::OpenAiChat, &server).build().expect("a client");
        let seen = seen(&client).await;
        assert!(seen.contains(": no key [secret]"), "{seen}");
        assert_hushed(&seen, server.log().requests.first());
    }
}

#[test]
fn invalid_secrets_are_not_shown() {
    let of = |provider| client(provider, "http://127.0.0.1:1");
    for builder in [
        client(Provider::OpenAiChat, "http://me:HUSH@"),
        client(Provider::OpenAiChat, "ftp://me:HUSH@host/HUSH"),
        client(Provider::OpenAiChat, "http://me:HUSH@host:port/HUSH"),
        of(Provider::OpenAiChat).header("X-My", "HUSH\n"),
        of(Provider::OpenAiChat).header("X-My: HUSH", ""),
        of(Provider::OpenAiChat).header("HUSH-ü", "x-my"),
    ] {
        let shown = debugged(&builder) + &error_text(&builder.build().expect_err("it cannot be sent"));
        assert_hushed(&shown, None);
    }
    for key in ["HUSH\nHUSH", "HÜSH-hush", ""] {
        assert_hushed(&error_text(&ApiKey::new(key).expect_err("it cannot be sent")), None);
    }
    assert_hushed(&debugged(&ApiKey::new("HUSH").expect("a key")), None);
}

/// Only the key is masked, not similar text.
#[tokio::test]
async fn text_that_is_not_secret_is_shown() {
    let server = ScriptedServer::always(|| vec![json_error(401, "sk-other***********ghij")]).await;
    let client = secretive(Provider::OpenAiChat, &server).build().expect("a client");
    let seen = seen(&client).await;
    assert!(seen.contains("no key sk-other***********ghij!"), "{seen}");
}

/// A closure that issues `sk-HUSH-issued-1`, `-2`, ..; a new key at each call, or the same.
fn issuer(renews: bool) -> impl Fn() -> std::future::Ready<Result<String, std::io::Error>> + Send + Sync {
    let calls = AtomicUsize::new(1);
    move || {
        let number = if renews { calls.fetch_add(1, Ordering::Relaxed) } else { 1 };
        std::future::ready(Ok(format!("sk-HUSH-issued-{number}")))
    }
}

#[tokio::test]
async fn keys_are_issued_for_each_attempt_and_renewed_once() {
    // Accepts the second key of three; says which key it got.
    let server = ScriptedServer::new(|_, request| {
        let key = request.header("authorization").expect("a key");
        match key {
            "Bearer sk-HUSH-issued-2" => events(&crate::common::chunk("{}", "stop")),
            _ => vec![error_response(401, &[], &json!({"error": {"message": format!("not {key}")}}))],
        }
    })
    .await;
    let renewing = client(Provider::OpenAiChat, &server.url()).api_key_from(issuer(true)).build().unwrap();
    let send = || async { soon(renewing.stream(&request()).unwrap().send()).await };
    assert!(send().await.is_ok());
    assert_eq!(server.requests(), 2);
    // The keys 3 and 4: no third attempt, and neither is shown.
    let error = error_text(&send().await.map(drop).unwrap_err());
    assert!(error.contains("401"), "{error}");
    assert_hushed(&error, None);
    assert_eq!(server.requests(), 4);

    let same = client(Provider::OpenAiChat, &server.url()).api_key_from(issuer(false)).build().unwrap();
    assert!(soon(same.stream(&request()).unwrap().send()).await.is_err());
    assert_eq!(server.requests(), 5);

    let failing = || std::future::ready(Err::<String, _>("the vault is sealed"));
    let failing = client(Provider::OpenAiChat, &server.url()).api_key_from(failing).build().unwrap();
    let error = soon(failing.stream(&request()).unwrap().send()).await.map(drop).unwrap_err();
    assert_eq!(error.to_string(), "cannot get the API key: the vault is sealed");
    assert_eq!(server.requests(), 5);
}
