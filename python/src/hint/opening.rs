//! What a source can be by its first bytes.

use tokenline_llm::Provider;

use super::message::Binary;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of compressed data, and of other files that are not text.
const SIGNATURES: &[(&[u8], Binary)] = &[
    (&[0x1f, 0x8b, 8], Binary::Compressed("gzip")),
    (&[0x28, 0xb5, 0x2f, 0xfd], Binary::Compressed("zstd")),
    (b"\xfd7zXZ\0", Binary::Compressed("xz")),
    (&[0x78, 0x9c], Binary::Compressed("zlib")),
    (b"PK\x03\x04", Binary::Compressed("zip")),
    (&[0xff, 0xfe], Binary::Utf16),
    (&[0xfe, 0xff], Binary::Utf16),
];

/// What a source can be by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// The first bytes do not decide yet.
    Undecided,
    /// Fields of an event stream, if it is one.
    Fields,
    /// Messages of an Amazon event stream.
    Messages,
    /// An object: a complete response, an error, or a record.
    Object,
    /// An array of a provider's objects, or of records.
    Array,
    Html,
    /// Text, as it should be.
    Text,
}

/// The kind of a file that is not text.
pub(super) fn signature(beginning: &[u8]) -> Option<Binary> {
    match beginning {
        // A frame that zstd skips, as pzstd writes it.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Some(Binary::Compressed("zstd")),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
            return Some(Binary::Compressed("bzip2"));
        }
        _ => {}
    }
    SIGNATURES.iter().find(|(bytes, _)| beginning.starts_with(bytes)).map(|(_, binary)| *binary)
}

pub(super) fn may_become_binary(beginning: &[u8]) -> bool {
    let is_varied = match beginning {
        [0x50..=0x5f, rest @ ..] => [0x2a, 0x4d, 0x18].starts_with(rest),
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => b"1AY&SY".starts_with(rest),
        _ => b"BZh".starts_with(beginning),
    };
    is_varied || SIGNATURES.iter().any(|(bytes, _)| bytes.starts_with(beginning))
}

/// Whether it begins as a text.
pub(super) fn is_text(beginning: &[u8]) -> bool {
    let beginning = &beginning[..beginning.len().min(Provider::DETECT_BYTES)];
    signature(beginning).is_none() && opening(beginning) == Opening::Text
}

pub(super) fn opening(beginning: &[u8]) -> Opening {
    if may_become_binary(beginning) {
        return Opening::Undecided;
    }
    let text = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning).trim_ascii_start();
    match text {
        [] | b"\xef" | b"\xef\xbb" => return Opening::Undecided,
        [b'{', ..] => return Opening::Object,
        [0, ..] => return Opening::Messages,
        [b'[', rest @ ..] => {
            // Records in an array are most of what begins so.
            return match rest.trim_ascii_start() {
                [] => Opening::Undecided,
                [b'{', ..] => Opening::Array,
                _ => Opening::Text,
            };
        }
        _ => {}
    }
    let begins = |names: &[&[u8]], opening| {
        let found = names.iter().find_map(|name| {
            let shared = text.len().min(name.len());
            let is_same = text[..shared].eq_ignore_ascii_case(&name[..shared]);
            is_same.then_some(if shared == name.len() { opening } else { Opening::Undecided })
        });
        found.unwrap_or(Opening::Text)
    };
    match text[0] {
        b'<' => begins(&[b"<!doctype html", b"<html"], Opening::Html),
        _ => begins(&[b"data:", b"event:", b"id:", b"retry:", b":"], Opening::Fields),
    }
}
