//! The content of a period, which decides how many copies are a loop.

/// The content of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Words,
    /// Rows with words.
    Rows,
    WithoutWords,
    WhiteSpace,
}

/// Longest token that may be a word although it has a capital or a digit, in bytes. Longer ones are encoded data.
const MAX_WORD: usize = 32;

/// Tokens that stand for a missing or a truth value.
const LITERALS: [&str; 6] = ["null", "true", "false", "none", "nan", "n/a"];

impl Kind {
    /// The kind of a period, of which `copies` are two. With `has_escapes`, they are in a JSON string, or around it.
    pub(super) fn new(copies: &[u8], has_escapes: bool) -> Self {
        let (copy, is_unbroken) = whole_copy(copies, has_escapes);
        let text = String::from_utf8_lossy(copy);
        let text = if has_escapes && text.contains('\\') { unescape(&text).into() } else { text };
        if text.chars().all(char::is_whitespace) {
            Self::WhiteSpace
        } else if !has_words(&text, is_unbroken) {
            Self::WithoutWords
        } else if has_marks_of_rows(&text) || has_only_rows(&text) {
            Self::Rows
        } else {
            Self::Words
        }
    }
}

/// One of the two copies, turned so that it begins with a whole line if there is one, or else with a whole token. Also
/// returns whether the copies are one token without an end.
fn whole_copy(copies: &[u8], has_escapes: bool) -> (&[u8], bool) {
    let period = copies.len() / 2;
    let last =
        |is_end: fn(&[u8]) -> bool| (period + 1..=copies.len()).rev().find(|at| is_end(&copies[..*at]));
    let is_line_end = |bytes: &[u8]| bytes.ends_with(b"\n");
    let is_escaped_line_end = |bytes: &[u8]| bytes.ends_with(b"\\n");
    let is_space = |bytes: &[u8]| bytes.last().is_some_and(u8::is_ascii_whitespace);
    let is_token_end = |bytes: &[u8]| {
        bytes.last().is_some_and(|byte| byte.is_ascii() && *byte != b'\\' && !is_in_token(*byte))
    };
    let end = last(is_line_end)
        .or_else(|| if has_escapes { last(is_escaped_line_end) } else { None })
        .or_else(|| last(is_space))
        .or_else(|| last(is_token_end));
    if let Some(end) = end {
        return (&copies[end - period..end], false);
    }
    // An escape, unless its backslash is escaped.
    let is_escape = |at: &usize| copies[*at] == b'\\' && copies[at + period - 1] != b'\\';
    if let Some(start) = (0..period).find(is_escape).filter(|_| has_escapes) {
        return (&copies[start..start + period], false);
    }
    // The first byte of a character. There is none only in invalid UTF-8.
    let start = (0..period).find(|at| copies[*at] & 0xC0 != 0x80).unwrap_or_default();
    (&copies[start..start + period], copies.is_ascii())
}

/// Whether a byte belongs to a token: letters and digits, and what is among them in encoded data and in names.
fn is_in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

fn has_words(text: &str, is_unbroken: bool) -> bool {
    let is_foreign_letter = |char: char| !char.is_ascii() && char.is_alphabetic();
    let tokens = || text.split(|char: char| !u8::try_from(char).is_ok_and(is_in_token));
    (!text.is_ascii() && text.contains(is_foreign_letter))
        || tokens().any(|token| is_word(token, is_unbroken))
}

fn is_word(token: &str, is_unbroken: bool) -> bool {
    let token = token.trim_start_matches(|char: char| !char.is_ascii_alphanumeric());
    if !token.starts_with(|char: char| char.is_ascii_alphabetic()) {
        return false;
    }
    let mut letters = token.bytes().filter(u8::is_ascii_alphabetic);
    let first = letters.next();
    let has_two = letters.any(|letter| first.is_some_and(|first| !first.eq_ignore_ascii_case(&letter)));
    let is_plain = |byte: u8| !byte.is_ascii_uppercase() && !byte.is_ascii_digit();
    has_two
        && !LITERALS.iter().any(|literal| token.eq_ignore_ascii_case(literal))
        && ((!is_unbroken && token.len() <= MAX_WORD) || token.bytes().all(is_plain))
}

/// Whether the text has marks that JSON has around strings, or markup around elements.
fn has_marks_of_rows(text: &str) -> bool {
    // The last mark may end in the next copy.
    let around: String = text.chars().chain(text.chars().take(3)).collect();
    ["\":", "\"}", "\"]", "\",\"", "\", \"", "</", "/>"].iter().any(|mark| around.contains(mark))
}

/// Whether the text is of whole lines, all of them rows.
fn has_only_rows(text: &str) -> bool {
    text.ends_with('\n') && text.lines().map(str::trim).filter(|line| !line.is_empty()).all(is_row)
}

fn is_row(line: &str) -> bool {
    let in_brackets = |open: char, close: char| {
        line.starts_with(open) && line.strip_suffix(',').unwrap_or(line).ends_with(close)
    };
    let is_box = |char: char| ('\u{2500}'..='\u{257F}').contains(&char);
    line.starts_with(|char: char| char == '|' || is_box(char))
        || in_brackets('{', '}')
        || in_brackets('[', ']')
        || is_list_code(line)
        || line.contains('\t')
        || line.as_bytes().windows(3).any(is_between_cells)
}

/// Whether a line is of a list in code: an item with marks that prose does not have, or what opens or closes a list.
fn is_list_code(line: &str) -> bool {
    let is_item = line.ends_with(',') && line.contains(['(', ')', '[', ']', '{', '}', '<', '>', '=', ':']);
    is_item
        || line.ends_with(['(', '[', '{'])
        || line.chars().all(|char| matches!(char, ')' | ']' | '}' | ','))
}

/// Whether the middle byte is a comma or a semicolon between cells, and not between words or in a number.
fn is_between_cells(bytes: &[u8]) -> bool {
    let [before, byte, after] = bytes else { return false };
    let is_in_number = before.is_ascii_digit() && after.is_ascii_digit();
    matches!(byte, b',' | b';') && !after.is_ascii_whitespace() && !is_in_number
}

/// The text with escapes of JSON resolved, as far as they are in it.
fn unescape(text: &str) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        unescaped.push_str(before);
        let char = escape.chars().next();
        rest = &escape[char.map_or(0, char::len_utf8)..];
        match char {
            Some('n' | 'r') => unescaped.push('\n'),
            Some('t') => unescaped.push('\t'),
            Some('b' | 'f') => unescaped.push(' '),
            Some('u') => {
                let digits = rest.get(..4);
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                rest = if code.is_some() { &rest[4..] } else { rest };
                // A surrogate is no letter, or in any case no word of its own.
                unescaped.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => unescaped.push(other),
            None => {}
        }
    }
    unescaped.push_str(rest);
    unescaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(kind: Kind, periods: &[&str]) {
        for period in periods {
            let bytes = period.as_bytes();
            // Wherever the period begins.
            for at in 0..bytes.len() {
                let turned = [&bytes[at..], &bytes[..at]].concat();
                assert_eq!(Kind::new(&turned.repeat(2), false), kind, "{period:?} from {at}");
            }
        }
    }

    #[test]
    fn words() {
        expect(
            Kind::Words,
            &["the ", "I do. ", "one-way, ", "hahaha", "的", "é", "да ", "<|end|>", "ok\n\n"],
        );
        expect(
            Kind::Words,
            &["- Step, and step.\n", "It costs 1,000 euros.\n", "[INFO] Retrying...\n", "No, no, "],
        );
        expect(Kind::Words, &["see /usr/bin/env ", "supercalifragilisticexpialidocious/and/so/on "]);
    }

    #[test]
    fn rows() {
        expect(
            Kind::Rows,
            &["| yes | no |\n", "| a b |\n| yes no |\n", "│ yes │\n", "red,green\n", "red;green\r\n"],
        );
        expect(Kind::Rows, &["red\tgreen\n", "{'color': 'red'},\n", "[red, green]\n"]);
        expect(
            Kind::Rows,
            &["    Point::default(),\n", "Point {\n  x: None,\n  y: 0,\n},\n", "x.map(|x| x),\n"],
        );
        expect(Kind::Rows, &["{\"color\":\"red\"},", "\"red\",", "\"red\", ", "<td>red</td>", "<br />"]);
    }

    #[test]
    fn without_words() {
        expect(
            Kind::WithoutWords,
            &["0", "0 ", "0,0,0\n", "-", "| --- |\n", "?!", "😀", "A", "MMMm", "0x00, ", "0.0f,"],
        );
        expect(
            Kind::WithoutWords,
            &["null,", "true, false, ", "N/A\t", "0xDEADBEEF ", "1e-05 ", "|  |  ", "/-", "+"],
        );
        // Base64 of spaces, of black pixels, and in lines.
        expect(Kind::WithoutWords, &["ICAg", "AAAA/wAAAP8AAAD/", &("ICAg".repeat(19) + "\n")]);
    }

    #[test]
    fn white_space() {
        expect(Kind::WhiteSpace, &[" ", "\n", " \n", "\r\n\t", "\u{a0}", "\u{3000}\n"]);
    }

    #[test]
    fn escapes_are_what_they_stand_for() {
        let kind = |period: &str| {
            let kinds = (0..period.len()).map(|at| {
                let turned = period[at..].to_owned() + &period[..at];
                Kind::new(turned.repeat(2).as_bytes(), true)
            });
            let kinds: Vec<Kind> = kinds.collect();
            assert!(kinds.iter().all(|kind| *kind == kinds[0]), "{period:?}: {kinds:?}");
            kinds[0]
        };
        assert_eq!(kind("\\n"), Kind::WhiteSpace);
        assert_eq!(kind("  \\t\\r\\n"), Kind::WhiteSpace);
        assert_eq!(kind("\\u0000"), Kind::WithoutWords);
        assert_eq!(kind("\\ud83d\\ude00"), Kind::WithoutWords);
        assert_eq!(kind("\\u4e2d"), Kind::Words);
        assert_eq!(kind("The end.\\n"), Kind::Words);
        assert_eq!(kind("| yes |\\n"), Kind::Rows);
        assert_eq!(kind("{\\\"a\\\": \\\"yes\\\"}\\n"), Kind::Rows);
    }
}
