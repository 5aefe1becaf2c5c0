//! JSON documents.

use std::io::Read;

use tokenline_core::json::{Array, Kind, Parser, Step, Value};
use tokenline_core::{CheckedChunk, Diagnostic, Event, LentEvent, Limits, Options, RecordDecoder, Violation};

use super::FileKind;
use crate::plan::{Document, find};
use crate::{Cell, Columns, ImportError, Importer, Place, Row};

/// Whether a search's response starts like this: an object with `hits`, which has `hits`.
pub(super) fn begins_as_page(start: &[u8]) -> bool {
    let at = |name: &[u8]| memchr::memmem::find(start, name);
    let is_response = [&b"\"took\""[..], b"\"_scroll_id\"", b"\"pit_id\"", b"\"_shards\""]
        .iter()
        .any(|name| at(name).is_some());
    // Without them, as with `filter_path`, the response has nothing else.
    let is_bare = || {
        let compact = start.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(9);
        compact.eq(*b"{\"hits\":{")
    };
    // Hits have `_source`, pages have `hits` around them.
    (is_response || is_bare())
        && at(b"\"hits\"").is_some_and(|hits| {
            let value = start[hits + 6..].trim_ascii_start().strip_prefix(b":").unwrap_or_default();
            let is_object = value.trim_ascii_start().first() == Some(&b'{');
            is_object && at(b"\"_source\"").is_none_or(|source| hits < source)
        })
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
    let mut documents = Documents { importer, columns, kind, row: 0, between: Between::default() };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ImportError::unreadable(name, error)),
        };
        let mut chunk = CheckedChunk::new(&buffer[..read]);
        while let Some(event) = decoder.next_event(&mut chunk) {
            match event {
                Event::Text(span) | Event::Reasoning(span) => {
                    documents.between.text(decoder.text(span), decoder.line());
                }
                Event::Markup(span) => documents.between.markup(decoder.text(span)),
                event => documents.event(event)?,
            }
        }
    }
    loop {
        match decoder.finish() {
            Some(Event::Text(span) | Event::Reasoning(span)) => {
                documents.between.text(decoder.text(span), decoder.line());
            }
            Some(Event::Markup(span)) => documents.between.markup(decoder.text(span)),
            Some(event) => documents.event(event)?,
            None => return documents.end_text(),
        }
    }
}

/// The text between two documents, which comes in parts.
#[derive(Default)]
struct Between {
    text: String,
    /// The markup after it, which is part of it if more text follows.
    markup: String,
    /// The line on which it ends.
    line: u64,
}

impl Between {
    fn text(&mut self, text: &str, line: u64) {
        self.text.push_str(&std::mem::take(&mut self.markup));
        self.text.push_str(text);
        self.line = line;
    }

    fn markup(&mut self, markup: &str) {
        if !self.text.is_empty() {
            self.markup.push_str(markup);
        }
    }

    /// Whether it is a page of a search up to its first hit, with which it goes on. Takes it then.
    fn take_page(&mut self) -> bool {
        let page = [self.text.trim_start(), &self.markup].concat();
        let is_page = page.starts_with('{') && Parser::new().resume(&page) == Step::NeedMore;
        if is_page {
            *self = Self::default();
        }
        is_page
    }
}

/// Whether a text between documents is white space, an empty array, or a page without hits.
fn has_no_documents(text: &str, kind: FileKind) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim();
    let pointer = if kind == FileKind::SearchPages { "/hits/hits" } else { "" };
    let mut parser = Parser::new();
    let array = |value: Value<'_>| value.pointer(pointer)?.as_array().map(Array::is_empty);
    text.is_empty() || parser.parse(text).is_ok_and(|value| array(value) == Some(true))
}

struct Documents<'a, 'o> {
    importer: &'a mut Importer<'o>,
    columns: Columns,
    kind: FileKind,
    row: u64,
    between: Between,
}

impl Documents<'_, '_> {
    fn event(&mut self, event: LentEvent<'_>) -> Result<(), ImportError> {
        if matches!(event, Event::Record(_) | Event::Rejected(_)) && !self.between.take_page() {
            self.end_text()?;
        }
        match event {
            Event::Record(record) => {
                self.row += 1;
                let place = Place { row: self.row, line: record.line };
                let row = Hit::new(record.value, &self.columns);
                match Violation::duplicate_key(record.value) {
                    Some(_) => {
                        self.importer.malformed_row(place, "the document has a duplicate member", &row)
                    }
                    None => self.importer.row(place, &row),
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

    /// Takes the text before a document, or before the end.
    fn end_text(&mut self) -> Result<(), ImportError> {
        let Between { text, line, .. } = std::mem::take(&mut self.between);
        if has_no_documents(&text, self.kind) {
            return Ok(());
        }
        self.row += 1;
        let after_start = text.trim_start().bytes().filter(|byte| *byte == b'\n').count() as u64;
        let line = line.saturating_sub(after_start).max(1);
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
