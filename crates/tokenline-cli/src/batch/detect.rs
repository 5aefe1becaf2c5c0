//! Detects the format of a batch result file.

use std::io::{self, Read};

use memchr::memchr;
use tokenline::llm::batch::BatchFormat;

use crate::load;

/// The start of a file, and what it shows.
pub(super) struct Start {
    /// The format of the first line that is a batch result.
    pub(super) format: Option<BatchFormat>,
    /// Whether the file is empty or blank.
    pub(super) is_blank: bool,
    /// Why reading failed.
    pub(super) failure: Option<io::Error>,
    bytes: Vec<u8>,
}

/// How much is searched, without blank lines and the line that is open then.
const MAX_BYTES: usize = 1024 * 1024;
/// How many lines are searched.
pub(super) const MAX_LINES: usize = 100;

impl Start {
    /// Reads lines until one is a batch result.
    pub(super) fn read(source: &mut impl Read) -> Self {
        let mut start = Self { format: None, is_blank: false, failure: None, bytes: Vec::new() };
        let (mut chunk, mut line_start, mut searched) = (vec![0; 64 * 1024], 0, 0);
        let (mut tried, mut lines) = (0, 0);
        let mut is_end = false;
        while !is_end && tried < MAX_BYTES && lines < MAX_LINES && searched <= 2 * load::MAX_RESPONSE as usize
        {
            match source.read(&mut chunk) {
                Ok(0) => is_end = true,
                Ok(read) => start.bytes.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What was read is parsed before the failure is reported.
                Err(error) => (start.failure, is_end) = (Some(error), true),
            }
            while let Some(end) = line_end(&start.bytes, searched, is_end).filter(|end| line_start < *end)
                && lines < MAX_LINES
            {
                let line = &start.bytes[line_start..end];
                start.format = std::str::from_utf8(line).ok().and_then(BatchFormat::detect);
                if start.format.is_some() {
                    return start;
                }
                let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
                if !line.trim_ascii().is_empty() {
                    (tried, lines) = (tried + line.len(), lines + 1);
                }
                (line_start, searched) = (end, end);
            }
            searched = start.bytes.len();
        }
        start.is_blank = is_end && tried == 0;
        start
    }

    /// The complete file.
    pub(super) fn chain(self, source: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        let failure = Failing(self.failure);
        Box::new(io::Cursor::new(self.bytes).chain(failure).chain(source))
    }
}

/// The end of the line that is open; the last one may lack its line feed.
fn line_end(bytes: &[u8], searched: usize, is_end: bool) -> Option<usize> {
    let feed = memchr(b'\n', &bytes[searched..]).map(|at| searched + at + 1);
    feed.or(is_end.then_some(bytes.len()))
}

/// Fails once if there is an error.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
