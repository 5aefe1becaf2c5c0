//! How the errors of lines are written.

use std::fmt::Display;
use std::io::{self, Write as _};

use indicatif::ProgressBar;
use serde::Serialize;
use tokenline::conversations::{InvalidLine, LineError};

use super::{Outcome, sarif};
use crate::args::FindingsFormat;
use crate::failure::Failure;
use crate::log::printable;
use crate::output_file::OutputFile;

/// Errors, on their way to standard output.
pub(crate) struct Findings {
    format: FindingsFormat,
    /// How many more are to be written.
    left: usize,
    bar: ProgressBar,
    /// Why no more can be written. The report is, all the same.
    failure: Option<io::Error>,
}

/// Lines that are not valid, on their way to a file.
pub(crate) struct Rejects {
    file: OutputFile,
    with_content: bool,
    /// Why no more can be written.
    failure: Option<io::Error>,
}

impl Findings {
    pub(super) fn new(format: FindingsFormat, most: usize, bar: ProgressBar) -> Self {
        Self { format, left: most, bar, failure: None }
    }

    /// Writes an error, in a format that does so at once.
    pub(super) fn write(&mut self, error: &LineError) -> io::Result<()> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(()) };
        self.left = left;
        match self.format {
            FindingsFormat::Text => self.line(printable(&error.to_string(), &[])),
            FindingsFormat::Jsonl => self.line(serde_json::to_string(error)?),
            FindingsFormat::Github => self.line(annotation(error)),
            FindingsFormat::Json | FindingsFormat::Sarif => {}
        }
        Ok(())
    }

    /// Writes what is left, and fails if anything could not be written.
    pub(super) fn finish(&mut self, outcome: &Outcome<'_>, report: &impl Serialize) -> Result<(), Failure> {
        let written = match self.format {
            FindingsFormat::Json => serde_json::to_string_pretty(report).map(|report| self.line(report)),
            FindingsFormat::Sarif => {
                serde_json::to_string_pretty(&sarif::log(outcome)).map(|log| self.line(log))
            }
            // Errors of the whole input are known now.
            _ => outcome
                .errors
                .iter()
                .filter(|error| error.line_number == 0)
                .try_for_each(|error| self.write(error))
                .map_err(serde_json::Error::io),
        };
        written.map_err(io::Error::from).map_err(Failure::output)?;
        match self.failure.take() {
            // A reader that closes the output has seen enough.
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(error)),
            _ => Ok(()),
        }
    }

    fn line(&mut self, line: impl Display) {
        if self.failure.is_none() {
            self.failure = self.bar.suspend(|| writeln!(io::stdout().lock(), "{line}")).err();
        }
    }
}

impl Rejects {
    pub(super) fn new(file: OutputFile, with_content: bool) -> Self {
        Self { file, with_content, failure: None }
    }

    pub(super) fn add(&mut self, invalid: InvalidLine<'_>) {
        if self.failure.is_none() {
            self.failure = self.write(invalid).err();
        }
    }

    fn write(&mut self, invalid: InvalidLine<'_>) -> io::Result<()> {
        match self.with_content {
            true => self.file.write_all(invalid.line)?,
            false => serde_json::to_writer(&mut self.file, invalid.error)?,
        }
        self.file.write_all(b"\n")
    }

    pub(super) fn complete(self) -> Result<(), Failure> {
        match self.failure {
            Some(error) => Err(self.file.failed(&error)),
            None => self.file.complete(),
        }
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
