//! The input of a command.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// A file or standard input, read in pieces as they come.
pub(crate) struct Source {
    reader: Box<dyn Read>,
    name: String,
    buffer: Vec<u8>,
}

impl Source {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path, chunk_size: u32) -> Result<Self, Failure> {
        let buffer = vec![0; chunk_size as usize];
        if path.as_os_str() == "-" {
            return Ok(Self { reader: Box::new(io::stdin().lock()), name: "stdin".to_owned(), buffer });
        }
        let file = File::open(path).map_err(|error| Failure::unreadable(path, &error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Failure::Source(format!("cannot read {}: it is a directory", path.display())));
        }
        Ok(Self { reader: Box::new(file), name: path.display().to_string(), buffer })
    }

    /// What to call it in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next piece, or `None` at the end. A pipe gives what is there, without waiting for more.
    pub(crate) fn read(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(read) => return Ok(Some(&self.buffer[..read])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::io(format_args!("cannot read {}", self.name), &error)),
            }
        }
    }
}
