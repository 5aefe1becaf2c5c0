//! Texts that are not UTF-8.

use std::fmt::Display;
use std::io::{self, Read};

use indicatif::ProgressBar;

use crate::log::log;

/// The message about a text in UTF-16.
const UTF16: &str = "this is UTF-16, not UTF-8: convert it, such as with iconv -f UTF-16 -t UTF-8";

/// The number of bytes that tell UTF-16.
const START: usize = 4;

/// Whether a text that begins like this is UTF-16: it has a byte order mark, or zeros beside ASCII characters.
fn is_utf16(start: &[u8]) -> bool {
    matches!(
        start,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [1..=0x7f, 0, 1..=0x7f, 0, ..] | [0, 1..=0x7f, 0, 1..=0x7f, ..]
    )
}

/// Decodes the content of a file. The message of a failure does not quote it.
pub(crate) fn decoded(name: impl Display, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        if is_utf16(error.as_bytes()) {
            format!("{name}: {UTF16}")
        } else {
            format!("{name}: not UTF-8: invalid byte at offset {}", error.utf8_error().valid_up_to())
        }
    })
}

/// A source that logs a message if it begins like UTF-16.
pub(crate) struct Checked<R> {
    source: R,
    name: String,
    /// Drawn below the message.
    bar: ProgressBar,
    /// The first bytes, until they are checked.
    start: Option<Vec<u8>>,
}

impl<R: Read> Checked<R> {
    pub(crate) fn new(source: R, name: String, bar: &ProgressBar) -> Self {
        Self { source, name, bar: bar.clone(), start: Some(Vec::new()) }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        if let Some(start) = &mut self.start {
            start.extend(buffer[..read].iter().take(START - start.len()));
            // A shorter input is judged by what there is.
            if start.len() == START || read == 0 {
                if is_utf16(start) {
                    self.bar.suspend(|| log(format_args!("{}: {UTF16}", self.name)));
                }
                self.start = None;
            }
        }
        Ok(read)
    }
}
