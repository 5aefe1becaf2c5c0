//! The end of an import.

use super::{Grouping, Importer, PROGRESS_ROWS};
use crate::checkpoint::{Checkpoint, Spool};
use crate::sort::Sorter;
use crate::{ImportError, ImportReport};

impl Importer<'_> {
    /// Stops early: flushes the complete conversations and keeps the checkpoint for another run. Rows that had to be
    /// sorted are not written.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn suspend(mut self) -> Result<ImportReport, ImportError> {
        self.flush()?;
        Ok(self.report())
    }

    /// Ends the input, writes the conversations that are not written yet, and returns the report.
    ///
    /// # Errors
    ///
    /// If the output or a temporary file cannot be written, or the import was interrupted.
    pub fn finish(mut self) -> Result<ImportReport, ImportError> {
        self.end()?;
        Ok(self.report())
    }

    /// The same, with a report in any case. The error is why the import ended early; the report is then of the
    /// conversations that were written so far.
    ///
    /// # Errors
    ///
    /// If what was written so far cannot be flushed.
    pub fn finish_with_report(mut self) -> Result<(ImportReport, Option<ImportError>), ImportError> {
        let ended = self.end();
        self.flush()?;
        Ok((self.report(), ended.err()))
    }

    fn end(&mut self) -> Result<(), ImportError> {
        self.check_skipped()?;
        if matches!(self.grouping, Grouping::NotStarted) {
            self.open_outputs()?;
        }
        match std::mem::replace(&mut self.grouping, Grouping::NotStarted) {
            Grouping::NotStarted => {}
            Grouping::Grouped => {
                self.grouping = Grouping::Grouped;
                self.end_conversation()?;
            }
            Grouping::Sorted(sorter) => self.write_sorted(sorter)?,
            Grouping::Spooled(spool) => {
                self.grouping = Grouping::Spooled(spool);
                self.write_checkpoint(true)?;
                let path = self.checkpoint.as_ref().map(Checkpoint::spool_path).unwrap_or_default();
                let failed = |error| ImportError::unreadable(&path.display().to_string(), error);
                let mut sorter = Sorter::new(self.sort.clone(), self.is_interrupted.clone());
                for entry in Spool::read(&path).map_err(failed)? {
                    sorter.push(&entry.map_err(failed)?)?;
                    self.check_interrupt()?;
                }
                self.write_sorted(sorter)?;
            }
        }
        self.flush()?;
        if let Some(checkpoint) = &self.checkpoint {
            // Nothing repeats what is lost from now on.
            self.output.sync()?;
            if let Some(rejects) = &mut self.rejects.output {
                rejects.sync()?;
            }
            checkpoint.remove();
        }
        Ok(())
    }

    fn write_sorted(&mut self, sorter: Sorter) -> Result<(), ImportError> {
        let sorted = sorter.finish();
        // The sort ends early, too.
        self.check_interrupt()?;
        for entry in sorted? {
            self.check_interrupt()?;
            let entry = entry.map_err(|error| ImportError::output("temporary files", error))?;
            if !self.assembler.continues(&entry) {
                self.end_conversation()?;
                if self.assembler.totals.conversation_count.is_multiple_of(PROGRESS_ROWS) {
                    self.report_progress();
                }
            }
            self.assembler.push(&entry);
        }
        self.end_conversation()
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        self.output.flush()?;
        match &mut self.rejects.output {
            Some(rejects) => rejects.flush(),
            None => Ok(()),
        }
    }

    fn report(self) -> ImportReport {
        let error_count = self.rejects.total();
        let counts = self.rejects.counts;
        ImportReport {
            schema_version: ImportReport::SCHEMA_VERSION.to_owned(),
            sources: self.sources,
            row_count: self.rows,
            rejected_row_count: counts.rows,
            rejected_conversation_count: self.assembler.totals.rejected_conversation_count,
            error_count,
            dropped_error_count: error_count - counts.listed.len() as u64,
            is_valid: error_count == 0,
            rejects_by_code: counts.by_code,
            summary: self.assembler.totals.summary(),
            errors: counts.listed,
        }
    }
}
