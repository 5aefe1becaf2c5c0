//! JSON documents.

use std::io::Read;

use tokenline_core::json::{Kind, Value};
use tokenline_core::{Diagnostic, Event, LentEvent, Limits, Options, RecordDecoder, Violation};

use super::FileKind;
use crate::plan::{Document, find};
use crate::{Cell, Columns, ImportError, Importer, Place, Row};

/// Whether a search's response starts like this.
pub(super) fn begins_as_page(start: &[u8]) -> bool {
    // Hits have `_source`, pages have `hits` around them.
    let at = |name: &[u8]| memchr::memmem::find(start, name);
    let first_of = |one: Option<usize>, other: Option<usize>| one.is_some_and(|one| other.is_none_or(|other| one < other));
    (at(b"\"took\"").is_some() || at(b"\"_scroll_id\"").is_some() || at(b"\"_shards\"").is_some())
        && first_of(at(b"\"hits\""), at(b"\"_source\""))
}

/// Reads documents.
pub(super) fn read(
    importer: &mut Importer<'_>,
    name: &str,
    kind: FileKind,
    mut source: impl Read,
) -> Result<(), ImportError> {
    // The line that is written has the metadata one level deeper.
    let limits = Limits { depth: Limits::DEFAULT.depth - 1, ..Limits::DEFAULT };
    let options = match kind {
        FileKind::JsonLines => Options::strict(),
        FileKind::SearchPages => Options::lenient().items("/hits/hits").expect("it is a pointer"),
        _ => Options::lenient(),
    };
    let mut decoder = RecordDecoder::new(options.limits(limits).text(kind != FileKind::JsonLines));
    let columns = importer.columns().clone();
    let mut documents = Documents { importer, columns, row: 0 };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ImportError::unreadable(name, error)),
        };
        let mut rest = &buffer[..read];
        loop {
            let decoded = decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            match decoded.event {
                Some(Event::Text(span)) => {
                    let is_blank = decoder.text(span).trim().is_empty();
                    documents.text(is_blank, decoder.line())?;
                }
                Some(event) => documents.event(event)?,
                None => break,
            }
        }
    }
    while let Some(event) = decoder.finish() {
        match event {
            Event::Text(_) => documents.text(false, 0)?,
            event => documents.event(event)?,
        }
    }
    Ok(())
}

struct Documents<'a, 'o> {
    importer: &'a mut Importer<'o>,
    columns: Columns,
    row: u64,
}

impl Documents<'_, '_> {
    fn event(&mut self, event: LentEvent<'_>) -> Result<(), ImportError> {
        match event {
            Event::Record(record) => {
                self.row += 1;
                let place = Place { row: self.row, line: record.line };
                match Violation::duplicate_key(record.value) {
                    Some(_) => self.importer.malformed(place, "the document has a member twice"),
                    None => self.importer.row(place, &Hit::new(record.value, &self.columns)),
                }
            }
            Event::Rejected(diagnostic) => self.reject(&diagnostic),
            _ => Ok(()),
        }
    }

    fn reject(&mut self, diagnostic: &Diagnostic) -> Result<(), ImportError> {
        self.row += 1;
        let place = Place { row: self.row, line: diagnostic.line };
        self.importer.malformed(place, &format!("{}: {}", diagnostic.code, diagnostic.message))
    }

    fn text(&mut self, is_blank: bool, line: u64) -> Result<(), ImportError> {
        if is_blank {
            return Ok(());
        }
        self.row += 1;
        self.importer.malformed(Place { row: self.row, line }, "there is text between the documents")
    }
}

/// A document, or a hit of a search: its `_source`, and its own members such as `_id`.
pub(crate) struct Hit<'a> {
    document: Document<'a>,
    hit: Option<Value<'a>>,
}

impl<'a> Hit<'a> {
    pub(crate) fn new(value: Value<'a>, columns: &'a Columns) -> Self {
        match value.get("_source").filter(|source| source.kind() == Kind::Object) {
            Some(source) => Self { document: Document { value: source, columns }, hit: Some(value) },
            None => Self { document: Document { value, columns }, hit: None },
        }
    }
}

impl Row for Hit<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        match (self.document.cell(column), self.hit) {
            (Cell::Null, Some(hit)) => {
                find(hit, &self.document.columns.names()[column]).map_or(Cell::Null, Cell::Json)
            }
            (cell, _) => cell,
        }
    }
}
