//! Standard output.

use std::io::{self, IsTerminal as _, Write};
use std::str::Utf8Chunk;

use crate::failure::{Failure, Verdict};
use crate::log::printable;
use crate::startup;

/// Standard output. On a terminal, control characters are escaped: what a model writes could rewrite what is shown. Files
/// and pipes get the bytes. It fails if the program was started without it.
pub(crate) struct Stdout(Output<io::Stdout>);

/// Standard output, for data and text.
pub(crate) fn stdout() -> Stdout {
    let stdout = io::stdout();
    Stdout(if stdout.is_terminal() {
        Output::Terminal(Escaped { out: stdout, incomplete: Vec::new() })
    } else {
        Output::Bytes(stdout)
    })
}

enum Output<W> {
    Terminal(Escaped<W>),
    Bytes(W),
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_open()?;
        match &mut self.0 {
            Output::Terminal(out) => out.write(bytes),
            Output::Bytes(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        check_open()?;
        match &mut self.0 {
            Output::Terminal(out) => out.flush(),
            Output::Bytes(out) => out.flush(),
        }
    }
}

/// Prints a text.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<Verdict, Failure> {
    let mut out = stdout();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(Verdict::Success)
}

/// Fails if the program was started without standard output.
pub(crate) fn check_open() -> io::Result<()> {
    if startup::has_stdout() { Ok(()) } else { Err(io::Error::other("it is closed")) }
}

/// Escapes the control characters of a text, but for line feeds and tabs.
struct Escaped<W> {
    out: W,
    /// The start of a character of which the rest is to come.
    incomplete: Vec<u8>,
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = [&*std::mem::take(&mut self.incomplete), bytes].concat();
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.out.write_all(printable(chunk.valid(), &['\n', '\t']).as_bytes())?;
            if chunks.peek().is_none() && is_incomplete(&chunk) {
                self.incomplete = chunk.invalid().to_owned();
            } else {
                chunk.invalid().iter().try_for_each(|byte| write!(self.out, "\\x{byte:02x}"))?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn is_incomplete(chunk: &Utf8Chunk<'_>) -> bool {
    std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_however_the_text_is_cut() {
        let text = "a\tb\n\u{1b}[2J\u{7f}\u{9b}31m\r\u{202e}é\u{0}😀\n".as_bytes();
        let text = [text, b"\xff\xe4\xb8|"].concat();
        let expected = "a\tb\n\\u001b[2J\\u007f\\u009b31m\\r\\u202eé\\u0000😀\n\\xff\\xe4\\xb8|";
        for cut in 0..=text.len() {
            let mut escaped = Escaped { out: Vec::new(), incomplete: Vec::new() };
            for part in [&text[..cut], &text[cut..]] {
                escaped.write_all(part).expect("a buffer");
            }
            assert_eq!(String::from_utf8(escaped.out).expect("UTF-8"), expected, "cut at {cut}");
        }
    }
}
