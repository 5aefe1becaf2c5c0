//! A connection that reports when written bytes have been flushed to the socket.
//!
//! hyper pulls a body as fast as its own buffer allows, and discards that buffer when the body fails. Waiting for the
//! flush between two pieces keeps the buffer at one piece, makes the counters exact, and lets a body break off at an
//! exact offset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// A TCP stream whose flushes are reported to a [`Flushes`].
pub(super) struct Wire {
    io: TokioIo<TcpStream>,
    flushes: Flushes,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { io: TokioIo::new(stream), flushes: Flushes::default() }
    }

    pub(super) fn flushes(&self) -> Flushes {
        self.flushes.clone()
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    // hyper calls this only when its buffer is empty.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        self.flushes.report();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}

/// Whether a body's bytes are flushed. Shared by a connection and its current body.
#[derive(Clone, Default)]
pub(super) struct Flushes(Arc<FlushState>);

#[derive(Default)]
struct FlushState {
    pending: AtomicBool,
    flushed: Notify,
}

impl Flushes {
    /// Records that bytes are about to be handed over.
    pub(super) fn expect(&self) {
        self.0.pending.store(true, Ordering::Release);
    }

    /// Waits until they are flushed.
    pub(super) async fn wait(&self) {
        while self.0.pending.load(Ordering::Acquire) {
            self.0.flushed.notified().await;
        }
    }

    fn report(&self) {
        if self.0.pending.swap(false, Ordering::AcqRel) {
            self.0.flushed.notify_one();
        }
    }
}
