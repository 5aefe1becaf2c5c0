//! Rows to conversations.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::assemble::{Assembler, Refused};
use crate::checkpoint::{Checkpoint, IdFile, Spool, State, sync};
use crate::entry::{EntryWriter, Origin};
use crate::plan::{Fault, Plan};
use crate::rejects::Rejects;
use crate::sort::{SortOptions, Sorter};
use crate::{
    Columns, ImportCode, ImportError, ImportReject, ImportReport, ImportedSource, Mapping, Output, Place, Row,
};

/// Assembles rows into conversations, one per line.
///
/// Rows come from [files](Self::read), or are [pushed](Self::row). Conversations are written in the order of their ids,
/// or, if the rows are [grouped](Self::grouped) or are whole conversations, in the order of the input.
///
/// ```
/// use tokenline_import::{FileKind, Importer, Mapping, Output};
///
/// let mapping: Mapping = toml::from_str(r#"
///     conversation-id = "thread"
///     user-id = "customer"
///     timestamp = "sent_at"
///     role = "author"
///     content = "text"
/// "#)?;
/// let rows = "thread,customer,sent_at,author,text\n\
///     t1,u1,1770726897,bot,Hello!\n\
///     t2,u2,1770726898,human,Bye.\n\
///     t1,u1,1770726896,human,Hi.\n";
/// let mut conversations = Vec::new();
/// let mut importer = Importer::new(&mapping, Output::writer(&mut conversations))?;
/// importer.read("rows.csv", Some(FileKind::Csv), rows.as_bytes())?;
/// let report = importer.finish()?;
/// assert_eq!((report.row_count, report.summary.conversation_count), (3, 2));
/// let first = r#"{"conversation_id":"t1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Hello!"}],"metadata":{}}"#;
/// assert!(conversations.starts_with(first.as_bytes()));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use = "call `finish` for the conversations and the report"]
pub struct Importer<'o> {
    plan: Plan,
    mapping: Mapping,
    is_grouped: bool,
    sort: SortOptions,
    grouping: Grouping,
    assembler: Assembler,
    writer: EntryWriter,
    output: Output<'o>,
    rejects: Rejects<'o>,
    sources: Vec<ImportedSource>,
    rows: u64,
    is_interrupted: Option<Arc<AtomicBool>>,
    on_progress: Option<OnProgress<'o>>,
    checkpoint: Option<Checkpoint>,
    /// The ids of the grouped conversations so far, for another run.
    ids: Option<IdFile>,
    /// Where an earlier run stopped.
    resumed: Option<State>,
    /// The number of sources before this run, and rows of the source that an earlier run has read.
    begun_sources: usize,
    skipped_rows: u64,
    /// Where the source goes on after the last row.
    position: String,
}

type OnProgress<'o> = Box<dyn FnMut(Progress) + Send + 'o>;

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows and documents that were read.
    pub rows: u64,
    /// Conversations that were written.
    pub conversations: u64,
}

/// The number of rows between two calls of the function for progress.
const PROGRESS_ROWS: u64 = 4096;

/// Where messages go.
#[derive(Debug)]
enum Grouping {
    /// Before the first row.
    NotStarted,
    /// To the assembler.
    Grouped,
    Sorted(Sorter),
    /// To a file, to be sorted later.
    Spooled(Spool),
}

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

/// The memory for rows that are sorted.
const DEFAULT_MEMORY: usize = 128 << 20;

impl<'o> Importer<'o> {
    /// An importer before its first source.
    ///
    /// # Errors
    ///
    /// If the mapping is not valid.
    pub fn new(mapping: &Mapping, output: Output<'o>) -> Result<Self, ImportError> {
        Ok(Self {
            plan: Plan::new(mapping)?,
            mapping: mapping.clone(),
            is_grouped: false,
            sort: SortOptions { memory: DEFAULT_MEMORY, temporary_dir: None },
            grouping: Grouping::NotStarted,
            assembler: Assembler::new(),
            writer: EntryWriter::default(),
            output,
            rejects: Rejects::new(),
            sources: Vec::new(),
            rows: 0,
            is_interrupted: None,
            on_progress: None,
            checkpoint: None,
            ids: None,
            resumed: None,
            begun_sources: 0,
            skipped_rows: 0,
            position: String::new(),
        })
    }

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
        self.rejects.output = Some(output);
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

    /// The columns that rows need.
    pub fn columns(&self) -> &Columns {
        &self.plan.columns
    }

    /// The column by which a source must sort its rows, because they are said to be grouped.
    #[cfg(any(feature = "mongodb", feature = "opensearch", feature = "postgres", feature = "sqlite"))]
    pub(crate) fn grouping_column(&self) -> Option<&str> {
        let is_sorted_by_source = self.is_grouped && !self.plan.has_whole_conversations();
        let column = self.plan.conversation_id.filter(|_| is_sorted_by_source)?;
        Some(&self.plan.columns.names()[column])
    }

    /// A file that vanishes.
    #[cfg(feature = "parquet")]
    pub(crate) fn temporary_file(&self) -> std::io::Result<std::fs::File> {
        self.sort.temporary_dir.as_ref().map_or_else(tempfile::tempfile, tempfile::tempfile_in)
    }

    /// How far the import is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress { rows: self.rows, conversations: self.assembler.totals.conversation_count }
    }

    fn report_progress(&mut self) {
        let progress = self.progress();
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(progress);
        }
    }

    /// The number of the column with the id of the conversation.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn conversation_column(&self) -> Option<usize> {
        self.plan.conversation_id
    }

    /// The flag that interrupts the import, for a source that waits.
    #[cfg(any(feature = "mongodb", feature = "opensearch", feature = "postgres"))]
    pub(crate) fn interrupt_flag(&self) -> Option<Arc<AtomicBool>> {
        self.is_interrupted.clone()
    }

    /// The rows of the last source so far, including those of an earlier run.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn source_row_count(&self) -> u64 {
        self.sources.last().map_or(0, |source| source.row_count)
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
        self.position.clear();
        self.skipped_rows = 0;
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
    fn check_skipped(&self) -> Result<(), ImportError> {
        match self.sources.get(self.begun_sources.wrapping_sub(1)) {
            Some(source) if self.skipped_rows > 0 => {
                Err(ImportError::source(format!("{} has fewer rows than the checkpoint counts", source.name)))
            }
            _ => Ok(()),
        }
    }

    /// Opens what rows are written to, before the first one is.
    fn open_outputs(&mut self) -> Result<(), ImportError> {
        if self.begun_sources == 0 && self.sources.is_empty() && self.resumed.is_none() {
            // Rows without a source.
            self.begin("rows", "rows")?;
        }
        let (mut output_bytes, mut reject_bytes, mut spool_bytes, mut id_bytes) = (0, 0, 0, 0);
        if let Some(state) = &self.resumed {
            (output_bytes, reject_bytes) = (state.output_bytes, state.reject_bytes);
            (spool_bytes, id_bytes) = (state.spool_bytes, state.id_bytes);
        }
        let is_grouped = self.is_grouped || self.plan.has_whole_conversations();
        if let Some(checkpoint) = self.checkpoint.as_ref().filter(|_| is_grouped) {
            let ids = IdFile::open(&checkpoint.id_path(), id_bytes, |id| self.assembler.note_id(id));
            self.ids = Some(ids.map_err(|error| ImportError::output("the ids", error))?);
        }
        self.grouping = match &self.checkpoint {
            _ if is_grouped => Grouping::Grouped,
            None => Grouping::Sorted(Sorter::new(self.sort.clone())),
            Some(checkpoint) => {
                let spool = Spool::open(&checkpoint.spool_path(), spool_bytes);
                Grouping::Spooled(spool.map_err(|error| ImportError::output("the rows", error))?)
            }
        };
        self.output.start(output_bytes).map_err(|error| ImportError::output("the output", error))?;
        if let Some(rejects) = &mut self.rejects.output {
            rejects.start(reject_bytes).map_err(|error| ImportError::output("the rejects", error))?;
        }
        Ok(())
    }

    /// Takes a row of the source.
    ///
    /// # Errors
    ///
    /// If the output, a reject or a temporary file cannot be written, or the import was interrupted.
    pub fn row(&mut self, place: Place, row: &impl Row) -> Result<(), ImportError> {
        if self.skips_row()? {
            return Ok(());
        }
        if self.plan.has_whole_conversations() {
            self.whole_conversation(place, row)?;
        } else {
            self.message(place, row)?;
        }
        Ok(())
    }

    /// Takes a row of which nothing can be read. The message must not quote it.
    ///
    /// # Errors
    ///
    /// As for [`row`](Self::row).
    pub fn malformed(&mut self, place: Place, message: &str) -> Result<(), ImportError> {
        if self.skips_row()? {
            return Ok(());
        }
        let origin = self.count_row(place);
        self.reject_malformed(origin, message)
    }

    /// Takes a row that cannot be read as a whole. If it names its conversation, that is rejected. The message must not
    /// quote the row.
    ///
    /// # Errors
    ///
    /// As for [`row`](Self::row).
    pub fn malformed_row(&mut self, place: Place, message: &str, row: &impl Row) -> Result<(), ImportError> {
        if self.skips_row()? {
            return Ok(());
        }
        let Ok(Some(id)) = self.plan.conversation_id(row) else {
            let origin = self.count_row(place);
            self.note_position(row);
            return self.reject_malformed(origin, message);
        };
        self.writer.begin(&id);
        self.writer.reject();
        if self.plan.has_whole_conversations() {
            let origin = self.count_row(place);
            self.assembler.push(self.writer.end(0, origin));
            self.end_conversation()?;
            self.note_position(row);
            return self.reject_malformed(origin, message);
        }
        self.push_entry(place, row, |importer, origin| importer.reject_malformed(origin, message))
    }

    fn reject_malformed(&mut self, origin: Origin, message: &str) -> Result<(), ImportError> {
        let reject = self.reject_at(origin, ImportCode::MalformedRow, message.to_owned());
        self.rejects.counts.rows += 1;
        self.rejects.add(reject)
    }

    fn skips_row(&mut self) -> Result<bool, ImportError> {
        if self.skipped_rows > 0 {
            self.skipped_rows -= 1;
            return Ok(true);
        }
        if matches!(self.grouping, Grouping::NotStarted) {
            self.open_outputs()?;
        }
        match &self.is_interrupted {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(ImportError::interrupted()),
            _ => Ok(false),
        }
    }

    fn count_row(&mut self, place: Place) -> Origin {
        self.rows += 1;
        if self.rows.is_multiple_of(PROGRESS_ROWS) {
            self.report_progress();
        }
        if let Some(source) = self.sources.last_mut() {
            source.row_count += 1;
        }
        self.origin(place)
    }

    fn origin(&self, place: Place) -> Origin {
        Origin { source: self.begun_sources.saturating_sub(1) as u32, row: place.row, line: place.line }
    }

    /// Takes a row that is one message.
    fn message(&mut self, place: Place, row: &impl Row) -> Result<(), ImportError> {
        let id = match self.plan.conversation_id(row) {
            Ok(id) => id.unwrap_or_default(),
            Err(fault) => {
                let origin = self.count_row(place);
                self.note_position(row);
                return self.reject_row(origin, fault, None, row);
            }
        };
        self.writer.begin(&id);
        let encoded = self.plan.encode(row, &mut self.writer);
        if encoded.is_err() {
            self.writer.reject();
        }
        self.push_entry(place, row, |importer, origin| match encoded {
            Ok(()) => Ok(()),
            Err(fault) => importer.reject_row(origin, fault, None, row),
        })
    }

    /// Counts a row, rejects it if it must be, and passes its entry on.
    fn push_entry(
        &mut self,
        place: Place,
        row: &impl Row,
        reject: impl FnOnce(&mut Self, Origin) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let entry = self.writer.end(self.rows + 1, self.origin(place));
        // A conversation ends before the row that begins another one is counted.
        if matches!(self.grouping, Grouping::Grouped) && !self.assembler.continues(entry) {
            self.end_conversation()?;
            self.write_checkpoint_if_due()?;
        }
        let origin = self.count_row(place);
        reject(self, origin)?;
        let entry = self.writer.last();
        let failed = |error| ImportError::output("the rows", error);
        match &mut self.grouping {
            Grouping::NotStarted => unreachable!("every row starts it"),
            Grouping::Grouped => self.assembler.push(entry),
            Grouping::Sorted(sorter) => sorter.push(entry)?,
            Grouping::Spooled(spool) => spool.push(entry).map_err(failed)?,
        }
        self.note_position(row);
        if matches!(self.grouping, Grouping::Spooled(_)) { self.write_checkpoint_if_due() } else { Ok(()) }
    }

    fn note_position(&mut self, row: &impl Row) {
        if self.checkpoint.is_some() {
            row.position(&mut self.position);
        }
    }

    /// Takes a row that is a whole conversation.
    fn whole_conversation(&mut self, place: Place, row: &impl Row) -> Result<(), ImportError> {
        let origin = self.count_row(place);
        let id = self.plan.conversation_id(row);
        let id = match id {
            Ok(id) => id.unwrap_or_else(|| {
                let name = &self.sources[self.begun_sources - 1].name;
                format!("{name}:{}", place.row).into()
            }),
            Err(fault) => {
                self.assembler.totals.rejected_conversation_count += 1;
                self.reject_row(origin, fault, None, row)?;
                self.note_position(row);
                return self.write_checkpoint_if_due();
            }
        };
        self.writer.begin(&id);
        let head = self.plan.encode_head(row, &mut self.writer);
        match head.and_then(|_| self.plan.messages(row)) {
            Err(fault) => {
                self.writer.reject();
                self.assembler.push(self.writer.end(0, origin));
                self.end_conversation()?;
                self.reject_row(origin, fault, None, row)?;
            }
            Ok(messages) => {
                let mut count = 0;
                for message in messages {
                    count += 1;
                    if count > 1 {
                        self.writer.begin_next();
                    }
                    if let Err(fault) = self.plan.encode_element(message, count, &mut self.writer) {
                        self.writer.reject();
                        self.reject_row(origin, fault, Some(count), row)?;
                    }
                    self.assembler.push(self.writer.end(count, origin));
                }
                if count == 0 {
                    // The conversation is rejected as one without messages.
                    self.assembler.push(self.writer.end(0, origin));
                }
                self.end_conversation()?;
            }
        }
        self.note_position(row);
        self.write_checkpoint_if_due()
    }

    fn end_conversation(&mut self) -> Result<(), ImportError> {
        let ended = self.assembler.finish(&self.plan, matches!(self.grouping, Grouping::Grouped));
        if let (Some(ids), Some(id)) = (&mut self.ids, ended.new_id) {
            ids.push(id).map_err(|error| ImportError::output("the ids", error))?;
        }
        match ended.line {
            Ok(Some(line)) => {
                self.output.write(line).map_err(|error| ImportError::output("the output", error))
            }
            Ok(None) => Ok(()),
            Err(refused) => {
                let Refused { code, message, origin, conversation_id } = *refused;
                let mut reject = self.reject_at(origin, code, message);
                if self.rejects.with_content {
                    let id = serde_json::json!({ "conversation_id": conversation_id });
                    reject.content = Some(id.to_string());
                }
                self.rejects.add(reject)
            }
        }
    }

    fn reject_row(
        &mut self,
        origin: Origin,
        fault: Fault,
        message_number: Option<u64>,
        row: &impl Row,
    ) -> Result<(), ImportError> {
        let mut reject = self.reject_at(origin, fault.code, fault.message.to_owned());
        reject.column = fault.column;
        reject.message_number = message_number;
        if self.rejects.with_content {
            reject.content = Some(self.plan.content_of(row));
        }
        self.rejects.counts.rows += 1;
        self.rejects.add(reject)
    }

    fn reject_at(&self, origin: Origin, code: ImportCode, message: String) -> ImportReject {
        ImportReject {
            source: self
                .sources
                .get(origin.source as usize)
                .map(|source| source.name.clone())
                .unwrap_or_default(),
            row: origin.row,
            line: (origin.line > 0).then_some(origin.line),
            message_number: None,
            code,
            column: None,
            message,
            content: None,
        }
    }

    fn write_checkpoint_if_due(&mut self) -> Result<(), ImportError> {
        match &self.checkpoint {
            Some(checkpoint) if checkpoint.is_due() => self.write_checkpoint(false),
            _ => Ok(()),
        }
    }

    fn write_checkpoint(&mut self, is_read: bool) -> Result<(), ImportError> {
        let Some(checkpoint) = &mut self.checkpoint else { return Ok(()) };
        sync(&mut self.output, "the output")?;
        if let Some(rejects) = &mut self.rejects.output {
            sync(rejects, "the rejects")?;
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
        state.reject_bytes = self.rejects.output.as_ref().map_or(0, Output::len);
        checkpoint.write(&state)
    }

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
                let mut sorter = Sorter::new(self.sort.clone());
                for entry in Spool::read(&path).map_err(failed)? {
                    sorter.push(&entry.map_err(failed)?)?;
                    self.skips_row()?;
                }
                self.write_sorted(sorter)?;
            }
        }
        self.flush()?;
        if let Some(checkpoint) = &self.checkpoint {
            // Nothing repeats what is lost from now on.
            sync(&mut self.output, "the output")?;
            if let Some(rejects) = &mut self.rejects.output {
                sync(rejects, "the rejects")?;
            }
            checkpoint.remove();
        }
        Ok(self.report())
    }

    fn write_sorted(&mut self, sorter: Sorter) -> Result<(), ImportError> {
        for entry in sorter.finish()? {
            let entry = entry.map_err(|error| ImportError::output("temporary files", error))?;
            if !self.assembler.continues(&entry) {
                self.end_conversation()?;
                self.skips_row()?;
                if self.assembler.totals.conversation_count.is_multiple_of(PROGRESS_ROWS) {
                    self.report_progress();
                }
            }
            self.assembler.push(&entry);
        }
        self.end_conversation()
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        self.output.flush().map_err(|error| ImportError::output("the output", error))?;
        match &mut self.rejects.output {
            Some(rejects) => rejects.flush().map_err(|error| ImportError::output("the rejects", error)),
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

impl fmt::Debug for Importer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Importer")
            .field("sources", &self.sources)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
