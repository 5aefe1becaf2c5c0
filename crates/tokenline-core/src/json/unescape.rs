//! Decodes the escapes of a JSON string. The parser has validated them, so nothing here can fail.

use std::mem;

use super::parser::SIMPLE_ESCAPES;
use super::scan::run_of_16;

/// Halves of surrogate pairs, as UTF-16 units, at the start and end of a string, whose other halves are in
/// other strings. The string's text has U+FFFD in their place.
///
/// Programs that split text by UTF-16 units write them: `"a\ud83d"`, then `"\ude00b"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoneSurrogates {
    /// The low half at the start.
    pub low: Option<u16>,
    /// The high half at the end.
    pub high: Option<u16>,
}

impl LoneSurrogates {
    /// The halves in `raw`, the text between the quotes.
    #[cold]
    pub(crate) fn of(raw: &str) -> Self {
        let mut lone = Self::default();
        let mut end = 0;
        while let Some(at) = memchr::memchr(b'\\', &raw.as_bytes()[end..]) {
            let start = end + at;
            let bytes = &raw.as_bytes()[start..];
            end = start + escape(bytes).1;
            // The halves of a pair are one escape.
            match (end - start, hex(bytes, 2) as u16) {
                (6, low @ 0xDC00..0xE000) if start == 0 => lone.low = Some(low),
                (6, high @ 0xD800..0xDC00) if end == raw.len() => lone.high = Some(high),
                _ => {}
            }
        }
        lone
    }
}

/// Decodes the escapes of `raw`, the text between the quotes of a valid JSON string.
pub(crate) fn unescape(raw: &str) -> String {
    let mut out = String::new();
    unescape_into(raw, &mut out);
    out
}

/// Like [`unescape`], into a buffer that is overwritten.
pub(crate) fn unescape_into(raw: &str, out: &mut String) {
    let mut decoded = mem::take(out).into_bytes();
    decoded.clear();
    decode(raw.as_bytes(), &mut decoded);
    *out = String::from_utf8(decoded).expect("the escapes of a string are characters");
}

/// Like [`unescape`], appended to `out`.
#[inline(never)]
pub(crate) fn unescape_onto(raw: &str, out: &mut String) {
    out.push_str(&unescape(raw));
}

/// Blocks of sixteen bytes are copied whole, and then cut at the first escape in them.
fn decode(raw: &[u8], out: &mut Vec<u8>) {
    if raw.len() < BLOCK {
        return decode_short(raw, out);
    }
    // What an escape decodes to is never longer.
    out.resize(raw.len() + BLOCK, 0);
    let (mut at, mut to) = (0, 0);
    while at < raw.len() {
        let block = block_at(raw, at);
        out[to..to + BLOCK].copy_from_slice(&block);
        // Only an escape ends a run: `raw` has no control characters, and its quotes are escaped.
        let run = run_of_16(&block);
        (at, to) = (at + run, to + run);
        if run == BLOCK || at >= raw.len() {
            continue;
        }
        match raw.get(at + 1).map_or(0, |byte| SIMPLE_ESCAPES[usize::from(*byte)]) {
            0 => {
                let (character, used) = escape(&raw[at..]);
                to += character.encode_utf8(&mut out[to..]).len();
                at += used;
            }
            // Most escapes, without a `char`.
            simple => {
                out[to] = simple;
                (at, to) = (at + 2, to + 1);
            }
        }
    }
    out.truncate(to);
}

/// Decodes less than a block, such as a token of a model.
fn decode_short(mut rest: &[u8], out: &mut Vec<u8>) {
    out.reserve(rest.len());
    while let [first, after @ ..] = rest {
        if *first == b'\\' {
            let (character, used) = escape(rest);
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = rest.get(used..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = after;
        }
    }
}

const BLOCK: usize = 16;

/// The bytes at `at`, and zeros after the last one, which end a run.
#[inline(always)]
fn block_at(raw: &[u8], at: usize) -> [u8; BLOCK] {
    match raw[at..].first_chunk() {
        Some(block) => *block,
        None => {
            let mut block = [0; BLOCK];
            block[..raw.len() - at].copy_from_slice(&raw[at..]);
            block
        }
    }
}

/// The character of an escape, and the length of the escape including its backslash.
fn escape(bytes: &[u8]) -> (char, usize) {
    match bytes.get(1) {
        Some(b'u') => {
            let high = hex(bytes, 2);
            if (0xD800..0xDC00).contains(&high) && bytes.get(6..8) == Some(br"\u") {
                let low = hex(bytes, 8).wrapping_sub(0xDC00);
                if low < 0x400 {
                    let code = 0x1_0000 + ((high - 0xD800) << 10) + low;
                    return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
                }
            }
            // Half a pair has no character.
            (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
        }
        Some(&byte) => (char::from(SIMPLE_ESCAPES[usize::from(byte)]), 2),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn hex(bytes: &[u8], at: usize) -> u32 {
    bytes.iter().skip(at).take(4).fold(0, |value, &digit| (value << 4) | hex_digit(digit).unwrap_or(0))
}

/// The value of a hexadecimal digit.
#[inline]
pub(crate) fn hex_digit(byte: u8) -> Option<u32> {
    match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'a'..=b'f' => Some(u32::from(byte - b'a') + 10),
        b'A'..=b'F' => Some(u32::from(byte - b'A') + 10),
        _ => None,
    }
}

/// The number of characters of the string whose escaped form is `raw`.
pub(crate) fn char_count(raw: &str) -> usize {
    let mut count = 0;
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (_, used) = escape(&rest.as_bytes()[at..]);
        count += rest[..at].chars().count() + 1;
        rest = &rest[at + used..];
    }
    count + rest.chars().count()
}
