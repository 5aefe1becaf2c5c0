//! The options of an import.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Importer, Progress};
use crate::{ImportReject, Output};

impl<'o> Importer<'o> {
    /// Sets whether the rows of each conversation follow each other. Default: they are sorted, on disk if need be.
    ///
    /// Memory then holds one conversation, and 16 bytes, plus table overhead, per conversation id.
    pub fn grouped(self, is_grouped: bool) -> Self {
        Self { is_grouped, ..self }
    }

    /// Sets the memory for rows that are sorted, in bytes; default: 128 MiB. Other rows are in temporary files, one
    /// each time the memory is full: with a usual limit of 1,024 open files, an import sorts a thousand times as much.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.sort.memory = bytes;
        self
    }

    /// Sets the directory of the temporary files; default: that of the system. The files have no names, and vanish with
    /// the process.
    pub fn temporary_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.sort.temporary_dir = Some(dir.into());
        self
    }

    /// Sets the number of rejects that the report lists; default: 100.
    pub fn max_errors(mut self, max_errors: usize) -> Self {
        self.rejects.max_listed = max_errors;
        self
    }

    /// Calls a function for each reject.
    pub fn on_reject(mut self, on_reject: impl FnMut(&ImportReject) + Send + 'o) -> Self {
        self.rejects.on_reject = Some(Box::new(on_reject));
        self
    }

    /// Writes each reject as a line of JSON.
    pub fn rejects_to(mut self, output: Output<'o>) -> Self {
        self.rejects.output = Some(output.of("the rejects"));
        self
    }

    /// Sets whether rejects include the mapped columns of the row, or the id of the conversation. Default: they do not,
    /// because these may be private.
    pub fn reject_content(mut self, with_content: bool) -> Self {
        self.rejects.with_content = with_content;
        self
    }

    /// Calls a function every 4,096 rows, and every 4,096 conversations while sorted ones are written.
    pub fn on_progress(mut self, on_progress: impl FnMut(Progress) + Send + 'o) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }

    /// Ends the import with an error once the flag is set.
    pub fn interrupted_by(mut self, is_interrupted: Arc<AtomicBool>) -> Self {
        self.is_interrupted = Some(is_interrupted);
        self
    }
}
