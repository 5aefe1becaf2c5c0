//! Messages of an Amazon event stream that arrive in pieces.
//!
//! A message of `application/vnd.amazon.eventstream` is a prelude (the length of the message, the length of its headers,
//! the CRC32 of both), the headers, the payload, and the CRC32 of everything before it. Numbers are big-endian:
//! <https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html>.

mod headers;

use std::borrow::Cow;
use std::fmt;
use std::mem;

use tokenline_core::{Code, Diagnostic, Limits, Origin, Span};

use headers::Headers;

/// Splits an Amazon event stream into its messages.
pub struct EventStreamDecoder {
    limit: u64,
    offset: u64,
    /// Messages that have begun.
    messages: u64,
    /// Where the latest message begins.
    start: u64,
    /// What earlier pieces held of it.
    kept: Vec<u8>,
    /// The last call returned them, as a whole message.
    is_returned: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// In a prelude, or before one.
    Prelude,
    /// In a message of this length.
    Message { len: usize },
    /// In a message that is too large.
    Oversized { left: u64 },
    /// The lengths were wrong: the start of the next message is unknown.
    Lost,
}

/// One message of the stream.
#[derive(Debug)]
pub struct EventStreamMessage<'a> {
    /// What it says, or why it was dropped.
    pub event: Result<EventStreamEvent<'a>, Diagnostic>,
    /// Its number, counted from 1.
    pub number: u64,
    /// Its bytes.
    pub span: Span,
}

/// What a message says, as the decoders of providers take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStreamEvent<'a> {
    /// The `:event-type` or `:exception-type`; `error` for an error without a type.
    pub name: &'a str,
    /// The payload. An error has none, but a code and a text: they are its data.
    pub data: Cow<'a, [u8]>,
}

/// Bytes of a prelude: two lengths and their CRC32.
const PRELUDE: usize = 12;
/// Bytes of a message without headers and payload: the prelude, and the CRC32 at the end.
const OVERHEAD: u64 = 16;
/// Bytes for which room is kept between messages.
const KEEP: usize = 64 * 1024;

impl EventStreamDecoder {
    /// A decoder at the start of a stream. Of the limits it uses `sse_event_bytes`, for a whole message.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.sse_event_bytes as u64,
            offset: 0,
            messages: 0,
            start: 0,
            kept: Vec::new(),
            is_returned: false,
            state: State::Prelude,
        }
    }

    /// Decodes up to the end of the next message, or of the input; returns how many bytes that took.
    pub fn decode<'a>(&'a mut self, input: &'a [u8]) -> (usize, Option<EventStreamMessage<'a>>) {
        self.forget();
        let mut from = 0;
        if let State::Prelude = self.state {
            let Some(prelude) = self.prelude(input) else { return (input.len(), None) };
            match read_prelude(prelude) {
                Ok(len) if len > self.limit => {
                    from = PRELUDE - self.kept.len();
                    self.offset += from as u64;
                    self.kept.clear();
                    self.state = State::Oversized { left: len - PRELUDE as u64 };
                }
                Ok(len) => self.state = State::Message { len: len as usize },
                Err(reason) => return (input.len(), Some(self.lose(input.len(), reason))),
            }
        }
        let (taken, message) = match self.state {
            State::Message { len } => self.message(len, input),
            State::Oversized { left } => self.skip(left, &input[from..]),
            State::Prelude | State::Lost => {
                self.offset += input.len() as u64;
                (input.len(), None)
            }
        };
        (from + taken, message)
    }

    /// Ends the stream: number and place of the message that it ended in.
    pub fn finish(&mut self) -> Option<(u64, Span)> {
        let is_inside = match mem::replace(&mut self.state, State::Lost) {
            State::Prelude => !self.is_returned && !self.kept.is_empty(),
            State::Message { .. } | State::Oversized { .. } => true,
            State::Lost => false,
        };
        is_inside.then(|| (self.messages, Span::new(self.start, self.offset)))
    }

    /// Bytes that came.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Forgets the message that the last call returned.
    fn forget(&mut self) {
        if mem::take(&mut self.is_returned) {
            self.kept.clear();
            self.kept.shrink_to(KEEP);
        }
    }

    /// The prelude of the message that begins; `None` if more is needed. Then all of the input is kept.
    fn prelude(&mut self, input: &[u8]) -> Option<[u8; PRELUDE]> {
        if self.kept.is_empty() && !input.is_empty() {
            self.messages += 1;
            self.start = self.offset;
        }
        let mut prelude = [0; PRELUDE];
        let (before, after) = prelude.split_at_mut(self.kept.len());
        match input.get(..after.len()) {
            Some(input) => {
                before.copy_from_slice(&self.kept);
                after.copy_from_slice(input);
                Some(prelude)
            }
            None => {
                self.keep(input);
                None
            }
        }
    }

    /// Takes in more of a message that is read. Room is made for what has come, never for what is announced.
    fn keep(&mut self, input: &[u8]) {
        self.kept.extend_from_slice(input);
        self.offset += input.len() as u64;
    }

    fn message<'a>(&'a mut self, len: usize, input: &'a [u8]) -> (usize, Option<EventStreamMessage<'a>>) {
        let missing = len - self.kept.len();
        let Some(last) = input.get(..missing) else {
            self.keep(input);
            return (input.len(), None);
        };
        self.state = State::Prelude;
        let (number, span) = (self.messages, Span::new(self.start, self.start + len as u64));
        let bytes = if self.kept.is_empty() {
            self.offset += missing as u64;
            last
        } else {
            self.keep(last);
            self.is_returned = true;
            &self.kept
        };
        let event = read_message(bytes).map_err(|reason| {
            let message = format!("message {number} {reason}; its part of the response is lost");
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
            "message {number} of {} bytes is larger than the limit of {limit} bytes; it was dropped",
            span.len()
        );
        (taken as usize, Some(rejected(Code::RecordTooLarge, number, span, message)))
    }

    /// Gives up the rest of the stream.
    fn lose(&mut self, rest: usize, reason: &str) -> EventStreamMessage<'static> {
        self.state = State::Lost;
        self.kept = Vec::new();
        self.offset += rest as u64;
        let (number, span) = (self.messages, Span::new(self.start, self.start + PRELUDE as u64));
        let message = format!(
            "message {number} {reason}: the rest of the stream cannot be read; is it application/vnd.amazon.eventstream?"
        );
        rejected(Code::MalformedJson, number, span, message)
    }
}

/// The length of the message.
fn read_prelude(prelude: [u8; PRELUDE]) -> Result<u64, &'static str> {
    let [len, headers_len, crc] = [0, 4, 8].map(|at| u32_at(&prelude, at));
    if crc32fast::hash(&prelude[..8]) != crc {
        return Err("has lengths whose checksum is wrong");
    }
    let (len, headers_len) = (u64::from(len), u64::from(headers_len));
    match len.checked_sub(OVERHEAD) {
        None => Err("has a length below that of the shortest message"),
        Some(content) if headers_len > content => Err("has a length below that of its headers"),
        Some(_) => Ok(len),
    }
}

/// Reads a whole message, whose prelude is right.
fn read_message(bytes: &[u8]) -> Result<EventStreamEvent<'_>, &'static str> {
    let (content, _) = bytes.split_at(bytes.len() - 4);
    if crc32fast::hash(content) != u32_at(bytes, content.len()) {
        return Err("is corrupt, its checksum is wrong");
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

/// The line of a diagnostic is the message's number: there are no lines.
fn diagnostic(code: Code, number: u64, span: Span, message: String) -> Diagnostic {
    Diagnostic::new(code, number, span, 1, message).with_origin(Origin::Wire)
}

/// Places and counts only: what is kept may be private.
impl fmt::Debug for EventStreamDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStreamDecoder")
            .field("offset", &self.offset)
            .field("messages", &self.messages)
            .field("kept", &self.kept.len())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
