//! Reads an input on a thread of its own.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A source that another thread reads, a few chunks ahead: reading may take forever, or as long as what is done with the data.
/// Dropping it ends the thread at its next chunk.
pub(crate) struct ReadAhead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// The rest of the current chunk.
    rest: Cursor<Vec<u8>>,
}

const CHUNK: usize = 64 * 1024;
/// Chunks that wait.
const AHEAD: usize = 4;

impl ReadAhead {
    /// Opens the source on a new thread, and reads it there.
    pub(crate) fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> Self {
        let (sender, chunks) = mpsc::sync_channel(AHEAD);
        thread::spawn(move || {
            let mut source = match open() {
                Ok(source) => source,
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = match source.read(&mut chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let is_end = !matches!(read, Ok(1..));
                let chunk = read.map(|read| {
                    chunk.truncate(read);
                    chunk
                });
                if sender.send(chunk).is_err() || is_end {
                    break;
                }
            }
        });
        Self { chunks, rest: Cursor::default() }
    }

    /// As [`read`](Read::read), but waits no longer than this: `None` if there is no data yet.
    pub(crate) fn read_within(&mut self, wait: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.read_next(buffer, |chunks| chunks.recv_timeout(wait))
    }

    fn read_next(
        &mut self,
        buffer: &mut [u8],
        receive: impl Fn(&Receiver<io::Result<Vec<u8>>>) -> Result<io::Result<Vec<u8>>, RecvTimeoutError>,
    ) -> io::Result<Option<usize>> {
        loop {
            let read = self.rest.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(Some(read));
            }
            match receive(&self.chunks) {
                Ok(Ok(chunk)) if chunk.is_empty() => return Ok(Some(0)),
                Ok(chunk) => self.rest = Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(0)),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
            }
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_next(buffer, |chunks| chunks.recv().map_err(RecvTimeoutError::from))?;
        Ok(read.unwrap_or_default())
    }
}
