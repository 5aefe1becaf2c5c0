//! CSV.

use std::borrow::Cow;
use std::io::{self, Read};

use csv_core::{ReadRecordResult, ReaderBuilder};

use crate::{Cell, ImportError, Importer, Place, Row};

/// Reads a file with a header.
pub(super) fn read(
    importer: &mut Importer<'_>,
    name: &str,
    delimiter: u8,
    source: impl Read,
) -> Result<(), ImportError> {
    let mut rows = Rows::new(source, delimiter);
    let unreadable =
        |rows: &Rows<_>, error| ImportError::unreadable(&format!("{name}, line {}", rows.line), error);
    if !rows.next().map_err(|error| unreadable(&rows, error))? {
        return Ok(());
    }
    if rows.is_open {
        return Err(ImportError::source(format!(
            "cannot read {name}: a quote in the header is never closed"
        )));
    }
    let header: Vec<String> = match std::str::from_utf8(rows.text()) {
        Ok(_) => (0..rows.len()).map(|at| String::from_utf8_lossy(rows.field(at)).into_owned()).collect(),
        Err(_) => return Err(ImportError::source(format!("the header of {name} is not UTF-8"))),
    };
    let field = |column: &String| {
        header.iter().position(|field| field == column).ok_or_else(|| {
            ImportError::mapping(format!(
                "{name} has no column `{column}`; its header is {}; does it have one?",
                shortened(&header)
            ))
        })
    };
    let columns = importer.columns().names().iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let mut row = 0;
    while rows.next().map_err(|error| unreadable(&rows, error))? {
        row += 1;
        let place = Place { row, line: rows.line };
        if rows.is_open {
            let error = io::Error::other("a quote is never closed: the row has the rest of the file");
            return Err(unreadable(&rows, error));
        } else if rows.len() != header.len() {
            let (found, expected) = (rows.len(), header.len());
            importer.malformed(place, &format!("the row has {found} fields, the header has {expected}"))?;
        } else {
            importer.row(place, &CsvRow { rows: &rows, columns: &columns })?;
        }
    }
    Ok(())
}

/// The names of a header, as a message may show them. Cells that are not names may be long, and private.
fn shortened(header: &[String]) -> String {
    const MAX_NAMES: usize = 50;
    const MAX_NAME: usize = 30;
    let is_name = |name: &str| {
        name.len() <= MAX_NAME
            && name.chars().all(|letter| letter.is_alphanumeric() || "_-./".contains(letter))
    };
    let name = |name: &String| if is_name(name) { name.clone() } else { "…".to_owned() };
    let mut names: Vec<_> = header.iter().take(MAX_NAMES).map(name).collect();
    if header.len() > MAX_NAMES {
        names.push("…".to_owned());
    }
    names.join(", ")
}

/// The longest row, in bytes. A quote that is never closed makes one row of all the rest.
const MAX_ROW: usize = 16 << 20;

/// Rows that are parsed after the end, to detect an open quote.
const END: &[u8] = b"\n\0end of rows\0\n";

/// The rows of a file, one at a time.
struct Rows<R> {
    source: R,
    parser: csv_core::Reader,
    input: Box<[u8]>,
    /// The part of `input` that is not parsed.
    rest: std::ops::Range<usize>,
    is_at_end: bool,
    /// The fields one after another, and their ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    text_len: usize,
    field_count: usize,
    /// The line on which the row begins, counted from 1.
    line: u64,
    /// The line of the next byte.
    next_line: u64,
    /// Whether the row ends inside a quote.
    is_open: bool,
}

impl<R: Read> Rows<R> {
    fn new(source: R, delimiter: u8) -> Self {
        Self {
            source,
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            input: vec![0; 1 << 16].into_boxed_slice(),
            rest: 0..0,
            is_at_end: false,
            text: vec![0; 1 << 12],
            ends: vec![0; 64],
            text_len: 0,
            field_count: 0,
            line: 1,
            next_line: 1,
            is_open: false,
        }
    }

    /// Whether there is more to parse.
    fn fill(&mut self) -> io::Result<bool> {
        while self.rest.is_empty() && !self.is_at_end {
            let read = match self.source.read(&mut self.input) {
                Ok(0) => {
                    self.is_at_end = true;
                    self.input[..END.len()].copy_from_slice(END);
                    END.len()
                }
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.rest = 0..read;
        }
        Ok(!self.rest.is_empty())
    }

    /// Skips line ends, which the parser would skip too, but not count where the row begins.
    fn skip_empty_lines(&mut self) -> io::Result<()> {
        while self.fill()? {
            match self.input[self.rest.start] {
                b'\n' => self.next_line += 1,
                b'\r' => {}
                _ => break,
            }
            self.rest.start += 1;
        }
        self.line = self.next_line;
        Ok(())
    }

    /// Reads the next row; `false` at the end.
    fn next(&mut self) -> io::Result<bool> {
        self.skip_empty_lines()?;
        (self.text_len, self.field_count) = (0, 0);
        loop {
            self.fill()?;
            let input = &self.input[self.rest.clone()];
            let (result, read, written, fields) = self.parser.read_record(
                input,
                &mut self.text[self.text_len..],
                &mut self.ends[self.field_count..],
            );
            self.next_line += memchr::memchr_iter(b'\n', &input[..read]).count() as u64;
            self.rest.start += read;
            self.text_len += written;
            self.field_count += fields;
            match result {
                ReadRecordResult::InputEmpty if self.text_len > MAX_ROW => break,
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() > MAX_ROW => break,
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull if self.ends.len() > MAX_ROW / 16 => break,
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => {
                    let (text, end) = (self.text().trim_ascii_end(), END.trim_ascii());
                    let has_end = self.is_at_end && text.ends_with(end);
                    self.is_open = has_end && text.len() > end.len();
                    return Ok(!has_end || self.is_open);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
        Err(io::Error::other("a row is longer than 16 MiB; a closing quote may be missing"))
    }

    fn len(&self) -> usize {
        self.field_count
    }

    fn text(&self) -> &[u8] {
        &self.text[..self.text_len]
    }

    fn field(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }
}

struct CsvRow<'a, R> {
    rows: &'a Rows<R>,
    /// The field of each column.
    columns: &'a [usize],
}

impl<R: Read> Row for CsvRow<'_, R> {
    fn cell(&self, column: usize) -> Cell<'_> {
        match std::str::from_utf8(self.rows.field(self.columns[column])) {
            Ok("") => Cell::Null,
            Err(_) => Cell::Invalid,
            Ok(text) => Cell::Text(Cow::Borrowed(text)),
        }
    }
}
