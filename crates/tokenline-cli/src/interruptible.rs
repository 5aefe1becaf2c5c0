//! Inputs that Ctrl-C ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;

use crate::compression::decompressed;
use crate::encoding::Checked;
use crate::failure::Failure;
use crate::input::{self, POLL_INTERVAL, open_file};
use crate::read_ahead::ReadAhead;

/// Fails once Ctrl-C was pressed, also while it waits for data.
pub(crate) struct Interruptible {
    source: Box<dyn Read + Send>,
    is_interrupted: Arc<AtomicBool>,
}

impl Interruptible {
    /// Opens a file or standard input, and decompresses it. The bar counts the bytes read; Ctrl-C sets the flag.
    pub(crate) fn open(
        path: &Path,
        bar: &ProgressBar,
        is_interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let source: Box<dyn Read + Send> = if path.as_os_str() == "-" {
            Box::new(Waiting::new(|| Ok(io::stdin()), Arc::clone(is_interrupted)))
        } else if is_pipe(path) {
            // Until there is a writer, it cannot be opened.
            let path = path.to_owned();
            Box::new(Waiting::new(move || File::open(path), Arc::clone(is_interrupted)))
        } else {
            let file = open_file(path)?;
            match file.metadata() {
                Ok(metadata) if metadata.is_file() => Box::new(file),
                _ => Box::new(Waiting::new(|| Ok(file), Arc::clone(is_interrupted))),
            }
        };
        let source = Checked::new(decompressed(bar.wrap_read(source)), input::name(path), bar);
        Ok(Self { source: Box::new(source), is_interrupted: Arc::clone(is_interrupted) })
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_interrupted.load(Ordering::Acquire) {
            return Err(interrupted());
        }
        self.source.read(buffer)
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

fn interrupted() -> io::Error {
    io::Error::other("interrupted")
}

/// Reads a pipe or a terminal on another thread, because a read may take forever.
struct Waiting {
    source: ReadAhead,
    is_interrupted: Arc<AtomicBool>,
}

impl Waiting {
    fn new<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        is_interrupted: Arc<AtomicBool>,
    ) -> Self {
        Self { source: ReadAhead::new(open), is_interrupted }
    }
}

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(read) = self.source.read_within(POLL_INTERVAL, buffer)? {
                return Ok(read);
            }
            if self.is_interrupted.load(Ordering::Acquire) {
                return Err(interrupted());
            }
        }
    }
}
