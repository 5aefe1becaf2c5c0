//! The state machine.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::time::Duration;

use memchr::memchr;

use super::block::Block;
use super::line::{digits, has_line_end, line_end, push_lossy, set_text, split_field};
use super::{SseDecoded, SseEvent, SseItem};
use crate::{Limits, Span};

/// Bytes of a piece in which the end of a line is looked for block by block, without a call.
const SHORT: usize = 32;
const BOM: &[u8; 3] = b"\xEF\xBB\xBF";

/// A resumable decoder of one event stream. See the [module](super) for an example.
///
/// Memory is bounded by [`Limits::sse_line_bytes`] and [`Limits::sse_event_bytes`] together. An
/// event that lies in one chunk and has one `data` line is lent from that chunk; otherwise its
/// data, and the open line at the end of a chunk, are copied once into a buffer that is reused.
///
/// Invalid UTF-8 becomes U+FFFD, as the standard asks. Unknown fields are ignored and
/// [counted](Self::unknown_fields), comments are ignored whatever their length.
#[derive(Clone)]
pub struct SseDecoder {
    limits: Limits,
    /// Bytes consumed by the calls before this one.
    offset: u64,
    /// Lines ended.
    lines: u64,
    /// How much of a byte order mark the stream began with; its whole length once decided.
    bom: usize,
    /// The last line ended in CR, so that a line feed here belongs to it.
    after_cr: bool,
    /// What the next call clears, because the last one lent it.
    lent: bool,
    /// Bytes of the open line that earlier calls saw, and what becomes of them.
    open_bytes: u64,
    open_line: OpenLine,
    /// The open event's data, at `data`, and after it the open line's bytes.
    buffer: Vec<u8>,
    data: Range<usize>,
    block: Block,
    event: String,
    /// The `id` of the open event, which its blank line makes the last event id.
    next_id: String,
    last_id: String,
    retry: Option<Duration>,
    unknown_fields: u64,
    /// The data of the event lent last, where it had to be mended.
    lossy: String,
}

/// What becomes of a line that is not over yet.
#[derive(Clone, Copy)]
enum OpenLine {
    Kept,
    Comment,
    TooLong,
}

/// How a scan over the input ended; places only, because what they point at is borrowed later.
enum Step {
    NeedMore,
    Event {
        /// Where in the input its data is, unless that is in the buffer.
        here: Option<Range<usize>>,
    },
    Rejected,
}

// Life of a decoder.
impl SseDecoder {
    /// A decoder at the start of a stream. Of the limits it uses the two for events.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            offset: 0,
            lines: 0,
            bom: 0,
            after_cr: false,
            lent: false,
            open_bytes: 0,
            open_line: OpenLine::Kept,
            buffer: Vec::new(),
            data: 0..0,
            block: Block::default(),
            event: String::new(),
            next_id: String::new(),
            last_id: String::new(),
            retry: None,
            unknown_fields: 0,
            lossy: String::new(),
        }
    }

    /// Goes back to the start of a stream, with the same limits and the buffers kept.
    ///
    /// The standard starts every stream without a last event id; read
    /// [`last_event_id`](Self::last_event_id) first to reconnect with it.
    pub fn reset(&mut self) {
        self.clear_event();
        self.last_id.clear();
        *self = Self {
            buffer: mem::take(&mut self.buffer),
            event: mem::take(&mut self.event),
            next_id: mem::take(&mut self.next_id),
            last_id: mem::take(&mut self.last_id),
            lossy: mem::take(&mut self.lossy),
            ..Self::new(self.limits)
        };
    }
}

// Decoding.
impl SseDecoder {
    /// Decodes up to the next item, or to the end of `input`.
    ///
    /// To be called in a loop: after an item again with what was not consumed, without one with
    /// the next chunk. It never fails, and an `input` that is not empty is always consumed by at
    /// least one byte, so that the loop ends.
    pub fn decode<'a>(&'a mut self, input: &'a [u8]) -> SseDecoded<'a> {
        if self.extend_line(input) {
            return SseDecoded { consumed: input.len(), item: None };
        }
        let (consumed, step) = self.scan(input);
        self.offset += consumed as u64;
        let item = match step {
            Step::NeedMore => None,
            Step::Event { here } => {
                self.lent = true;
                Some(SseItem::Event(self.lend(here.map(|data| &input[data]))))
            }
            Step::Rejected => {
                self.lent = true;
                self.block.rejection(&self.limits).map(SseItem::Rejected)
            }
        };
        SseDecoded { consumed, item }
    }

    /// Ends the stream, and gives the event that it ended in.
    ///
    /// `None` means that it ended between two events. To decode another stream, call
    /// [`reset`](Self::reset).
    pub fn finish(&mut self) -> Option<SseItem<'_>> {
        if self.lent {
            self.clear_event();
        }
        self.end_bom();
        if self.open_bytes > 0 {
            self.end_open_line(&[], self.offset - self.open_bytes);
        }
        self.block.end = self.offset;
        self.lent = true;
        if !self.block.is_open() {
            None
        } else if let Some(diagnostic) = self.block.rejection(&self.limits) {
            Some(SseItem::Rejected(diagnostic))
        } else {
            Some(SseItem::Incomplete(self.lend(None)))
        }
    }

    /// Takes in a short piece that is no more than a part of the open line, and answers whether it is.
    ///
    /// If it is not, nothing was done. If it is, that was what [`decode`](Self::decode) does with it,
    /// without an item. Where a transport hands over a few bytes at a time most pieces are, and this is
    /// the fastest way to tell.
    #[inline]
    pub fn extend_line(&mut self, piece: &[u8]) -> bool {
        let open_bytes = self.open_bytes + piece.len() as u64;
        let goes_on = self.open_bytes > 0
            && piece.len() <= SHORT
            && matches!(self.open_line, OpenLine::Kept)
            && open_bytes <= self.limits.sse_line_bytes as u64
            && !has_line_end(piece);
        if goes_on {
            // Block by block too, for a copy of any length is a call.
            let (blocks, rest) = piece.as_chunks::<16>();
            blocks.iter().for_each(|block| self.buffer.extend_from_slice(block));
            if !rest.is_empty() {
                self.buffer.extend_from_slice(rest);
            }
            self.open_bytes = open_bytes;
            self.offset += piece.len() as u64;
        }
        goes_on
    }

    /// Finds the end of the next item in `input`, and takes in what lies before it.
    fn scan(&mut self, input: &[u8]) -> (usize, Step) {
        if self.lent {
            self.clear_event();
        }
        let mut pos = 0;
        if self.bom < BOM.len() {
            pos = self.skip_bom(input);
        }
        // The open event's data, as long as it is one line of this very input.
        let mut here = None;
        loop {
            if self.after_cr {
                match input.get(pos) {
                    None => break,
                    Some(b'\n') => pos += 1,
                    Some(_) => {}
                }
                self.after_cr = false;
            }
            let Some(len) = line_end(&input[pos..]) else {
                break;
            };
            let line = pos..pos + len;
            let start = self.offset + pos as u64;
            self.after_cr = input[line.end] == b'\r';
            pos = line.end + 1;
            if self.open_bytes > 0 {
                self.end_open_line(&input[line], start - self.open_bytes);
            } else if len > 0 {
                self.end_line(input, line, start, &mut here);
            } else if let Some(step) = self.end_event(start, here.take()) {
                return (pos, step);
            }
        }
        if let Some(data) = here {
            self.keep_data(&input[data]);
        }
        self.keep_open(&input[pos..]);
        (input.len(), Step::NeedMore)
    }

    /// Consumes the rest of a byte order mark at the start of the stream.
    #[cold]
    fn skip_bom(&mut self, input: &[u8]) -> usize {
        let mut pos = 0;
        while let Some(expected) = BOM.get(self.bom) {
            match input.get(pos) {
                None => break,
                Some(byte) if byte == expected => {
                    self.bom += 1;
                    pos += 1;
                }
                Some(_) => self.end_bom(),
            }
        }
        pos
    }

    /// Decides that there is no whole byte order mark: what looked like one opens the first line.
    fn end_bom(&mut self) {
        let seen = mem::replace(&mut self.bom, BOM.len());
        if seen < BOM.len() {
            self.keep_open(&BOM[..seen]);
        }
    }
}

// Lines.
impl SseDecoder {
    /// Takes in the last bytes of a chunk, a line or the middle of one.
    fn keep_open(&mut self, bytes: &[u8]) {
        let Some(first) = bytes.first() else { return };
        if self.open_bytes == 0 {
            self.open_line = match first {
                b':' => OpenLine::Comment,
                _ => OpenLine::Kept,
            };
        }
        self.open_bytes += bytes.len() as u64;
        if matches!(self.open_line, OpenLine::Kept) {
            if self.open_bytes > self.limits.sse_line_bytes as u64 {
                self.open_line = OpenLine::TooLong;
                self.buffer.truncate(self.data.end);
            } else {
                self.buffer.extend_from_slice(bytes);
            }
        }
    }

    /// Ends a line that earlier chunks began and `bytes` completes.
    fn end_open_line(&mut self, bytes: &[u8], start: u64) {
        self.keep_open(bytes);
        let len = mem::take(&mut self.open_bytes);
        self.lines += 1;
        match self.open_line {
            OpenLine::Comment => {}
            OpenLine::TooLong => self.line_too_long(start, len),
            OpenLine::Kept => {
                self.block.open(self.lines, start);
                let line = self.data.end..self.buffer.len();
                let (name, value) = split_field(&self.buffer[line.clone()]);
                let name = line.start..line.start + name;
                let value = line.start + value..line.end;
                if &self.buffer[name.clone()] != b"data" {
                    let buffer = mem::take(&mut self.buffer);
                    self.set(&buffer[name], &buffer[value]);
                    self.buffer = buffer;
                } else if self.admit(value.len()) {
                    if self.block.data_lines == 1 {
                        self.data = value;
                        return;
                    }
                    // The field's name is longer than the line feed that takes its place.
                    let end = line.start + 1 + value.len();
                    self.buffer[line.start] = b'\n';
                    self.buffer.copy_within(value, line.start + 1);
                    self.data.end = end;
                }
                self.buffer.truncate(self.data.end);
            }
        }
    }

    /// Ends a line that lies in `input`, and is not empty.
    #[inline]
    fn end_line(&mut self, input: &[u8], line: Range<usize>, start: u64, here: &mut Option<Range<usize>>) {
        self.lines += 1;
        if input[line.start] == b':' {
            return;
        }
        if line.len() > self.limits.sse_line_bytes {
            return self.line_too_long(start, line.len() as u64);
        }
        self.block.open(self.lines, start);
        let (name, value) = split_field(&input[line.clone()]);
        let name = &input[line.start..line.start + name];
        let value = line.start + value..line.end;
        if name != b"data" {
            self.set(name, &input[value]);
        } else if self.admit(value.len()) {
            if self.block.data_lines == 1 {
                *here = Some(value);
                return;
            }
            if let Some(first) = here.take() {
                self.keep_data(&input[first]);
            }
            self.buffer.push(b'\n');
            self.buffer.extend_from_slice(&input[value]);
            self.data.end = self.buffer.len();
        }
    }

    /// Keeps the data so far past the end of its chunk. Nothing else is in the buffer yet.
    fn keep_data(&mut self, data: &[u8]) {
        self.buffer.extend_from_slice(data);
        self.data = 0..self.buffer.len();
    }

    fn line_too_long(&mut self, start: u64, len: u64) {
        let span = Span::new(start, start + len);
        self.block.line_too_long(self.lines, span);
        self.drop_data();
    }

    /// Takes in a field that is not `data`.
    fn set(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"event" => set_text(&mut self.event, value),
            b"id" if memchr(0, value).is_some() => {}
            b"id" => {
                set_text(&mut self.next_id, value);
                self.block.has_id = true;
            }
            b"retry" => {
                if let Some(milliseconds) = digits(value) {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            _ => self.unknown_fields += 1,
        }
    }
}

// Events.
impl SseDecoder {
    /// Ends an event at its blank line, whose first byte is at `end`.
    #[inline]
    fn end_event(&mut self, end: u64, here: Option<Range<usize>>) -> Option<Step> {
        self.lines += 1;
        self.block.end = end;
        if self.block.has_id {
            mem::swap(&mut self.last_id, &mut self.next_id);
            self.block.has_id = false;
        }
        if self.block.is_rejected() {
            Some(Step::Rejected)
        } else if self.block.data_lines > 0 {
            Some(Step::Event { here })
        } else {
            self.clear_event();
            None
        }
    }

    fn clear_event(&mut self) {
        self.lent = false;
        self.drop_data();
        self.event.clear();
        self.block = Block::default();
    }

    /// Counts a `data` field's value, and answers whether it is to be kept.
    fn admit(&mut self, len: usize) -> bool {
        let admitted = self.block.admit(len, self.limits.sse_event_bytes);
        if !admitted {
            self.drop_data();
        }
        admitted
    }

    /// Forgets the open event's data: it was lent, or broke a limit.
    fn drop_data(&mut self) {
        self.buffer.clear();
        self.data = 0..0;
    }

    /// The event with its data, which is in the buffer unless it never left its chunk.
    #[inline]
    fn lend<'a>(&'a mut self, here: Option<&'a [u8]>) -> SseEvent<'a> {
        let (line, span) = self.block.place();
        let bytes = here.unwrap_or(&self.buffer[self.data.clone()]);
        let (data, lossy) = match simdutf8::basic::from_utf8(bytes) {
            Ok(data) => (data, false),
            Err(_) => {
                self.lossy.clear();
                push_lossy(&mut self.lossy, bytes);
                (self.lossy.as_str(), true)
            }
        };
        SseEvent {
            event: match self.event.as_str() {
                "" => "message",
                event => event,
            },
            data,
            id: if self.block.has_id { &self.next_id } else { &self.last_id },
            line,
            span,
            lossy,
        }
    }
}

// What the stream said beside its events.
impl SseDecoder {
    /// The last event id, to reconnect with: the latest `id` field whose event has ended.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// How long the server asked to wait before reconnecting: its latest valid `retry` field.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// How many lines were neither a comment nor a field of the standard. Many of them, and no
    /// event, mean that the stream is something else: an HTML page, say, or a JSON error.
    #[must_use]
    pub fn unknown_fields(&self) -> u64 {
        self.unknown_fields
    }

    /// How many bytes were consumed since the start of the stream.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(Limits::DEFAULT)
    }
}

/// Places and counts only: what is buffered may be private.
impl fmt::Debug for SseDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseDecoder")
            .field("offset", &self.offset)
            .field("lines", &self.lines)
            .field("buffered", &self.buffer.len())
            .finish_non_exhaustive()
    }
}
