//! Python's arguments and literals.
//!
//! See the Python Language Reference, 2.4.1 (strings) and 2.4.5 to 2.4.6 (numbers).

use super::{Container, Literals, State, Step};
use crate::Code;
use crate::json::write;

impl Literals {
    pub(super) fn python_key(&mut self, text: &str, byte: u8, container: Container) -> Step {
        match (container, byte) {
            (Container::Object, b'"' | b'\'') => self.quote(text, byte, true),
            (Container::Object, _) => self.unexpected(text, "a string or `}`"),
            (_, b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
                self.state = State::Name { from: self.at };
                Some(Ok(()))
            }
            (_, b'"' | b'\'' | b'[' | b'{' | b'0'..=b'9') => {
                self.is_certain = true;
                self.fault(Code::InvalidParameters, "an argument has no name")
            }
            _ => self.unexpected(text, "an argument"),
        }
    }

    pub(super) fn name(&mut self, text: &str, from: usize) -> Step {
        let rest = &text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric()).count();
        self.state = State::Equals { from, to: self.at };
        (self.at < text.len()).then_some(Ok(())).or_else(|| {
            self.state = State::Name { from };
            None
        })
    }

    pub(super) fn equals(&mut self, text: &str, byte: u8, from: usize, to: usize) -> Step {
        let name = &text[from..to];
        if byte != b'=' {
            self.at = from;
            // In ordinary text, the name may be a variable.
            self.is_certain |= word(name).is_some();
            return self.fault(Code::InvalidParameters, "an argument has no name");
        }
        if !self.names.insert(name.to_owned()) {
            self.at = from;
            return self.fault(Code::MalformedJson, "an argument is given twice");
        }
        self.comma(true);
        self.push_string(name);
        self.json.push(':');
        self.go_on(State::Value)
    }

    pub(super) fn python_value(&mut self, text: &str, byte: u8, container: Container) -> Step {
        match byte {
            b'"' | b'\'' => return self.quote(text, byte, false),
            b'0'..=b'9' | b'-' | b'+' | b'.' => {
                // Three dots are not a number, nor is a sign before a word.
                self.is_certain |= byte.is_ascii_digit();
                self.state = State::Number { from: self.at };
                self.at += 1;
            }
            _ if byte.is_ascii_alphabetic() => self.state = State::Word { from: self.at, is_key: false },
            _ => return self.unexpected(text, "a literal"),
        }
        self.comma(container.is_list());
        Some(Ok(()))
    }

    pub(super) fn word(&mut self, text: &str, from: usize, is_key: bool) -> Step {
        if self.is_delimited() {
            return self.delimited_word(text, from, is_key);
        }
        let rest = &text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric()).count();
        if self.at == text.len() {
            return None;
        }
        match word(&text[from..self.at]) {
            Some(json) => {
                self.is_certain = true;
                self.json.push_str(json);
                self.end_token(false)
            }
            None => {
                self.at = from;
                self.unexpected(text, "a literal")
            }
        }
    }

    pub(super) fn number(&mut self, text: &str, from: usize) -> Step {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let is_exponent = matches!(bytes[self.at - 1], b'e' | b'E');
            match byte {
                b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.at += 1,
                b'+' | b'-' if is_exponent => self.at += 1,
                _ if number(&text[from..self.at], &mut self.json) => {
                    self.is_certain = true;
                    return self.end_token(false);
                }
                _ => {
                    self.at = from;
                    return self.unexpected(text, "a decimal number");
                }
            }
        }
        None
    }
}

/// The result of reading an escape.
pub(super) enum Escape {
    /// It was written; its length in bytes, including the backslash.
    Written(usize),
    NeedMore,
    /// It is invalid.
    Bad(&'static str),
}

/// Writes the character of the escape at the start of `rest`.
pub(super) fn escape(rest: &str, out: &mut String) -> Escape {
    let bytes = rest.as_bytes();
    let Some(&kind) = bytes.get(1) else { return Escape::NeedMore };
    let (character, len) = match kind {
        b'\n' => return Escape::Written(2),
        b'\\' | b'\'' | b'"' => (char::from(kind), 2),
        b'a' => ('\u{7}', 2),
        b'b' => ('\u{8}', 2),
        b'f' => ('\u{c}', 2),
        b'n' => ('\n', 2),
        b'r' => ('\r', 2),
        b't' => ('\t', 2),
        b'v' => ('\u{b}', 2),
        b'0'..=b'7' => {
            let digits = bytes[1..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            if digits < 3 && bytes.len() == 1 + digits {
                return Escape::NeedMore;
            }
            let code = bytes[1..=digits].iter().fold(0, |code, digit| code * 8 + u32::from(digit - b'0'));
            (char::from_u32(code).unwrap_or_default(), 1 + digits)
        }
        b'x' | b'u' | b'U' => {
            let digits = match kind {
                b'x' => 2,
                b'u' => 4,
                _ => 8,
            };
            let code = match hex(&bytes[2..], digits) {
                Ok(Some(code)) => code,
                Ok(None) => return Escape::NeedMore,
                Err(()) => return Escape::Bad("expected a hexadecimal digit of an escape"),
            };
            match char::from_u32(code) {
                Some(character) => (character, 2 + digits),
                // Python itself has no pairs, but models that write JSON use them.
                None if kind == b'u' && code < 0xDC00 => match low_surrogate(&bytes[6..]) {
                    Ok(Some(low)) => {
                        let code = 0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                        (char::from_u32(code).unwrap_or_default(), 12)
                    }
                    Ok(None) => return Escape::NeedMore,
                    Err(()) => return Escape::Bad("expected the low half of a surrogate pair"),
                },
                None => return Escape::Bad("an escape stands for no character"),
            }
        }
        b'N' => return Escape::Bad("characters by their names are not known"),
        // Not an escape: the backslash stands for itself.
        _ => ('\\', 1),
    };
    write::escaped(out, character.encode_utf8(&mut [0; 4]));
    Escape::Written(len)
}

fn hex(bytes: &[u8], digits: usize) -> Result<Option<u32>, ()> {
    let mut code = 0_u32;
    for &byte in bytes.iter().take(digits) {
        code = (code << 4) | char::from(byte).to_digit(16).ok_or(())?;
    }
    Ok((bytes.len() >= digits).then_some(code))
}

fn low_surrogate(bytes: &[u8]) -> Result<Option<u32>, ()> {
    match bytes {
        [] | [b'\\'] => Ok(None),
        [b'\\', b'u', digits @ ..] => match hex(digits, 4)? {
            Some(low) if (0xDC00..0xE000).contains(&low) => Ok(Some(low)),
            Some(_) => Err(()),
            None => Ok(None),
        },
        _ => Err(()),
    }
}

/// Writes a number, if JSON can express the token. Its digits are kept.
fn number(token: &str, out: &mut String) -> bool {
    let (sign, unsigned) = match token.as_bytes().first() {
        Some(b'-') => ("-", &token[1..]),
        Some(b'+') => ("", &token[1..]),
        _ => ("", token),
    };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let is_float = fraction.is_some() || exponent.is_some();
    let Some(whole) = digits(whole, fraction.is_some_and(|fraction| !fraction.is_empty())) else {
        return false;
    };
    let Some(fraction) = fraction.map_or(Some(None), |text| digits(text, true).map(Some)) else {
        return false;
    };
    let exponent = exponent.map(|text| {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        digits(unsigned, false).map(|digits| (if text.starts_with('-') { "-" } else { "" }, digits))
    });
    if exponent == Some(None) {
        return false;
    }
    let significant = whole.trim_start_matches('0');
    // Python has no octal numbers that begin with a bare zero, so `007` is a mistake.
    if !is_float && significant.len() < whole.len() && !significant.is_empty() {
        return false;
    }
    out.push_str(sign);
    out.push_str(if significant.is_empty() { "0" } else { significant });
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(if fraction.is_empty() { "0" } else { &fraction });
    }
    if let Some(Some((sign, digits))) = exponent {
        out.push('e');
        out.push_str(sign);
        out.push_str(&digits);
    }
    true
}

/// Digits, with single underscores between them.
fn digits(text: &str, may_be_empty: bool) -> Option<String> {
    let is_well_formed = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    (is_well_formed && are_digits && (may_be_empty || !text.is_empty())).then(|| text.replace('_', ""))
}

/// The JSON of a Python or JSON word.
fn word(word: &str) -> Option<&'static str> {
    Some(match word {
        "True" | "true" => "true",
        "False" | "false" => "false",
        "None" | "null" => "null",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        for (token, expected) in [
            ("0", "0"),
            ("-1", "-1"),
            ("+7", "7"),
            ("1_000", "1000"),
            ("000", "0"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("00.5", "0.5"),
            ("1e3", "1e3"),
            ("1.E+3", "1.0e3"),
            ("2.50e-07", "2.50e-07"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            let mut out = String::new();
            assert!(number(token, &mut out), "{token}");
            assert_eq!(out, expected, "{token}");
            assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{out}");
        }
        for token in
            ["", "-", ".", "-.", "1e", "1e+", "e5", "007", "0x10", "1__0", "_1", "1_", "1j", "1.2.3", "1_.5"]
        {
            assert!(!number(token, &mut String::new()), "{token}");
        }
    }
}
