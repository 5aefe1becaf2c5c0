//! A connection that tells when what was written has left for the socket.
//!
//! hyper pulls a body as fast as its own buffer takes it, and throws that buffer away when the body fails. Waiting for the
//! flush between two pieces keeps the buffer at one piece, makes the counters true, and lets a body break off exactly
//! where it was told to.

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

    // hyper calls this when its buffer is empty, and only then.
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

/// Whether what a body has handed over is flushed. Shared by a connection and the body that it sends.
#[derive(Clone, Default)]
pub(super) struct Flushes(Arc<FlushState>);

#[derive(Default)]
struct FlushState {
    pending: AtomicBool,
    flushed: Notify,
}

impl Flushes {
    /// Notes that something was handed over, to be called before it is.
    pub(super) fn expect(&self) {
        self.0.pending.store(true, Ordering::Release);
    }

    /// Waits until it has left.
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
