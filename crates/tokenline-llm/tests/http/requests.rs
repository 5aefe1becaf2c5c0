//! The requests that providers receive.

use serde_json::json;
use tokenline_core::ToolDefinition;
use tokenline_llm::Provider;
use tokenline_llm::client::ApiKey;
use tokenline_llm::request::ChatRequest;

use crate::server::{Request, ScriptedServer, events};
use crate::{client, soon};

const KEY: &str = "sk-1234567890";

/// The request that the server received.
async fn asked(provider: Provider, path: &str, request: ChatRequest) -> Request {
    let server = ScriptedServer::always(|| events("")).await;
    let client = client(provider, &(server.url() + path))
        .api_key(ApiKey::new(KEY).expect("a key"))
        .header("X-My", "mine")
        .build()
        .expect("a client");
    // Not every provider accepts this as a response.
    drop(soon(client.stream(&request).expect("a request").send()).await);
    server.log().requests.remove(0)
}

#[tokio::test]
async fn every_provider_gets_its_headers_and_its_body() {
    let bearer = format!("Bearer {KEY}");
    for (provider, path, key, accept) in [
        (Provider::OpenAiChat, "/v1/chat/completions", ("authorization", &*bearer), "text/event-stream"),
        (Provider::OpenAiResponses, "/v1/responses", ("authorization", &bearer), "text/event-stream"),
        (Provider::Anthropic, "/v1/messages", ("x-api-key", KEY), "text/event-stream"),
        (
            Provider::Gemini,
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            ("x-goog-api-key", KEY),
            "text/event-stream",
        ),
        (Provider::Ollama, "/api/chat", ("authorization", &bearer), "application/x-ndjson"),
    ] {
        let request = ChatRequest::new("m").system("Be brief.").user("Hi \"you\"").max_tokens(5);
        let request = request.tools([ToolDefinition::new("now")]).temperature(0.5);
        let asked = asked(provider, "", request.clone()).await;
        assert_eq!((&*asked.method, &*asked.path), ("POST", path));
        for (name, value) in [
            key,
            ("accept", accept),
            ("content-type", "application/json"),
            ("content-length", &*asked.body.len().to_string()),
            ("x-my", "mine"),
        ] {
            assert_eq!(asked.header(name), Some(value), "{provider:?} {name}");
        }
        let version = (provider == Provider::Anthropic).then_some("2023-06-01");
        assert_eq!(asked.header("anthropic-version"), version);
        // The key is present once, and no other provider's header.
        let keys = ["authorization", "x-api-key", "x-goog-api-key"].map(|name| asked.header(name));
        assert_eq!(keys.iter().flatten().count(), 1, "{provider:?}");
        assert!(!asked.path.contains(KEY) && !asked.body.contains(KEY));

        assert_eq!(asked.body, request.to_body(provider).expect("a body"));
        let body = asked.json();
        let (model, system) = match provider {
            Provider::OpenAiChat => (json!("m"), json!({"role": "system", "content": "Be brief."})),
            Provider::OpenAiResponses => (json!("m"), json!("Be brief.")),
            Provider::Anthropic => (json!("m"), json!("Be brief.")),
            Provider::Gemini => (json!(null), json!({"parts": [{"text": "Be brief."}]})),
            Provider::Ollama => (json!("m"), json!({"role": "system", "content": "Be brief."})),
            other => panic!("{other:?}"),
        };
        let expected = match provider {
            Provider::OpenAiChat | Provider::Ollama => &body["messages"][0],
            Provider::OpenAiResponses => &body["instructions"],
            Provider::Anthropic => &body["system"],
            _ => &body["systemInstruction"],
        };
        assert_eq!((&body["model"], expected), (&model, &system), "{provider:?}");
        let streams = if provider == Provider::Gemini { json!(null) } else { json!(true) };
        assert_eq!(body["stream"], streams, "{provider:?}");
    }
}

#[tokio::test]
async fn the_base_url_is_sent_unchanged() {
    let request = || ChatRequest::new("m").user("?");
    for (provider, base, path) in [
        (Provider::OpenAiChat, "/v1", "/v1/chat/completions"),
        (Provider::OpenAiChat, "/openai/v1/chat/completions/", "/openai/v1/chat/completions"),
        (Provider::OpenAiChat, "/a%20b?api-version=1", "/a%20b/v1/chat/completions?api-version=1"),
        (Provider::OpenAiResponses, "/v1/", "/v1/responses"),
        (Provider::Anthropic, "/v1/messages", "/v1/messages"),
        (Provider::Gemini, "/v1?key=k", "/v1/models/m:streamGenerateContent?key=k&alt=sse"),
        (Provider::Gemini, "/?alt=json", "/v1beta/models/m:streamGenerateContent?alt=json"),
        (Provider::Ollama, "/api", "/api/chat"),
    ] {
        assert_eq!(asked(provider, base, request()).await.path, path, "{base}");
    }
}

/// OpenAI's newer models reject the old name of the limit; most other servers know no other.
#[tokio::test]
async fn the_token_limit_has_the_name_that_the_host_knows() {
    let server = ScriptedServer::always(|| events("")).await;
    let port = server.port();
    for (host, expected) in [
        ("api.openai.com", "max_completion_tokens"),
        ("mine.openai.azure.com", "max_completion_tokens"),
        ("notopenai.com", "max_tokens"),
        ("openai.com.example.com", "max_tokens"),
    ] {
        let here = ([127, 0, 0, 1], port).into();
        let client = client(Provider::OpenAiChat, &format!("http://{host}:{port}"))
            .http(move |http| http.resolve(host, here))
            .build()
            .expect("a client");
        let request = ChatRequest::new("m").user("?").max_tokens(5);
        // Not every provider accepts this as a response.
        drop(soon(client.stream(&request).expect("a request").send()).await);
        let body = server.log().requests.last().expect("a request").json();
        let limits = ["max_tokens", "max_completion_tokens"].map(|name| body.get(name).map(|_| name));
        assert_eq!(limits.iter().flatten().collect::<Vec<_>>(), [&expected], "{host}");
    }
}

#[tokio::test]
async fn a_custom_header_replaces_the_clients() {
    let server = ScriptedServer::always(|| events("")).await;
    let client = client(Provider::Anthropic, &server.url())
        .api_key(ApiKey::new(KEY).expect("a key"))
        .header("anthropic-version", "2030-01-01")
        .header("X-API-Key", "another")
        .header("accept", "text/event-stream, application/json")
        .build()
        .expect("a client");
    let request = ChatRequest::new("m").user("?");
    // Not every provider accepts this as a response.
    drop(soon(client.stream(&request).expect("a request").send()).await);
    let asked = server.log().requests.remove(0);
    for (name, value) in [
        ("anthropic-version", "2030-01-01"),
        ("x-api-key", "another"),
        ("accept", "text/event-stream, application/json"),
    ] {
        let values = asked.headers.iter().filter(|(key, _)| key == name).map(|(_, value)| &**value);
        assert_eq!(values.collect::<Vec<_>>(), [value], "{name}");
    }
}

#[tokio::test]
async fn a_user_in_the_base_url_is_sent_as_basic_auth() {
    let server = ScriptedServer::always(|| events("")).await;
    let base_url = format!("http://me:pass%2Fword@127.0.0.1:{}", server.port());
    let client = client(Provider::Anthropic, &base_url).build().expect("a client");
    let request = ChatRequest::new("m").user("?");
    // Not every provider accepts this as a response.
    drop(soon(client.stream(&request).expect("a request").send()).await);
    let asked = server.log().requests.remove(0);
    assert_eq!(asked.header("authorization"), Some("Basic bWU6cGFzcy93b3Jk"));
    assert_eq!(asked.path, "/v1/messages");
}
