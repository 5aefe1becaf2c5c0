//! A source, cut into blocks of whole lines.

use std::io::{self, Read};

use memchr::{memchr, memrchr};
use tokenline_core::Limits;

use super::buffer::Buffer;
use super::check::{longest_line, mark};

/// How much is read at once.
const READ: usize = 128 * 1024;
/// Blocks that are longer than this are seldom, and take memory that not every thread should keep.
pub(super) const LONG: usize = 1024 * 1024;

/// Some whole lines of a source.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) text: Text,
    /// Offset in the source of the first byte; of a line that is beyond the limit, without a byte order mark.
    pub(crate) start: u64,
    /// How far it was checked.
    pub(super) checked: usize,
    /// Up to where it is known that no line is beyond the limit.
    pub(super) within: usize,
}

impl Block {
    pub(super) fn new(text: Text, start: u64) -> Self {
        Self { text, start, checked: 0, within: 0 }
    }

    /// Whether all of it was checked.
    pub(super) fn is_done(&self) -> bool {
        self.checked >= self.text().len().max(1)
    }

    /// The lines; nothing in place of one that is beyond the limit.
    pub(super) fn text(&self) -> &[u8] {
        match &self.text {
            Text::Lines(text) => text,
            Text::TooLong => &[],
        }
    }

    /// Its memory, for the next one.
    pub(super) fn into_buffer(self) -> Buffer {
        match self.text {
            Text::Lines(text) => text,
            Text::TooLong => Buffer::default(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Text {
    /// The lines, each but the last one of a source with its line feed.
    Lines(Buffer),
    /// One line that is beyond the limit.
    TooLong,
}

/// Cuts what a source says into blocks.
#[derive(Debug)]
pub(crate) struct Blocks<R> {
    source: R,
    /// What follows the last line feed that was read.
    tail: Vec<u8>,
    /// Offset of the tail.
    offset: u64,
    limit: usize,
    /// Nothing is read any more: the source ended, failed or panicked.
    has_ended: bool,
}

/// As many bytes as the longest line takes, with a byte order mark before it and its end behind it. Of what is longer no
/// more is kept.
pub(super) fn longest(limits: Limits) -> usize {
    longest_line(limits).saturating_add("\u{feff}\r\n".len())
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(source: R, limits: Limits) -> Self {
        Self { source, tail: Vec::new(), offset: 0, limit: longest(limits), has_ended: false }
    }

    /// The next block, made of `buffer`; as soon as there is a whole line. If a line is longer than [`LONG`] what
    /// `long_buffer` gives is taken instead.
    pub(crate) fn next(
        &mut self,
        mut buffer: Buffer,
        mut long_buffer: Option<impl FnOnce() -> Buffer>,
    ) -> io::Result<Option<Block>> {
        if self.has_ended {
            return Ok(None);
        }
        buffer.clear();
        buffer.extend_from_slice(&self.tail);
        self.tail.clear();
        let (start, mut searched) = (self.offset, 0);
        loop {
            if let Some(end) = memrchr(b'\n', &buffer[searched..]) {
                let end = searched + end + 1;
                self.tail.extend_from_slice(&buffer[end..]);
                buffer.truncate(end);
                break;
            }
            if buffer.len() >= self.limit {
                return self.skip_line(buffer).map(Some);
            }
            searched = buffer.len();
            if searched > LONG
                && let Some(long_buffer) = long_buffer.take()
            {
                let mut long = long_buffer();
                long.clear();
                long.extend_from_slice(&buffer);
                buffer = long;
            }
            if self.read(&mut buffer)? == 0 {
                if buffer.is_empty() {
                    return Ok(None);
                }
                break;
            }
        }
        self.offset += buffer.len() as u64;
        Ok(Some(Block::new(Text::Lines(buffer), start)))
    }

    fn skip_line(&mut self, mut buffer: Buffer) -> io::Result<Block> {
        let start = self.offset + mark(&buffer, self.offset == 0) as u64;
        loop {
            if let Some(end) = memchr(b'\n', &buffer) {
                self.offset += end as u64 + 1;
                self.tail.extend_from_slice(&buffer[end + 1..]);
                break;
            }
            self.offset += buffer.len() as u64;
            buffer.clear();
            if self.read(&mut buffer)? == 0 {
                break;
            }
        }
        Ok(Block::new(Text::TooLong, start))
    }

    fn read(&mut self, buffer: &mut Buffer) -> io::Result<usize> {
        // A long line is read in ever longer pieces, up to the limit.
        let room = READ.max(buffer.len().min(self.limit.saturating_sub(buffer.len())));
        // Also if this fails or panics.
        self.has_ended = true;
        let read = buffer.read_from(&mut self.source, room)?;
        self.has_ended = read == 0;
        Ok(read)
    }
}
