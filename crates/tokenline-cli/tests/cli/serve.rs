//! The API of `tokenline serve`, over real sockets.

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
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("OPENAI_API_KEY", KEY).env("NO_PROXY", "*");
        if let Some(model) = model {
            command.args(["--base-url", &format!("openai-chat={}", model.url())]);
        }
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a URL");
        tokenline::llm::client::install_crypto_provider();
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

/// Applies a step of the open record to a value, as a page does.
fn apply(step: &Value, path: &mut Vec<String>, root: &mut Value) {
    let depth = step["depth"].as_u64().expect("a depth") as usize;
    if let Some(key) = step.get("key") {
        path.truncate(depth - 1);
        let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        path.push(key.replace('~', "~0").replace('/', "~1"));
    }
    let opened = |kind: &Value| match kind.as_str() {
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => json!(""),
    };
    let value = match step["op"].as_str().expect("an op") {
        "open" => opened(&step["kind"]),
        "set" => step["value"].clone(),
        "append" => {
            let pointer: String = path[..depth].iter().map(|key| format!("/{key}")).collect();
            let Some(Value::String(text)) = root.pointer_mut(&pointer) else {
                panic!("no string at {pointer}")
            };
            *text += step["text"].as_str().expect("a text");
            return;
        }
        _ => return,
    };
    if depth == 0 {
        path.clear();
        *root = value;
        return;
    }
    let (key, parents) = path.split_last().expect("a key");
    let pointer: String = parents.iter().map(|key| format!("/{key}")).collect();
    match root.pointer_mut(&pointer) {
        Some(Value::Object(members)) => {
            members.insert(key.replace("~1", "/").replace("~0", "~"), value);
        }
        Some(Value::Array(elements)) => elements.push(value),
        other => panic!("no container at {pointer}: {other:?}"),
    }
}

#[tokio::test]
async fn a_recording_is_shown_as_it_grows() {
    let page = Page::start();
    for chunk_size in [0, 1, 7, 4096, 1 << 20] {
        let events = page.events(&recorded("mixed", chunk_size)).await;
        let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=events.len() as u64).collect::<Vec<_>>());
        assert_eq!((&*events[0].name, &*events[events.len() - 1].name), ("start", "done"));

        let records = named(&events, "record");
        assert_eq!(records.len(), 8);
        let (mut path, mut open, mut grown) = (Vec::new(), Value::Null, 0);
        for event in &events {
            match &*event.name {
                "partial" => apply(&event.data, &mut path, &mut open),
                "record" => {
                    assert_eq!(open, event.data["value"]);
                    grown += 1;
                }
                _ => {}
            }
        }
        assert_eq!(grown, 8);
        let text: String =
            named(&events, "delta").iter().map(|delta| delta["text"].as_str().expect("a text")).collect();
        for record in &records {
            let (start, end) = (record["start"].as_u64().unwrap(), record["end"].as_u64().unwrap());
            let value: Value = serde_json::from_str(&text[start as usize..end as usize]).expect("the record");
            assert_eq!(value, record["value"]);
        }
        let done = named(&events, "done")[0];
        assert_eq!(
            (&done["status"], &done["records"], &done["rejected"]),
            (&json!("complete"), &json!(8), &json!(0))
        );
        let usage = named(&events, "usage");
        let last = usage.last().expect("at the end");
        assert_eq!((&last["output_tokens"], &last["bytes_received"]), (&json!(322), &json!(text.len())));
    }
}

#[tokio::test]
async fn tool_calls_grow_and_a_cut_record_is_rejected_with_its_text() {
    let page = Page::start();
    let events = page.events(&recorded("tool-calls", 0)).await;
    let calls = named(&events, "tool_call");
    assert_eq!(calls.len(), 2);
    for (number, call) in (1..).zip(calls) {
        assert_eq!(call["call"], number);
        let steps: Vec<&Value> =
            named(&events, "partial").into_iter().filter(|step| step["call"] == number).collect();
        assert_eq!(steps[0]["name"], call["value"]["name"]);
        let arguments: String =
            steps[1..].iter().map(|step| step["text"].as_str().expect("a text")).collect();
        let arguments: Value = serde_json::from_str(&arguments).expect("all of them");
        assert_eq!(arguments, call["value"]["parameters"]);
        assert!(steps.len() > 5, "{steps:?}");
    }

    let events = page.events(&recorded("reasoning", 0)).await;
    let reasoning = named(&events, "delta").into_iter().filter(|delta| delta["kind"] == "reasoning");
    assert_eq!(reasoning.count(), 8);

    let events = page.events(&recorded("truncated", 0)).await;
    let rejected = named(&events, "rejected");
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0]["code"], "truncated");
    assert_eq!(rejected[0]["text"], "{\"entity\": \"Baked Pork Rib");

    let events = page.events(&recorded("tool-calls-in-text", 0)).await;
    assert_eq!(named(&events, "tool_call").len(), 4);
}

#[tokio::test]
async fn a_schema_of_the_page_rejects_and_says_where() {
    let page = Page::start();
    let mut request = recorded("definitions", 0);
    request["schema"] = json!({"properties": {"entity": {"maxLength": 3}}});
    let events = page.events(&request).await;
    assert_eq!((named(&events, "record").len(), named(&events, "rejected").len()), (2, 6));
    let rejected = named(&events, "rejected")[0];
    assert_eq!(rejected["instance_path"], "/entity");
    assert!(rejected["text"].as_str().expect("a text").starts_with("{\"type\": \"definition\""));
}

/// Wherever the connection breaks.
#[tokio::test]
async fn a_run_goes_on_after_the_last_event() {
    let page = Page::start();
    let all = page.events(&recorded("mixed", 0)).await.len();
    for cut in (0..all).step_by(29).chain([all - 1, all]) {
        let mut first = Events::new(page.extract(&recorded("mixed", 0)).await);
        let mut events = first.take(cut).await;
        let run = match events.first() {
            Some(start) => start.data["run"].clone(),
            None => first.next().await.expect("the start").data["run"].clone(),
        };
        drop(first);
        let last_id = events.last().map_or(0, |event| event.id);
        let mut rest = Events::new(page.resume(run.as_str().expect("an id"), last_id).await);
        events.extend(rest.take(usize::MAX).await);
        let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "cut after {cut}");
        assert_eq!(named(&events, "record").len(), 8, "cut after {cut}");
        assert_eq!(named(&events, "done")[0]["status"], "complete");
    }
    assert_eq!(page.resume("0123", 0).await.status(), 404);
}

#[tokio::test]
async fn the_latest_reader_has_the_run() {
    let gate = Gate::new();
    let texts = (0..8).map(|n| format!("{{\"n\":{n}}}\n"));
    let recording = Recording::new("m", chat(texts, STOP)).pace(Pace::events()).gate(&gate);
    let server = serve(recording).await;
    let page = Page::of(Some(&server));
    gate.release(1);
    let mut first = Events::new(page.extract(&request()).await);
    let run = first.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    first.find("record").await;
    let mut second = Events::new(page.resume(&run, 0).await);
    second.find("record").await;
    let rest = first.take(usize::MAX).await;
    assert!(named(&rest, "record").is_empty(), "{rest:?}");
    gate.open();
    assert_eq!(second.find("done").await.data["records"], 8);
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn old_events_are_dropped_and_the_gap_is_said() {
    let texts = (0..40).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", "x".repeat(50_000)));
    let server = serve(Recording::new("m", chat(texts, STOP)).pace(Pace::events())).await;
    let page = Page::of(Some(&server));
    let mut first = Events::new(page.extract(&request()).await);
    let run = first.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    let done = first.find("done").await;
    assert_eq!(done.data["records"], 40);
    let events = Events::new(page.resume(&run, 3).await).take(usize::MAX).await;
    assert_eq!((&*events[0].name, &events[0].data["from"]), ("gap", &json!(4)));
    assert_eq!(events[0].data["to"], events[0].id);
    assert_eq!(events[1].id, events[0].id + 1);
    assert_eq!(events.last(), Some(&done));
    let kept: usize = events.iter().map(|event| event.data.to_string().len()).sum();
    assert!((900 << 10..1 << 20).contains(&kept), "{kept}");
}

#[tokio::test]
async fn stop_closes_the_connection_to_the_model() {
    let gate = Gate::new();
    let texts = (0..8).map(|n| format!("{{\"n\":{n}}}\n"));
    let server = serve(Recording::new("m", chat(texts, STOP)).pace(Pace::events()).gate(&gate)).await;
    let page = Page::of(Some(&server));
    gate.release(3);
    let mut events = Events::new(page.extract(&request()).await);
    let run = events.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    events.find("record").await;
    events.find("record").await;
    let stopped = Instant::now();
    assert_eq!(page.stop(&run).await, 204);
    server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    // The tests in a browser, which have the machine for themselves, allow 100 ms.
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
    let done = events.find("done").await;
    assert_eq!((&done.data["status"], events.next().await), (&json!("stopped"), None));
    // Twice is once.
    assert_eq!(page.stop(&run).await, 204);
    assert_eq!(page.stop("0123").await, 404);
}

#[tokio::test]
async fn a_page_that_leaves_stops_the_model_after_ten_seconds() {
    let gate = Gate::new();
    let texts = (0..8).map(|n| format!("{{\"n\":{n}}}\n"));
    let server = serve(Recording::new("m", chat(texts, STOP)).pace(Pace::events()).gate(&gate)).await;
    let page = Page::of(Some(&server));
    gate.release(2);
    let mut events = Events::new(page.extract(&request()).await);
    events.find("record").await;
    drop(events);
    let left = Instant::now();
    server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    let waited = left.elapsed();
    assert!((8.0..30.0).contains(&waited.as_secs_f64()), "{waited:?}");
}

#[tokio::test]
async fn a_page_that_does_not_read_slows_the_model_down() {
    let texts = (0..20_000).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", "x".repeat(1000)));
    let body = chat(texts, STOP);
    let size = body.len() as u64;
    assert!(size > 20 << 20);
    let server = serve(Recording::new("m", body).pace(Pace::events())).await;
    let page = Page::of(Some(&server));
    let mut events = Events::new(page.extract(&request()).await);
    events.find("record").await;
    // Until nothing has moved for half a second.
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = server.traffic().body_bytes;
        if now == before {
            break;
        }
        before = now;
    }
    // What is on its way is in the buffers of the sockets.
    assert!(before < size / 2, "{before} of {size}");
    let mut records = 1;
    while let Some(event) = events.next().await {
        if event.name == "record" {
            assert_eq!(event.data["value"]["n"], records);
            records += 1;
        }
    }
    assert_eq!(records, 20_000);
}

#[tokio::test]
async fn failures_end_the_run_with_a_message() {
    let server = serve(
        Recording::new("m", "{\"error\":{\"message\":\"no such model\"}}").status(StatusCode::NOT_FOUND),
    )
    .await;
    let page = Page::of(Some(&server));
    let done = page.events(&request()).await.pop().expect("done");
    assert_eq!(done.data["status"], "failed");
    assert!(done.data["message"].as_str().expect("a message").contains("no such model"), "{done:?}");

    let cut = chat(["{\"n\":1}\n{\"n\":2".to_owned()], "");
    let server = serve(Recording::new("m", cut)).await;
    let page = Page::of(Some(&server));
    let events = page.events(&request()).await;
    let codes: Vec<&Value> = named(&events, "rejected").iter().map(|rejected| &rejected["code"]).collect();
    assert_eq!(codes, ["truncated", "stream_incomplete"]);
    let done = named(&events, "done")[0];
    assert_eq!((&done["status"], &done["records"]), (&json!("incomplete"), &json!(1)));
}

/// A page that does not know where it is gets what is kept, never more than there is.
#[tokio::test]
async fn absurd_last_ids_and_methods_do_no_harm() {
    let page = Page::start();
    let mut first = Events::new(page.extract(&recorded("mixed", 0)).await);
    let run = first.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    let all = first.take(usize::MAX).await.len() + 1;
    assert!(Events::new(page.resume(&run, u64::MAX).await).take(usize::MAX).await.is_empty());
    let head = page.client.head(format!("{}/api/runs/{run}/events", page.url)).send().await;
    assert_eq!(head.expect("a response").status(), 405);
    let unknown = page.client.get(format!("{}/nowhere", page.url)).send().await.expect("a response");
    let body: Value = serde_json::from_str(&unknown.text().await.expect("a body")).expect("JSON");
    assert_eq!(body["error"], "there is nothing at this path");
    for id in ["", "-1", "x", "99999999999999999999"] {
        let request = page.client.get(format!("{}/api/runs/{run}/events", page.url));
        let response = request.header("last-event-id", id).send().await.expect("a response");
        assert_eq!(Events::new(response).take(usize::MAX).await.len(), all, "{id}");
    }
}

/// A block that begins again, and many choices: positions are those of each text.
#[tokio::test]
async fn the_text_of_a_reject_is_that_at_its_place() {
    let event = |choice: usize, text: &str| {
        format!("data: {}\n\n", json!({"choices": [{"index": choice, "delta": {"content": text}}]}))
    };
    let mut body: String = event(0, "{\"zero\": 1");
    body.extend((1..20).map(|choice| event(choice, &format!("{{\"n\": {choice}, bad}}\n"))));
    body += &event(0, ", bad} tail tail\n");
    let server = serve(Recording::new("m", body + STOP)).await;
    let events = Page::of(Some(&server)).events(&request()).await;
    let rejected = named(&events, "rejected");
    assert_eq!(rejected.len(), 20);
    for reject in rejected {
        let choice = reject.get("choice").and_then(Value::as_u64).unwrap_or(0);
        match reject["text"].as_str() {
            Some(text) => assert_eq!(text, format!("{{\"n\": {choice}, bad}}")),
            // Dropped for others, or about the whole response.
            None => assert!(choice == 0, "{reject}"),
        }
    }
}

#[tokio::test]
async fn calls_have_their_own_numbers() {
    let call = |index: usize, id: &str, arguments: &str| {
        let call = json!({"index": index, "id": id, "function": {"name": "ls", "arguments": arguments}});
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    };
    let body = call(0, "same", "{\"path\":\"a\"}") + &call(1, "same", "{\"path\":\"b\"}") + STOP;
    let server = serve(Recording::new("m", body)).await;
    let mut request = request();
    request["tools"] = json!([{"name": "ls", "parameters": {"required": ["path"]}}]);
    let events = Page::of(Some(&server)).events(&request).await;
    let calls: Vec<_> = named(&events, "tool_call")
        .iter()
        .map(|call| (call["call"].clone(), call["value"]["parameters"]["path"].clone()))
        .collect();
    assert_eq!(calls, [(json!(1), json!("a")), (json!(2), json!("b"))]);
}

/// Nothing waits for the rules of another run, not even its own Stop.
#[tokio::test]
async fn slow_rules_slow_only_their_own_run_down() {
    let texts = [(0..2000).map(|n| format!("{{\"n\":\"{n}\"}}\n")).collect::<String>()];
    let server = serve(Recording::new("m", chat(texts, STOP))).await;
    let page = Page::of(Some(&server));
    let alternatives: Vec<Value> = (0..3000).map(|n| json!({"required": [format!("m{n}")]})).collect();
    let mut request = request();
    request["schema"] = json!({"anyOf": alternatives});
    let mut runs = Vec::new();
    for _ in 0..3 {
        let mut events = Events::new(page.extract(&request).await);
        let run = events.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
        runs.push((events, run));
    }
    let others = Instant::now();
    for (_, run) in &runs {
        assert_eq!(page.stop(run).await, 204);
        assert_eq!(page.client.get(&page.url).send().await.expect("a response").status(), 200);
    }
    let waited = others.elapsed();
    assert!(waited < Duration::from_secs(8), "{waited:?}");
}

#[tokio::test]
async fn bad_requests_get_a_message() {
    let page = Page::start();
    let schema = json!({"type": "nonsense"});
    for (request, status, message) in [
        (json!({"provider": "nobody"}), 400, "there is no provider named \"nobody\""),
        (json!({"provider": "recorded", "model": "x"}), 400, "there is no recording named \"x\""),
        (json!({"provider": "anthropic", "model": "m", "prompt": "x"}), 400, "ANTHROPIC_API_KEY is not set"),
        (json!({"provider": "openai-chat", "prompt": "x"}), 400, "enter the name of a model"),
        (json!({"provider": "openai-chat", "model": "m"}), 400, "enter a prompt or a text"),
        (json!({"provider": "openai-chat", "model": "m", "prompt_id": "x"}), 400, "prompt_id: "),
        (json!({"provider": "recorded", "schema": schema}), 400, "schema: "),
        (json!({"provider": "recorded", "tools": [{"no": "name"}]}), 400, "tools: "),
        (
            json!({"provider": "openai-chat", "model": "m".repeat(300), "prompt": "x"}),
            400,
            "more than 256 bytes",
        ),
        (
            json!({"provider": "recorded", "schema": {"const": "x".repeat(300 << 10)}}),
            400,
            "larger than 256 KiB",
        ),
        (json!({"provider": "recorded", "typo": 1}), 422, "typo"),
        // A little over the limit: of more, the server would leave some unread, which breaks the connection.
        (json!({"provider": "recorded", "text": "x".repeat(4 << 20)}), 413, ""),
    ] {
        let response = page.extract(&request).await;
        assert_eq!(response.status(), status, "{message}");
        let body: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        let error = body["error"].as_str().expect("a message");
        assert!(error.contains(message), "{error}");
    }
    // What a form of another site can send.
    let request = page.client.post(format!("{}/api/extract", page.url));
    let response =
        request.header("content-type", "text/plain").body("{\"provider\":\"recorded\"}").send().await;
    assert_eq!(response.expect("a response").status(), 415);
}

#[tokio::test]
async fn other_sites_get_nothing() {
    let page = Page::start();
    let port = page.url.rsplit(':').next().expect("a port").to_owned();
    let get = |path: &str, host: &str, origin: Option<&str>| {
        let mut request = page.client.get(format!("{}{path}", page.url)).header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send()
    };
    for path in ["/", "/api/options", "/api/runs/x/events"] {
        let rebound = get(path, &format!("evil.example:{port}"), None).await.expect("a response");
        assert_eq!(rebound.status(), 403);
        let foreign = get(path, &format!("127.0.0.1:{port}"), Some("http://evil.example")).await;
        assert_eq!(foreign.expect("a response").status(), 403);
    }
    let own = get("/", &format!("localhost:{port}"), Some(&format!("http://localhost:{port}"))).await;
    let own = own.expect("a response");
    assert_eq!(own.status(), 200);
    let policy = own.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"));
    assert_eq!(own.headers()["x-content-type-options"], "nosniff");
}

/// Neither the key nor a path of this machine is in any response.
#[tokio::test]
async fn secrets_stay_on_the_server() {
    let echo = format!("{{\"error\":{{\"message\":\"the key {KEY} is wrong\"}}}}");
    let server = serve(Recording::new("m", echo).status(StatusCode::UNAUTHORIZED)).await;
    let page = Page::of(Some(&server));
    let mut seen = String::new();
    for path in ["/", "/api/options", "/assets/page.js", "/assets/../../Cargo.toml", "/api/runs/x/events"] {
        let response = page.client.get(format!("{}{path}", page.url)).send().await.expect("a response");
        seen += &format!("{:?}", response.headers());
        seen += &response.text().await.expect("text");
    }
    seen += &format!("{:?}", page.events(&request()).await);
    assert!(seen.contains("is wrong"), "{seen}");
    for secret in [KEY, env!("CARGO_MANIFEST_DIR"), "/home/", "/root/"] {
        assert!(!seen.contains(secret), "{secret}");
    }
}

#[test]
fn other_machines_need_permission() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tokenline")).args(["serve", "--listen", "0.0.0.0:0"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("use --public to allow that"));
}
