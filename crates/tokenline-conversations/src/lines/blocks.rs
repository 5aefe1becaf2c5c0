//! Splits a source into blocks of complete lines.

use std::io::{self, Read};
use std::mem;

use memchr::{memchr, memchr_iter, memrchr};
use tokenline_core::Limits;

use super::buffer::Buffer;
use super::decode::{bom_len, longest_line};

/// Bytes per read.
const READ: usize = 128 * 1024;
/// Longer blocks are rare, and need memory that not every thread should keep.
pub(super) const LONG: usize = 1024 * 1024;

/// Complete lines of a source.
#[derive(Debug)]
pub(crate) struct Block {
    pub(super) text: Text,
    pub(super) progress: Progress,
}

#[derive(Debug)]
pub(crate) enum Text {
    /// The lines with their line feeds, which the last line of a source may lack.
    Lines(Buffer),
    /// A line above the limit, of this length without its line feed.
    TooLong(u64),
}

impl Text {
    /// The lines; empty for a line above the limit.
    pub(super) fn lines(&self) -> &[u8] {
        match self {
            Self::Lines(text) => text,
            Self::TooLong(_) => &[],
        }
    }
}

/// How far the lines of a block are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The offset of the first byte in the source; for a line above the limit, after the byte order mark.
    pub(super) start: u64,
    /// The length of the part already read.
    pub(super) at: usize,
    /// The next line, counted from 1 in the source; if its lines are not numbered, in the block.
    pub(super) line: u64,
    /// Up to here, no line is above the limit.
    pub(super) within: usize,
}

impl Progress {
    pub(super) fn new(start: u64, line: u64) -> Self {
        Self { start, at: 0, line, within: 0 }
    }
}

impl Block {
    pub(super) fn new(text: Text, start: u64, line: u64) -> Self {
        Self { text, progress: Progress::new(start, line) }
    }

    /// Whether the block is completely read.
    pub(super) fn is_done(&self) -> bool {
        self.progress.at >= self.text().len().max(1)
    }

    pub(super) fn text(&self) -> &[u8] {
        self.text.lines()
    }

    /// Returns its memory, to be reused.
    pub(super) fn into_buffer(self) -> Buffer {
        match self.text {
            Text::Lines(text) => text,
            Text::TooLong(_) => Buffer::default(),
        }
    }
}

/// Splits a source into blocks.
#[derive(Debug)]
pub(crate) struct Blocks<R> {
    source: R,
    /// The bytes after the last line feed read.
    tail: Vec<u8>,
    /// The offset of the tail.
    offset: u64,
    /// The line of the tail, if lines are numbered.
    line: Option<u64>,
    limit: usize,
    /// The source ended, failed or panicked.
    has_ended: bool,
}

/// The size of the longest line, including a byte order mark and a line end. Longer ones are cut to this size.
pub(super) fn longest(limits: Limits) -> usize {
    longest_line(limits).saturating_add("\u{feff}\r\n".len())
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(source: R, limits: Limits, is_numbered: bool) -> Self {
        let line = is_numbered.then_some(1);
        Self { source, tail: Vec::new(), offset: 0, line, limit: longest(limits), has_ended: false }
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
        let line = self.pass_lines(|| memchr_iter(b'\n', &buffer).count() as u64);
        Ok(Some(Block::new(Text::Lines(buffer), start, line)))
    }

    /// Counts lines, if they are numbered. Returns the number of the first.
    fn pass_lines(&mut self, count: impl FnOnce() -> u64) -> u64 {
        self.line.as_mut().map_or(1, |line| mem::replace(line, *line + count()))
    }

    fn skip_line(&mut self, mut buffer: Buffer) -> io::Result<Block> {
        let start = self.offset + bom_len(&buffer, self.offset == 0) as u64;
        let end = loop {
            if let Some(end) = memchr(b'\n', &buffer) {
                self.offset += end as u64 + 1;
                self.tail.extend_from_slice(&buffer[end + 1..]);
                break self.offset - 1;
            }
            self.offset += buffer.len() as u64;
            buffer.clear();
            if self.read(&mut buffer)? == 0 {
                break self.offset;
            }
        };
        let line = self.pass_lines(|| 1);
        Ok(Block::new(Text::TooLong(end - start), start, line))
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
