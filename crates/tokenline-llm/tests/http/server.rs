//! A scripted server, down to the bytes on the wire.
#![allow(dead_code, reason = "a module shared by several test programs")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// The steps of a response. Afterwards the connection waits for the next request.
#[derive(Clone)]
pub(crate) enum Step {
    Write(Vec<u8>),
    /// Repeats a piece, with pauses.
    Repeat(Vec<u8>, Duration),
    /// Waits.
    Pause(Duration),
    /// Waits until the client disconnects.
    Hold,
    Close,
}

/// A request as received.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Including the query.
    pub(crate) path: String,
    /// With names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }
}

/// The connections and requests so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) connections: usize,
    pub(crate) open: usize,
    pub(crate) requests: Vec<Request>,
    /// Bytes of responses accepted by the sockets.
    pub(crate) written: u64,
}

type Script = Arc<dyn Fn(usize, &Request) -> Vec<Step> + Send + Sync>;

/// The server. Dropping it ends everything.
pub(crate) struct ScriptedServer {
    port: u16,
    log: Arc<watch::Sender<Log>>,
    _connections: JoinSet<()>,
}

impl ScriptedServer {
    /// Runs the script with the number of the request, from 0.
    pub(crate) async fn new(script: impl Fn(usize, &Request) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(script)).await
    }

    /// Runs the same steps for every request.
    pub(crate) async fn always(script: impl Fn() -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::new(move |_, _| script()).await
    }

    /// Like [`always`](Self::always), over TLS.
    pub(crate) async fn tls(
        acceptor: TlsAcceptor,
        script: impl Fn() -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(acceptor), Arc::new(move |_, _| script())).await
    }

    async fn start(acceptor: Option<TlsAcceptor>, script: Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let log = Arc::new(watch::Sender::new(Log::default()));
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, acceptor, script, Arc::clone(&log)));
        Self { port, log, _connections: connections }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn log(&self) -> Log {
        self.log.borrow().clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.log.borrow().requests.len()
    }

    /// Waits for a condition, and fails if it never holds.
    pub(crate) async fn until(&self, condition: impl FnMut(&Log) -> bool) -> Log {
        super::soon(self.log.subscribe().wait_for(condition)).await.expect("the log is there").clone()
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    script: Script,
    log: Arc<watch::Sender<Log>>,
) {
    // They end with this task.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, script, log) = (acceptor.clone(), Arc::clone(&script), Arc::clone(&log));
        log.send_modify(|log| (log.connections, log.open) = (log.connections + 1, log.open + 1));
        connections.spawn(async move {
            converse(stream, acceptor, script, &log).await;
            log.send_modify(|log| log.open -= 1);
        });
    }
}

async fn converse(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    script: Script,
    log: &watch::Sender<Log>,
) {
    stream.set_nodelay(true).expect("a TCP socket");
    match acceptor {
        None => serve(stream, script, log).await,
        Some(acceptor) => {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream, script, log).await;
            }
        }
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Script, log: &watch::Sender<Log>) {
    while let Some(request) = read(&mut stream).await {
        let number = log.borrow().requests.len();
        let steps = script(number, &request);
        log.send_modify(|log| log.requests.push(request));
        for step in steps {
            let went_on = match step {
                Step::Write(bytes) => write(&mut stream, &bytes, log).await,
                Step::Repeat(bytes, pause) => {
                    while write(&mut stream, &bytes, log).await {
                        tokio::time::sleep(pause).await;
                    }
                    false
                }
                Step::Pause(time) => {
                    tokio::time::sleep(time).await;
                    true
                }
                Step::Hold => {
                    while stream.read_u8().await.is_ok() {}
                    false
                }
                Step::Close => false,
            };
            if !went_on {
                return;
            }
        }
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8], log: &watch::Sender<Log>) -> bool {
    let is_written = stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok();
    log.send_modify(|log| log.written += if is_written { bytes.len() as u64 } else { 0 });
    is_written
}

/// A request with its body, or `None` if the client has disconnected.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).expect("a head of text");
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers = lines.map(|line| line.split_once(": ").expect("a header"));
    let headers: Vec<_> = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut request = Request { method, path, headers, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().expect("a number"));
    while bytes.len() < head_end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(bytes[head_end + 4..].to_vec()).expect("a body of text");
    Some(request)
}

/// A response of known length.
pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Step {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("HTTP/1.1 {status} Whatever\r\n{headers}content-length: {}\r\n\r\n", body.len());
    Step::Write([head.as_bytes(), body.as_bytes()].concat())
}

/// An error response with a JSON body.
pub(crate) fn error_response(status: u16, headers: &[(&str, &str)], body: &Value) -> Step {
    let headers = [&[("content-type", "application/json")], headers].concat();
    response(status, &headers, &body.to_string())
}

/// The head of a response whose body follows in chunks.
pub(crate) fn head(content_type: &str) -> Step {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n");
    Step::Write(head.into_bytes())
}

/// A chunk of such a body.
pub(crate) fn chunk(piece: impl AsRef<[u8]>) -> Step {
    let piece = piece.as_ref();
    Step::Write([format!("{:X}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat())
}

/// The end of such a body.
pub(crate) fn end() -> Step {
    Step::Write(b"0\r\n\r\n".to_vec())
}

/// A complete event stream.
pub(crate) fn events(body: &str) -> Vec<Step> {
    vec![head("text/event-stream"), chunk(body), end()]
}
