//! Shared test helpers.
#![allow(dead_code, reason = "each test uses some of this")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A streamed Ollama response: one line per piece of text, and one for the finish reason, if any, or for an "error".
pub(crate) fn as_ollama(pieces: impl IntoIterator<Item = String>, reason: Option<&str>) -> String {
    let mut body = String::new();
    let mut line = |content: String, reason: Option<&str>| {
        let mut line = json!({"model": "gemma3:270m", "created_at": "2026-11-21T17:00:00.143271446Z",
            "message": {"role": "assistant", "content": content}, "done": reason.is_some()});
        if let Some(reason) = reason {
            line["done_reason"] = reason.into();
        }
        body += &format!("{line}\n");
    };
    pieces.into_iter().for_each(|piece| line(piece, None));
    match reason {
        Some("error") => body += "{\"error\":\"the model crashed\"}\n",
        Some(_) => line(String::new(), reason),
        None => {}
    }
    body
}

/// Splits a text into pieces of this number of characters.
pub(crate) fn pieces(text: &str, characters: usize) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(characters).map(String::from_iter).collect()
}

/// A fake Ollama server. `model` returns the text and the finish reason of each response; without a reason the
/// connection breaks.
pub(crate) async fn serve(
    mut model: impl FnMut(&Value) -> (String, Option<&'static str>) + Send + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut received = Vec::new();
            let body = loop {
                let mut chunk = [0; 4096];
                let read = socket.read(&mut chunk).await.expect("a request");
                received.extend_from_slice(&chunk[..read]);
                let text = String::from_utf8_lossy(&received);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let head = head.to_ascii_lowercase();
                let length =
                    head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
                if body.len() >= length.parse::<usize>().expect("a number") {
                    break serde_json::from_str::<Value>(body).expect("JSON");
                }
            };
            counter.fetch_add(1, Ordering::SeqCst);
            let (text, end) = model(&body);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";
            let response = head.to_owned() + &as_ollama(pieces(&text, 7), end);
            socket.write_all(response.as_bytes()).await.expect("a reader");
            let _ = socket.shutdown().await;
        }
    });
    (url, requests)
}
