//! The server: listener, connections, responses.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioTimer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::body::{Body, Pieces, Playback};
use super::host::is_own_host;
use super::recording::Recording;
use super::request::{ErrorResponse, Selected, select};
use super::traffic::{Ledger, Traffic};
use super::wire::{Flushes, Wire};

/// The pause after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A server of [`Recording`]s. Runs until it is dropped or [shut down](Self::shutdown); see [the module](super).
///
/// It runs on the tokio runtime in which it was bound, which must have I/O and time enabled.
#[derive(Debug)]
pub struct ReplayServer {
    local_addr: SocketAddr,
    ledger: Ledger,
    accepting: JoinHandle<()>,
}

impl ReplayServer {
    /// Binds a loopback address (port 0 for any free port) and serves the recordings there.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the address is not a loopback address, if there are no
    /// recordings, or if two have the same name; otherwise those of binding the address.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn bind(addr: SocketAddr, recordings: impl IntoIterator<Item = Recording>) -> io::Result<Self> {
        Self::bind_as(addr, recordings, Vec::new()).await
    }

    /// Like [`bind`](Self::bind), for clients that reach the server by one of these names, too. Requests whose header
    /// `Host` [names another server](super::is_own_host) get 403.
    ///
    /// # Errors
    ///
    /// As for [`bind`](Self::bind).
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn bind_as(
        addr: SocketAddr,
        recordings: impl IntoIterator<Item = Recording>,
        host_names: Vec<String>,
    ) -> io::Result<Self> {
        if !addr.ip().to_canonical().is_loopback() {
            return Err(invalid(format!(
                "{addr} is not a loopback address: anyone who can reach it could read the recordings"
            )));
        }
        Self::bind_public_as(addr, recordings, host_names).await
    }

    /// Like [`bind`](Self::bind), at any address: anyone who can reach it can read the recordings, without a key and
    /// unencrypted.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there are no recordings, or if two have the same name;
    /// otherwise those of binding the address.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn bind_public(
        addr: SocketAddr,
        recordings: impl IntoIterator<Item = Recording>,
    ) -> io::Result<Self> {
        Self::start(addr, recordings, None).await
    }

    /// Like [`bind_public`](Self::bind_public), but requests whose header `Host` names neither an address nor
    /// `localhost` nor one of these names get 403.
    ///
    /// # Errors
    ///
    /// As for [`bind_public`](Self::bind_public).
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn bind_public_as(
        addr: SocketAddr,
        recordings: impl IntoIterator<Item = Recording>,
        host_names: Vec<String>,
    ) -> io::Result<Self> {
        Self::start(addr, recordings, Some(host_names)).await
    }

    async fn start(
        addr: SocketAddr,
        recordings: impl IntoIterator<Item = Recording>,
        host_names: Option<Vec<String>>,
    ) -> io::Result<Self> {
        let recordings = recordings.into_iter().collect::<Arc<[_]>>();
        check(&recordings)?;
        let listener = TcpListener::bind(addr).await?;
        let local_addr = listener.local_addr()?;
        let ledger = Ledger::new();
        let accepting = tokio::spawn(accept(listener, recordings, host_names.map(Arc::from), ledger.clone()));
        Ok(Self { local_addr, ledger, accepting })
    }

    /// The local address, with the actual port.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address as a URL, without a path or trailing slash: `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.local_addr)
    }

    /// The counters so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.ledger.now()
    }

    /// Waits until the counters satisfy a condition, and returns them.
    ///
    /// The condition is checked at once and after changes, but not necessarily after each: it should stay true once it
    /// is.
    ///
    /// ```no_run
    /// # async fn client_was_noticed(server: tokenline_llm::replay::ReplayServer) {
    /// server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    /// # }
    /// ```
    pub async fn wait_for(&self, condition: impl FnMut(&Traffic) -> bool) -> Traffic {
        self.ledger.wait_for(condition).await
    }

    /// Closes the listener and all connections, including active ones, and returns when they are closed.
    ///
    /// Dropping the server does the same without waiting.
    pub async fn shutdown(mut self) {
        self.accepting.abort();
        // The task was aborted, so its result is an error.
        let _ = (&mut self.accepting).await;
        self.ledger.wait_for(|traffic| traffic.open_connections == 0).await;
    }
}

impl Drop for ReplayServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

fn check(recordings: &[Recording]) -> io::Result<()> {
    if recordings.is_empty() {
        return Err(invalid("no recordings to serve".into()));
    }
    let mut names = HashSet::new();
    match recordings.iter().find(|recording| !names.insert(recording.name())) {
        Some(twice) => Err(invalid(format!("two recordings are named {:?}", twice.name()))),
        None => Ok(()),
    }
}

/// Accepts connections forever. Aborting this ends them, too.
async fn accept(
    listener: TcpListener,
    recordings: Arc<[Recording]>,
    host_names: Option<Arc<[String]>>,
    ledger: Ledger,
) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        connections.spawn(serve(stream, Arc::clone(&recordings), host_names.clone(), ledger.clone()));
    }
}

async fn serve(
    stream: TcpStream,
    recordings: Arc<[Recording]>,
    host_names: Option<Arc<[String]>>,
    ledger: Ledger,
) {
    let _open = ledger.open_connection();
    // Pieces should leave when they are due. Without the option they leave a little later.
    let _ = stream.set_nodelay(true);
    let wire = Wire::new(stream);
    let flushes = wire.flushes();
    let host_names = host_names.as_deref();
    let service = service_fn(|request| respond(&recordings, host_names, &ledger, flushes.clone(), request));
    // Fails if the client disconnects or a recording breaks off. Both are counted elsewhere, and neither affects other
    // connections.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(wire, service).await;
}

async fn respond(
    recordings: &[Recording],
    host_names: Option<&[String]>,
    ledger: &Ledger,
    flushes: Flushes,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    ledger.request();
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if host_names.is_some_and(|names| !is_own_host(host, names)) {
        return Ok(ErrorResponse::other_host().into_response());
    }
    let (recording, content_type) = match select(recordings, request).await {
        Ok(Selected::Recording(recording, content_type)) => (*recording, content_type),
        Ok(Selected::Models(response)) => return Ok(response),
        Err(error) => return Ok(error.into_response()),
    };
    let status = recording.status;
    let pieces = Pieces::new(recording, content_type);
    let playback = Playback::new(pieces, flushes, ledger.open_body());
    let mut response = Response::new(playback.into_body());
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type.as_str());
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(response)
}
