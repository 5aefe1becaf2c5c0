//! Many open streams, each waiting for the rest of a line.

use std::any::Any;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use futures_core::Stream;
use sse_stream::SseByteStream;
use tokenline::json::Raw;
use tokenline::llm::providers::EventShapes;
use tokenline::llm::{Provider, ResponseParser, ResponseStream};
use tokenline::{JsonlCodec, JsonlStreamParser, Options};
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::codec::{FramedRead, LinesCodec};

/// The name of the group. It is not a [`Group`](super::Group), because it measures memory.
pub const NAME: &str = "streams";
/// The name of the table of response streams.
pub const RESPONSES_NAME: &str = "streams_responses";

/// The number of open streams.
pub const STREAMS: usize = 10_000;

/// A kind of stream that waits for the rest of a line.
#[derive(Clone, Copy)]
pub struct Contender {
    /// The name in the table.
    pub name: &'static str,
    /// Opens this number of streams that have received these bytes. They stay open until the return value is dropped.
    pub open: fn(usize, &Bytes) -> Box<dyn Any>,
}

/// The others are compared with the first.
pub const CONTENDERS: &[Contender] = &[
    Contender {
        name: "`FramedRead<_, LinesCodec>`",
        open: |count, received| open(count, || FramedRead::new(Waiting::new(received), LinesCodec::new())),
    },
    Contender {
        name: "`FramedRead<_, JsonlCodec>`",
        open: |count, received| {
            open(count, || FramedRead::new(Waiting::new(received), JsonlCodec::<Raw>::new()))
        },
    },
    Contender {
        name: "`JsonlStreamParser`",
        open: |count, received| open(count, || JsonlStreamParser::<_, Raw>::new(Waiting::new(received))),
    },
];

/// Streams of responses. The others are compared with the first, which keeps nothing but the bytes of an open event.
pub const RESPONSES: &[Contender] = &[
    Contender {
        name: "`sse-stream`, its events alone",
        open: |count, received| open(count, || SseByteStream::new(Waiting::new(received))),
    },
    Contender {
        name: "tokenline `ResponseStream`",
        open: |count, received| {
            let shapes = EventShapes::default();
            open(count, || {
                let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
                ResponseStream::new(Waiting::new(received), parser.with_shapes(&shapes))
            })
        },
    },
];

/// Opens `count` streams, and polls each until it is pending.
///
/// # Panics
///
/// If one ends.
pub fn open<S: Stream + Unpin + 'static>(count: usize, stream: impl Fn() -> S) -> Box<dyn Any> {
    let mut context = Context::from_waker(Waker::noop());
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let mut stream = stream();
        while let Poll::Ready(item) = Pin::new(&mut stream).poll_next(&mut context) {
            assert!(item.is_some(), "an open stream");
        }
        streams.push(stream);
    }
    Box::new(streams)
}

/// A source that yields these bytes and then never becomes ready.
pub struct Waiting {
    bytes: Bytes,
}

impl Waiting {
    /// A source of `bytes`, which are shared and not counted as its own.
    #[must_use]
    pub fn new(bytes: &Bytes) -> Self {
        Self { bytes: bytes.clone() }
    }
}

impl Stream for Waiting {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.bytes.is_empty() {
            Poll::Pending
        } else {
            Poll::Ready(Some(Ok(std::mem::take(&mut self.bytes))))
        }
    }
}

impl AsyncRead for Waiting {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.bytes.is_empty() {
            return Poll::Pending;
        }
        let count = buffer.remaining().min(self.bytes.len());
        buffer.put_slice(&self.bytes[..count]);
        self.bytes.advance(count);
        Poll::Ready(Ok(()))
    }
}
