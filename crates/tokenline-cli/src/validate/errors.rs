//! Writes the errors of invalid lines.

use std::fmt::Display;
use std::io::{self, Write as _};

use clap::ValueEnum;
use indicatif::ProgressBar;
use serde::Serialize;
use tokenline::conversations::{InvalidLine, LineError};

use super::{Summary, sarif};
use crate::failure::Failure;
use crate::log::printable;
use crate::output::stdout;
use crate::output_file::OutputFile;

/// The format of the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ErrorFormat {
    /// One line of text per error, immediately.
    #[default]
    Text,
    /// The report as JSON, at the end.
    Json,
    /// One JSON object per error, immediately.
    Jsonl,
    /// A SARIF 2.1.0 log, at the end.
    Sarif,
    /// GitHub workflow annotations, immediately.
    Github,
}

/// Writes errors to standard output.
pub(crate) struct ErrorWriter {
    format: ErrorFormat,
    /// The number of errors that may still be written.
    remaining: usize,
    bar: ProgressBar,
    /// Why writing failed. The report is still written.
    failure: Option<io::Error>,
}

/// The file that `--reject-file` names.
pub(crate) struct RejectFile {
    file: OutputFile,
    with_content: bool,
    /// Why writing failed.
    failure: Option<io::Error>,
}

impl ErrorWriter {
    pub(super) fn new(format: ErrorFormat, max_errors: usize, bar: ProgressBar) -> Self {
        Self { format, remaining: max_errors, bar, failure: None }
    }

    /// Writes an error, if the format writes errors immediately.
    pub(super) fn write(&mut self, error: &LineError) -> io::Result<()> {
        let Some(remaining) = self.remaining.checked_sub(1) else { return Ok(()) };
        self.remaining = remaining;
        match self.format {
            ErrorFormat::Text => self.line(printable(&error.to_string(), &[])),
            ErrorFormat::Jsonl => self.line(serde_json::to_string(error)?),
            ErrorFormat::Github => self.line(annotation(error)),
            ErrorFormat::Json | ErrorFormat::Sarif => {}
        }
        Ok(())
    }

    /// Writes everything that needs the whole input, and fails if any write failed.
    pub(super) fn finish(&mut self, summary: &Summary<'_>, report: &impl Serialize) -> Result<(), Failure> {
        let written = match self.format {
            ErrorFormat::Json => serde_json::to_string_pretty(report).map(|report| self.line(report)),
            ErrorFormat::Sarif => {
                serde_json::to_string_pretty(&sarif::log(summary)).map(|log| self.line(log))
            }
            // Errors without a line are known only now.
            _ => summary
                .errors
                .iter()
                .filter(|error| error.line_number == 0)
                .try_for_each(|error| self.write(error))
                .map_err(serde_json::Error::io),
        };
        written.map_err(io::Error::from).map_err(Failure::output)?;
        if self.failure.is_none() {
            // Without errors, this is all that notices a missing output.
            self.failure = stdout().flush().err();
        }
        match self.failure.take() {
            // A closed output is not an error.
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::output(error)),
            _ => Ok(()),
        }
    }

    fn line(&mut self, line: impl Display) {
        if self.failure.is_none() {
            self.failure = self.bar.suspend(|| writeln!(stdout(), "{line}")).err();
        }
    }
}

impl RejectFile {
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

/// A GitHub workflow command.
fn annotation(error: &LineError) -> String {
    let message = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| message(text).replace(':', "%3A").replace(',', "%2C");
    let file = property(&error.input_path);
    let line = match error.line_number {
        0 => String::new(),
        line => format!(",line={line},col={}", error.column),
    };
    let pointer =
        if error.instance_path.is_empty() { String::new() } else { format!(" (at {})", error.instance_path) };
    format!(
        "::error file={file}{line},title={}::{}",
        error.code,
        message(&format!("{}{pointer}", error.message))
    )
}
