//! The server for the AI SDK's pages, against a model on a real socket. `browser/ai-sdk` tests it with the packages.

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use common::read_request;
use serde_json::{Value, json};

/// The example's server, stopped on drop.
struct Server(Child, String);

impl Server {
    fn start(model: &str) -> Self {
        // In the examples directory, next to the test programs.
        let program = std::env::current_exe().expect("a program");
        let program = program.ancestors().nth(2).expect("a folder").join("examples/chat");
        let mut child = Command::new(program)
            .args([model, "m"])
            .env("NO_PROXY", "127.0.0.1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("`cargo test` builds the examples");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("an address");
        Self(child, line.trim().trim_start_matches("http://").to_owned())
    }

    fn post(&self, path: &str, body: &str) -> String {
        self.post_as("application/json", path, body)
    }

    fn post_as(&self, content_type: &str, path: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.1).expect("it listens");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: {content_type}",
            self.1
        );
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        socket.write_all(request.as_bytes()).expect("a reader");
        let mut response = String::new();
        socket.read_to_string(&mut response).expect("a response");
        response
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A model that sends these deltas, one response after another. Returns its address, and the requests.
fn model(responses: Vec<Vec<Value>>) -> (String, thread::JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = move |deltas: Vec<Value>| {
        let mut socket = listener.accept().expect("a connection").0;
        let request = read_request(&socket);
        let mut response =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
        for delta in deltas {
            response += &format!("data: {}\n\n", json!({"choices": [{"delta": delta}]}));
        }
        response += "data: [DONE]\n\n";
        socket.write_all(response.as_bytes()).expect("a reader");
        serde_json::from_str(&request).expect("JSON")
    };
    (url, thread::spawn(move || responses.into_iter().map(answer).collect()))
}

#[test]
fn the_agent_runs_its_tool_and_writes_one_message() {
    let call = |id: &str, text: &str| {
        let arguments = json!({"text": text, "letter": "r"}).to_string();
        json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "count", "arguments": arguments}}]})
    };
    let (url, model) = model(vec![vec![call("c1", "strawberry")], vec![json!({"content": "Three."})]]);
    let server = Server::start(&url);
    let body =
        json!({"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Count!"}]}]});
    let response = server.post("/api/chat", &body.to_string());
    assert!(response.contains("x-vercel-ai-ui-message-stream: v1\r\n"), "{response}");
    let events = response.lines().filter_map(|line| line.strip_prefix("data: "));
    let kinds = events.map(|data| match serde_json::from_str::<Value>(data) {
        Ok(chunk) if chunk["type"] == "tool-output-available" => chunk["output"].to_string(),
        Ok(chunk) => chunk["type"].as_str().expect("a type").to_owned(),
        Err(_) => data.to_owned(),
    });
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [
            "start",
            "start-step",
            "tool-input-start",
            "tool-input-delta",
            "tool-input-available",
            r#"{"count":3}"#,
            "finish-step",
            "start-step",
            "text-start",
            "text-delta",
            "text-end",
            "finish-step",
            "finish",
            "[DONE]",
        ]
    );
    let requests = model.join().expect("both requests were made");
    assert_eq!(requests[1]["messages"][2]["content"], r#"{"count":3}"#);
}

#[test]
fn the_list_has_validated_records_only() {
    let lines = "Sure!\n{\"entity\":\"DNA\",\"definition\":\"genes\"}\n{\"entity\":\"RNA\"}\n";
    let (url, model) = model(vec![vec![json!({"content": lines})]]);
    let response = Server::start(&url).post("/api/object", "\"cells\"");
    let body: String = response.split("\r\n").filter(|line| line.starts_with(['[', '{', ',', ']'])).collect();
    assert_eq!(body, r#"[{"entity":"DNA","definition":"genes"}]"#, "{response}");
    let requests = model.join().expect("the request was made");
    // The page posts a JSON string.
    let messages = requests[0]["messages"].as_array().expect("messages");
    assert_eq!(messages.last().expect("a message")["content"], "cells");
}

/// A page of another origin can post texts without asking.
#[test]
fn requests_must_be_json() {
    let server = Server::start("http://127.0.0.1:1");
    for path in ["/api/chat", "/api/object"] {
        let response = server.post_as("text/plain", path, "\"cells\"");
        assert!(response.starts_with("HTTP/1.1 415 "), "{path}: {response}");
    }
}

/// The page receives the same text for all errors.
#[test]
fn errors_are_logged() {
    let arguments = json!({"text": "strawberry", "letter": "r"}).to_string();
    let function = json!({"name": "count", "arguments": arguments});
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": function}]});
    // The agent gives up.
    let (url, _model) = model(vec![vec![call]; 8]);
    let mut server = Server::start(&url);
    let question =
        json!({"messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "?"}]}]});
    let response = server.post("/api/chat", &question.to_string());
    assert!(response.contains(r#"{"type":"error","errorText":"An error occurred."}"#), "{response}");
    server.0.kill().expect("it runs");
    let mut log = String::new();
    server.0.stderr.take().expect("piped").read_to_string(&mut log).expect("UTF-8");
    assert!(log.contains("without end") && !response.contains("without end"), "{log}");
}
