//! The input of a command.

use std::io::{self, Read};
use std::path::Path;

use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::interruptible::Interruptible;
use crate::{input, interrupt};

/// A file or standard input, decompressed, in chunks as they arrive.
pub(crate) struct Source {
    reader: Box<dyn Read + Send>,
    name: String,
    buffer: Vec<u8>,
}

impl Source {
    /// Opens a file; `-` is standard input. The bar counts the bytes read.
    pub(crate) fn open(path: &Path, chunk_size: u32, bar: &ProgressBar) -> Result<Self, Failure> {
        let reader = Box::new(Interruptible::open(path, bar, &interrupt::flag())?);
        Ok(Self { reader, name: input::name(path), buffer: vec![0; chunk_size as usize] })
    }

    /// The next chunk, or `None` at the end. Reading a pipe returns the available bytes without waiting for more.
    pub(crate) fn read(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(read) => return Ok(Some(&self.buffer[..read])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::unreadable(Path::new(&self.name), &error)),
            }
        }
    }

    /// The same as a reader, which reads no more than a chunk at once.
    pub(crate) fn into_reader(self) -> impl Read + Send {
        Chunks { reader: self.reader, size: self.buffer.len() }
    }
}

struct Chunks {
    reader: Box<dyn Read + Send>,
    size: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(self.size);
        self.reader.read(&mut buffer[..room])
    }
}
