//! `gateway [PROGRAM] [STREAMS] [EVENTS]`: the latency of each token through a gateway, with many streams at once.
//!
//! A model's server sends an event every 100 ms on each stream, with the time in its text. Clients read it directly, through
//! a proxy of axum and reqwest that copies bytes, and through `tokenline proxy`: forwarded, translated to the API of
//! another client, and with tool calls looked for in the text. Further columns are other gateways that are already
//! running in front of the server: `NAME=URL` in `GATEWAYS`, for the server at 127.0.0.1:`UPSTREAM_PORT`.
//!
//! Prints the time from the server to the client for each event (median, 99th percentile, maximum), the memory of each
//! gateway for a stream, and the tool calls that arrived. PROGRAM is `target/release/tokenline` by default.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

type Failure = Box<dyn Error + Send + Sync>;

const INTERVAL: Duration = Duration::from_millis(100);
/// The last bytes of a response.
const ENDS: [&[u8]; 2] = [b"data: [DONE]", b"event: message_stop"];
/// The tool call at the end of each response, as text.
const CALL: &str = r#"<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>"#;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("serve-model") => serve_model(args[1].parse()?).await,
        Some("serve-copy") => serve_copy(args[1].clone()).await,
        _ => measure(&args).await,
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}

async fn serve(router: Router, port: u16) -> Result<(), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |socket| drop(socket.set_nodelay(true)));
    Ok(axum::serve(listener, router).await?)
}

/// The server of the model: chat completions, whose texts are the time at which they are sent.
async fn serve_model(events: u64) -> Result<(), Failure> {
    let port = std::env::var("UPSTREAM_PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(0);
    let count = Arc::new(AtomicU32::new(0));
    let router = Router::new().fallback(move |_: Request| async move {
        // Streams that happen to begin at the same moment do not send their events at the same moments.
        let number = count.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now() + INTERVAL * (number * 36 % 100) / 100;
        let stream = unfold(0, move |number| async move {
            if number > events {
                return None;
            }
            sleep_until(start + INTERVAL * number as u32).await;
            let end = if number < events {
                String::new()
            } else {
                "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
                 [{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
                    .to_owned()
            };
            let text = if number < events { format!("t={};\\n", now()) } else { CALL.to_owned() };
            let event = format!(
                "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":\
                 [{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n{end}"
            );
            Some((Ok::<_, std::convert::Infallible>(event), number + 1))
        });
        ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
    });
    serve(router, port).await
}

/// A proxy that copies bytes.
async fn serve_copy(upstream: String) -> Result<(), Failure> {
    let client = reqwest::Client::builder().tcp_nodelay(true).build()?;
    let copy = |State((client, upstream)): State<(reqwest::Client, String)>, request: Request| async move {
        let url = format!("{upstream}{}", request.uri().path());
        let (parts, body) = request.into_parts();
        let Ok(body) = axum::body::to_bytes(body, 1 << 24).await else { return Response::default() };
        let mut headers = parts.headers;
        headers.remove("host");
        let Ok(response) = client.post(url).headers(headers).body(body).send().await else {
            return Response::default();
        };
        ([("content-type", "text/event-stream")], Body::from_stream(response.bytes_stream())).into_response()
    };
    serve(Router::new().fallback(copy).with_state((client, upstream)), 0).await
}

/// A server in a process of its own.
struct Server {
    child: Option<Child>,
    url: String,
}

impl Server {
    fn start(program: &str, args: &[&str]) -> Result<Self, Failure> {
        let mut child = Command::new(program).args(args).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child: Some(child), url: line.trim().to_owned() })
    }

    /// Its resident memory in KiB, if it is ours.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.as_ref()?.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The events that one client has read.
#[derive(Default)]
struct Read {
    /// The time of each event on its way, in nanoseconds.
    latencies: Vec<u64>,
    calls: usize,
}

/// Reads a response, and notes when each event arrives.
async fn read(url: &str, path: &str, body: &str) -> Result<Read, Failure> {
    let address = url.strip_prefix("http://").ok_or("a URL")?;
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nauthorization: Bearer \
         k\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    let mut read = Read::default();
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        if socket.read_buf(&mut buffer).await? == 0 {
            return Ok(read);
        }
        let arrived = now();
        let mut done = 0;
        while let Some(at) = memchr::memmem::find(&buffer[done..], b"t=") {
            let rest = &buffer[done + at + 2..];
            let Some(end) = rest.iter().position(|byte| *byte == b';') else { break };
            if let Some(sent) =
                std::str::from_utf8(&rest[..end]).ok().and_then(|sent| sent.parse::<u64>().ok())
            {
                read.latencies.push(arrived.saturating_sub(sent));
            }
            done += at + 2 + end;
        }
        let rest = &buffer[done..];
        for name in [&b"\"name\":\"weather\""[..], b"\"name\": \"weather\""] {
            read.calls += memchr::memmem::find_iter(rest, name).count();
        }
        if ENDS.iter().any(|end| memchr::memmem::find(rest, end).is_some()) {
            return Ok(read);
        }
        // Half a time stays; what was counted goes.
        let keep = rest.len().min(if read.calls > 0 { 0 } else { 64 });
        buffer.drain(..buffer.len() - keep);
    }
}

/// The tool that the model calls, in a request of an API.
fn body(path: &str) -> String {
    let message = r#"{"role":"user","content":"Weather?"}"#;
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    match path {
        "/v1/messages" => format!(
            r#"{{"model":"m","max_tokens":100,"stream":true,"messages":[{message}],"tools":[{{"name":"weather","input_schema":{schema}}}]}}"#
        ),
        _ => format!(
            r#"{{"model":"m","stream":true,"messages":[{message}],"tools":[{{"type":"function","function":{{"name":"weather","parameters":{schema}}}}}]}}"#
        ),
    }
}

async fn measure(args: &[String]) -> Result<(), Failure> {
    let program = args.first().map_or("target/release/tokenline", String::as_str);
    let streams: usize = args.get(1).map_or(Ok(100), |count| count.parse())?;
    let events = args.get(2).map_or("100", String::as_str);
    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or("a path")?;
    let model = Server::start(own, &["serve-model", events])?;
    let upstream = format!("openai-chat={}", model.url);
    let proxy = |more: &[&str]| {
        let args = ["--quiet", "proxy", "--listen", "127.0.0.1:0", "--upstream", &upstream];
        Server::start(program, &[&args[..], more].concat())
    };
    let (chat, messages) = ("/v1/chat/completions", "/v1/messages");
    let direct = Server { child: None, url: model.url.clone() };
    let mut contenders = vec![
        ("direct".to_owned(), direct, chat),
        ("copy".to_owned(), Server::start(own, &["serve-copy", &model.url])?, chat),
        ("tokenline, forwarded".to_owned(), proxy(&[])?, chat),
        ("tokenline, calls in text".to_owned(), proxy(&["--call-format", "auto"])?, chat),
        ("tokenline, for Anthropic".to_owned(), proxy(&["--call-format", "auto"])?, messages),
    ];
    for gateway in std::env::var("GATEWAYS").unwrap_or_default().split_whitespace() {
        let (name, url) = gateway.split_once('=').ok_or("NAME=URL")?;
        contenders.push((name.to_owned(), Server { child: None, url: url.to_owned() }, chat));
    }
    println!("{streams} streams, {events} events each, one every {} ms", INTERVAL.as_millis());
    println!(
        "{:<26} {:>10} {:>10} {:>10} {:>8} {:>7} {:>8}",
        "", "median us", "p99 us", "max us", "events", "calls", "KiB each"
    );
    for (name, server, path) in &contenders {
        let (ready, body) = (Arc::new(Barrier::new(streams)), body(path));
        // Tables that all streams share are made by the first.
        read(&server.url, path, &body).await?;
        let before = server.memory();
        let mut clients = JoinSet::new();
        for number in 0..streams {
            let (ready, url, body, path) = (ready.clone(), server.url.clone(), body.clone(), *path);
            clients.spawn(async move {
                // Streams of real clients do not begin at the same moment.
                let read = async {
                    sleep(INTERVAL * number as u32 / streams as u32).await;
                    read(&url, path, &body).await
                };
                ready.wait().await;
                read.await
            });
        }
        sleep(Duration::from_secs(3)).await;
        let during = server.memory();
        let (mut latencies, mut calls) = (Vec::new(), 0);
        while let Some(read) = clients.join_next().await {
            let read = read??;
            // The first event waits for the connection.
            latencies.extend(read.latencies.into_iter().skip(1));
            calls += read.calls;
        }
        latencies.sort_unstable();
        let at = |part: f64| {
            latencies.get(((latencies.len() as f64 - 1.0) * part) as usize).map_or(0, |ns| ns / 1000)
        };
        let each =
            before.zip(during).map(|(before, during)| during.saturating_sub(before) as f64 / streams as f64);
        let each = each.map_or("-".to_owned(), |each| format!("{each:.1}"));
        let (median, p99, max) = (at(0.5), at(0.99), at(1.0));
        println!("{name:<26} {median:>10} {p99:>10} {max:>10} {:>8} {calls:>7} {each:>8}", latencies.len());
    }
    Ok(())
}
