//! Strings in all the quotes that an edit can replace.

use memchr::memchr2;

use super::Place;
use super::Walk;
use crate::json::write;
use crate::syntax_repair::EditKind;
use crate::syntax_repair::MAX_PLACES;

impl Walk<'_> {
    /// Passes a string with its quotes. Returns whether there is one.
    pub(super) fn quoted(&mut self, byte: u8) -> Option<bool> {
        match byte {
            b'"' => self.straight()?,
            b'\'' if self.kinds.contains(EditKind::SingleQuotes) => self.single()?,
            0x80.. if self.kinds.contains(EditKind::CurlyQuotes) => self.curly()?,
            _ => return Some(false),
        }
        Some(true)
    }

    /// Passes a string in straight quotes.
    fn straight(&mut self) -> Option<()> {
        let (start, end) = (self.at, string_end(self.bytes, self.at)?);
        if self.kinds.contains(EditKind::ControlCharacter) {
            self.control_characters(start, end)?;
        } else if self.kinds.contains(EditKind::InvalidEscape) {
            self.escaped_apostrophes(end)?;
        }
        self.at = end;
        Some(())
    }

    /// Drops the backslashes before the apostrophes of a string. All of them must have one: among plain apostrophes, it may
    /// be half of an escaped backslash.
    fn escaped_apostrophes(&mut self, end: usize) -> Option<()> {
        let mut has_escaped = false;
        let mut has_plain = false;
        while let Some(len) = memchr2(b'\\', b'\'', &self.bytes[self.at..end]) {
            self.at += len;
            if self.bytes[self.at] == b'\'' {
                has_plain = true;
                self.at += 1;
            } else if self.bytes[self.at + 1] == b'\'' {
                has_escaped = true;
                self.splice(EditKind::InvalidEscape, self.at + 2, '\'');
                if self.splices.len() > MAX_PLACES {
                    return None;
                }
            } else {
                self.at += 2;
            }
        }
        (!has_escaped || !has_plain).then_some(())
    }

    /// Escapes the control characters of a string, by one edit.
    fn control_characters(&mut self, start: usize, end: usize) -> Option<()> {
        let is_control = |byte: &u8| *byte < b' ';
        let bytes = &self.bytes[start..end];
        let Some(first) = bytes.iter().position(is_control) else { return Some(()) };
        if matches!(self.place, Place::Name | Place::FirstName) {
            // Names have one line.
            return None;
        }
        let last = bytes.iter().rposition(is_control)?;
        let mut escaped = String::new();
        let mut after_backslash = false;
        for character in self.text[start..end].chars() {
            // A backslash before a newline continues the line in some languages.
            if after_backslash && character < ' ' {
                return None;
            }
            after_backslash = character == '\\' && !after_backslash;
        }
        for part in self.text[start + first..=start + last].split_inclusive(|character| character < ' ') {
            let (plain, control) = part.split_at(part.len() - 1);
            escaped.push_str(plain);
            write::escaped(&mut escaped, control);
        }
        self.at = start + first;
        self.splice(EditKind::ControlCharacter, start + last + 1, escaped);
        Some(())
    }

    /// Passes a string in single quotes, and replaces them.
    fn single(&mut self) -> Option<()> {
        let start = self.at + 1;
        let mut json = String::from("\"");
        let mut copied = start;
        loop {
            let at = copied + memchr2(b'\'', b'\\', &self.bytes[copied..])?;
            push_quoted(&mut json, &self.text[copied..at]);
            if self.bytes[at] == b'\'' {
                json.push('"');
                self.splice(EditKind::SingleQuotes, at + 1, json);
                return Some(());
            }
            let escaped = self.text[at + 1..].chars().next()?;
            if escaped == '/' {
                // In Python the backslash stays, in JSON it does not.
                return None;
            }
            if escaped != '\'' {
                json.push('\\');
            }
            json.push(escaped);
            copied = at + 1 + escaped.len_utf8();
        }
    }

    /// Passes a string in curly quotes, and replaces them.
    fn curly(&mut self) -> Option<()> {
        let (open, close) = ('“', '”');
        let inner = self.text[self.at..].strip_prefix(open)?;
        let mut escaped = false;
        let len = inner.find(|character| {
            let is_end = !escaped && (character == open || character == close);
            escaped = character == '\\' && !escaped;
            is_end
        })?;
        let (content, rest) = inner.split_at(len);
        rest.strip_prefix(close)?;
        let end = self.at + open.len_utf8() + len + close.len_utf8();
        self.splice(EditKind::CurlyQuotes, end, format!("\"{content}\""));
        Some(())
    }
}

/// Writes text from between single quotes.
fn push_quoted(json: &mut String, text: &str) {
    for (index, part) in text.split('"').enumerate() {
        json.push_str(if index == 0 { "" } else { "\\\"" });
        json.push_str(part);
    }
}

/// Whether a straight quote may delimit a string.
pub(super) fn has_straight_quotes(text: &str) -> bool {
    text.starts_with('"') || text.as_bytes().windows(2).any(|pair| pair[0] != b'\\' && pair[1] == b'"')
}

/// The offset after the closing quote of the string that opens at `at`.
pub(in crate::syntax_repair) fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}
