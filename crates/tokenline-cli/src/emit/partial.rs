//! The lines of `--emit partials` that build the open record.

use std::io::{self, Write};

use tokenline::OpenRecord;
use tokenline::json::{Change, Key, ValueDelta};

/// Writes a delta as one line in the format that `tokenline parse --help` describes.
///
/// A key is written once, where its value begins: names may be long, and a record may have many values below one.
pub(super) fn write_line(mut out: impl Write, partial: &OpenRecord<ValueDelta<'_>>) -> io::Result<()> {
    let OpenRecord { value: ValueDelta { depth, key, change, .. }, start, .. } = partial;
    let event = match change {
        Change::Open(_) => "open",
        Change::Append(_) => "append",
        Change::Set(_) => "set",
        Change::Close => "close",
    };
    write!(out, r#"{{"event":"{event}","start":{start},"depth":{depth}"#)?;
    if matches!(change, Change::Open(_) | Change::Set(_)) {
        match key {
            Some(Key::Name(name)) => {
                out.write_all(br#","key":"#)?;
                serde_json::to_writer(&mut out, name)?;
            }
            Some(Key::Index(index)) => write!(out, r#","key":{index}"#)?,
            None => {}
        }
    }
    match change {
        Change::Open(kind) => write!(out, r#","kind":"{}""#, kind.as_str())?,
        Change::Append(text) => {
            out.write_all(br#","text":"#)?;
            serde_json::to_writer(&mut out, text)?;
        }
        Change::Set(value) => write!(out, r#","value":{}"#, value.raw())?,
        Change::Close => {}
    }
    out.write_all(b"}\n")
}
