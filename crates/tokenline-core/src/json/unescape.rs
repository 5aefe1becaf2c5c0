//! Decoding the escapes of a JSON string. The parser has checked them; nothing here can fail.

/// The halves of surrogate pairs, as UTF-16 units, that a string begins and ends with and that have
/// their other halves in other strings. The text of the string has U+FFFD in their places.
///
/// Programs that cut text by UTF-16 units write them: `"a\ud83d"`, and then `"\ude00b"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoneSurrogates {
    /// The low half at the start.
    pub low: Option<u16>,
    /// The high half at the end.
    pub high: Option<u16>,
}

/// Decodes the escapes of `raw`, the text between the quotes of a valid JSON string.
pub(crate) fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    unescape_into(raw, &mut out);
    out
}

/// As [`unescape`], appended to `out`. Returns the halves at the ends.
pub(crate) fn unescape_into(raw: &str, out: &mut String) -> LoneSurrogates {
    out.reserve(raw.len());
    let mut lone = LoneSurrogates::default();
    let mut rest = raw;
    while let Some(at) = next_escape(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let (character, used) = escape(&rest.as_bytes()[at..]);
        let is_at_start = at == 0 && rest.len() == raw.len();
        rest = &rest[at + used..];
        out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        match character {
            Err(low @ 0xDC00..) if is_at_start => lone.low = Some(low),
            Err(high @ ..0xDC00) if rest.is_empty() => lone.high = Some(high),
            _ => {}
        }
    }
    out.push_str(rest);
    lone
}

/// Where the next escape begins. In a few bytes, such as a token's, a loop finds it sooner.
#[inline]
fn next_escape(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < 16 { bytes.iter().position(|&byte| byte == b'\\') } else { memchr::memchr(b'\\', bytes) }
}

/// The character that an escape stands for, or the half of a surrogate pair, and the length of the
/// escape, its backslash included.
fn escape(bytes: &[u8]) -> (Result<char, u16>, usize) {
    let character = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let next = if bytes.get(6..8) == Some(br"\u") { hex(bytes, 8) } else { 0 };
            return match char::decode_utf16([hex(bytes, 2), next]).next() {
                Some(Err(half)) => (Err(half.unpaired_surrogate()), 6),
                Some(Ok(character)) => (Ok(character), 6 * character.len_utf16()),
                None => unreachable!("there are two units"),
            };
        }
        Some(&byte) => char::from(byte),
        None => return (Ok(char::REPLACEMENT_CHARACTER), 1),
    };
    (Ok(character), 2)
}

fn hex(bytes: &[u8], at: usize) -> u16 {
    let digits = bytes.iter().skip(at).take(4).map(|&digit| hex_digit(digit).unwrap_or(0));
    digits.fold(0, |unit, digit| (unit << 4) | digit as u16)
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

/// How many characters the string has whose escaped form is `raw`.
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
