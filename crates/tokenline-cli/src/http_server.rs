//! A server over HTTP: its listener, and its connections.

use std::future::pending;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::output::stdout;
use crate::replay::address;

/// How long a client may take to send the head of a request: one that never ends it would keep its connection forever.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The system's send buffer for each connection, in bytes: what a client does not read stays with the server.
const SEND_BUFFER: u32 = 256 * 1024;
/// The connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Where a command serves, and how it ends.
pub(crate) struct Server<'a> {
    /// The address to listen on.
    pub(crate) listen: &'a str,
    /// Other machines may reach it.
    pub(crate) public: bool,
    /// How long responses may go on after the first signal.
    pub(crate) grace: Duration,
}

impl Server<'_> {
    /// Serves until Ctrl-C, on a thread for each core. The URL is the first line of standard output; then `started` runs.
    pub(crate) fn run(
        &self,
        router: impl FnOnce() -> Result<Router, Failure>,
        started: impl FnOnce(&str),
    ) -> Result<Verdict, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::io("cannot start", &error))?;
        let served = runtime.block_on(self.serve(router, started));
        // Does not wait for open connections.
        runtime.shutdown_background();
        served
    }

    async fn serve(
        &self,
        router: impl FnOnce() -> Result<Router, Failure>,
        started: impl FnOnce(&str),
    ) -> Result<Verdict, Failure> {
        let router = router()?;
        let address = address(self.listen, self.public)?;
        let mut interrupt = Interrupt::new();
        let listener = listen(address)
            .map_err(|error| Failure::io(format_args!("cannot listen on {address}"), &error))?;
        let local = listener.local_addr().map_err(|error| Failure::io("cannot listen", &error))?;
        let url = format!("http://{local}");
        writeln!(stdout(), "{url}").map_err(Failure::output)?;
        started(&url);

        let connections = Connections::new();
        tokio::select! {
            () = connections.accept(&listener, router) => {}
            () = interrupt.wait() => {}
        }
        // New clients are refused at once.
        drop(listener);
        let _ = tokio::time::timeout(self.grace, connections.end()).await;
        Ok(Verdict::Success)
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As the standard library does, to listen again at once after a restart.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections inherit it. By default it grows to megabytes, which a page that reloads would lose.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The connections that are served, until they are asked to end.
struct Connections {
    /// Each connection has a receiver of it.
    stop: watch::Sender<bool>,
}

impl Connections {
    fn new() -> Self {
        Self { stop: watch::Sender::new(false) }
    }

    /// Accepts connections forever.
    async fn accept(&self, listener: &TcpListener, router: Router) {
        loop {
            match listener.accept().await {
                Ok((socket, _)) => drop(tokio::spawn(serve(socket, router.clone(), self.stop.subscribe()))),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Asks the connections to end with their current response, and waits until they have.
    async fn end(&self) {
        self.stop.send_replace(true);
        self.stop.closed().await;
    }
}

async fn serve(socket: TcpStream, router: Router, mut stop: watch::Receiver<bool>) {
    // An event leaves when it is written, not when more have come.
    let _ = socket.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let mut connection = pin!(http.serve_connection(TokioIo::new(socket), service));
    let stopped = async {
        if stop.wait_for(|is_stopped| *is_stopped).await.is_err() {
            pending::<()>().await;
        }
    };
    tokio::select! {
        // Fails if the client leaves, or is too slow.
        _ = &mut connection => return,
        () = stopped => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
