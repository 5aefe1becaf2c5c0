//! What the decoder lends.

use crate::{Code, Diagnostic, Origin, Span};

/// One server-sent event, lent by the decoder until its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event's type: the last `event` field, `message` where there is none or an empty one.
    pub event: &'a str,
    /// The values of its `data` fields, joined by line feeds.
    pub data: &'a str,
    /// The last event id: the latest `id` field of the stream so far, empty where there is none.
    pub id: &'a str,
    /// The line of its first field, counted from 1. CR, LF and CRLF each end one line.
    pub line: u64,
    /// Its bytes on the wire: from the first byte of its first field up to its blank line, or up
    /// to the end of the input. Comments before the first field are not part of it.
    pub span: Span,
    /// Whether `data` holds U+FFFD in place of bytes that were not UTF-8.
    pub lossy: bool,
}

impl SseEvent<'_> {
    /// The finding to report where an [incomplete](SseItem::Incomplete) event is not used.
    #[must_use]
    pub fn truncated(&self) -> Diagnostic {
        let message =
            format!("the stream ended inside a server-sent event, {} bytes after its start", self.span.len());
        Diagnostic::new(Code::Truncated, self.line, self.span, 1, message).with_origin(Origin::Wire)
    }
}

/// What [`SseDecoder`](super::SseDecoder) found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseItem<'a> {
    /// An event and the blank line after it.
    Event(SseEvent<'a>),
    /// The input ended inside this event. Only [`SseDecoder::finish`](super::SseDecoder::finish) gives it, at most once.
    ///
    /// The standard discards such an event, and half of its last line may be missing. Servers that
    /// leave out the last blank line exist, though: a caller that can tell whether the data is
    /// whole may treat it as an event, any other reports [`SseEvent::truncated`]. The last line is
    /// taken as if it had ended. `data` is empty where the cut came before any.
    Incomplete(SseEvent<'a>),
    /// An event beyond a limit. It was dropped as it arrived, and decoding goes on after it.
    ///
    /// The code is [`Code::LineTooLong`], with the line's span, or [`Code::RecordTooLarge`], with
    /// the event's. One event is reported once, at its blank line, whatever else is wrong with it.
    Rejected(Diagnostic),
}

/// One step of [`SseDecoder::decode`](super::SseDecoder::decode).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseDecoded<'a> {
    /// How many bytes of the input were used up: all of them where there is no item.
    pub consumed: usize,
    /// What was found; `None` asks for more input.
    pub item: Option<SseItem<'a>>,
}
