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

impl Start {
    /// Reads lines until one is a batch result.
    pub(super) fn read(source: &mut impl Read) -> Self {
        let mut start = Self { format: None, is_blank: true, failure: None, bytes: Vec::new() };
        let (mut chunk, mut line_start, mut searched) = (vec![0; 64 * 1024], 0, 0);
        let (mut tried, mut is_end) = (0, false);
        while !is_end {
            match source.read(&mut chunk) {
                Ok(read) => {
                    start.bytes.extend_from_slice(&chunk[..read]);
                    is_end = read == 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // What was read is parsed before the failure is reported.
                Err(error) => {
                    start.failure = Some(error);
                    is_end = true;
                }
            }
            loop {
                let feed = memchr(b'\n', &start.bytes[searched..]).map(|at| searched + at + 1);
                let Some(end) = feed.or(is_end.then_some(start.bytes.len())).filter(|end| line_start < *end)
                else {
                    break;
                };
                let line = std::str::from_utf8(&start.bytes[line_start..end]).ok();
                if line.is_none_or(|line| !line.trim_matches(is_blank).is_empty()) {
                    start.is_blank = false;
                    tried += end - line_start;
                }
                start.format = line.and_then(BatchFormat::detect);
                if start.format.is_some() {
                    return start;
                }
                (line_start, searched) = (end, end);
            }
            searched = start.bytes.len();
            if tried >= MAX_BYTES || searched > 2 * load::MAX_RESPONSE as usize {
                start.is_blank = false;
                break;
            }
        }
        start
    }

    /// The complete file.
    pub(super) fn chain(self, source: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        let failure = Failing(self.failure);
        Box::new(io::Cursor::new(self.bytes).chain(failure).chain(source))
    }
}

fn is_blank(char: char) -> bool {
    char.is_ascii_whitespace() || char == '\u{feff}'
}

/// Fails once if there is an error.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
