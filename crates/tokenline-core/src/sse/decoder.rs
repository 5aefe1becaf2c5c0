//! The state machine.

mod lines;
mod strays;

use std::fmt;
use std::hint;
use std::mem;
use std::ops::Range;
use std::time::Duration;

use super::block::Block;
use super::line::{has_line_end, line_end, push_lossy};
use super::{SseDecoded, SseEvent, SseItem};
use crate::Limits;
use strays::Strays;
pub use strays::{StrayObject, StrayPlace};

/// Up to this length, a chunk is searched for the end of a line block by block, without a call.
const SHORT: usize = 32;
const BOM: &[u8; 3] = b"\xEF\xBB\xBF";

/// A resumable decoder of one event stream. See the [module](super) for an example.
///
/// Memory is bounded by [`Limits::sse_line_bytes`] plus [`Limits::sse_event_bytes`]. An event that lies in
/// one chunk and has one `data` line borrows from that chunk. Otherwise its data, and the open line at the
/// end of a chunk, are copied once into a reused buffer.
///
/// Invalid UTF-8 becomes U+FFFD, as the standard requires. Unknown fields are ignored and
/// [counted](Self::unknown_fields); comments of any length are ignored.
#[derive(Clone)]
pub struct SseDecoder {
    limits: Limits,
    /// Bytes consumed by earlier calls.
    offset: u64,
    /// Lines ended.
    lines: u64,
    /// How many bytes of a byte order mark the stream began with; all of them once decided.
    bom: usize,
    /// Whether the last line ended in CR, so that a newline here belongs to it.
    after_cr: bool,
    /// Whether the next call clears the buffer, because an event borrowed from it.
    lent: bool,
    /// Bytes of the open line from earlier calls, and what happens to them.
    open_bytes: u64,
    open_line: OpenLine,
    /// The open event's data, at `data`, and after it the open line's bytes.
    buffer: Vec<u8>,
    data: Range<usize>,
    block: Block,
    event: String,
    /// Boxed: few streams have ids.
    ids: Option<Box<Ids>>,
    retry: Option<Duration>,
    unknown_fields: u64,
    /// Whether it also reads what the standard does not allow, as it is meant.
    is_lenient: bool,
    /// The state of doing so, once there is such a thing.
    strays: Option<Box<Strays>>,
    /// The repaired data of the event returned last, if it was not UTF-8.
    lossy: String,
}

#[derive(Clone, Default)]
struct Ids {
    /// The `id` of the open event; its blank line makes it the last event id.
    next: String,
    last: String,
}

/// The treatment of a line that has not ended.
#[derive(Clone, Copy)]
enum OpenLine {
    Kept,
    Comment,
    TooLong,
}

/// How a scan of the input ended. Positions only, because the data is borrowed later.
enum Step {
    NeedMore,
    Event {
        /// The range of its data in the input; `None` if the data is in the buffer.
        here: Option<Range<usize>>,
    },
    Rejected,
}

// Setup.
impl SseDecoder {
    /// A decoder at the start of a stream. Uses only the two SSE limits.
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
            ids: None,
            retry: None,
            unknown_fields: 0,
            is_lenient: false,
            strays: None,
            lossy: String::new(),
        }
    }

    /// Starts over with another stream. Keeps the limits and the buffers.
    ///
    /// According to the standard, a stream starts without a last event id. To reconnect with it, read
    /// [`last_event_id`](Self::last_event_id) first.
    pub fn reset(&mut self) {
        self.open_bytes = 0;
        self.clear_event();
        *self = Self {
            buffer: mem::take(&mut self.buffer),
            event: mem::take(&mut self.event),
            lossy: mem::take(&mut self.lossy),
            is_lenient: self.is_lenient,
            ..Self::new(self.limits)
        };
    }
}

// Decoding.
impl SseDecoder {
    /// Reads a word of each cache line that an event needs, before anything depends on one.
    #[doc(hidden)]
    #[inline(always)]
    pub fn prefetch(&self) {
        let lens = self.buffer.len() ^ self.event.len();
        hint::black_box(
            lens as u64 ^ self.block.end ^ self.block.data_lines ^ self.open_bytes ^ u64::from(self.lent),
        );
    }

    /// Decodes up to the next item, or to the end of `input`.
    ///
    /// Call it in a loop: after an item with the rest of the input, without one with the next chunk. It never
    /// fails, and consumes at least one byte of an `input` that is not empty, so the loop ends. A
    /// [lenient](Self::lenient) decoder stops after a stray object too, without an item, and may return an event
    /// before it consumes anything.
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

    /// Ends the stream, and returns the event that it ended in.
    ///
    /// `None` means that it ended between two events. To decode another stream, call
    /// [`reset`](Self::reset). After an [event](SseItem::Event), which only a [lenient](Self::lenient) decoder
    /// returns here, call it again.
    pub fn finish(&mut self) -> Option<SseItem<'_>> {
        if self.lent {
            self.clear_event();
        }
        self.end_bom();
        if self.open_bytes > 0 {
            let start = self.offset - self.open_bytes;
            if self.is_lenient && self.block.data_lines > 0 && self.begins_event(&[], &(0..0), &None) {
                self.split_event(start);
                self.lent = true;
                return Some(SseItem::Event(self.lend(None)));
            }
            self.end_open_line(&[], start);
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

    /// Consumes a short chunk if it is only a part of the open line. Returns whether it is.
    ///
    /// If not, nothing changes. If so, this has the same effect as [`decode`](Self::decode) without an item,
    /// and is the fastest check when a transport delivers a few bytes at a time.
    #[inline]
    pub fn extend_line(&mut self, piece: &[u8]) -> bool {
        let open_bytes = self.open_bytes + piece.len() as u64;
        let goes_on = self.open_bytes > 0
            && piece.len() <= SHORT
            && matches!(self.open_line, OpenLine::Kept)
            && open_bytes <= self.limits.sse_line_bytes as u64
            && !has_line_end(piece);
        if goes_on {
            // Block by block as well, because a copy of variable length is a call.
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

    /// Finds the end of the next item in `input`, and consumes everything before it.
    fn scan(&mut self, input: &[u8]) -> (usize, Step) {
        if self.lent {
            self.clear_event();
        }
        let mut pos = 0;
        if self.bom < BOM.len() {
            pos = self.skip_bom(input);
        }
        // The open event's data, as long as it is one line of this input.
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
            let is_blank = len == 0 && self.open_bytes == 0;
            if self.is_lenient
                && self.block.data_lines > 0
                && !is_blank
                && self.begins_event(input, &line, &here)
            {
                self.split_event(start - self.open_bytes);
                return (pos, Step::Event { here });
            }
            self.after_cr = input[line.end] == b'\r';
            pos = line.end + 1;
            if is_blank {
                if let Some(step) = self.end_event(start, here.take()) {
                    return (pos, step);
                }
            } else if !self.end_any_line(input, line, start, &mut here) {
                return (pos, Step::NeedMore);
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

    /// Decides that the stream has no byte order mark: what looked like one opens the first line.
    fn end_bom(&mut self) {
        let seen = mem::replace(&mut self.bom, BOM.len());
        if seen < BOM.len() {
            self.keep_open(&BOM[..seen]);
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
            self.end_id();
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

    /// The id of the open event becomes the last one.
    fn end_id(&mut self) {
        if let Some(ids) = &mut self.ids {
            mem::swap(&mut ids.last, &mut ids.next);
        }
        self.block.has_id = false;
    }

    fn clear_event(&mut self) {
        self.lent = false;
        self.drop_data();
        self.event.clear();
        if self.strays.is_some() {
            self.end_strays();
        }
        self.block = Block::default();
    }

    /// Counts a `data` field's value. Returns whether to keep it.
    fn admit(&mut self, len: usize) -> bool {
        let admitted = self.block.admit(len, self.limits.sse_event_bytes);
        if !admitted {
            self.drop_data();
        }
        admitted
    }

    /// Discards the open event's data, because it was returned or exceeded a limit.
    fn drop_data(&mut self) {
        if self.open_bytes == 0 {
            self.buffer.clear();
        } else {
            // The next event began without a blank line, and a part of its line is kept.
            self.buffer.drain(..self.data.end);
        }
        self.data = 0..0;
    }

    /// The event with its data, which is in the buffer unless it lies in one chunk.
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
            id: match &self.ids {
                Some(ids) if self.block.has_id => &ids.next,
                Some(ids) => &ids.last,
                None => "",
            },
            line,
            span,
            lossy,
        }
    }
}

// State of the stream besides its events.
impl SseDecoder {
    /// The last event id, to reconnect with: the latest `id` field whose event has ended.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        self.ids.as_ref().map_or("", |ids| &ids.last)
    }

    /// How long the server asked to wait before reconnecting: its latest valid `retry` field.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The number of lines that were neither a comment nor a field of the standard. If there are many and no
    /// event, the stream is something else, such as an HTML page or a JSON error.
    #[must_use]
    pub fn unknown_fields(&self) -> u64 {
        self.unknown_fields
    }

    /// The number of bytes consumed since the start of the stream.
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

/// Shows positions and counts only: what is buffered may be private.
impl fmt::Debug for SseDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseDecoder")
            .field("offset", &self.offset)
            .field("lines", &self.lines)
            .field("buffered", &self.buffer.len())
            .finish_non_exhaustive()
    }
}
