//! A gateway on a free port, and its clients.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use tokenline::json::Raw;
use tokenline::llm::client::reqwest::{Client, RequestBuilder, Response};
use tokenline::llm::{FinishReason, Provider, ResponseOptions, TextMode};
use tokenline::{LlmClient, ResponseEvent, ResponseParser};
use tokenline_axum::gateway::{Gateway, RequestSummary};
use tokio::net::TcpListener;

use crate::server::ScriptedServer;

/// The formats that clients speak, and their paths.
pub(crate) const CLIENTS: [(Provider, &str); 3] = [
    (Provider::OpenAiChat, "/v1/chat/completions"),
    (Provider::OpenAiResponses, "/v1/responses"),
    (Provider::Anthropic, "/v1/messages"),
];

/// A gateway that is served, and its summaries of requests.
pub(crate) struct Served {
    pub(crate) url: String,
    summaries: Arc<Mutex<Vec<RequestSummary>>>,
}

impl Served {
    pub(crate) async fn new(gateway: Gateway) -> Self {
        let summaries: Arc<Mutex<Vec<RequestSummary>>> = Arc::default();
        let noted = summaries.clone();
        let gateway =
            gateway.on_request(move |request| noted.lock().expect("no panic").push(request.clone()));
        Self { url: serve(gateway.into_router()).await, summaries }
    }

    /// The requests that have ended, once there are so many.
    pub(crate) async fn ended(&self, count: usize) -> Vec<RequestSummary> {
        for _ in 0..400 {
            let ended = self.summaries.lock().expect("no panic").clone();
            if ended.len() >= count {
                return ended;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("too late: {count} requests have ended");
    }

    /// A request for a response.
    pub(crate) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = Client::new().post(format!("{}{path}", self.url));
        request.header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        Client::new().get(format!("{}{path}", self.url))
    }
}

pub(crate) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// The client of a scripted upstream.
pub(crate) fn upstream(provider: Provider, server: &ScriptedServer) -> LlmClient {
    let client = LlmClient::builder(provider).base_url(server.url()).without_api_key().retries(0);
    client.read_timeout(Duration::from_millis(700)).build().expect("a client")
}

/// A request of a client's format, with a tool.
pub(crate) fn request(client: Provider, is_streamed: bool) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    });
    let message = json!({"role": "user", "content": "Weather in Paris?"});
    match client {
        Provider::Anthropic => json!({
            "model": "m", "max_tokens": 100, "messages": [message], "stream": is_streamed,
            "tools": [{"name": "weather", "description": "The weather.", "input_schema": schema}],
        }),
        Provider::OpenAiResponses => json!({
            "model": "m", "input": [message], "stream": is_streamed,
            "tools": [{"type": "function", "name": "weather", "parameters": schema}],
        }),
        _ => json!({
            "model": "m", "messages": [message], "stream": is_streamed,
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": schema}}],
        }),
    }
}

/// A stream of chat completions with these texts.
pub(crate) fn chat_stream(texts: &[&str], reason: &str) -> String {
    let mut stream = String::new();
    for text in texts {
        let chunk = json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
        stream += &format!("data: {chunk}\n\n");
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}});
    stream += &format!("data: {end}\n\ndata: [DONE]\n\n");
    stream
}

pub(crate) async fn text(response: Response) -> String {
    response.text().await.expect("a body")
}

pub(crate) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A response as its client reads it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Read {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) ids: Vec<String>,
    pub(crate) reason: Option<FinishReason>,
    pub(crate) is_complete: bool,
}

pub(crate) fn read(client: Provider, body: &str, is_streamed: bool) -> Read {
    let options = ResponseOptions::default().text_as(TextMode::Text).text_and_reasoning();
    let parser = ResponseParser::<Raw>::new(client, options);
    let mut parser = if is_streamed { parser } else { parser.whole_body() };
    parser.push(body.as_bytes());
    parser.finish();
    let mut read = Read::default();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Text { text, .. } => read.text += &text,
            ResponseEvent::ToolCall { call, .. } => {
                read.calls.push((call.name, call.parameters.to_value().expect("JSON")));
                read.ids.extend(call.call_id);
            }
            ResponseEvent::Finish { reason, .. } => read.reason = Some(reason),
            _ => {}
        }
    }
    read.is_complete = parser.is_complete();
    read
}
