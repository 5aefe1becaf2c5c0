//! Tokens that are read byte by byte: numbers, literals, escapes, and white space between them.

use super::super::error::Expected;
use super::super::tape::{FLOAT, NodeKind};
use super::super::unescape::hex_digit;

/// Progress within a number, in the terms of RFC 8259 section 6.
pub(super) mod number {
    /// After the minus sign.
    pub(crate) const MINUS: u8 = 0;
    /// After a leading zero.
    pub(crate) const ZERO: u8 = 1;
    /// Within the integer part.
    pub(crate) const INT: u8 = 2;
    /// After the decimal point.
    pub(crate) const POINT: u8 = 3;
    /// Within the fraction.
    pub(crate) const FRACTION: u8 = 4;
    /// After the `e`.
    pub(crate) const E: u8 = 5;
    /// After the exponent's sign.
    pub(crate) const SIGN: u8 = 6;
    /// Within the exponent.
    pub(crate) const EXPONENT: u8 = 7;
}

/// Progress within a `\u` escape: 0 to 3 are the digits of the first unit.
pub(super) mod unicode {
    /// Before the backslash of the low surrogate.
    pub(crate) const BACKSLASH: u8 = 4;
    /// Before its `u`.
    pub(crate) const U: u8 = 5;
    /// Before its first digit.
    pub(crate) const LOW: u8 = 6;
    /// Before its last digit.
    pub(crate) const LAST: u8 = 9;
    /// The escape is complete.
    pub(crate) const WHOLE: u8 = 10;
}

/// Skips white space, and returns the next byte.
#[inline(always)]
pub(super) fn next_token<const SINGLE_LINE: bool>(bytes: &[u8], at: &mut usize) -> Option<u8> {
    let mut byte = *bytes.get(*at)?;
    // Most tokens follow directly or after one space.
    if byte == b' ' {
        *at += 1;
        byte = *bytes.get(*at)?;
    }
    while byte <= b' ' && is_space(byte, SINGLE_LINE) {
        *at += 1;
        byte = *bytes.get(*at)?;
    }
    Some(byte)
}

/// Whether it is white space between tokens. In a single-line document a newline is not.
#[inline(always)]
pub(crate) fn is_space(byte: u8, single_line: bool) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') || (byte == b'\n' && !single_line)
}

/// The character that a simple escape stands for, by the one after its backslash; 0 for all others. A table, because a
/// `match` becomes a jump that is often mispredicted.
pub(in crate::json) const SIMPLE_ESCAPES: [u8; 256] = {
    let (letters, meanings, mut table) = (br#""\/bfnrt"#, b"\"\\/\x08\x0c\n\r\t", [0; 256]);
    let mut at = 0;
    while at < letters.len() {
        table[letters[at] as usize] = meanings[at];
        at += 1;
    }
    table
};

/// An escape of one character after the backslash.
#[inline(always)]
pub(in crate::json) fn is_simple_escape(byte: u8) -> bool {
    SIMPLE_ESCAPES[byte as usize] != 0
}

/// The literal that begins with this letter.
#[inline(always)]
pub(super) fn literal(first: u8) -> (&'static [u8], NodeKind) {
    match first {
        b't' => (b"true", NodeKind::True),
        b'f' => (b"false", NodeKind::False),
        _ => (b"null", NodeKind::Null),
    }
}

pub(super) enum NumberEnd {
    Whole,
    NeedMore,
    Fault,
}

/// Reads on in a number, up to the byte after it.
#[inline(always)]
pub(super) fn number_end(bytes: &[u8], at: &mut usize, progress: &mut u8) -> NumberEnd {
    loop {
        let Some(&byte) = bytes.get(*at) else { return NumberEnd::NeedMore };
        *progress = match (*progress, byte) {
            (number::INT | number::FRACTION | number::EXPONENT, b'0'..=b'9') => *progress,
            (number::ZERO | number::INT, b'.') => number::POINT,
            (number::POINT, b'0'..=b'9') => number::FRACTION,
            (number::MINUS, b'0') => number::ZERO,
            (number::MINUS, b'1'..=b'9') => number::INT,
            (number::ZERO | number::INT | number::FRACTION, b'e' | b'E') => number::E,
            (number::E, b'+' | b'-') => number::SIGN,
            (number::E | number::SIGN, b'0'..=b'9') => number::EXPONENT,
            (number::ZERO | number::INT | number::FRACTION | number::EXPONENT, _) => return NumberEnd::Whole,
            _ => return NumberEnd::Fault,
        };
        *at += 1;
    }
}

pub(super) fn is_whole_number(progress: u8) -> bool {
    matches!(progress, number::ZERO | number::INT | number::FRACTION | number::EXPONENT)
}

pub(super) fn number_flags(progress: u8) -> u32 {
    if progress >= number::FRACTION { FLOAT } else { 0 }
}

/// One byte of a `\u` escape, and the progress it makes. If lone surrogates are allowed, each half of a pair
/// is an escape of its own.
#[inline]
pub(super) fn unicode_step(
    progress: u8,
    unit: &mut u32,
    byte: u8,
    may_be_lone: bool,
) -> Result<u8, Expected> {
    match progress {
        unicode::BACKSLASH if byte == b'\\' => return Ok(unicode::U),
        unicode::U if byte == b'u' => {
            *unit = 0;
            return Ok(unicode::LOW);
        }
        unicode::BACKSLASH | unicode::U => return Err(Expected::LowSurrogate),
        _ => {}
    }
    *unit = (*unit << 4) | hex_digit(byte).ok_or(Expected::HexDigit)?;
    match progress {
        3 => match *unit {
            _ if may_be_lone => Ok(unicode::WHOLE),
            0xD800..0xDC00 => Ok(unicode::BACKSLASH),
            0xDC00..0xE000 => Err(Expected::Escape),
            _ => Ok(unicode::WHOLE),
        },
        unicode::LAST if (0xDC00..0xE000).contains(unit) => Ok(unicode::WHOLE),
        unicode::LAST => Err(Expected::LowSurrogate),
        _ => Ok(progress + 1),
    }
}

/// The length of the `\u` escape at the start of `bytes`; of a surrogate pair, that of both halves.
pub(in crate::json) fn unicode_escape(bytes: &[u8]) -> Option<usize> {
    let (mut progress, mut unit) = (0, 0);
    for (len, &byte) in (3..).zip(bytes.get(2..)?) {
        progress = unicode_step(progress, &mut unit, byte, false).ok()?;
        if progress == unicode::WHOLE {
            return Some(len);
        }
    }
    None
}

pub(super) fn expected_in_unicode(progress: u8) -> Expected {
    match progress {
        unicode::BACKSLASH | unicode::U => Expected::LowSurrogate,
        _ => Expected::HexDigit,
    }
}
