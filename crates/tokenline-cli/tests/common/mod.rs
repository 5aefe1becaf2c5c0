//! Runs the program as a user does.
#![allow(dead_code, reason = "each test binary uses some of this")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}

pub(crate) fn tokenline(args: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // With bad arguments the program does not read its input.
    let _ = child.stdin.take().expect("piped").write_all(input.as_ref());
    let output = child.wait_with_output().expect("the program ends");
    Run {
        code: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

pub(crate) fn file(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("writable");
    path.to_str().expect("UTF-8").to_owned()
}

pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-llm/fixtures/openai-chat").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

/// A streamed Ollama response with its text in one event, and this finish reason.
pub(crate) fn ollama_body(text: &str, reason: &str) -> String {
    let content = serde_json::Value::from(text);
    format!(
        "{{\"message\":{{\"content\":{content}}},\"done\":false}}\n{{\"message\":{{\"content\":\"\"}},\"done\":true,\"done_reason\":\"{reason}\"}}\n"
    )
}

/// A fake Ollama server. `respond` gets the number of the request, from 0, and its body, and returns the text and the finish
/// reason of the response. Returns its URL and the bodies of the requests.
pub(crate) fn ollama(
    respond: impl Fn(usize, &str) -> (&'static str, &'static str) + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (seen, respond) = (Arc::clone(&requests), Arc::new(respond));
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (seen, respond) = (Arc::clone(&seen), Arc::clone(&respond));
            thread::spawn(move || {
                let mut socket = BufReader::new(socket.expect("a connection"));
                let (mut length, mut line) = (0, String::new());
                while line != "\r\n" {
                    line.clear();
                    socket.read_line(&mut line).expect("a head");
                    if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                        length = number.trim().parse().expect("a number");
                    }
                }
                let mut body = vec![0; length];
                socket.read_exact(&mut body).expect("a body");
                let body = String::from_utf8(body).expect("UTF-8");
                let mut seen = seen.lock().expect("not poisoned");
                let (text, reason) = respond(seen.len(), &body);
                seen.push(body);
                drop(seen);
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";
                let response = head.to_owned() + &ollama_body(text, reason);
                socket.get_mut().write_all(response.as_bytes()).expect("a reader");
            });
        }
    });
    (url, requests)
}
