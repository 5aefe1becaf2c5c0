//! `tokenline proxy`, over real sockets.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use tokenline::llm::client::reqwest::{Client, Response};
use tokenline::llm::replay::{Gate, Pace, Recording, ReplayServer};

use crate::common::tokenline;

const TEXT: &str =
    r#"<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"#;

/// The program, stopped on drop.
struct Proxy {
    child: Child,
    stderr: Option<BufReader<ChildStderr>>,
    url: String,
}

impl Proxy {
    fn new(upstream: &ReplayServer, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
        let url = format!("openai-chat={}", upstream.url());
        command.args(["proxy", "--listen", "127.0.0.1:0", "--upstream", &url]).args(args);
        command.env_remove("OPENAI_API_KEY").env("NO_PROXY", "*").env("GATEWAY_TOKEN", "let-me-in-please");
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a URL");
        let stderr = child.stderr.take().map(BufReader::new);
        Self { child, stderr, url: url.trim().to_owned() }
    }

    async fn ask(&self, key: &str) -> Response {
        let body = r#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Weather?"}],
            "tools":[{"name":"weather","input_schema":{"type":"object"}}]}"#;
        let client = Client::builder().no_proxy().build().expect("a client");
        let request = client.post(format!("{}/v1/messages", self.url)).header("x-api-key", key);
        request.header("content-type", "application/json").body(body).send().await.expect("a response")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.as_mut().expect("piped").read_line(&mut line).expect("a line");
        line
    }

    fn signal(&self) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn recording() -> Recording {
    let body = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{TEXT}\"}}}}]}}\n\n\
         data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    );
    Recording::new("m", body).pace(Pace::events())
}

async fn upstream(recording: Recording) -> ReplayServer {
    ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port")
}

#[tokio::test]
async fn each_request_has_a_line_without_contents() {
    let server = upstream(recording()).await;
    let mut proxy = Proxy::new(&server, &["--call-format", "auto", "--token-env", "GATEWAY_TOKEN"]);
    let line = proxy.line();
    assert!(
        line.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:") && line.contains("upstream gets no key"),
        "{line}"
    );
    let body = proxy.ask("let-me-in-please").await.text().await.expect("a body");
    assert!(body.contains(r#""type":"tool_use""#) && body.contains("message_stop"), "{body}");
    let line = proxy.line();
    let expected =
        ["anthropic -> openai-chat translated stream status=200 model=\"m\" calls=1 calls_in_text=1"];
    assert!(expected.iter().all(|part| line.contains(part)), "{line}");
    assert!(!line.contains("Paris") && !line.contains("let-me-in"), "{line}");
    assert_eq!(proxy.ask("wrong").await.status(), 401);
    let line = proxy.line();
    assert!(
        line.contains(" refused ") && line.contains(" error=401") && !line.contains("message="),
        "{line}"
    );
}

/// The message of an error may quote contents, and is logged only if asked for.
#[tokio::test]
async fn messages_of_errors_are_logged_if_asked_for() {
    let server = upstream(recording()).await;
    let mut proxy = Proxy::new(&server, &["--log-errors"]);
    proxy.line();
    let url = format!("{}/v1/messages", proxy.url);
    let client = Client::builder().no_proxy().build().expect("a client");
    let request = client.post(url).header("content-type", "application/json");
    let body = r#"{"model": "m", "max_tokens": 9, "messages": [{"role": "wizard", "content": "a"}]}"#;
    assert_eq!(request.body(body).send().await.expect("sent").status(), 400);
    let line = proxy.line();
    assert!(line.contains(" error=400 message=") && line.contains("wizard"), "{line}");
}

/// After a signal, new clients are refused, and responses that have begun end.
#[tokio::test]
async fn a_signal_lets_responses_end() {
    let gate = Gate::new();
    let server = upstream(recording().gate(&gate)).await;
    let mut proxy = Proxy::new(&server, &[]);
    let response = proxy.ask("k").await;
    proxy.signal();
    let address = proxy.url.strip_prefix("http://").expect("a URL").to_owned();
    let refused = async { while tokio::net::TcpStream::connect(&address).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(10), refused).await.expect("it refuses new clients");
    gate.open();
    let body = response.text().await.expect("a body");
    assert!(body.contains("message_stop"), "{body}");
    let status = proxy.child.wait().expect("it ends");
    assert!(status.success(), "{status}");
    let mut rest = String::new();
    proxy.stderr.take().expect("piped").read_to_string(&mut rest).expect("text");
    assert!(rest.contains("status=200") && !rest.contains("client_left"), "{rest}");
}

#[test]
fn wrong_arguments_are_explained() {
    for (args, expected) in [
        (&["--upstream", "nobody=http://127.0.0.1:9"][..], "openai-chat"),
        (&["--upstream", "openai-chat"], "PROVIDER=URL"),
        (&["--upstream", "openai-chat=http://127.0.0.1:9", "--public"], "--token-env"),
        (&["--upstream", "openai-chat=http://127.0.0.1:9", "--listen", "0.0.0.0:0"], "--public"),
        (&["--upstream", "openai-chat=http://127.0.0.1:9", "--token-env", "NOT_SET_AT_ALL"], "is not set"),
        (&["--upstream", "openai-chat=ftp://h"], "http://"),
        (&["--upstream", "openai-chat=http://h", "--origin", "app.example.com"], "https://app.example.com"),
        (&["--upstream", "openai-chat=http://h", "--origin", "https://app.example.com/"], "no path"),
    ] {
        let run = tokenline(&[&["proxy"], args].concat(), "");
        assert_eq!(run.code, 2, "{args:?}: {}", run.err);
        assert!(run.err.contains(expected), "{args:?}: {}", run.err);
    }
}
