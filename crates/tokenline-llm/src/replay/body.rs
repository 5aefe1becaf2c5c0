//! The body of a replayed response.

use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;

use super::recording::{ContentType, Fault, Recording};
use super::traffic::OpenBody;
use super::wire::Flushes;

pub(super) type Body = UnsyncBoxBody<Bytes, Break>;

/// The body of an error response.
pub(super) fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// The error that makes hyper close the connection, for [`Fault::BreakAfter`].
#[derive(Debug)]
pub(super) struct Break;

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the recording breaks off here")
    }
}

impl std::error::Error for Break {}

/// The pieces of a recording, each when it is due.
pub(super) struct Pieces {
    recording: Recording,
    content_type: ContentType,
    /// The offset of the next piece.
    next: usize,
}

impl Pieces {
    pub(super) fn new(recording: Recording, content_type: ContentType) -> Self {
        Self { recording, content_type, next: 0 }
    }

    /// The next piece; `None` at the end. After [`Break`], do not call it again.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Break>> {
        if self.next == self.recording.end() {
            return matches!(self.recording.fault, Some(Fault::BreakAfter(_))).then_some(Err(Break));
        }
        if self.next > 0 && !self.recording.pace.delay.is_zero() {
            tokio::time::sleep(self.recording.pace.delay).await;
        }
        if let Some(gate) = &self.recording.gate {
            gate.pass().await;
        }
        let piece = self.recording.piece(self.next, self.content_type);
        self.next += piece.len();
        Some(Ok(piece))
    }
}

/// A recording being sent to one client.
pub(super) struct Playback {
    pieces: Pieces,
    flushes: Flushes,
    open: OpenBody,
    /// The length of the piece being sent.
    sending: usize,
}

impl Playback {
    pub(super) fn new(pieces: Pieces, flushes: Flushes, open: OpenBody) -> Self {
        // The head is handed over before the body is polled, and must arrive even if the body breaks off at once.
        flushes.expect();
        Self { pieces, flushes, open, sending: 0 }
    }

    pub(super) fn into_body(self) -> Body {
        StreamBody::new(stream::unfold(self, Self::step)).boxed_unsync()
    }

    async fn step(mut self) -> Option<(Result<Frame<Bytes>, Break>, Self)> {
        self.flushes.wait().await;
        self.open.sent(std::mem::take(&mut self.sending));
        match self.pieces.next().await {
            Some(Ok(piece)) => {
                self.sending = piece.len();
                self.flushes.expect();
                Some((Ok(Frame::data(piece)), self))
            }
            end => {
                self.open.finish();
                end.map(|broken| (broken.map(Frame::data), self))
            }
        }
    }
}
