//! Rows to conversations.

mod finish;
mod options;
mod resume;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::assemble::{Assembler, Refused};
use crate::checkpoint::{Checkpoint, IdFile, Spool, State};
use crate::entry::{EntryWriter, Origin};
use crate::plan::{Fault, Plan};
use crate::rejects::Rejects;
use crate::sort::{SortOptions, Sorter};
use crate::{
    Columns, FileKind, ImportCode, ImportError, ImportReject, ImportedSource, Mapping, Output, Place, Row,
};

pub use resume::Begin;

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
    /// Where the source goes on after the last row, if a checkpoint is due.
    position: String,
    has_position: bool,
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
            has_position: false,
        })
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
        // Unknown until the next row.
        self.has_position = false;
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

    /// Whether an earlier run has read the row.
    fn skips_row(&mut self) -> Result<bool, ImportError> {
        if self.skipped_rows > 0 {
            self.skipped_rows -= 1;
            return Ok(true);
        }
        if matches!(self.grouping, Grouping::NotStarted) {
            self.open_outputs()?;
        }
        self.check_interrupt()?;
        Ok(false)
    }

    fn check_interrupt(&self) -> Result<(), ImportError> {
        match &self.is_interrupted {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(ImportError::interrupted()),
            _ => Ok(()),
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
            Ok(Some(line)) => self.output.write(line),
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
        let mut reject = self.reject_at(origin, fault.code, fault.message.into_owned());
        reject.column = fault.column;
        reject.message_number = message_number;
        if self.rejects.with_content {
            reject.content = Some(self.plan.content_of(row));
        }
        self.rejects.counts.rows += 1;
        self.rejects.add(reject)
    }

    fn reject_at(&self, origin: Origin, code: ImportCode, message: String) -> ImportReject {
        let source = self.sources.get(origin.source as usize);
        ImportReject {
            source: source.map(|source| source.name.clone()).unwrap_or_default(),
            is_in_array: source.is_some_and(|source| FileKind::ARRAYS.contains(&&*source.kind)),
            row: origin.row,
            line: (origin.line > 0).then_some(origin.line),
            message_number: None,
            code,
            column: None,
            message,
            content: None,
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
