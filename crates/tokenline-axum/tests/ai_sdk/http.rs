//! Over real sockets: headers, the end of bodies, backpressure, and clients that leave.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::json;
use tokenline::llm::client::{ApiKey, LlmClient};
use tokenline::{ChatRequest, Provider};
use tokenline_axum::ai_sdk::{
    ChatStream, InvalidMessage, JsonArray, TextResponse, UseChatRequest, chat_options,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Longer than any wait here should take.
const LONG: Duration = Duration::from_secs(20);

async fn chat(State(client): State<LlmClient>, posted: UseChatRequest) -> Result<ChatStream, InvalidMessage> {
    let request = ChatRequest::new("m").messages(posted.to_messages()?);
    // The request is a part of the message, so that leaving also stops a model that has not begun.
    Ok(ChatStream::new(|chat| async move {
        let mut step = chat.step(client.stream(&request)?.with_options(chat_options).send().await?);
        while step.next_call().await?.is_some() {}
        Ok(())
    }))
}

async fn list(State(client): State<LlmClient>) -> Result<impl IntoResponse, StatusCode> {
    let response = client.stream(&ChatRequest::new("m").user("?")).expect("a request").send().await;
    Ok(JsonArray::new(response.map_err(|_| StatusCode::BAD_GATEWAY)?.records()))
}

async fn text(State(client): State<LlmClient>) -> Result<impl IntoResponse, StatusCode> {
    let response = client.stream(&ChatRequest::new("m").user("?")).expect("a request").send().await;
    Ok(TextResponse::new(response.map_err(|_| StatusCode::BAD_GATEWAY)?.text()))
}

/// A model that accepts one connection, and a server that asks it.
async fn serve() -> (TcpListener, SocketAddr) {
    let model = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", model.local_addr().expect("an address"));
    let client = LlmClient::builder(Provider::OpenAiChat).base_url(url).retries(0);
    let client = client.api_key(ApiKey::new("sk-of-nobody").expect("a key")).build().expect("a client");
    let router = Router::new()
        .route("/chat", post(chat))
        .route("/list", post(list))
        .route("/text", post(text))
        .with_state(client);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (model, address)
}

/// Accepts a request to the model, and begins the response.
async fn accept(model: &TcpListener) -> TcpStream {
    let mut socket = model.accept().await.expect("a connection").0;
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        assert!(socket.read_buf(&mut request).await.expect("a request") > 0);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await.expect("a reader");
    socket
}

fn delta(text: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}))
}

const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Posts a message as JSON.
async fn send(address: SocketAddr, path: &str, body: &str) -> TcpStream {
    send_as("content-type: application/json; charset=utf-8\r\n", address, path, body).await
}

async fn send_as(header: &str, address: SocketAddr, path: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.expect("a server");
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{header}");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    socket.write_all(request.as_bytes()).await.expect("a reader");
    socket
}

fn question() -> String {
    json!({"id": "c", "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "?"}]}]})
        .to_string()
}

/// Reads until the response contains a text.
async fn until(socket: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        let count = timeout(LONG, socket.read_buf(&mut read)).await.expect("in time").expect("it reads");
        assert!(count > 0, "no {text:?} in {}", String::from_utf8_lossy(&read));
    }
    String::from_utf8(read).expect("UTF-8")
}

async fn to_end(mut socket: TcpStream) -> String {
    let mut read = Vec::new();
    // A body that breaks off may end with an error.
    let _ = timeout(LONG, socket.read_to_end(&mut read)).await.expect("in time");
    String::from_utf8(read).expect("UTF-8")
}

/// The end of a complete chunked body.
const END: &str = "\r\n0\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_has_the_headers_and_the_end_of_the_protocol() {
    let (model, address) = serve().await;
    let mut page = send(address, "/chat", &question()).await;
    let mut socket = accept(&model).await;
    socket.write_all(delta("Hi").as_bytes()).await.expect("a reader");
    // While the model is still writing.
    let head = until(&mut page, r#"{"type":"text-delta","id":"text-1","delta":"Hi"}"#).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for header in [
        "content-type: text/event-stream\r\n",
        "x-vercel-ai-ui-message-stream: v1\r\n",
        "x-accel-buffering: no\r\n",
        "cache-control: no-store, no-transform\r\n",
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
    socket.write_all(STOP.as_bytes()).await.expect("a reader");
    drop(socket);
    let rest = to_end(page).await;
    assert!(rest.contains("data: {\"type\":\"finish\",\"finishReason\":\"stop\"}\n\n"), "{rest}");
    assert!(rest.contains("data: [DONE]\n\n") && rest.ends_with(END), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_closes_the_connection_to_the_model() {
    for path in ["/chat", "/list", "/text"] {
        let (model, address) = serve().await;
        let mut page = send(address, path, &question()).await;
        let mut socket = accept(&model).await;
        socket.write_all(delta("{\"a\":1}\n").as_bytes()).await.expect("a reader");
        until(&mut page, ":1}").await;
        drop(page);
        let left = Instant::now();
        let read = timeout(LONG, socket.read(&mut [0; 16])).await.expect("in time");
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
        assert!(left.elapsed() < Duration::from_secs(2), "{path}: {:?}", left.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_before_the_model_begins_closes_it_too() {
    let (model, address) = serve().await;
    let page = send(address, "/chat", &question()).await;
    let mut socket = model.accept().await.expect("a connection").0;
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        assert!(socket.read_buf(&mut request).await.expect("a request") > 0);
    }
    drop(page);
    let read = timeout(LONG, socket.read(&mut [0; 16])).await.expect("in time");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_an_error_of_the_chat_and_break_off_texts() {
    let length = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    let error = "data: {\"type\":\"error\",\"errorText\":\"An error occurred.\"}\n\n";
    let limit = "data: {\"type\":\"finish\",\"finishReason\":\"length\"}\n\n";
    for (path, end, expected, is_ended) in [
        ("/chat", "", error, true),
        ("/list", "", "[", false),
        ("/text", "", "{\"a\":1}", false),
        ("/chat", length, limit, true),
        ("/list", length, "{\"a\":1}", false),
        ("/text", length, "{\"a\":1}", false),
    ] {
        let (model, address) = serve().await;
        let page = send(address, path, &question()).await;
        let mut socket = accept(&model).await;
        // By its lines alone, the list is complete.
        socket.write_all((delta("{\"a\":1}\n") + end).as_bytes()).await.expect("a reader");
        drop(socket);
        let body = to_end(page).await;
        assert!(body.contains(expected), "{path}: {body}");
        assert_eq!(body.ends_with(END), is_ended, "{path}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_and_texts_are_plain_text() {
    for (path, pieces) in
        [("/list", ["[", "{\"a\":1}", ",{\"a\":2}", "]"]), ("/text", ["{\"a\":1}", "{\"a\":2}", "", ""])]
    {
        let (model, address) = serve().await;
        let mut page = send(address, path, "\"cells\"").await;
        let mut socket = accept(&model).await;
        socket.write_all(delta("{\"a\":1}\n").as_bytes()).await.expect("a reader");
        let head = until(&mut page, "{\"a\":1}").await;
        for header in ["content-type: text/plain; charset=utf-8\r\n", "x-content-type-options: nosniff\r\n"] {
            assert!(head.contains(header), "{header} in {head}");
        }
        socket.write_all((delta("{\"a\":2}\n") + STOP).as_bytes()).await.expect("a reader");
        drop(socket);
        let all = head + &to_end(page).await;
        assert!(pieces.iter().all(|piece| all.contains(piece)) && all.ends_with(END), "{all}");
    }
}

/// A client that does not read stops the model, which would write without end.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_slows_the_model_down() {
    let (model, address) = serve().await;
    let mut page = send(address, "/chat", &question()).await;
    let mut socket = accept(&model).await;
    let written = Arc::new(AtomicUsize::new(0));
    let (count, (closed, is_closed)) =
        (written.clone(), oneshot::channel::<Result<Infallible, std::io::Error>>());
    tokio::spawn(async move {
        let piece = delta(&"a".repeat(10_000));
        let failure = loop {
            match socket.write_all(piece.as_bytes()).await {
                Ok(()) => count.fetch_add(piece.len(), Ordering::Relaxed),
                Err(failure) => break failure,
            };
        };
        let _ = closed.send(Err(failure));
    });
    until(&mut page, "aaaa").await;
    // Until the buffers of the sockets are full, and nothing moves any more.
    let (mut before, started) = (0, Instant::now());
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = written.load(Ordering::Relaxed);
        if now == before {
            break;
        }
        before = now;
        assert!(started.elapsed() < LONG && now < 100_000_000, "{now} bytes");
    }
    // It goes on when the client reads, and ends when it leaves.
    let mut read = vec![0; 1 << 20];
    while written.load(Ordering::Relaxed) == before {
        assert!(page.read(&mut read).await.expect("it reads") > 0);
    }
    drop(page);
    timeout(LONG, is_closed).await.expect("in time").expect("it ends").expect_err("closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_use_chat_does_not_post_are_refused() {
    let (_model, address) = serve().await;
    let system = json!({"messages": [{"role": "system", "parts": []}]}).to_string();
    let long = "x".repeat(3 << 20);
    for (body, status, says) in [
        ("{}", 400, "missing field `messages`"),
        (&*system, 400, "message 0 is a system message"),
        (&*long, 413, "length limit exceeded"),
    ] {
        let response = to_end(send(address, "/chat", body).await).await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")) && response.contains(says),
            "{response}"
        );
    }
}

/// A page of another origin can post forms and texts without asking.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_must_be_posted_as_json() {
    let (_model, address) = serve().await;
    for header in [
        "",
        "content-type: text/plain\r\n",
        "content-type: text/plain;application/json\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
    ] {
        let response = to_end(send_as(header, address, "/chat", &question()).await).await;
        assert!(response.starts_with("HTTP/1.1 415 "), "{header}: {response}");
        assert!(response.contains("send `content-type: application/json`"), "{response}");
    }
}
