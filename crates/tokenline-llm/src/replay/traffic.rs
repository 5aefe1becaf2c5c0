//! Counters of the server.

use std::sync::Arc;

use tokio::sync::watch;

/// Counters of a [`ReplayServer`](super::ReplayServer); all but the first are totals since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Currently open connections.
    pub open_connections: usize,
    /// Requests, including rejected ones.
    pub requests: u64,
    /// Recordings sent to their end, or to their [`Fault`](super::Fault).
    pub bodies_finished: u64,
    /// Recordings aborted before that, because the client disconnected or the server was stopped.
    pub bodies_dropped: u64,
    /// Bytes of recordings flushed to sockets, without HTTP's framing; a piece counts once all of it is flushed.
    pub body_bytes: u64,
}

/// The shared counters of all connections.
#[derive(Clone, Debug)]
pub(super) struct Ledger(Arc<watch::Sender<Traffic>>);

impl Ledger {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Traffic::default())))
    }

    pub(super) fn now(&self) -> Traffic {
        *self.0.borrow()
    }

    pub(super) async fn wait_for(&self, condition: impl FnMut(&Traffic) -> bool) -> Traffic {
        *self.0.subscribe().wait_for(condition).await.expect("the sender lives as long as self")
    }

    pub(super) fn request(&self) {
        self.0.send_modify(|traffic| traffic.requests += 1);
    }

    pub(super) fn open_connection(&self) -> OpenConnection {
        self.0.send_modify(|traffic| traffic.open_connections += 1);
        OpenConnection(self.clone())
    }

    pub(super) fn open_body(&self) -> OpenBody {
        OpenBody { ledger: self.clone(), finished: false }
    }
}

/// A connection, open until dropped.
pub(super) struct OpenConnection(Ledger);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.send_modify(|traffic| traffic.open_connections -= 1);
    }
}

/// A body, counted as dropped unless finished.
pub(super) struct OpenBody {
    ledger: Ledger,
    finished: bool,
}

impl OpenBody {
    pub(super) fn sent(&self, bytes: usize) {
        self.ledger.0.send_modify(|traffic| traffic.body_bytes += bytes as u64);
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
        self.ledger.0.send_modify(|traffic| traffic.bodies_finished += 1);
    }
}

impl Drop for OpenBody {
    fn drop(&mut self) {
        if !self.finished {
            self.ledger.0.send_modify(|traffic| traffic.bodies_dropped += 1);
        }
    }
}
