//! A source, cut into blocks of whole lines.

use std::io::{self, Read};

use memchr::{memchr, memrchr};

/// How much is read at once.
const READ: usize = 128 * 1024;

/// Some whole lines of a source.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) text: Text,
    /// Offset in the source of the first byte.
    pub(crate) start: u64,
}

#[derive(Debug)]
pub(crate) enum Text {
    /// The lines, each but the last one of a source with its line feed.
    Lines(Vec<u8>),
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
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        Self { source, tail: Vec::new(), offset: 0, limit }
    }

    /// The next block, made of `buffer`; as soon as there is a whole line.
    pub(crate) fn next(&mut self, mut buffer: Vec<u8>) -> io::Result<Option<Block>> {
        buffer.clear();
        buffer.append(&mut self.tail);
        let (start, mut searched) = (self.offset, 0);
        loop {
            if let Some(end) = memrchr(b'\n', &buffer[searched..]) {
                let end = searched + end + 1;
                self.tail.extend_from_slice(&buffer[end..]);
                buffer.truncate(end);
                break;
            }
            // As many bytes as the longest line has with its line end.
            if buffer.len() >= self.limit.saturating_add(2) {
                return self.skip_line(buffer).map(Some);
            }
            searched = buffer.len();
            if self.read(&mut buffer)? == 0 {
                if buffer.is_empty() {
                    return Ok(None);
                }
                break;
            }
        }
        self.offset += buffer.len() as u64;
        Ok(Some(Block { text: Text::Lines(buffer), start }))
    }

    fn skip_line(&mut self, mut buffer: Vec<u8>) -> io::Result<Block> {
        let start = self.offset;
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
        Ok(Block { text: Text::TooLong, start })
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let filled = buffer.len();
        // A long line is read in ever longer pieces.
        buffer.resize(filled + READ.max(filled), 0);
        let read = loop {
            match self.source.read(&mut buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        buffer.truncate(filled + read.as_ref().map_or(0, |read| *read));
        read
    }
}
