//! Parquet.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parquet::basic::{LogicalType, TimeUnit};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use tokenline_core::Limits;
use tokenline_core::json::Parser;

use crate::{Cell, Columns, ImportError, Importer, Place, Row};

/// Reads a file. Its end has the schema, so that it is copied to a temporary file first.
pub(super) fn read(
    importer: &mut Importer<'_>,
    name: &str,
    mut source: impl Read,
) -> Result<(), ImportError> {
    let unreadable = |error: io::Error| ImportError::unreadable(name, error);
    let mut file =
        importer.temporary_file().map_err(|error| ImportError::output("a temporary file", error))?;
    io::copy(&mut source, &mut file).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;
    read_file(importer, name, file)
}

fn read_file(importer: &mut Importer<'_>, name: &str, file: File) -> Result<(), ImportError> {
    let unreadable =
        |error: parquet::errors::ParquetError| ImportError::source(format!("cannot read {name}: {error}"));
    let reader = SerializedFileReader::new(file).map_err(unreadable)?;
    let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
    let columns = importer.columns().clone();
    let sources = sources(name, &schema, &columns)?;
    // A projection keeps the order of the file.
    let is_mapped = |field: &&Arc<Type>| sources.iter().any(|source| source.field == field.name());
    let mapped: Vec<_> = schema.get_fields().iter().filter(is_mapped).cloned().collect();
    let projection =
        Type::group_type_builder(schema.name()).with_fields(mapped).build().map_err(unreadable)?;
    let rows = reader.get_row_iter(Some(projection)).map_err(unreadable)?;
    for (row, fields) in (1..).zip(rows) {
        let fields = fields.map_err(unreadable)?.into_columns();
        let mut documents = Vec::new();
        for (_, field) in &fields {
            documents.push(Document::of(field));
        }
        let place = Place { row, line: 0 };
        importer.row(place, &ParquetRow { fields: &fields, documents: &documents, sources: &sources })?;
    }
    Ok(())
}

/// Where a column of the mapping is.
struct Source {
    field: String,
    /// The position in a row.
    at: usize,
    /// The JSON Pointer in a nested value.
    pointer: Option<String>,
    time: Option<Time>,
}

/// How the file stores times.
#[derive(Clone, Copy)]
struct Time {
    /// In nanoseconds.
    unit: i128,
    is_utc: bool,
}

fn sources(name: &str, schema: &Type, columns: &Columns) -> Result<Vec<Source>, ImportError> {
    let fields = schema.get_fields();
    let find = |field: &str| fields.iter().find(|known| known.name() == field);
    let mut sources = Vec::new();
    for column in columns.names() {
        let (field, pointer) = match (find(column), column.strip_prefix('/')) {
            (Some(field), _) => (Some(field), None),
            (None, Some(rest)) => {
                let (head, rest) =
                    rest.split_once('/').map_or((rest, None), |(head, rest)| (head, Some(rest)));
                (find(head), rest.map(|rest| format!("/{rest}")))
            }
            (None, None) => (None, None),
        };
        let field = field.ok_or_else(|| {
            let known: Vec<_> = fields.iter().map(|field| field.name()).collect();
            ImportError::mapping(format!(
                "{name} has no column `{column}`; its columns are {}",
                known.join(", ")
            ))
        })?;
        let time = match field.get_basic_info().logical_type_ref() {
            Some(LogicalType::Timestamp(stored)) => Some(Time {
                unit: match stored.unit {
                    TimeUnit::MILLIS => 1_000_000,
                    TimeUnit::MICROS => 1_000,
                    TimeUnit::NANOS => 1,
                },
                is_utc: stored.is_adjusted_to_u_t_c,
            }),
            _ => None,
        };
        sources.push(Source { field: field.name().to_owned(), at: 0, pointer, time });
    }
    let mut mapped: Vec<_> = fields.iter().map(|field| field.name()).collect();
    mapped.retain(|field| sources.iter().any(|source| source.field == *field));
    for source in &mut sources {
        source.at = mapped.iter().position(|field| *field == source.field).unwrap_or_default();
    }
    Ok(sources)
}

/// A nested value as JSON.
struct Document {
    text: String,
    parser: Parser,
    /// Whether it has a duplicate member, or is too deep.
    is_invalid: bool,
}

impl Document {
    fn of(field: &Field) -> Option<Self> {
        if !matches!(field, Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_)) {
            return None;
        }
        let text = field.to_json_value().to_string();
        let limits = Limits { depth: Limits::DEFAULT.depth - 2, ..Limits::DEFAULT };
        let mut parser = Parser::new().with_limits(&limits);
        let is_invalid = parser.parse(&text).map_or(true, |value| value.repeated_name().is_some());
        Some(Self { text, parser, is_invalid })
    }
}

struct ParquetRow<'a> {
    fields: &'a [(String, Field)],
    documents: &'a [Option<Document>],
    sources: &'a [Source],
}

impl Row for ParquetRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        let source = &self.sources[column];
        if let Some(document) = &self.documents[source.at] {
            if document.is_invalid {
                return Cell::Invalid;
            }
            let value = document.parser.value(&document.text);
            let value = source.pointer.as_ref().map_or(Some(value), |pointer| value.pointer(pointer));
            return value.map_or(Cell::Null, Cell::Json);
        }
        if source.pointer.is_some() {
            return Cell::Null;
        }
        let integer = match &self.fields[source.at].1 {
            Field::Null => return Cell::Null,
            Field::Bool(value) => return Cell::Bool(*value),
            Field::Float(value) => return Cell::Float(f64::from(*value)),
            Field::Double(value) => return Cell::Float(*value),
            Field::Str(text) => return Cell::Text(text.as_str().into()),
            // Strings of writers that do not mark them.
            Field::Bytes(bytes) => {
                return std::str::from_utf8(bytes.data())
                    .map_or(Cell::Invalid, |text| Cell::Text(text.into()));
            }
            Field::Byte(value) => i64::from(*value),
            Field::Short(value) => i64::from(*value),
            Field::Int(value) => i64::from(*value),
            Field::UByte(value) => i64::from(*value),
            Field::UShort(value) => i64::from(*value),
            Field::UInt(value) => i64::from(*value),
            Field::Long(value) | Field::TimestampMillis(value) | Field::TimestampMicros(value) => *value,
            other => return Cell::Text(other.to_string().into()),
        };
        let stored = match &self.fields[source.at].1 {
            // Times that an old writer stores without their logical type are in UTC.
            Field::TimestampMillis(_) => Some(source.time.unwrap_or(Time { unit: 1_000_000, is_utc: true })),
            Field::TimestampMicros(_) => Some(source.time.unwrap_or(Time { unit: 1_000, is_utc: true })),
            _ => source.time,
        };
        match stored {
            None => Cell::Integer(integer),
            Some(Time { unit, is_utc: true }) => Cell::Time(i128::from(integer) * unit),
            Some(Time { unit, is_utc: false }) => {
                // A time without an offset, to be read in the time zone of the mapping.
                let time = Timestamp::from_nanosecond(i128::from(integer) * unit);
                let text = time.map(|time| TimeZone::UTC.to_datetime(time).to_string());
                Cell::Text(text.unwrap_or_else(|_| integer.to_string()).into())
            }
        }
    }
}
