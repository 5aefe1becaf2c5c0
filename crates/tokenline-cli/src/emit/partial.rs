//! The lines of `--emit partials` that build the open record.

use std::fmt;
use std::io::{self, Write};

use tokenline::OpenRecord;
use tokenline::json::{OwnedChange, OwnedDelta, OwnedKey};

/// Writes a delta as a JSON object in the format that `tokenline parse --help` describes.
///
/// `step` is the name of the member for the kind of the step; `members` are those that name the input and the text the
/// delta is of, each with its comma.
pub(crate) fn write_object(
    mut out: impl Write,
    step: &str,
    members: fmt::Arguments<'_>,
    partial: &OpenRecord<OwnedDelta>,
) -> io::Result<()> {
    let OpenRecord { value: OwnedDelta { depth, key, change }, start, .. } = partial;
    let kind = match change {
        OwnedChange::Open(_) => "open",
        OwnedChange::Append(_) => "append",
        OwnedChange::Set(_) => "set",
        OwnedChange::Close => "close",
    };
    write!(out, r#"{{"{step}":"{kind}",{members}"start":{start},"depth":{depth}"#)?;
    match key {
        Some(OwnedKey::Name(name)) => {
            out.write_all(br#","key":"#)?;
            serde_json::to_writer(&mut out, name)?;
        }
        Some(OwnedKey::Index(index)) => write!(out, r#","key":{index}"#)?,
        None => {}
    }
    match change {
        OwnedChange::Open(kind) => write!(out, r#","kind":"{}""#, kind.as_str())?,
        OwnedChange::Append(text) => {
            out.write_all(br#","text":"#)?;
            serde_json::to_writer(&mut out, text)?;
        }
        OwnedChange::Set(value) => write!(out, r#","value":{value}"#)?,
        OwnedChange::Close => {}
    }
    out.write_all(b"}")
}
