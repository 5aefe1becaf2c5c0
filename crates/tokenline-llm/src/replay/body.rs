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

/// A recording being sent to one client.
pub(super) struct Playback {
    recording: Recording,
    content_type: ContentType,
    flushes: Flushes,
    open: OpenBody,
    /// The offset of the next piece.
    next: usize,
    /// The length of the piece being sent.
    sending: usize,
}

impl Playback {
    pub(super) fn new(
        recording: Recording,
        content_type: ContentType,
        flushes: Flushes,
        open: OpenBody,
    ) -> Self {
        // The head is handed over before the body is polled, and must arrive even if the body breaks off at once.
        flushes.expect();
        Self { recording, content_type, flushes, open, next: 0, sending: 0 }
    }

    pub(super) fn into_body(self) -> Body {
        StreamBody::new(stream::unfold(self, Self::step)).boxed_unsync()
    }

    async fn step(mut self) -> Option<(Result<Frame<Bytes>, Break>, Self)> {
        self.flushes.wait().await;
        self.open.sent(self.sending);
        self.sending = 0;
        if self.next == self.recording.end() {
            self.open.finish();
            return match self.recording.fault {
                Some(Fault::BreakAfter(_)) => Some((Err(Break), self)),
                Some(Fault::EndAfter(_)) | None => None,
            };
        }
        if self.next > 0 && !self.recording.pace.delay.is_zero() {
            tokio::time::sleep(self.recording.pace.delay).await;
        }
        if let Some(gate) = &self.recording.gate {
            gate.pass().await;
        }
        let piece = self.recording.piece(self.next, self.content_type);
        self.next += piece.len();
        self.sending = piece.len();
        self.flushes.expect();
        Some((Ok(Frame::data(piece)), self))
    }
}
