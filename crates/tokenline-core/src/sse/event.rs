//! Events of the decoder.

use crate::{Code, Diagnostic, Origin, Span};

/// A server-sent event, borrowed from the decoder until its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event's type: the last `event` field, or `message` if it is missing or empty.
    pub event: &'a str,
    /// The values of its `data` fields, joined by newlines.
    pub data: &'a str,
    /// The last event id: the latest `id` field of the stream so far, or empty.
    pub id: &'a str,
    /// The line of its first field, from 1. CR, LF and CRLF each end a line.
    pub line: u64,
    /// Its bytes on the wire: from its first field up to its blank line, or up to the end of the input.
    /// Comments before the first field do not belong to it.
    pub span: Span,
    /// Whether `data` holds U+FFFD in place of bytes that were not UTF-8.
    pub lossy: bool,
}

impl SseEvent<'_> {
    /// The diagnostic to report if an [incomplete](SseItem::Incomplete) event is not used.
    #[must_use]
    pub fn truncated(&self) -> Diagnostic {
        let message =
            format!("the stream ended inside a server-sent event, {} bytes after its start", self.span.len());
        Diagnostic::new(Code::Truncated, self.line, self.span, 1, message).with_origin(Origin::Wire)
    }
}

/// An item of [`SseDecoder`](super::SseDecoder).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// An event and the blank line after it.
    Event(SseEvent<'a>),
    /// The input ended inside this event. Only from [`SseDecoder::finish`](super::SseDecoder::finish), at
    /// most once.
    ///
    /// The standard discards such an event, and a part of its last line may be missing. But some servers omit
    /// the last blank line: a caller that can tell whether the data is complete may use the event, others
    /// report [`SseEvent::truncated`]. The last line is read as if it had ended. `data` is empty if the input
    /// ended before any.
    Incomplete(SseEvent<'a>),
    /// An event beyond a limit. It was dropped as it arrived; decoding continues after it.
    ///
    /// The code is [`Code::LineTooLong`] with the line's span, or [`Code::RecordTooLarge`] with the event's.
    /// An event is reported once, at its blank line, even if it exceeds several limits.
    Rejected(Diagnostic),
}

/// A step of [`SseDecoder::decode`](super::SseDecoder::decode).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseDecoded<'a> {
    /// How many bytes of the input were consumed: all of them without an item.
    pub consumed: usize,
    /// The item; `None` asks for more input.
    pub item: Option<SseItem<'a>>,
}
