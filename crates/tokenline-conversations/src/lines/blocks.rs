//! Splits a source into blocks of complete lines.

use std::io::{self, Read};

use memchr::{memchr, memrchr};
use tokenline_core::Limits;

use super::buffer::Buffer;
use super::check::{bom_len, longest_line};

/// Bytes per read.
const READ: usize = 128 * 1024;
/// Longer blocks are rare, and need memory that not every thread should keep.
pub(super) const LONG: usize = 1024 * 1024;

/// Complete lines of a source.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) text: Text,
    /// The offset of the first byte in the source; for a line above the limit, after the byte order mark.
    pub(crate) start: u64,
    /// The length of the part already checked.
    pub(super) checked: usize,
    /// Up to here, no line is above the limit.
    pub(super) within: usize,
}

impl Block {
    pub(super) fn new(text: Text, start: u64) -> Self {
        Self { text, start, checked: 0, within: 0 }
    }

    /// Whether the block is completely checked.
    pub(super) fn is_done(&self) -> bool {
        self.checked >= self.text().len().max(1)
    }

    /// The lines; empty for a line above the limit.
    pub(super) fn text(&self) -> &[u8] {
        match &self.text {
            Text::Lines(text) => text,
            Text::TooLong => &[],
        }
    }

    /// Returns its memory, to be reused.
    pub(super) fn into_buffer(self) -> Buffer {
        match self.text {
            Text::Lines(text) => text,
            Text::TooLong => Buffer::default(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Text {
    /// The lines with their line feeds, which the last line of a source may lack.
    Lines(Buffer),
    /// A line above the limit.
    TooLong,
}

/// Splits a source into blocks.
#[derive(Debug)]
pub(crate) struct Blocks<R> {
    source: R,
    /// The bytes after the last line feed read.
    tail: Vec<u8>,
    /// The offset of the tail.
    offset: u64,
    limit: usize,
    /// The source ended, failed or panicked.
    has_ended: bool,
}

/// The size of the longest line, including a byte order mark and a line end. No more is kept of longer lines.
pub(super) fn longest(limits: Limits) -> usize {
    longest_line(limits).saturating_add("\u{feff}\r\n".len())
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(source: R, limits: Limits) -> Self {
        Self { source, tail: Vec::new(), offset: 0, limit: longest(limits), has_ended: false }
    }

    /// The next block, as soon as there is a complete line, in the memory of `buffer`; for a line longer than [`LONG`],
    /// in that of `long_buffer`.
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
        let start = self.offset + bom_len(&buffer, self.offset == 0) as u64;
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
        // Reads double in size up to the limit for long lines.
        let room = READ.max(buffer.len().min(self.limit.saturating_sub(buffer.len())));
        // Stays set if the read fails or panics.
        self.has_ended = true;
        let read = buffer.read_from(&mut self.source, room)?;
        self.has_ended = read == 0;
        Ok(read)
    }
}
