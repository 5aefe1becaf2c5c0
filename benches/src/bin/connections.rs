//! `connections [PROGRAM] [COUNT]`: many pages at once on `tokenline serve`, each with a run of the recorded model.
//!
//! Prints the server's memory for each connection and the records a second of all, and fails if a record was lost,
//! doubled or changed. PROGRAM is the `tokenline` binary, by default `target/release/tokenline`; COUNT is 1000.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokenline::Limits;
use tokenline::sse::{SseDecoder, SseItem};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

type Failure = Box<dyn Error + Send + Sync>;

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(program: &str) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        let command = command.args(["--quiet", "serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, address: line.trim().trim_start_matches("http://").to_owned() })
    }

    /// Its resident memory in KiB.
    fn memory(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of one run.
#[derive(Debug, PartialEq)]
struct Run {
    records: Vec<Value>,
    events: u64,
    bytes: usize,
}

/// Runs the recorded model once. Checks that each event comes once, in order.
async fn run(address: &str, delay_ms: u64) -> Result<Run, Failure> {
    let mut socket = TcpStream::connect(address).await?;
    let body = format!(r#"{{"provider":"recorded","model":"mixed","recording":{{"delay_ms":{delay_ms}}}}}"#);
    // HTTP/1.0: the body is not chunked, and ends with the connection.
    let head = format!(
        "POST /api/extract HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await?;
    let mut decoder = SseDecoder::new(Limits::default());
    let mut run = Run { records: Vec::new(), events: 0, bytes: 0 };
    let (mut buffer, mut head, mut is_done) = (vec![0; 16 * 1024], Vec::new(), false);
    loop {
        let length = socket.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        run.bytes += length;
        let mut chunk = &buffer[..length];
        let body;
        if !head.ends_with(b"\r\n\r\n") {
            head.extend_from_slice(chunk);
            let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") else { continue };
            body = head.split_off(end + 4);
            if !head.starts_with(b"HTTP/1.0 200 ") {
                return Err(String::from_utf8_lossy(&head).into());
            }
            chunk = &body;
        }
        while !chunk.is_empty() {
            let decoded = decoder.decode(chunk);
            if let Some(SseItem::Event(event)) = decoded.item {
                run.events += 1;
                if event.id.parse() != Ok(run.events) {
                    return Err(format!("event {} came as {}", event.id, run.events).into());
                }
                match event.event {
                    "record" => run.records.push(serde_json::from_str::<Value>(event.data)?["value"].take()),
                    "done" => is_done = event.data.contains(r#""status":"complete""#),
                    _ => {}
                }
            }
            chunk = &chunk[decoded.consumed..];
        }
    }
    if is_done { Ok(run) } else { Err("the run did not complete".into()) }
}

/// Runs the model on many connections at once. Returns the time, and the server's memory while all are open.
async fn load(
    server: &Server,
    expected: &Arc<Run>,
    count: usize,
    delay_ms: u64,
) -> Result<(Duration, u64), Failure> {
    let started = Instant::now();
    let runs: Vec<_> = (0..count)
        .map(|_| {
            let (address, expected) = (server.address.clone(), Arc::clone(expected));
            tokio::spawn(async move {
                let run = run(&address, delay_ms).await?;
                if run.records == expected.records {
                    Ok(run.bytes)
                } else {
                    Err(Failure::from("a record was lost, doubled or changed"))
                }
            })
        })
        .collect();
    let mut memory = 0;
    while !runs.iter().all(tokio::task::JoinHandle::is_finished) {
        memory = memory.max(server.memory()?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let elapsed = started.elapsed();
    for run in runs {
        run.await??;
    }
    Ok((elapsed, memory))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let program = args.next().unwrap_or_else(|| "target/release/tokenline".to_owned());
    let count: usize = args.next().map_or(Ok(1000), |count| count.parse())?;
    println!(
        "| connections | delay between tokens | memory a connection | records a second | events a second |"
    );
    println!("|--:|--:|--:|--:|--:|");
    let mut each = String::new();
    for delay_ms in [20, 0] {
        // A new one each time: it keeps the events of a run for ten seconds.
        let server = Server::start(&program)?;
        let expected = Arc::new(run(&server.address, 0).await?);
        let idle = server.memory()?;
        let (elapsed, memory) = load(&server, &expected, count, delay_ms).await?;
        let rate = |each: u64| (each * count as u64) as f64 / elapsed.as_secs_f64();
        println!(
            "| {count} | {delay_ms} ms | {:.1} KiB | {:.0} | {:.0} |",
            memory.saturating_sub(idle) as f64 / count as f64,
            rate(expected.records.len() as u64),
            rate(expected.events),
        );
        let Run { records, events, bytes } = &*expected;
        each = format!("{} records, {events} events, {bytes} bytes", records.len());
    }
    println!("\neach run: {each}");
    Ok(())
}
