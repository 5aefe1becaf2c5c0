//! Reusable memory for blocks.

use std::io::{self, Read};
use std::ops::Deref;

/// Bytes read from a source. Memory is initialised once, and reused for later blocks.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// Initialised memory, at least as long as `filled`. The bytes after that belong to earlier blocks, and are never
    /// exposed.
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffer {
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.filled = self.filled.min(len);
    }

    pub(super) fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        match self.bytes.get_mut(self.filled..end) {
            Some(room) => room.copy_from_slice(bytes),
            None => {
                self.bytes.truncate(self.filled);
                self.bytes.extend_from_slice(bytes);
            }
        }
        self.filled = end;
    }

    /// Reads once, at most `room` bytes.
    pub(super) fn read_from(&mut self, source: &mut impl Read, room: usize) -> io::Result<usize> {
        let end = self.filled + room;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let read = loop {
            match source.read(&mut self.bytes[self.filled..end]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if read > room {
            // The excess would be bytes of an earlier block.
            return Err(io::Error::other("the source reported more bytes than requested"));
        }
        self.filled += read;
        Ok(read)
    }
}

/// The filled part.
impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}
