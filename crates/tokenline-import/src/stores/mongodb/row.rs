//! BSON documents as rows.

use std::borrow::Cow;

use bson::spec::BinarySubtype;
use bson::{Bson, RawArray, RawBsonRef, RawDocument};
use tokenline_core::Limits;
use tokenline_core::json::{Array, Parser, Value};

use super::Position;
use crate::cell::write_string;
use crate::stores::uuid::uuid;
use crate::{Cell, Columns, Row, time};

/// Makes rows of documents. Keeps its memory from row to row.
pub(super) struct RowReader {
    /// The JSON of the columns with documents and arrays, as one array.
    json: Vec<u8>,
    parser: Parser,
}

/// A document, its columns prepared.
pub(super) struct MongoRow<'a> {
    cells: Vec<Cell<'a>>,
    position: &'a Position,
}

/// The problem with a document.
pub(super) type Fault = Cow<'static, str>;

impl RowReader {
    pub(super) fn new() -> Self {
        // The array around the columns takes the place of the document.
        let limits = Limits { depth: Limits::DEFAULT.depth - 1, ..Limits::DEFAULT };
        Self { json: Vec::new(), parser: Parser::new().with_limits(&limits) }
    }

    pub(super) fn read<'a>(
        &'a mut self,
        document: &'a RawDocument,
        columns: &Columns,
        position: &'a Position,
    ) -> Result<MongoRow<'a>, Fault> {
        let unreadable = |_| Fault::from("the document is not BSON");
        let values = columns.names().iter().map(|column| find(document, column));
        let values = values.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        self.json.clear();
        self.json.push(b'[');
        for value in values.iter().flatten() {
            if !is_scalar(*value) {
                if self.json.len() > 1 {
                    self.json.push(b',');
                }
                write_json(*value, &mut self.json, 0)?;
            }
        }
        let mut parsed = None;
        if self.json.len() > 1 {
            self.json.push(b']');
            let json = std::str::from_utf8(&self.json).expect("JSON is UTF-8");
            let value = self.parser.parse(json);
            let value = value.map_err(|error| format!("the document cannot be read: {error}"))?;
            if value.repeated_name().is_some() {
                return Err("the document has a duplicate member".into());
            }
            parsed = value.as_array().map(Array::iter);
        }
        let mut parsed = parsed.into_iter().flatten();
        let cells = values.into_iter().map(|value| match value {
            None => Cell::Null,
            Some(value) if is_scalar(value) => scalar(value),
            Some(_) => parsed.next().map_or(Cell::Null, |value: Value<'a>| Cell::Json(value)),
        });
        Ok(MongoRow { cells: cells.collect(), position })
    }
}

impl<'a> MongoRow<'a> {
    /// The columns of a document that can be read, although not all can.
    pub(super) fn of_scalars(document: &'a RawDocument, columns: &Columns, position: &'a Position) -> Self {
        let cell = |column: &String| match find(document, column) {
            Ok(None) => Cell::Null,
            Ok(Some(value)) if is_scalar(value) => scalar(value),
            _ => Cell::Invalid,
        };
        Self { cells: columns.names().iter().map(cell).collect(), position }
    }
}

impl Row for MongoRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        self.cells.get(column).cloned().unwrap_or(Cell::Null)
    }

    fn position(&self, position: &mut String) {
        self.position.write(position);
    }
}

/// The value of a column: the member with this name, or at this JSON Pointer.
pub(super) fn find<'a>(
    document: &'a RawDocument,
    column: &str,
) -> Result<Option<RawBsonRef<'a>>, bson::error::Error> {
    if let Some(value) = document.get(column)? {
        return Ok(Some(value));
    }
    let Some(pointer) = column.strip_prefix('/') else { return Ok(None) };
    let mut value = RawBsonRef::Document(document);
    for token in pointer.split('/') {
        let token = token.replace("~1", "/").replace("~0", "~");
        let found = match value {
            RawBsonRef::Document(document) => document.get(&token)?,
            RawBsonRef::Array(array) => match token.parse() {
                Ok(index) if token == "0" || !token.starts_with(['0', '+']) => array.get(index)?,
                _ => None,
            },
            _ => None,
        };
        let Some(found) = found else { return Ok(None) };
        value = found;
    }
    Ok(Some(value))
}

fn is_scalar(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::Binary(binary) => binary.subtype == BinarySubtype::Uuid && binary.bytes.len() == 16,
        RawBsonRef::Double(_)
        | RawBsonRef::String(_)
        | RawBsonRef::Boolean(_)
        | RawBsonRef::Null
        | RawBsonRef::Undefined
        | RawBsonRef::Int32(_)
        | RawBsonRef::Int64(_)
        | RawBsonRef::ObjectId(_)
        | RawBsonRef::DateTime(_)
        | RawBsonRef::Symbol(_)
        | RawBsonRef::Decimal128(_) => true,
        _ => false,
    }
}

/// The cell of a [scalar](is_scalar).
fn scalar(value: RawBsonRef<'_>) -> Cell<'_> {
    match value {
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) => Cell::Text(text.into()),
        RawBsonRef::Int32(number) => Cell::Integer(number.into()),
        RawBsonRef::Int64(number) => Cell::Integer(number),
        // The shell and JavaScript write whole numbers like this.
        RawBsonRef::Double(number) if is_whole(number) => Cell::Integer(number as i64),
        RawBsonRef::Double(number) if number.is_finite() => Cell::Float(number),
        RawBsonRef::Double(number) => Cell::Text(non_finite(number).into()),
        RawBsonRef::Boolean(value) => Cell::Bool(value),
        RawBsonRef::ObjectId(id) => Cell::Text(id.to_hex().into()),
        RawBsonRef::DateTime(time) => Cell::Time(nanoseconds(time)),
        RawBsonRef::Decimal128(number) => Cell::Text(number.to_string().into()),
        RawBsonRef::Binary(binary) => Cell::Text(uuid(binary.bytes).into()),
        _ => Cell::Null,
    }
}

fn is_whole(number: f64) -> bool {
    /// Up to here, `f64` has every integer.
    const MAX_SAFE: f64 = 9_007_199_254_740_992.0;

    number.fract() == 0.0 && number.abs() <= MAX_SAFE
}

/// NaN and infinities have no JSON form.
fn non_finite(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

fn nanoseconds(time: bson::DateTime) -> i128 {
    i128::from(time.timestamp_millis()) * 1_000_000
}

/// MongoDB's own limit is 100.
const MAX_DEPTH: usize = 200;

/// Appends the value as JSON. Types that JSON lacks are texts, or Extended JSON.
fn write_json(value: RawBsonRef<'_>, out: &mut Vec<u8>, depth: usize) -> Result<(), Fault> {
    if depth > MAX_DEPTH {
        return Err("the document is nested too deeply".into());
    }
    let unreadable = |_| Fault::from("the document is not BSON");
    match value {
        RawBsonRef::Document(document) => {
            out.push(b'{');
            for (at, member) in document.iter().enumerate() {
                let (name, value) = member.map_err(unreadable)?;
                if at > 0 {
                    out.push(b',');
                }
                write_string(name.as_ref(), out);
                out.push(b':');
                write_json(value, out, depth + 1)?;
            }
            out.push(b'}');
        }
        RawBsonRef::Array(array) => write_array(array, out, depth)?,
        RawBsonRef::DateTime(time) => match time::format(nanoseconds(time)) {
            Some(text) => write_string(&text, out),
            None => write_string(&time.timestamp_millis().to_string(), out),
        },
        value if is_scalar(value) => scalar(value).write_json(out),
        value => {
            let value = Bson::try_from(value).map_err(unreadable)?;
            out.extend_from_slice(value.into_canonical_extjson().to_string().as_bytes());
        }
    }
    Ok(())
}

fn write_array(array: &RawArray, out: &mut Vec<u8>, depth: usize) -> Result<(), Fault> {
    out.push(b'[');
    for (at, element) in array.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_json(element.map_err(|_| "the document is not BSON")?, out, depth + 1)?;
    }
    out.push(b']');
    Ok(())
}
