//! How what is wrong with lines is written.

use std::fmt::Display;
use std::io::{self, Write as _};

use indicatif::ProgressBar;
use serde::Serialize;
use tokenline::conversations::{InvalidLine, LineError};

use super::{Outcome, sarif};
use crate::args::FindingsFormat;
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::say::printable;

/// Errors, on their way to standard output.
pub(crate) struct Findings {
    format: FindingsFormat,
    /// How many more are to be written.
    left: usize,
    bar: ProgressBar,
    /// Whether nobody reads them any more.
    is_closed: bool,
}

/// Lines that are not valid, on their way to a file.
pub(crate) struct Rejects {
    file: OutputFile,
    with_content: bool,
}

impl Findings {
    pub(super) fn new(format: FindingsFormat, most: usize, bar: ProgressBar) -> Self {
        Self { format, left: most, bar, is_closed: false }
    }

    /// Writes an error, if that is done as they are found.
    pub(super) fn tell(&mut self, error: &LineError) -> io::Result<()> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(()) };
        self.left = left;
        match self.format {
            FindingsFormat::Text => self.line(printable(&error.to_string(), &[])),
            FindingsFormat::Jsonl => self.line(serde_json::to_string(error)?),
            FindingsFormat::Github => self.line(annotation(error)),
            FindingsFormat::Json | FindingsFormat::Sarif => Ok(()),
        }
    }

    /// Writes what is written at the end.
    pub(super) fn finish(&mut self, outcome: &Outcome<'_>, report: &impl Serialize) -> Result<(), Failure> {
        let written = match self.format {
            FindingsFormat::Json => self.line(
                serde_json::to_string_pretty(report).map_err(io::Error::from).map_err(Failure::output)?,
            ),
            FindingsFormat::Sarif => self.line(
                serde_json::to_string_pretty(&sarif::log(outcome))
                    .map_err(io::Error::from)
                    .map_err(Failure::output)?,
            ),
            // What is about all of the input is known now.
            _ => outcome
                .errors
                .iter()
                .filter(|error| error.line_number == 0)
                .try_for_each(|error| self.tell(error)),
        };
        written.map_err(Failure::output)
    }

    fn line(&mut self, line: impl Display) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let written = self.bar.suspend(|| writeln!(io::stdout().lock(), "{line}"));
        match written {
            // The report is written all the same.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            written => written,
        }
    }
}

impl Rejects {
    pub(super) fn new(file: OutputFile, with_content: bool) -> Self {
        Self { file, with_content }
    }

    pub(super) fn add(&mut self, invalid: InvalidLine<'_>) -> io::Result<()> {
        match self.with_content {
            true => self.file.write_all(invalid.line)?,
            false => serde_json::to_writer(&mut self.file, invalid.error)?,
        }
        self.file.write_all(b"\n")
    }

    pub(super) fn complete(self) -> Result<(), Failure> {
        self.file.complete()
    }
}

/// A workflow command, as GitHub reads it.
fn annotation(error: &LineError) -> String {
    let message = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| message(text).replace(':', "%3A").replace(',', "%2C");
    let file = property(&error.input_path);
    let line = match error.line_number {
        0 => String::new(),
        line => format!(",line={line},col={}", error.column),
    };
    let place =
        if error.instance_path.is_empty() { String::new() } else { format!(" (at {})", error.instance_path) };
    format!(
        "::error file={file}{line},title={}::{}",
        error.code,
        message(&format!("{}{place}", error.message))
    )
}
