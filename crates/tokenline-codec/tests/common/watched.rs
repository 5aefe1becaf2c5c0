//! A source of chunks that shows whether it is still read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};

pub(crate) type Chunk = Result<Vec<u8>, &'static str>;
pub(crate) type Source = Watched<stream::Iter<std::vec::IntoIter<Chunk>>>;

/// Counts how often it is polled, and notes when it is dropped.
pub(crate) struct Watched<S> {
    inner: S,
    polled: Arc<AtomicUsize>,
    _alive: Arc<()>,
}

/// Watches a source.
#[derive(Default)]
pub(crate) struct Watch {
    polled: Arc<AtomicUsize>,
    alive: Arc<()>,
}

impl Watch {
    pub(crate) fn source(&self, chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Source {
        let chunks: Vec<Chunk> = chunks.into_iter().map(|chunk| Ok(chunk.as_ref().to_vec())).collect();
        Watched { inner: stream::iter(chunks), polled: self.polled.clone(), _alive: self.alive.clone() }
    }

    pub(crate) fn polled(&self) -> usize {
        self.polled.load(Ordering::Relaxed)
    }

    pub(crate) fn is_dropped(&self) -> bool {
        Arc::strong_count(&self.alive) == 1
    }
}

impl<S: Stream + Unpin> Stream for Watched<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.polled.fetch_add(1, Ordering::Relaxed);
        self.inner.poll_next_unpin(cx)
    }
}

/// The next item of a stream whose source never waits.
pub(crate) fn now<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    stream.next().now_or_never().expect("it is ready")
}
