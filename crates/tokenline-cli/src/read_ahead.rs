//! Reads an input on a thread of its own.

use std::io::{self, Cursor, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A source that another thread reads, a few chunks ahead. Dropping it ends the thread at its next chunk.
pub(crate) struct ReadAhead {
    /// An empty chunk is the end of the source, and so is an error.
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// The rest of the current chunk.
    rest: Cursor<Vec<u8>>,
    has_ended: bool,
}

const CHUNK_BYTES: usize = 64 * 1024;
/// The most chunks that wait.
const MAX_CHUNKS_AHEAD: usize = 4;

impl ReadAhead {
    /// Opens the source on a new thread, and reads it there.
    pub(crate) fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> Self {
        let (sender, chunks) = mpsc::sync_channel(MAX_CHUNKS_AHEAD);
        thread::spawn(move || {
            let mut source = match open() {
                Ok(source) => source,
                Err(error) => {
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
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
        Self { chunks, rest: Cursor::default(), has_ended: false }
    }

    /// As [`read`](Read::read), but waits no longer than this: `None` if there is no data yet.
    pub(crate) fn read_within(&mut self, wait: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.read_next(buffer, |chunks| chunks.recv_timeout(wait))
    }

    fn read_next(
        &mut self,
        buffer: &mut [u8],
        receive: impl FnOnce(&Receiver<io::Result<Vec<u8>>>) -> Result<io::Result<Vec<u8>>, RecvTimeoutError>,
    ) -> io::Result<Option<usize>> {
        let read = self.rest.read(buffer)?;
        if read > 0 || buffer.is_empty() || self.has_ended {
            return Ok(Some(read));
        }
        let received = match receive(&self.chunks) {
            Ok(received) => received,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            // It panicked: this is no end of the input.
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("the thread that reads the input has failed"))
            }
        };
        self.has_ended = !matches!(&received, Ok(chunk) if !chunk.is_empty());
        self.rest = Cursor::new(received?);
        self.rest.read(buffer).map(Some)
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_next(buffer, |chunks| chunks.recv().map_err(RecvTimeoutError::from))?;
        Ok(read.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `left` chunks, and then ends as told.
    struct Source {
        left: usize,
        end: fn() -> io::Result<usize>,
    }

    impl Read for Source {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 {
                return (self.end)();
            }
            self.left -= 1;
            buffer.fill(b'x');
            Ok(buffer.len())
        }
    }

    fn read(end: fn() -> io::Result<usize>) -> (usize, io::Result<usize>, ReadAhead) {
        let mut source = ReadAhead::new(move || Ok(Source { left: 10, end }));
        let mut read = Vec::new();
        let result = source.read_to_end(&mut read);
        (read.len(), result, source)
    }

    #[test]
    fn a_source_ends_as_it_does_on_one_thread() {
        let all = 10 * CHUNK_BYTES;
        let (len, result, mut source) = read(|| Ok(0));
        assert_eq!((len, result.expect("an end")), (all, all));
        assert_eq!(source.read(&mut [0]).expect("still the end"), 0);

        let (len, result, mut source) = read(|| Err(io::Error::other("broken")));
        assert_eq!((len, result.expect_err("an error").to_string()), (all, "broken".to_owned()));
        assert_eq!(source.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn a_panic_is_an_error() {
        let (len, result, _) = read(|| panic!("expected by this test"));
        let message = result.expect_err("an error").to_string();
        assert_eq!((len, &*message), (10 * CHUNK_BYTES, "the thread that reads the input has failed"));
    }

    #[test]
    fn dropping_it_ends_the_thread() {
        let (sender, dropped) = mpsc::channel::<()>();
        struct Endless(#[expect(dead_code, reason = "its drop is awaited")] mpsc::Sender<()>);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                Ok(buffer.len())
            }
        }
        let mut source = ReadAhead::new(move || Ok(Endless(sender)));
        assert_eq!(source.read(&mut [0; 7]).expect("data"), 7);
        drop(source);
        let ended = dropped.recv_timeout(Duration::from_secs(20));
        assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
    }
}
