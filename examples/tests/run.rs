//! Runs every example against local servers that replay recorded responses.

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::read_request;
use tokenline::llm::replay::{self, Chunking, Gate, Pace, Recording, ReplayServer};
use tokio::task::spawn_blocking;

/// The program of an example, which `cargo test` builds.
fn example(name: &str) -> Command {
    let program = std::env::current_exe().expect("a program");
    let folder: PathBuf = program.ancestors().nth(2).expect("a folder").join("examples");
    let mut command = Command::new(folder.join(name));
    command.env("NO_PROXY", "127.0.0.1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn run(name: &str, args: &[&str]) -> Output {
    let mut command = example(name);
    command.args(args);
    spawn_blocking(move || command.output().expect("the example starts")).await.expect("it ends")
}

fn output_text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

async fn serve(recordings: impl IntoIterator<Item = Recording>) -> ReplayServer {
    ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await.expect("a free port")
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_with_a_model_print_its_records() {
    let server = serve(replay::builtin()).await;
    for (name, lines, says) in [
        ("typed_records", 8, "ribosome: The organelle that contains the ribosome."),
        ("union", 9, "8 facts, 0 rejected"),
        ("parallel_tools", 4, "cell nucleus function: 2 results"),
    ] {
        let output = run(name, &[&server.url()]).await;
        let (out, err) = output_text(&output);
        assert!(output.status.success(), "{name}: {err}");
        assert_eq!((out.lines().count(), out.contains(says)), (lines, true), "{name}: {out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_fills_live() {
    let pace = Pace::from(Chunking::Bytes(NonZeroUsize::new(100).expect("not zero")));
    let recording = replay::builtin().into_iter().find(|recording| recording.name() == "definitions");
    let server = serve([recording.expect("it is built in").pace(pace)]).await;
    let (out, err) = output_text(&run("form", &[&server.url()]).await);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 8, "{out}{err}");
    let steps: Vec<&str> = lines[0].split("\r\u{1b}[2K").skip(1).collect();
    assert!(steps.len() > 5, "{steps:?}");
    let complete = lines[0].rsplit("\u{1b}[2K").next().expect("a line");
    let definition = complete.split_once(": ").expect("a definition").1;
    for step in &steps[..steps.len() - 1] {
        let growing = step.split_once(": ").expect("a definition").1;
        let text = growing.trim_start_matches("Some(\"").trim_end_matches("\")");
        assert!(growing == "None" || definition.starts_with(text), "{step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_off_response_is_continued() {
    let cut = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"name\\\":\\\"Po\\\"}\\n{\\\"name\\\":\\\"Rh\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    let rest = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"name\\\":\\\"Po\\\"}\\n{\\\"name\\\":\\\"Rhine\\\"}\\n\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        for body in [cut, rest] {
            let mut socket = listener.accept().expect("a connection").0;
            read_request(&socket);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            socket.write_all((head.to_owned() + body).as_bytes()).expect("a reader");
        }
    });
    let output = run("continued", &[&url, "m"]).await;
    let (out, err) = output_text(&output);
    assert_eq!(out, "Po\nRhine\n2 rivers in 2 requests\n", "{err}");
    server.join().expect("both requests were made");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_a_rule_is_asked_for_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let list = r#"{\"number\":\"A\",\"net\":1,\"total\":2}\n{\"number\":\"B\",\"net\":9,\"total\":2}\n"#;
        let again = r#"{\"number\":\"B\",\"net\":1,\"total\":9}"#;
        for text in [list, again] {
            let mut socket = listener.accept().expect("a connection").0;
            let body = read_request(&socket);
            assert_eq!(body.contains("net exceeds total"), text == again, "{body}");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let event =
                format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#);
            let body = format!("data: {event}\n\ndata: [DONE]\n\n");
            socket.write_all((head.to_owned() + &body).as_bytes()).expect("a reader");
        }
    });
    let output = run("reask", &[&url, "m"]).await;
    let (out, err) = output_text(&output);
    assert_eq!(out, "A: 2 (0)\nB: 9 (1)\nfurther requests: 1, rejected: 0\n", "{err}");
    server.join().expect("both requests were made");
}

#[test]
fn each_record_is_stored_once_however_often_the_program_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, database) = (folder.path().join("orders.jsonl"), folder.path().join("orders.db"));
    let mut text = String::new();
    for id in 0..600 {
        text += &match id % 4 {
            0 => format!("[{{\"id\":{id},\"product\":\"tea\"}},"),
            1 => format!("{{\"id\":{id},\"product\":\"rye\"}}]\n\n"),
            2 => format!("{{\"id\":{id},\"product\":\"né\"}}\n{{\"id\":NaN}}\n"),
            _ => format!("{{\"id\":{id},\"product\":\"oat\"}}\n{{\"id\":-0.5,\"product\":\"no\"}}\n"),
        };
    }
    std::fs::write(&file, text).expect("writable");
    let restart = || {
        let mut command = example("restart");
        command.arg(&file).arg(&database);
        command
    };
    let mut killed = 0;
    for wait_ms in (3..60).step_by(4) {
        let mut child = restart().spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(wait_ms));
        killed += u32::from(child.try_wait().expect("a state").is_none());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let output = restart().output().expect("it starts");
    let (_, err) = output_text(&output);
    assert!(output.status.success() && killed > 0, "killed {killed} times: {err}");
    // The messages of the last run are about the lines of the file.
    let lines = std::fs::read_to_string(&file).expect("readable");
    for message in err.lines() {
        let place = message.strip_prefix(&format!("{}:", file.display())).expect("the file");
        let line: usize = place.split(':').next().and_then(|line| line.parse().ok()).expect("a line");
        let text = lines.lines().nth(line - 1).expect("a line of the file");
        assert!(text.contains("NaN") || text.contains("-0.5"), "{message}: {text}");
    }
    let database = rusqlite::Connection::open(&database).expect("a database");
    let mut rows = database.prepare("SELECT id FROM orders ORDER BY rowid").expect("a table");
    let ids = rows.query_map([], |row| row.get::<_, i64>(0)).expect("rows");
    assert!(ids.map(|id| id.expect("a number")).eq(0..600), "each once, in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_validated_and_batches_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("writable");
        path.to_str().expect("UTF-8").to_owned()
    };
    let schema = file("schema.json", r#"{"properties":{"n":{"type":"integer"}}}"#);
    let records = file("records.jsonl", "{\"n\":1}\n{\"n\":\"x\"}\n");
    let output = run("validate_files", &[&schema, &records]).await;
    let expected = format!(
        "{records}:2:6: schema_violation: expected type integer, found a string (at /n)\n1 valid lines, 1 errors\n"
    );
    assert_eq!((output.status.code(), output_text(&output).0), (Some(1), expected));

    let line = |id: usize, content: &str| {
        let content = serde_json::json!(content);
        format!(
            "{{\"custom_id\":\"{id}\",\"response\":{{\"status_code\":200,\"body\":{{\"choices\":[{{\"message\":{{\"role\":\"assistant\",\"content\":{content}}},\"finish_reason\":\"stop\"}}]}}}},\"error\":null}}\n"
        )
    };
    let good = |id: usize| {
        line(
            id,
            "{\"entity\":\"DNA\",\"definition\":\"genes\"}\n{\"entity\":\"RNA\",\"definition\":\"copy\"}",
        )
    };
    let mut batch: String = (0..100).map(good).collect();
    batch += "{\"custom_id\":\"late\",\"response\":null,\"error\":{\"message\":\"expired\"}}\n";
    batch += &line(100, "{\"entity\":1}");
    let output = run("batch_rows", &[&file("batch.jsonl", &batch)]).await;
    let (out, err) = output_text(&output);
    let expected: String = (0..100).map(|id| format!("{id}\tDNA\tgenes\n{id}\tRNA\tcopy\n")).collect();
    assert_eq!(out, expected);
    assert!(err.contains("late: expired\n") && err.contains("100: 1:"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_codec_reads_what_it_wrote() {
    let (out, err) = output_text(&run("framed", &[]).await);
    assert_eq!(out.lines().count(), 3, "{out}{err}");
    assert!(out.contains("line 2: Point { x: -3.0, y: 0.0 }") && out.contains("rejected: 3:"), "{out}");
}

/// The server of an example, stopped on drop.
struct Server {
    child: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
    address: String,
}

impl Server {
    fn start(name: &str, args: &[&str]) -> Self {
        let mut child = example(name).args(args).spawn().expect("the example starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut server = Self { child, output, address: String::new() };
        let line = server.read_line();
        let address = line.trim_start_matches("http://").split('/').next().expect("an address");
        address.clone_into(&mut server.address);
        server
    }

    /// The next line of its output.
    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line
    }

    /// Sends a request; `headers` are lines that end in CRLF.
    fn send(&self, request: &str, headers: &str) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
        let host = &self.address;
        let head = format!("{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n");
        socket.write_all(head.as_bytes()).expect("a reader");
        BufReader::new(socket)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_forwards_records_in_both_formats() {
    let server = serve(replay::builtin()).await;
    spawn_blocking(move || {
        let endpoint = Server::start("endpoint", &[&server.url()]);
        for (accept, kind, start, end) in [
            ("", "application/x-ndjson", "{\"entity\":", "\r\n0\r\n\r\n"),
            (
                "accept: text/event-stream\r\n",
                "text/event-stream",
                "data: {\"entity\":",
                "event: done\ndata: {\"records\":8}\n\n\r\n0\r\n\r\n",
            ),
        ] {
            let mut body = String::new();
            endpoint.send("GET /definitions", accept).read_to_string(&mut body).expect("a response");
            assert!(body.starts_with("HTTP/1.1 200 OK") && body.contains(kind), "{body}");
            assert_eq!(body.lines().filter(|line| line.starts_with(start)).count(), 8, "{body}");
            assert!(body.ends_with(end), "{body}");
        }
    })
    .await
    .expect("it serves");
}

/// No tokens are paid for after the reader is gone.
#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_stops_the_model_when_the_browser_leaves() {
    let gate = Gate::new();
    let pace = Pace::from(Chunking::Bytes(NonZeroUsize::new(4096).expect("not zero")));
    let recording = replay::builtin().into_iter().find(|recording| recording.name() == "definitions");
    let server = serve([recording.expect("it is built in").pace(pace).gate(&gate)]).await;
    gate.release(4);
    let url = server.url();
    // It runs on while the connection closes.
    let _endpoint = spawn_blocking(move || {
        let endpoint = Server::start("endpoint", &[&url]);
        let mut response = endpoint.send("GET /definitions", "");
        let mut line = String::new();
        while !line.starts_with('{') {
            line.clear();
            assert_ne!(response.read_line(&mut line).expect("a response"), 0, "a record comes");
        }
        endpoint
    })
    .await
    .expect("it serves");
    let closed = server.wait_for(|traffic| traffic.bodies_dropped == 1);
    tokio::time::timeout(Duration::from_secs(20), closed).await.expect("the connection to the model closes");
}

#[test]
fn the_ingest_endpoint_validates_lines_as_they_arrive() {
    let mut server = Server::start("ingest", &[]);
    let headers = "content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n";
    let chunk = |data: &str| format!("{:x}\r\n{data}\r\n", data.len());
    let first = chunk("{\"sensor\":\"a\",\"celsius\":20.5}\n{\"sensor\":\"b\",\"cels");
    let rest = chunk("ius\":-300}\n") + &chunk("{\"sensor\":\"c\",\"celsius\":1}") + "0\r\n\r\n";

    let mut request = server.send("PUT /measurements", headers);
    request.get_mut().write_all(first.as_bytes()).expect("a reader");
    assert_eq!(server.read_line(), "1: a at 20.5 °C\n");
    request.get_mut().write_all(rest.as_bytes()).expect("a reader");
    let mut response = String::new();
    request.read_to_string(&mut response).expect("a response");
    let expected = "2 stored\n2:25: schema_violation: less than the minimum -273.15 (at /celsius)\n";
    assert!(response.starts_with("HTTP/1.1 200 OK") && response.ends_with(expected), "{response}");

    let mut request = server.send("POST /measurements", headers);
    request.get_mut().write_all((first + &rest).as_bytes()).expect("a reader");
    response.clear();
    request.read_to_string(&mut response).expect("a response");
    assert!(response.starts_with("HTTP/1.1 422 "), "{response}");
    assert!(response.contains("{\"code\":\"schema_violation\",\"line\":2,"), "{response}");
}
