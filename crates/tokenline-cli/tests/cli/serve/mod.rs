//! The API of `tokenline serve`, over real sockets.

mod growth;
mod inspect;
mod requests;
mod runs;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokenline::Limits;
use tokenline::llm::client::reqwest::{self, Client, Response, StatusCode};
use tokenline::llm::replay::{Gate, Pace, Recording, ReplayServer};
use tokenline::sse::{SseDecoder, SseItem};

/// The program, stopped on drop.
struct Page {
    child: Child,
    url: String,
    client: Client,
}

const KEY: &str = "sk-a-secret-that-no-response-may-show";

impl Page {
    fn start() -> Self {
        Self::of(None)
    }

    /// With this server as OpenAI.
    fn of(model: Option<&ReplayServer>) -> Self {
        match model {
            Some(model) => Self::with(&["--base-url", &format!("openai-chat={}", model.url())]),
            None => Self::with(&[]),
        }
    }

    /// With more arguments.
    fn with(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        Self::of_command(command)
    }

    fn of_command(mut command: Command) -> Self {
        let command = command.env("OPENAI_API_KEY", KEY).env("NO_PROXY", "*");
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a URL");
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client");
        Self { child, url: url.trim().to_owned(), client }
    }

    async fn extract(&self, request: &Value) -> Response {
        let post = self.client.post(format!("{}/api/extract", self.url));
        let post = post.header("content-type", "application/json").body(request.to_string());
        post.send().await.expect("a response")
    }

    async fn events(&self, request: &Value) -> Vec<Event> {
        let mut events = Events::new(self.extract(request).await);
        events.take(usize::MAX).await
    }

    async fn resume(&self, run: &str, last_id: u64) -> Response {
        let request = self.client.get(format!("{}/api/runs/{run}/events", self.url));
        request.header("last-event-id", last_id).send().await.expect("a response")
    }

    async fn stop(&self, run: &str) -> StatusCode {
        let request = self.client.delete(format!("{}/api/runs/{run}", self.url));
        request.send().await.expect("a response").status()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Event {
    id: u64,
    name: String,
    data: Value,
}

/// The events of a response.
struct Events {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    decoder: SseDecoder,
    chunk: bytes::Bytes,
}

impl Events {
    fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        let body = Box::pin(response.bytes_stream());
        Self { body, decoder: SseDecoder::new(Limits::default()), chunk: bytes::Bytes::new() }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            while !self.chunk.is_empty() {
                let decoded = self.decoder.decode(&self.chunk);
                let event = decoded.item.and_then(|item| match item {
                    SseItem::Event(event) => Some(Event {
                        id: event.id.parse().expect("a number"),
                        name: event.event.to_owned(),
                        data: serde_json::from_str(event.data).expect("JSON"),
                    }),
                    _ => None,
                });
                let consumed = decoded.consumed;
                bytes::Buf::advance(&mut self.chunk, consumed);
                if event.is_some() {
                    return event;
                }
            }
            self.chunk = self.body.next().await?.expect("the connection holds");
        }
    }

    /// At most this many events.
    async fn take(&mut self, count: usize) -> Vec<Event> {
        let mut events = Vec::new();
        while events.len() < count
            && let Some(event) = self.next().await
        {
            events.push(event);
        }
        events
    }

    /// The next event of a kind.
    async fn find(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no event {name}"));
            if event.name == name {
                return event;
            }
        }
    }
}

fn named<'a>(events: &'a [Event], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event.name == name).map(|event| &event.data).collect()
}

fn recorded(model: &str, chunk_size: usize) -> Value {
    json!({"provider": "recorded", "model": model, "recording": {"delay_ms": 0, "chunk_size": chunk_size}})
}

/// OpenAI chat: each text is one event.
fn chat(texts: impl IntoIterator<Item = String>, end: &str) -> String {
    let event = |text: String| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
    };
    texts.into_iter().map(event).chain([end.to_owned()]).collect()
}

const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

async fn serve(recording: Recording) -> ReplayServer {
    ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port")
}

fn request() -> Value {
    json!({"provider": "openai-chat", "model": "m", "prompt": "List rivers."})
}
