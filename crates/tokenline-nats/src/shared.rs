//! The state that the sources of a worker share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::Stream;
use tokio::sync::{Mutex, mpsc};

use crate::{Counts, Error, WorkerOptions};

type JetStream = Stream<()>;

pub(crate) struct Shared {
    pub(crate) options: WorkerOptions,
    pub(crate) context: Context,
    pub(crate) chunks: JetStream,
    pub(crate) records: JetStream,
    pub(crate) rejects: JetStream,
    /// The longest message that the server and the streams take, headers included.
    pub(crate) max_message: usize,
    /// Held while messages that refer to each other are sent, so that none comes between them.
    pub(crate) sending: Mutex<()>,
    pub(crate) counters: Counters,
    pub(crate) failed: mpsc::UnboundedSender<Error>,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) chunks: AtomicU64,
    pub(crate) records: AtomicU64,
    pub(crate) rejects: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            chunks: read(&self.chunks),
            records: read(&self.records),
            rejects: read(&self.rejects),
            ended: read(&self.ended),
            failed: read(&self.failed),
        }
    }
}

/// A failure that may pass: a lost connection, a server that starts, a full stream.
#[derive(Clone, Debug)]
pub(crate) struct Transient(pub(crate) Arc<dyn std::error::Error + Send + Sync>);

impl Transient {
    pub(crate) fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    pub(crate) fn from_boxed(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self(Arc::from(error))
    }
}

impl fmt::Display for Transient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A failure to store or to read: one that may pass, or one that ends the source or the worker.
#[derive(Debug)]
pub(crate) enum Failure {
    Transient(Transient),
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl From<Transient> for Failure {
    fn from(transient: Transient) -> Self {
        Self::Transient(transient)
    }
}

/// The time to wait before the next try, twice as long each time.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(25);
    const LONGEST: Duration = Duration::from_secs(2);

    pub(crate) fn new() -> Self {
        Self(Self::FIRST)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Self::LONGEST);
        now
    }
}
