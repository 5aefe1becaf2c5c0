//! The connections of the page's server.

use std::io;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

/// How long a client may take to send the head of a request: one that never ends it would keep its connection forever.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections forever.
pub(super) async fn accept(listener: TcpListener, router: Router) -> io::Result<()> {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // An event leaves when it is written, not when more have come.
        let _ = socket.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
            // Fails if the client leaves, or is too slow.
            let _ = http.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
