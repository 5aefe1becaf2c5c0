//! A server that replies to every request with the same bytes, and counts.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The fate of a connection after its response.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Close,
    /// It is reset, so that the client gets an error instead of an end.
    Reset,
    /// It is held until the client closes it.
    Hold,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: usize,
    /// Connections that the client closed while they were held.
    pub(crate) closed: usize,
}

/// Runs until it is dropped.
pub(crate) struct Server {
    addr: SocketAddr,
    counts: watch::Receiver<Counts>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// A response with these headers, or no response if empty.
    pub(crate) async fn start(response: &'static str, then: Then) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), response, then).await
    }

    pub(crate) async fn start_at(addr: SocketAddr, response: &'static str, then: Then) -> Self {
        let listener = TcpListener::bind(addr).await.expect("a free port");
        let addr = listener.local_addr().expect("its address");
        let (sender, counts) = watch::channel(Counts::default());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, response, then, sender.clone()));
            }
        });
        Self { addr, counts, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn requests(&self) -> usize {
        self.counts.borrow().requests
    }

    pub(crate) async fn wait_for(&self, condition: impl FnMut(&Counts) -> bool) {
        self.counts.clone().wait_for(condition).await.expect("it runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, response: &'static str, then: Then, counts: watch::Sender<Counts>) {
    // Requests are short, and the end of the body ends their last chunk.
    let mut request = Vec::new();
    while !request.ends_with(super::REQUEST.as_bytes()) {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    assert!(request.starts_with(b"POST "));
    counts.send_modify(|counts| counts.requests += 1);
    stream.write_all(response.replace('\n', "\r\n").as_bytes()).await.expect("the client listens");
    match then {
        Then::Close => {}
        Then::Reset => stream.set_zero_linger().expect("an option of TCP"),
        Then::Hold => {
            while stream.read_buf(&mut request).await.unwrap_or(0) > 0 {}
            counts.send_modify(|counts| counts.closed += 1);
        }
    }
}
