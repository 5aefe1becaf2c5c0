//! CSV.

use std::borrow::Cow;
use std::io::Read;

use csv::{ByteRecord, ErrorKind, ReaderBuilder, StringRecord};

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
        .from_reader(source);
    let unreadable = |error: csv::Error| match error.into_kind() {
        ErrorKind::Io(error) => ImportError::unreadable(name, error),
        _ => ImportError::source(format!("cannot read {name}")),
    };
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(unreadable)? {
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
    while reader.read_byte_record(&mut record).map_err(unreadable)? {
        row += 1;
        let place = Place { row, line: record.position().map_or(0, csv::Position::line) };
        if record.len() != expected {
            importer.malformed(place, "the row has another number of fields than the header")?;
        } else if fields.iter().any(|field| std::str::from_utf8(&record[*field]).is_err()) {
            importer.malformed(place, "the row is not UTF-8")?;
        } else {
            importer.row(place, &CsvRow { record: &record, fields: &fields })?;
        }
    }
    Ok(())
}

struct CsvRow<'a> {
    record: &'a ByteRecord,
    /// The field of each column.
    fields: &'a [usize],
}

impl Row for CsvRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        match std::str::from_utf8(&self.record[self.fields[column]]) {
            Ok("") | Err(_) => Cell::Null,
            Ok(text) => Cell::Text(Cow::Borrowed(text)),
        }
    }
}
