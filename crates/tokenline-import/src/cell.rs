//! The values of rows.

use std::borrow::Cow;

use jiff::Timestamp;
use tokenline_core::json::{Kind, Value};

/// A value of a row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Float(f64),
    /// A string; also a number from an untyped source such as CSV.
    Text(Cow<'a, str>),
    /// A time: nanoseconds since 1970-01-01T00:00:00Z.
    Time(i128),
    /// A JSON value. Values of MongoDB's Extended JSON, such as `{"$oid": "..."}`, are read as what they mean.
    Json(Value<'a>),
    /// A value that cannot be read, such as bytes that are not text. It rejects the row and its conversation.
    Invalid,
}

/// A row: its cells by the number of the column, as [`Columns::names`](crate::Columns::names) counts them.
pub trait Row {
    /// The value in a column; [`Cell::Null`] if the row does not have it.
    fn cell(&self, column: usize) -> Cell<'_>;

    /// Where the source continues after this row, for the checkpoint.
    fn position(&self, position: &mut String) {
        position.clear();
    }

    /// Breaks ties between rows with equal order, if the source does not return them in a fixed order.
    fn tie(&self) -> &str {
        ""
    }
}

impl<'a> Cell<'a> {
    /// Reads Extended JSON and scalars as what they mean.
    pub(crate) fn resolve(self) -> Self {
        let Self::Json(value) = self else { return self };
        match value.kind() {
            Kind::Null => Self::Null,
            Kind::Bool => Self::Bool(value.as_bool() == Some(true)),
            Kind::Object => extended(value).unwrap_or(Self::Json(value)),
            _ => Self::Json(value),
        }
    }

    /// The text of an id or a role: a text or a number. `Err` for other types, `None` without a value. A number with a
    /// fraction of zero is an integer: JSON and BSON write 7 as `7` and `7.0`.
    pub(crate) fn into_text(self) -> Result<Option<Cow<'a, str>>, ()> {
        Ok(match self.resolve() {
            Self::Null => None,
            Self::Integer(number) => Some(number.to_string().into()),
            Self::Text(text) => Some(text),
            Self::Json(value) => match value.kind() {
                Kind::String => value.as_str(),
                Kind::Number => Some(match value.raw().split_once('.') {
                    Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.into(),
                    _ => value.raw().into(),
                }),
                _ => return Err(()),
            },
            Self::Float(number) => Some(number.to_string().into()),
            Self::Bool(_) | Self::Time(_) | Self::Invalid => return Err(()),
        }
        .filter(|text| !text.is_empty()))
    }

    /// Appends the value as JSON. Times are in RFC 3339, Extended JSON is resolved.
    pub(crate) fn write_json(self, out: &mut Vec<u8>) {
        match self.resolve() {
            Self::Null | Self::Invalid => out.extend_from_slice(b"null"),
            Self::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
            Self::Integer(number) => write_value(&number, out),
            Self::Float(number) => write_value(&number, out),
            Self::Text(text) => write_string(&text, out),
            Self::Time(nanoseconds) => match crate::time::format(nanoseconds) {
                Some(text) => write_string(&text, out),
                None => write_string(&nanoseconds.to_string(), out),
            },
            Self::Json(value) => write_resolved(value, out),
        }
    }
}

/// A text as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    let mut out = Vec::new();
    write_string(text, &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Appends a text as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = first_escape(rest) {
        out.extend_from_slice(&rest[..at]);
        write_escaped(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The first byte that JSON needs to escape. Looks at eight bytes at a time.
fn first_escape(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The high bit of each byte that is zero; bytes after the first may be wrong.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let (words, rest) = text.as_chunks();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let controls = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (controls | zeros(word ^ (ONES * 0x22)) | zeros(word ^ (ONES * 0x5c))) & HIGH;
        if found != 0 {
            return Some(number * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let in_rest = rest.iter().position(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'));
    in_rest.map(|at| words.len() * 8 + at)
}

fn write_escaped(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        ..b' ' => {
            out.extend_from_slice(b"\\u00");
            out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend([b'\\', letter]);
}

fn write_value(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("scalars and texts are JSON, and a vector takes them");
}

/// Appends a JSON value on one line, with the Extended JSON in it resolved.
fn write_resolved(value: Value<'_>, out: &mut Vec<u8>) {
    let raw = value.raw();
    if !raw.contains("\"$") {
        out.extend_from_slice(value.to_single_line().as_bytes());
        return;
    }
    match value.kind() {
        Kind::Array => {
            out.push(b'[');
            for (at, element) in value.as_array().into_iter().flatten().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                Cell::Json(element).write_json(out);
            }
            out.push(b']');
        }
        Kind::Object => {
            out.push(b'{');
            for (at, (name, member)) in value.as_object().into_iter().flatten().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                Cell::Json(member).write_json(out);
            }
            out.push(b'}');
        }
        _ => out.extend_from_slice(value.to_single_line().as_bytes()),
    }
}

/// A value of MongoDB's Extended JSON, canonical or relaxed.
fn extended(value: Value<'_>) -> Option<Cell<'_>> {
    let object = value.as_object()?;
    if object.len() != 1 {
        return None;
    }
    let (name, member) = object.iter().next()?;
    let text = || member.as_str();
    Some(match name {
        "$oid" | "$symbol" | "$uuid" => Cell::Text(text()?),
        "$numberInt" | "$numberLong" => match text()?.parse() {
            Ok(number) => Cell::Integer(number),
            Err(_) => return None,
        },
        "$numberDouble" => match text()?.parse::<f64>() {
            Ok(number) if number.is_finite() => Cell::Float(number),
            // NaN and infinities have no JSON form.
            _ => Cell::Text(text()?),
        },
        "$numberDecimal" => Cell::Text(text()?),
        "$date" => match member.kind() {
            Kind::String => Cell::Time(text()?.parse::<Timestamp>().ok()?.as_nanosecond()),
            Kind::Number => Cell::Time(milliseconds(member.as_number()?.as_i64()?)),
            Kind::Object => match extended(member)? {
                Cell::Integer(number) => Cell::Time(milliseconds(number)),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    })
}

fn milliseconds(number: i64) -> i128 {
    i128::from(number) * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_written_as_serde_json_does() {
        let all: String = (0..0x180).filter_map(char::from_u32).collect();
        for start in (0..all.len()).filter(|at| all.is_char_boundary(*at)) {
            let mut out = Vec::new();
            write_string(&all[start..], &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&all[start..]).unwrap());
        }
    }
}
