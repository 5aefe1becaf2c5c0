//! A server with one router, and a client that reads and writes when the test says so.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use futures_util::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A generous bound for waiting on a condition that must come true.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Waits for something that must happen.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.unwrap_or_else(|_| panic!("too late: {what}"))
}

/// Serves a router on a free port, and returns its address.
pub(crate) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// A connection of which the test decides when it is read and written.
pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    pub(crate) received: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        let socket = TcpStream::connect(address).await.expect("it listens");
        socket.set_nodelay(true).expect("a socket");
        Self { socket, received: Vec::new() }
    }

    /// Sends a request without a body. `headers` are lines that end in CRLF.
    pub(crate) async fn get(address: &str, headers: &str) -> Self {
        let mut client = Self::connect(address).await;
        let head = format!("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\r\n");
        client.write(head.as_bytes()).await;
        client
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        soon("a write", self.socket.write_all(bytes)).await.expect("it is read");
    }

    /// Reads until the response contains a text, and returns everything so far.
    pub(crate) async fn read_until(&mut self, text: &str) -> String {
        loop {
            let received = String::from_utf8_lossy(&self.received).into_owned();
            if received.contains(text) {
                return received;
            }
            let what = format!("{text:?} after {received:?}");
            let read = soon(&what, self.socket.read_buf(&mut self.received)).await.expect("a response");
            assert_ne!(read, 0, "the response ends without {text:?}: {received}");
        }
    }

    /// Reads the whole response: its chunks, joined, and whether the last chunk arrived.
    pub(crate) async fn response(mut self) -> Response {
        // A reset counts as an end: not a clean one.
        while let Ok(1..) = soon("the end", self.socket.read_buf(&mut self.received)).await {}
        let text = String::from_utf8(self.received).expect("UTF-8");
        let (head, rest) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
        let head = head.to_ascii_lowercase();
        if !head.contains("transfer-encoding: chunked") {
            return Response { head, body: rest.to_owned(), is_complete: true };
        }
        let (mut body, mut rest) = (String::new(), rest);
        let is_complete = loop {
            let Some((size, chunk)) = rest.split_once("\r\n") else { break false };
            let size = usize::from_str_radix(size, 16).expect("a chunk size");
            if size == 0 {
                break true;
            }
            let Some(data) = chunk.get(..size) else { break false };
            body += data;
            rest = chunk[size..].strip_prefix("\r\n").expect("the end of a chunk");
        };
        Response { head, body, is_complete }
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    /// The status line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
    /// The last chunk arrived.
    pub(crate) is_complete: bool,
}

impl Response {
    pub(crate) fn status(&self) -> u16 {
        self.head[9..12].parse().expect("a status")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Observes a [`Source`].
#[derive(Clone)]
pub(crate) struct Watch {
    /// Items yielded.
    pub(crate) yielded: Arc<AtomicU64>,
    dropped: watch::Receiver<bool>,
}

impl Watch {
    /// Waits until the source was dropped.
    pub(crate) async fn dropped(&mut self) {
        soon("the source is dropped", self.dropped.wait_for(|dropped| *dropped)).await.expect("it says so");
    }

    /// Disconnects the client, and checks that the source is dropped at once.
    pub(crate) async fn dropped_without(&mut self, client: Client) {
        let left = Instant::now();
        drop(client);
        self.dropped().await;
        println!("dropped after {:?}", left.elapsed());
        assert!(left.elapsed() < Duration::from_secs(1), "{:?}", left.elapsed());
    }

    pub(crate) fn count(&self) -> u64 {
        self.yielded.load(Ordering::SeqCst)
    }

    /// The number of items yielded once it no longer grows.
    pub(crate) async fn settled(&self) -> u64 {
        let mut last = self.count();
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            match self.count() {
                0 => {}
                now if now == last => return now,
                now => last = now,
            }
        }
    }
}

/// A stream that counts what it yields, and says when it is dropped.
pub(crate) struct Source<S> {
    stream: Pin<Box<S>>,
    yielded: Arc<AtomicU64>,
    dropped: watch::Sender<bool>,
}

impl<S> Source<S> {
    pub(crate) fn new(stream: S) -> (Self, Watch) {
        let (sender, dropped) = watch::channel(false);
        let yielded = Arc::new(AtomicU64::new(0));
        let watch = Watch { yielded: yielded.clone(), dropped };
        (Self { stream: Box::pin(stream), yielded, dropped: sender }, watch)
    }
}

impl<S: Stream> Stream for Source<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let polled = self.stream.as_mut().poll_next(cx);
        if let Poll::Ready(Some(_)) = &polled {
            self.yielded.fetch_add(1, Ordering::SeqCst);
        }
        polled
    }
}

impl<S> Drop for Source<S> {
    fn drop(&mut self) {
        self.dropped.send_replace(true);
    }
}

/// A handler's argument that only the first request takes.
pub(crate) struct Once<T>(std::sync::Mutex<Option<T>>);

impl<T> Once<T> {
    pub(crate) fn new(value: T) -> Arc<Self> {
        Arc::new(Self(std::sync::Mutex::new(Some(value))))
    }

    pub(crate) fn take(&self) -> T {
        self.0.lock().expect("no panic").take().expect("one request")
    }
}
