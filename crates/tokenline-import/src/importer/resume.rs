//! Checkpoints: what an import needs to go on in another run.

use std::path::PathBuf;

use super::{Grouping, Importer};
use crate::checkpoint::{Checkpoint, IdFile, Spool};
use crate::sort::Sorter;
use crate::{ImportError, ImportedSource, Output, Row};

/// Where to start reading a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At its start.
    Start,
    /// After this position, which [`Row::position`] gave.
    After(String),
    /// Already read by an earlier run: skip it.
    Done,
}

impl Importer<'_> {
    /// Saves the state to this file about once a second, and resumes from it if it exists. Needs output files. At the
    /// end the file is removed.
    ///
    /// Rows that are to be sorted are kept in a file beside it until all are read, ids of grouped conversations in
    /// another. `identity` says what is imported: the checkpoint of another import is refused. Call it after the other
    /// options.
    ///
    /// # Errors
    ///
    /// If an output is not a file, or the checkpoint is that of another import.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, identity: &str) -> Result<Self, ImportError> {
        if !self.output.is_file() || self.rejects.output.as_ref().is_some_and(|output| !output.is_file()) {
            return Err(ImportError::mapping("a checkpoint needs an output that is a file"));
        }
        let mapping = serde_json::to_string(&self.mapping).expect("a mapping is JSON");
        let checkpoint =
            Checkpoint::new(path.into(), format!("{identity} grouped={} {mapping}", self.is_grouped));
        self.resumed = checkpoint.load()?;
        self.checkpoint = Some(checkpoint);
        Ok(self)
    }

    /// Begins a source of this kind, and says where to begin to read it. Its name is that in rejects.
    ///
    /// # Errors
    ///
    /// If the checkpoint is that of other sources, or the output cannot be written.
    pub fn begin(&mut self, name: &str, kind: &str) -> Result<Begin, ImportError> {
        self.check_skipped()?;
        if let (0, Some(state)) = (self.begun_sources, &self.resumed) {
            self.sources.clone_from(&state.sources);
            self.rows = state.rows;
            self.assembler.totals = state.totals.clone();
            self.rejects.counts = state.rejects.clone();
        }
        let at = self.begun_sources;
        self.begun_sources += 1;
        (self.has_position, self.skipped_rows) = (false, 0);
        self.position.clear();
        let Some(known) = self.sources.get(at) else {
            self.sources.push(ImportedSource { name: name.to_owned(), kind: kind.to_owned(), row_count: 0 });
            return Ok(Begin::Start);
        };
        if known.name != name {
            let message = format!("the checkpoint is that of an import of {}, not of {name}", known.name);
            return Err(ImportError::mapping(message));
        }
        let is_last = at + 1 == self.sources.len();
        Ok(match &self.resumed {
            Some(state) if is_last && !state.is_read && state.position.is_empty() => {
                self.skipped_rows = known.row_count;
                Begin::Start
            }
            Some(state) if is_last && !state.is_read => {
                self.position.clone_from(&state.position);
                Begin::After(state.position.clone())
            }
            _ => Begin::Done,
        })
    }

    /// Fails if the source before this one has fewer rows than an earlier run has read.
    pub(super) fn check_skipped(&self) -> Result<(), ImportError> {
        match self.sources.get(self.begun_sources.wrapping_sub(1)) {
            Some(source) if self.skipped_rows > 0 => {
                Err(ImportError::source(format!("{} has fewer rows than the checkpoint counts", source.name)))
            }
            _ => Ok(()),
        }
    }

    /// Opens what rows are written to, before the first one is.
    pub(super) fn open_outputs(&mut self) -> Result<(), ImportError> {
        if self.begun_sources == 0 && self.sources.is_empty() && self.resumed.is_none() {
            // Rows without a source.
            self.begin("rows", "rows")?;
        }
        let (mut output_bytes, mut reject_bytes, mut spool_bytes, mut id_bytes) = (0, 0, 0, 0);
        let (mut output_end, mut reject_end) = (0, 0);
        if let Some(state) = &self.resumed {
            (output_bytes, reject_bytes) = (state.output_bytes, state.reject_bytes);
            (output_end, reject_end) = (state.output_end, state.reject_end);
            (spool_bytes, id_bytes) = (state.spool_bytes, state.id_bytes);
        }
        let is_grouped = self.is_grouped || self.plan.has_whole_conversations();
        if let Some(checkpoint) = self.checkpoint.as_ref().filter(|_| is_grouped) {
            let ids = IdFile::open(&checkpoint.id_path(), id_bytes, |id| self.assembler.note_id(id));
            self.ids = Some(ids.map_err(|error| ImportError::output("the ids", error))?);
        }
        self.grouping = match &self.checkpoint {
            _ if is_grouped => Grouping::Grouped,
            None => Grouping::Sorted(Sorter::new(self.sort.clone(), self.is_interrupted.clone())),
            Some(checkpoint) => {
                let spool = Spool::open(&checkpoint.spool_path(), spool_bytes);
                Grouping::Spooled(spool.map_err(|error| ImportError::output("the rows", error))?)
            }
        };
        self.output.start(output_bytes, output_end)?;
        if let Some(rejects) = &mut self.rejects.output {
            rejects.start(reject_bytes, reject_end)?;
        }
        Ok(())
    }

    /// Notes where the source goes on, if a checkpoint is due: a position is only worth its cost then.
    pub(super) fn note_position(&mut self, row: &impl Row) {
        self.has_position = self.checkpoint.as_ref().is_some_and(Checkpoint::is_due);
        if self.has_position {
            row.position(&mut self.position);
        }
    }

    pub(super) fn write_checkpoint_if_due(&mut self) -> Result<(), ImportError> {
        if self.has_position { self.write_checkpoint(false) } else { Ok(()) }
    }

    pub(super) fn write_checkpoint(&mut self, is_read: bool) -> Result<(), ImportError> {
        let Some(checkpoint) = &mut self.checkpoint else { return Ok(()) };
        self.output.sync()?;
        if let Some(rejects) = &mut self.rejects.output {
            rejects.sync()?;
        }
        let mut state = checkpoint.state();
        if let Grouping::Spooled(spool) = &mut self.grouping {
            spool.sync().map_err(|error| ImportError::output("the rows", error))?;
            state.spool_bytes = spool.len;
        }
        if let Some(ids) = &mut self.ids {
            ids.sync().map_err(|error| ImportError::output("the ids", error))?;
            state.id_bytes = ids.len;
        }
        state.is_read = is_read;
        state.position.clone_from(&self.position);
        state.sources.clone_from(&self.sources);
        state.rows = self.rows;
        state.totals = self.assembler.totals.clone();
        state.rejects = self.rejects.counts.clone();
        state.output_bytes = self.output.len();
        state.output_end = self.output.fingerprint();
        state.reject_end = self.rejects.output.as_ref().map_or(0, Output::fingerprint);
        state.reject_bytes = self.rejects.output.as_ref().map_or(0, Output::len);
        checkpoint.write(&state)
    }
}
