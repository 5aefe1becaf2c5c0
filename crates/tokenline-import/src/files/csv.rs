//! CSV.

use std::borrow::Cow;
use std::io::{self, Read};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, StringRecord};

use crate::{Cell, ImportError, Importer, Place, Row};

/// Reads a file with a header.
pub(super) fn read(
    importer: &mut Importer<'_>,
    name: &str,
    delimiter: u8,
    source: impl Read,
) -> Result<(), ImportError> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(Bounded { source, read: 0 });
    let unreadable = |error: csv::Error, line: u64| match error.into_kind() {
        ErrorKind::Io(error) => ImportError::unreadable(&format!("{name}, line {line}"), error),
        _ => ImportError::source(format!("cannot read {name}, line {line}")),
    };
    let mut record = ByteRecord::new();
    if !read_record(&mut reader, &mut record).map_err(|(error, line)| unreadable(error, line))? {
        return Ok(());
    }
    // The reader itself skips a byte order mark.
    let header = StringRecord::from_byte_record(record.clone())
        .map_err(|_| ImportError::source(format!("the header of {name} is not UTF-8")))?;
    let field = |column: &String| {
        let at = header.iter().position(|field| field == column);
        at.ok_or_else(|| {
            let known: Vec<_> = header.iter().collect();
            ImportError::mapping(format!(
                "{name} has no column `{column}`; its columns are {}",
                known.join(", ")
            ))
        })
    };
    let fields = importer.columns().names().iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let expected = header.len();
    let mut row = 0;
    reader.get_mut().read = 0;
    while read_record(&mut reader, &mut record).map_err(|(error, line)| unreadable(error, line))? {
        row += 1;
        reader.get_mut().read = 0;
        let place = Place { row, line: record.position().map_or(0, csv::Position::line) };
        if record.len() != expected {
            importer.malformed(place, "the row has another number of fields than the header")?;
            continue;
        }
        record = match StringRecord::from_byte_record(record) {
            Ok(record) => {
                importer.row(place, &CsvRow { record: &record, fields: &fields })?;
                record.into_byte_record()
            }
            Err(error) => {
                importer.malformed(place, "the row is not UTF-8")?;
                error.into_byte_record()
            }
        };
    }
    Ok(())
}

/// Reads a row. The error has the line on which it begins.
fn read_record<R: Read>(reader: &mut Reader<R>, record: &mut ByteRecord) -> Result<bool, (csv::Error, u64)> {
    let line = reader.position().line();
    reader.read_byte_record(record).map_err(|error| (error, line))
}

/// The reader holds a whole row, and a quote that is never closed makes one of all the rest.
const MAX_ROW: u64 = 16 << 20;

/// Fails if too many bytes are read for one row.
struct Bounded<R> {
    source: R,
    /// The bytes read since the last row.
    read: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read > MAX_ROW {
            return Err(io::Error::other("a row is longer than 16 MiB; a closing quote may be missing"));
        }
        let read = self.source.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

struct CsvRow<'a> {
    record: &'a StringRecord,
    /// The field of each column.
    fields: &'a [usize],
}

impl Row for CsvRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        match &self.record[self.fields[column]] {
            "" => Cell::Null,
            text => Cell::Text(Cow::Borrowed(text)),
        }
    }
}
