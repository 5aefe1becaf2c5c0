//! Writes the errors of invalid lines.

use std::fmt::Display;
use std::io::{self, Write as _};

use console::{Style, Term};
use indicatif::ProgressBar;
use tokenline::conversations::{InvalidLine, LineError};

use super::args::ReportingArgs;
use super::format::{Format, Writes};
use super::summary::Summary;
use crate::excerpt::Excerpt;
use crate::failure::Failure;
use crate::output::stdout;
use crate::output_file::OutputFile;

/// Writes errors to standard output.
pub(crate) struct ErrorWriter {
    format: &'static Format,
    /// The number of errors that may still be written.
    remaining: usize,
    /// The columns of the errors so far, in characters, for reports at the end; of an error without its line, none.
    columns: Vec<Option<u64>>,
    /// The terminal, if it shows the place of each error.
    term: Option<Term>,
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
    pub(super) fn new(args: &ReportingArgs, bar: ProgressBar) -> Self {
        let term = args.show_values.then(Term::stdout);
        Self {
            format: args.format,
            remaining: args.max_errors,
            columns: Vec::new(),
            term,
            bar,
            failure: None,
        }
    }

    /// Writes the error of a line, if the format writes errors immediately.
    pub(super) fn write(&mut self, error: &LineError, line: &[u8]) -> io::Result<()> {
        let Some(remaining) = self.remaining.checked_sub(1) else { return Ok(()) };
        self.remaining = remaining;
        let before = error.column.saturating_sub(1) as usize;
        if let Writes::AllAtEnd(_) = self.format.writes {
            let before = line.get(..before).filter(|_| !line.is_empty());
            self.columns
                .push(before.map(|before| String::from_utf8_lossy(before).chars().count() as u64 + 1));
        }
        if let Writes::EachError(written) = self.format.writes {
            let mut text = written(error)?;
            if let Some(term) = self.term.as_ref().filter(|_| !line.is_empty()) {
                // Standard output has no colors: on a terminal it escapes control characters.
                text += &format!("\n{}", Excerpt::new(line, before, term).styled(&Style::new()));
            }
            self.line(text);
        }
        Ok(())
    }

    /// Writes everything that needs the whole input, and fails if any write failed.
    pub(super) fn finish(&mut self, summary: &Summary<'_>) -> Result<(), Failure> {
        let written = match self.format.writes {
            Writes::AllAtEnd(report) => report(summary, &self.columns).map(|report| self.line(report)),
            // Errors without a line are known only now.
            Writes::EachError(_) => summary
                .errors
                .iter()
                .filter(|error| error.line_number == 0)
                .try_for_each(|error| self.write(error, b""))
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
        if self.with_content {
            self.file.write_all(invalid.record)?;
            self.file.write_all(b"\n")?;
        } else {
            for error in [invalid.error].into_iter().chain(invalid.further) {
                serde_json::to_writer(&mut self.file, error)?;
                self.file.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    pub(super) fn complete(self) -> Result<(), Failure> {
        match self.failure {
            Some(error) => Err(self.file.failed(&error)),
            None => self.file.complete(),
        }
    }
}
