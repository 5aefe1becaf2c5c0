//! A line: its end, its field, its text.

use memchr::{memchr, memchr2};

/// The length of the line at the start of `bytes`, if it ends in them.
#[inline]
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'\n' | b'\r' => Some(0),
        _ => memchr2(b'\n', b'\r', bytes),
    }
}

/// Whether a line ends in a short chunk.
#[inline]
pub(super) fn has_line_end(piece: &[u8]) -> bool {
    let is_end = |byte: u8| (byte == b'\n') | (byte == b'\r');
    let (blocks, rest) = piece.as_chunks::<16>();
    // Always examine the complete block, so that it is compared as one vector.
    let has_end = |block: &[u8; 16]| block.iter().fold(false, |any, &byte| any | is_end(byte));
    blocks.iter().any(has_end) || rest.iter().any(|&byte| is_end(byte))
}

/// The end of the field's name and the start of its value, in a line that is not a comment.
#[inline]
pub(super) fn split_field(line: &[u8]) -> (usize, usize) {
    let name = match line {
        [b'd', b'a', b't', b'a', b':', ..] => 4,
        _ => memchr(b':', line).unwrap_or(line.len()),
    };
    let value = match line[name..] {
        [] => name,
        [_, b' ', ..] => name + 2,
        [_, ..] => name + 1,
    };
    (name, value)
}

/// The number in `value`, if it is only ASCII digits; larger numbers saturate.
pub(super) fn digits(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0_u64, |number, byte| match byte {
        b'0'..=b'9' => Some(number.saturating_mul(10).saturating_add(u64::from(byte - b'0'))),
        _ => None,
    })
}

/// Replaces `text` with `bytes`, decoded.
pub(super) fn set_text(text: &mut String, bytes: &[u8]) {
    text.clear();
    match simdutf8::basic::from_utf8(bytes) {
        Ok(valid) => text.push_str(valid),
        Err(_) => push_lossy(text, bytes),
    }
}

/// Decodes like the WHATWG Encoding standard: one U+FFFD for each maximal ill-formed part.
#[cold]
pub(super) fn push_lossy(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}
