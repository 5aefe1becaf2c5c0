//! Messages of an Amazon event stream that arrive in chunks.
//!
//! A message of `application/vnd.amazon.eventstream` is a prelude (the length of the message, the length of its
//! headers, the CRC32 of both), the headers, the payload, and the CRC32 of everything before it. Numbers are
//! big-endian: <https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html>.

mod headers;

use std::borrow::Cow;
use std::fmt;
use std::mem;

use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

use super::crc32::crc32;
use headers::Headers;

/// Splits an Amazon event stream into its messages.
pub struct EventStreamDecoder {
    limit: u64,
    offset: u64,
    /// Messages started so far.
    messages: u64,
    /// The offset of the latest message.
    start: u64,
    /// The bytes of the message from earlier chunks.
    buffer: Vec<u8>,
    /// The last call returned them as a complete message.
    is_returned: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// In a prelude, or before one.
    Prelude,
    /// In a message of this length.
    Message { len: usize },
    /// In a message above the limit.
    Oversized { left: u64 },
    /// The lengths were wrong: the start of the next message is unknown.
    Unsynchronized,
}

/// One message of the stream.
#[derive(Debug)]
pub struct EventStreamMessage<'a> {
    /// The event, or the reason it was dropped.
    pub event: Result<EventStreamEvent<'a>, Diagnostic>,
    /// The number of the message, from 1.
    pub number: u64,
    /// The bytes of the message.
    pub span: Span,
}

/// The content of a message, in the form that the providers' decoders read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStreamEvent<'a> {
    /// The `:event-type` or `:exception-type`; `error` for an error without a type.
    pub name: &'a str,
    /// The payload; for an error, which has none, its code and text.
    pub data: Cow<'a, [u8]>,
}

/// Bytes of a prelude: two lengths and their CRC32.
const PRELUDE: usize = 12;
/// The length of a message without headers and payload: the prelude and the final CRC32.
const OVERHEAD: u64 = 16;
/// Capacity kept between messages.
const KEEP: usize = 64 * 1024;

impl EventStreamDecoder {
    /// A decoder at the start of a stream. It applies the limit `sse_event_bytes` to each message.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.sse_event_bytes as u64,
            offset: 0,
            messages: 0,
            start: 0,
            buffer: Vec::new(),
            is_returned: false,
            state: State::Prelude,
        }
    }

    /// Decodes up to the end of the next message, or of the input; returns the number of bytes consumed.
    pub fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<EventStreamMessage<'a>>) {
        self.release();
        let mut from = 0;
        if let State::Prelude = self.state {
            let Some(prelude) = self.prelude(input) else { return (input.len(), None) };
            match read_prelude(prelude) {
                Ok(len) if len > self.limit => {
                    from = PRELUDE - self.buffer.len();
                    self.offset += from as u64;
                    self.buffer.clear();
                    self.state = State::Oversized { left: len - PRELUDE as u64 };
                }
                Ok(len) => self.state = State::Message { len: len as usize },
                Err(reason) => return (input.len(), Some(self.give_up(input.len(), reason))),
            }
        }
        let (taken, message) = match self.state {
            State::Message { len } => self.message(len, input),
            State::Oversized { left } => self.skip(left, &input[from..]),
            State::Prelude | State::Unsynchronized => {
                self.offset += input.len() as u64;
                (input.len(), None)
            }
        };
        (from + taken, message)
    }

    /// Ends the stream. Returns the number and position of a truncated message.
    pub fn finish(&mut self) -> Option<(u64, Span)> {
        let is_inside = match mem::replace(&mut self.state, State::Unsynchronized) {
            State::Prelude => !self.is_returned && !self.buffer.is_empty(),
            State::Message { .. } | State::Oversized { .. } => true,
            State::Unsynchronized => false,
        };
        is_inside.then(|| (self.messages, Span::new(self.start, self.offset)))
    }

    /// The number of bytes consumed.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Clears the message that the last call returned.
    fn release(&mut self) {
        if mem::take(&mut self.is_returned) {
            self.buffer.clear();
            self.buffer.shrink_to(KEEP);
        }
    }

    /// The prelude of the next message; `None` if more bytes are needed. In that case all of the input is buffered.
    fn prelude(&mut self, input: &[u8]) -> Option<[u8; PRELUDE]> {
        if self.buffer.is_empty() && !input.is_empty() {
            self.messages += 1;
            self.start = self.offset;
        }
        let mut prelude = [0; PRELUDE];
        let (before, after) = prelude.split_at_mut(self.buffer.len());
        match input.get(..after.len()) {
            Some(input) => {
                before.copy_from_slice(&self.buffer);
                after.copy_from_slice(input);
                Some(prelude)
            }
            None => {
                self.keep(input);
                None
            }
        }
    }

    /// Buffers bytes of the current message. Allocates for received bytes only, never for the announced length.
    fn keep(&mut self, input: &[u8]) {
        self.buffer.extend_from_slice(input);
        self.offset += input.len() as u64;
    }

    fn message<'a>(&'a mut self, len: usize, input: &'a [u8]) -> (usize, Option<EventStreamMessage<'a>>) {
        let missing = len - self.buffer.len();
        let Some(last) = input.get(..missing) else {
            self.keep(input);
            return (input.len(), None);
        };
        self.state = State::Prelude;
        let (number, span) = (self.messages, Span::new(self.start, self.start + len as u64));
        let bytes = if self.buffer.is_empty() {
            self.offset += missing as u64;
            last
        } else {
            self.keep(last);
            self.is_returned = true;
            &self.buffer
        };
        let event = read_message(bytes).map_err(|reason| {
            let message = format!("message {number} {reason}; its part of the response is missing");
            diagnostic(Code::MalformedJson, number, span, message)
        });
        (missing, Some(EventStreamMessage { event, number, span }))
    }

    fn skip(&mut self, left: u64, input: &[u8]) -> (usize, Option<EventStreamMessage<'static>>) {
        let taken = left.min(input.len() as u64);
        self.offset += taken;
        if taken < left {
            self.state = State::Oversized { left: left - taken };
            return (input.len(), None);
        }
        self.state = State::Prelude;
        let (number, span, limit) = (self.messages, Span::new(self.start, self.offset), self.limit);
        let message = format!(
            "message {number} of {} bytes exceeds the limit of {limit} bytes and was dropped",
            span.len()
        );
        (taken as usize, Some(rejected(Code::RecordTooLarge, number, span, message)))
    }

    /// Skips the rest of the stream.
    fn give_up(&mut self, rest: usize, reason: &str) -> EventStreamMessage<'static> {
        self.state = State::Unsynchronized;
        self.buffer = Vec::new();
        self.offset += rest as u64;
        let (number, span) = (self.messages, Span::new(self.start, self.start + PRELUDE as u64));
        let message = format!(
            "message {number} {reason}; the rest of the stream is unreadable: check that it is application/vnd.amazon.eventstream"
        );
        rejected(Code::MalformedJson, number, span, message)
    }
}

/// The length of the message.
fn read_prelude(prelude: [u8; PRELUDE]) -> Result<u64, &'static str> {
    let [len, headers_len, crc] = [0, 4, 8].map(|at| u32_at(&prelude, at));
    if crc32(&prelude[..8]) != crc {
        return Err("has a wrong checksum of its lengths");
    }
    let (len, headers_len) = (u64::from(len), u64::from(headers_len));
    match len.checked_sub(OVERHEAD) {
        None => Err("has a length below the minimum"),
        Some(content) if headers_len > content => Err("is shorter than its headers"),
        Some(_) => Ok(len),
    }
}

/// Reads a complete message with a valid prelude.
fn read_message(bytes: &[u8]) -> Result<EventStreamEvent<'_>, &'static str> {
    let (content, _) = bytes.split_at(bytes.len() - 4);
    if crc32(content) != u32_at(bytes, content.len()) {
        return Err("is corrupt (wrong checksum)");
    }
    let (headers, payload) = content[PRELUDE..].split_at(u32_at(bytes, 4) as usize);
    Ok(Headers::read(headers)?.event(payload))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn rejected(code: Code, number: u64, span: Span, message: String) -> EventStreamMessage<'static> {
    EventStreamMessage { event: Err(diagnostic(code, number, span, message)), number, span }
}

/// A diagnostic whose line is the message's number: the stream has no lines.
fn diagnostic(code: Code, number: u64, span: Span, message: String) -> Diagnostic {
    Diagnostic::new(code, number, span, 1, message).with_origin(Origin::Wire)
}

/// Shows positions and counts only: buffered bytes may be private.
impl fmt::Debug for EventStreamDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStreamDecoder")
            .field("offset", &self.offset)
            .field("messages", &self.messages)
            .field("buffered", &self.buffer.len())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
