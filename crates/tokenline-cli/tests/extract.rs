//! `tokenline extract` against local servers.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Run, file, fixture, folder, ollama};
use tokenline::llm::Provider;
use tokenline::llm::replay::{Fault, Gate, Pace, Recording, ReplayServer, StatusCode};
use tokio::task::spawn_blocking;

const KEY: &str = "sk-SECRET-0123456789";

fn command(server: &ReplayServer, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
    command.arg("extract").args(["--model", "recorded", "--retries", "0"]);
    if !args.contains(&"--base-url") {
        command.args(["--base-url", &server.url()]);
    }
    if !args.contains(&"--provider") {
        command.args(["--provider", "openai-chat"]);
    }
    if !args.contains(&"--messages") && !args.contains(&"--prompt") {
        command.args(["--prompt", "What is in a cell?"]);
    }
    command.args(args).env("OPENAI_API_KEY", KEY).env("NO_PROXY", "127.0.0.1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finish(mut child: Child, seen: String) -> Run {
    let mut run = Run { code: 0, out: seen, err: String::new() };
    child.stdout.take().map(|mut out| out.read_to_string(&mut run.out));
    child.stderr.take().map(|mut err| err.read_to_string(&mut run.err));
    run.code = child.wait().expect("it ends").code().expect("no signal");
    run
}

async fn extract(server: &ReplayServer, args: &[&str]) -> Run {
    let mut command = command(server, args);
    spawn_blocking(move || finish(command.spawn().expect("it starts"), String::new())).await.expect("it runs")
}

async fn serve(recording: Recording) -> ReplayServer {
    ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port")
}

fn recorded(file: &str) -> Recording {
    Recording::new("recorded", std::fs::read(fixture(file)).expect("a fixture"))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_parses_every_provider() {
    for (provider, body) in [
        (
            Provider::OpenAiChat,
            r#"data: {"choices":[{"delta":{"content":"{\"a\":1}"},"finish_reason":"stop"}]}"#,
        ),
        (
            Provider::OpenAiResponses,
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"{\\\"a\\\":1}\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}",
        ),
        (
            Provider::Anthropic,
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"{\\\"a\\\":1}\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}",
        ),
        (
            Provider::Gemini,
            r#"data: {"candidates":[{"content":{"parts":[{"text":"{\"a\":1}"}]},"finishReason":"STOP"}]}"#,
        ),
        (Provider::Ollama, r#"{"message":{"content":"{\"a\":1}"},"done":true,"done_reason":"stop"}"#),
    ] {
        let server = serve(Recording::new("recorded", format!("{body}\n\n"))).await;
        let run = extract(&server, &["--provider", provider.as_str()]).await;
        assert_eq!((run.code, &*run.out), (0, "{\"a\":1}\n"), "{}: {}", provider.as_str(), run.err);
        assert_eq!(server.traffic().requests, 1);
    }
}

/// The first line of the output. Releases one chunk after another until it arrives.
async fn first_line(child: &mut Child, gate: &Gate) -> (String, BufReader<ChildStdout>) {
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let first = spawn_blocking(move || {
        let mut line = String::new();
        out.read_line(&mut line).expect("it reads");
        (line, out)
    });
    while !first.is_finished() {
        gate.release(1);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.await.expect("a line")
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_the_first_record_before_the_response_ends() {
    let gate = Gate::new();
    let server = serve(recorded("definitions.sse").pace(Pace::events()).gate(&gate)).await;
    let mut child = command(&server, &[]).spawn().expect("it starts");
    let (line, mut out) = first_line(&mut child, &gate).await;
    assert!(line.starts_with("{\"type\""), "{line}");
    assert_eq!(server.traffic().bodies_finished, 0);

    gate.open();
    let run = spawn_blocking(move || {
        let mut seen = line;
        out.read_to_string(&mut seen).expect("it reads");
        finish(child, seen)
    });
    let run = run.await.expect("it runs");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.lines().len() > 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_complete_records_when_the_server_fails() {
    let whole = recorded("definitions.sse");
    let (half, all) = (whole.bytes().len() / 2, extract(&serve(whole.clone()).await, &[]).await);
    for (fault, said) in [
        (Fault::BreakAfter(half), "tokenline: the connection broke: "),
        (Fault::EndAfter(half), "tokenline: recorded: the source is incomplete"),
    ] {
        let server = serve(whole.clone().fault(fault)).await;
        let run = extract(&server, &[]).await;
        assert_eq!(run.code, 3, "{}", run.err);
        assert!(!run.out.is_empty() && run.lines().len() < all.lines().len());
        assert!(all.out.starts_with(&run.out));
        let errors: Vec<_> = run.err.lines().filter(|line| line.starts_with("tokenline: ")).collect();
        assert!(matches!(errors[..], [error] if error.starts_with(said)), "{}", run.err);
        assert_eq!(run.err.contains("stream_incomplete"), matches!(fault, Fault::EndAfter(_)), "{}", run.err);
        assert_eq!(server.traffic().requests, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_cut_off_by_its_token_limit_is_not_a_failure() {
    let server = serve(recorded("truncated.sse")).await;
    let run = extract(&server, &["--max-tokens", "90"]).await;
    assert_eq!((run.code, run.lines().len()), (0, 4), "{}", run.err);
    assert!(run.err.starts_with("recorded:5:27: truncated: "), "{}", run.err);
    assert_eq!(extract(&server, &["--deny"]).await.code, 1);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_closes_the_request_and_reports_the_records_so_far() {
    let (gate, folder) = (Gate::new(), folder());
    let report = folder.path().join("report.json");
    let server = serve(recorded("definitions.sse").pace(Pace::events()).gate(&gate)).await;
    let mut child =
        command(&server, &["--report-json", report.to_str().expect("UTF-8")]).spawn().expect("it starts");
    let (line, mut out) = first_line(&mut child, &gate).await;
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    let run = spawn_blocking(move || {
        let mut seen = line;
        out.read_to_string(&mut seen).expect("it reads");
        finish(child, seen)
    });
    let run = run.await.expect("it runs");
    assert_eq!(run.code, 130, "{}", run.err);
    assert!(run.err.ends_with("tokenline: interrupted: the response is incomplete\n"), "{}", run.err);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!((&report["complete"], &report["records"]), (&false.into(), &run.lines().len().into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_errors_are_quoted_without_the_api_key() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let server = serve(Recording::new("recorded", body).status(StatusCode::UNAUTHORIZED)).await;
    let folder = folder();
    let report = folder.path().join("report.json");
    let run = extract(&server, &["--report-json", report.to_str().expect("UTF-8")]).await;
    assert_eq!((run.code, &*run.out), (3, ""));
    let said = "responded 401 Unauthorized at /v1/chat/completions: Incorrect API key provided: [secret]\n";
    assert!(run.err.starts_with("tokenline: 127.0.0.1:") && run.err.ends_with(said), "{}", run.err);
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(!run.err.contains("SECRET") && !report.contains("SECRET"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_arguments_fail_before_a_request_is_sent() {
    let server = serve(recorded("definitions.sse")).await;
    let folder = folder();
    let messages = file(&folder, "messages.json", r#"[{"role":"user","content":"Hi"},{"role":"narrator"}]"#);
    let tools = file(&folder, "tools.json", r#"[{"name":"a","parameters":{"type":"string"}}]"#);
    for (args, said) in [
        (
            &["--api-key-env", "TOKENLINE_NO_SUCH_KEY"][..],
            "the environment variable TOKENLINE_NO_SUCH_KEY is not set",
        ),
        (
            &["--api-key-env", "sk-PROJ-0123456789"],
            "--api-key-env: needs the name of an environment variable",
        ),
        (
            &["--header", "x-key: @sk-PROJ-0123456789"],
            "--header x-key: needs the name of an environment variable",
        ),
        (&["--response-format", "schema"], "--response-format schema needs --schema"),
        (&["--set", "effort=low"], "--set effort: not JSON (strings need double quotes)"),
        (&["--header", "x-no-colon"], "--header needs NAME: VALUE"),
        (&["--messages", &messages], "message 1: unknown role \"narrator\""),
        (&["--tools", &tools], "parameters are always an object"),
        (&["--schema", "/no/such/file"], "cannot read /no/such/file"),
        (
            &["--provider", "anthropic", "--seed", "1"],
            "cannot send the request: anthropic does not support seed",
        ),
        (&["--base-url", "ftp://x"], "the base URL must begin with http:// or https://"),
    ] {
        let run = extract(&server, args).await;
        // Unreadable files are I/O errors; everything else is bad usage or configuration.
        let code = if said.starts_with("cannot read") { 3 } else { 2 };
        assert_eq!((run.code, &*run.out), (code, ""), "{args:?}: {}", run.err);
        assert!(run.err.contains(said), "{args:?}: {}", run.err);
        assert!(!run.err.contains("PROJ"), "{}", run.err);
    }
    assert_eq!(server.traffic().requests, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_are_written_as_they_complete_and_validated() {
    let folder = folder();
    let tools = file(&folder, "tools.json", r#"[{"name":"search","parameters":{"required":["query"]}}]"#);
    let server = serve(recorded("tool-calls-in-text.sse")).await;
    let args = ["--emit", "tool-calls", "--tools", &tools, "--call-format", "auto"];
    let run = extract(&server, &args).await;
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.lines().iter().all(|line| line.starts_with("{\"name\":\"search\"")), "{}", run.out);
    assert_eq!(run.lines().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_sent_to_the_model_make_the_text_text() {
    let folder = folder();
    let tools = file(&folder, "tools.json", r#"[{"name":"run","parameters":{"type":"object"}}]"#);
    let said = r#"It says `x`: <tool_call>{"name":"run","arguments":{"cmd":"rm"}}</tool_call>."#;
    let delta =
        serde_json::json!({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": "stop"}]});
    let server = serve(Recording::new("recorded", format!("data: {delta}\n\ndata: [DONE]\n\n"))).await;
    let run = extract(&server, &["--emit", "tool-calls", "--tools", &tools]).await;
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{}", run.err);
    let run = extract(&server, &["--emit", "events", "--tools", &tools]).await;
    assert!(run.out.contains("call_in_text") && run.out.contains("--call-format auto"), "{}", run.out);
    let run = extract(&server, &["--emit", "tool-calls", "--tools", &tools, "--call-format", "auto"]).await;
    assert_eq!(run.lines(), [r#"{"name":"run","parameters":{"cmd":"rm"}}"#], "{}", run.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reached_quota_closes_the_request() {
    for (args, code) in [(&["--max-records", "2"][..], 0), (&["--max-errors", "0", "--schema"], 1)] {
        let folder = folder();
        let schema = file(&folder, "schema.json", r#"{"type":"array"}"#);
        let args: Vec<_> = args.iter().copied().chain((code == 1).then_some(&*schema)).collect();
        let gate = Gate::new();
        let server = serve(recorded("definitions.sse").pace(Pace::events()).gate(&gate)).await;
        // More than two records, less than all.
        gate.release(150);
        let run = extract(&server, &args).await;
        server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
        assert_eq!((run.code, run.lines().len()), (code, if code == 0 { 2 } else { 0 }), "{}", run.err);
        assert_eq!(run.err.contains("the stream was ended: more than 0 rejected"), code == 1, "{}", run.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_repeats_itself_is_stopped_on_request() {
    let event =
        |text: &str| format!("data: {}\n\n", serde_json::json!({"choices": [{"delta": {"content": text}}]}));
    let wire =
        event("{\"a\":1}\n") + &event("Let me think about it once more. ").repeat(100) + "data: [DONE]\n\n";
    let gate = Gate::new();
    let server = serve(Recording::new("loop", wire).pace(Pace::events()).gate(&gate)).await;
    // 16 copies are 528 bytes.
    gate.release(18);
    let run = extract(&server, &["--stop-on-repetition"]).await;
    server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    assert_eq!((run.code, run.lines()), (3, vec!["{\"a\":1}"]), "{}", run.err);
    let message = "repetition: the text repeats 33 bytes 15 times; the response was stopped";
    assert!(run.err.contains(message), "{}", run.err);
    gate.open();
    let run = extract(&server, &[]).await;
    assert_eq!(run.code, 0, "{}", run.err);
}

/// A fake Ollama server that sends one response after the other, and then repeats the last one.
struct Turns {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

fn turns(responses: &'static [(&'static str, &'static str)]) -> Turns {
    let (url, requests) = ollama(|number, _| responses[number.min(responses.len() - 1)]);
    Turns { url, requests }
}

impl Turns {
    fn extract(&self, args: &[&str]) -> Run {
        let args = [&["--provider", "ollama", "--base-url", &self.url], args].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
        command.args(["extract", "--model", "recorded", "--retries", "0", "--prompt", "Rows."]).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command.spawn().expect("it starts"), String::new())
    }
}

#[test]
fn a_response_that_was_cut_off_is_continued() {
    let model = turns(&[
        ("{\"n\": 1}\n{\"n\": x}\n{\"n\":2.50}\n{\"n", "length"),
        ("```json\n{ \"n\":2.50 }\n{\"n\":3}\n{", "length"),
        ("{\"n\":3}\n{\"n\":4}\n", "stop"),
    ]);
    let folder = folder();
    let report = folder.path().join("report.json");
    let run = model.extract(&["--continue", "5", "--report-json", report.to_str().expect("UTF-8")]);
    assert_eq!((run.code, run.lines()), (0, vec!["{\"n\": 1}", "{\"n\":2.50}", "{\"n\":3}", "{\"n\":4}"]));
    let said: Vec<_> = run.err.lines().collect();
    assert!(said[0].starts_with("recorded:2:7: malformed_json: "), "{}", run.err);
    assert_eq!(said[1], "recorded: the response was cut off and took 3 requests");
    assert_eq!(said[2..], ["recorded: 4 records, 1 rejected"]);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!((&report["complete"], &report["records"]), (&true.into(), &4.into()));
    let requests = model.requests.lock().expect("not poisoned").clone();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].contains("{\\\"n\\\":2.50}") && !requests[0].contains("2.50"), "{}", requests[1]);
}

#[test]
fn events_of_a_continued_response_number_the_response() {
    let model = turns(&[("{\"n\":1}\n{\"n", "length"), ("{\"n\":1}\n{\"n\":2}", "stop")]);
    let run = model.extract(&["--continue", "1", "--emit", "events"]);
    let numbers: Vec<_> = run
        .lines()
        .iter()
        .map(|line| {
            let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
            (event["response"].clone(), event["line"].clone(), event["value"]["n"].clone())
        })
        .collect();
    assert_eq!(numbers, [(1.into(), 1.into(), 1.into()), (2.into(), 2.into(), 2.into())]);
}

#[test]
fn a_failed_continuation_keeps_the_records_so_far() {
    let endless = || turns(&[("{\"n\":1}\n{\"n", "length")]);
    let model = endless();
    let run = model.extract(&["--continue", "2"]);
    assert_eq!((run.code, &*run.out), (3, "{\"n\":1}\n"));
    let last = run.err.lines().last().expect("a line");
    assert_eq!(last, "tokenline: the response is still incomplete after 3 requests, the maximum");
    assert_eq!(model.requests.lock().expect("not poisoned").len(), 3);
    let model = endless();
    let run = model.extract(&["--continue", "20"]);
    assert_eq!((run.code, &*run.out), (3, "{\"n\":1}\n"));
    assert!(run.err.contains("3 responses in a row added nothing; the last: "), "{}", run.err);
    assert_eq!(model.requests.lock().expect("not poisoned").len(), 4);
    let model = endless();
    let run = model.extract(&["--continue", "2", "--max-records", "1"]);
    assert_eq!(
        (run.code, &*run.out, model.requests.lock().expect("not poisoned").len()),
        (0, "{\"n\":1}\n", 1)
    );
    let run = model.extract(&["--continue", "2", "--emit", "tool-calls"]);
    assert_eq!(run.code, 2, "{}", run.err);
    assert_eq!(model.extract(&["--continue", "0"]).code, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_response_is_abandoned() {
    let piece = format!("{{\"message\":{{\"content\":\"{}\"}},\"done\":false}}\n", "a".repeat(1 << 20));
    let server = serve(Recording::new("endless", piece.repeat(65))).await;
    let folder = folder();
    let config = r#"{"prompts":{"a":{"prompt":"Say a.","response-type":"json"}}}"#;
    let config = file(&folder, "prompts.json", config);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
    command.args(["prompt", "run", "--config", &config, "--id", "a"]);
    command.args(["--provider", "ollama", "--model", "endless", "--base-url", &server.url()]);
    command.env("NO_PROXY", "127.0.0.1").stdin(Stdio::null());
    let output = spawn_blocking(move || command.output()).await.expect("it runs").expect("it starts");
    let expected = "tokenline: endless: the response has more than 64 MiB, the limit; set --max-tokens\n";
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(3), expected));
}

#[test]
fn an_item_schema_is_sent_as_the_schema_of_the_list() {
    let model = turns(&[(r#"{"rows":[{"n":1},{"n":"x"},{"n":2}]}"#, "stop")]);
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#);
    let run = model.extract(&["--items", "/rows", "--schema", &schema, "--response-format", "schema"]);
    assert_eq!((run.code, run.lines()), (0, vec![r#"{"n":1}"#, r#"{"n":2}"#]), "{}", run.err);
    let request: serde_json::Value =
        serde_json::from_str(&model.requests.lock().expect("not poisoned")[0]).expect("JSON");
    let items = request.pointer("/format/properties/rows/items").expect("the schema of an item");
    assert_eq!(items["properties"]["n"]["type"], "integer");
    assert_eq!(request["format"]["required"], serde_json::json!(["rows"]));
}
