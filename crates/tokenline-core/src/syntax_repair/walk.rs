//! The search for edits of given kinds: a walk over the text that makes an edit wherever the grammar needs one.

mod strings;

use memchr::memchr;
use memchr::memchr_iter;
use memchr::memmem;

use super::EditKind;
use super::MAX_MISSING_CLOSERS;
use super::MAX_PLACES;
use super::apply::Splice;
use strings::has_straight_quotes;
pub(super) use strings::string_end;

/// A set of kinds of edits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kinds(u16);

impl Kinds {
    pub(super) const fn of(kinds: &[EditKind]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u16;
            at += 1;
        }
        Self(bits)
    }

    fn contains(self, kind: EditKind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }
}

/// The edits of these kinds, in the order of the text, that may make it JSON. `None` if none do, or more than
/// [`MAX_PLACES`].
///
/// The result need not be JSON: numbers, literals and escapes are not read here.
pub(super) fn find_edits(text: &str, kinds: Kinds, max_depth: usize) -> Option<Vec<Splice>> {
    if kinds.contains(EditKind::CurlyQuotes) && has_straight_quotes(text) {
        return None;
    }
    let walk = Walk {
        text,
        bytes: text.as_bytes(),
        at: 0,
        kinds,
        max_depth,
        closers: Vec::new(),
        place: Place::Value,
        last: Last::Other,
        last_end: 0,
        splices: Vec::new(),
    };
    walk.run().filter(|splices| !splices.is_empty() && splices.len() <= MAX_PLACES)
}

struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Offset of the next byte to read.
    at: usize,
    kinds: Kinds,
    max_depth: usize,
    /// The closers of the open containers, outermost first.
    closers: Vec<u8>,
    place: Place,
    /// The last value, and its end.
    last: Last,
    last_end: usize,
    splices: Vec<Splice>,
}

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Value,
    FirstElement,
    Name,
    FirstName,
    Colon,
    AfterValue,
    /// The document is complete.
    End,
}

/// The kind of the last value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A string or a container: its last byte is known.
    Delimited,
    Literal,
    Other,
}

impl Walk<'_> {
    fn run(mut self) -> Option<Vec<Splice>> {
        while self.splices.len() <= MAX_PLACES {
            self.skip_space();
            let Some(&byte) = self.bytes.get(self.at) else { return self.end_of_text() };
            match (self.place, byte) {
                (_, b'/') => self.comment()?,
                (Place::End, _) => return self.surplus_closers(),
                (Place::Colon, b':') => {
                    self.at += 1;
                    self.place = Place::Value;
                }
                (Place::Colon, _) => return None,
                (Place::FirstName, b'}') | (Place::FirstElement, b']') => self.close(byte)?,
                (Place::Name | Place::FirstName, _) => self.name(byte)?,
                (Place::Value | Place::FirstElement, b'{' | b'[') => self.open(byte)?,
                (Place::Value | Place::FirstElement, _) => self.scalar(byte)?,
                (Place::AfterValue, b',') => self.comma(),
                (Place::AfterValue, b'}' | b']') => self.close(byte)?,
                (Place::AfterValue, _) => self.missing_comma(byte)?,
            }
        }
        None
    }

    fn splice(&mut self, kind: EditKind, end: usize, replacement: impl Into<String>) {
        self.splices.push(Splice::new(kind, self.at..end, replacement));
        self.at = end;
    }

    fn skip_space(&mut self) {
        self.at = skip_space(self.bytes, self.at);
    }

    fn in_object(&self) -> bool {
        self.closers.last() == Some(&b'}')
    }

    fn open(&mut self, opener: u8) -> Option<()> {
        if self.closers.len() >= self.max_depth {
            return None;
        }
        let is_object = opener == b'{';
        self.closers.push(if is_object { b'}' } else { b']' });
        self.place = if is_object { Place::FirstName } else { Place::FirstElement };
        self.at += 1;
        Some(())
    }

    fn close(&mut self, closer: u8) -> Option<()> {
        let expected = self.closers.pop()?;
        if closer == expected {
            self.at += 1;
        } else if self.kinds.contains(EditKind::MismatchedCloser) && self.place == Place::AfterValue {
            // An empty container is not repaired: its opener may be the wrong one.
            self.splice(EditKind::MismatchedCloser, self.at + 1, char::from(expected));
        } else {
            return None;
        }
        self.value_ended(Last::Delimited);
        Some(())
    }

    fn value_ended(&mut self, last: Last) {
        self.place = if self.closers.is_empty() { Place::End } else { Place::AfterValue };
        self.last = last;
        self.last_end = self.at;
    }

    fn comma(&mut self) {
        let next = self.bytes.get(skip_space(self.bytes, self.at + 1));
        if self.kinds.contains(EditKind::TrailingComma) && matches!(next, Some(b'}' | b']')) {
            self.splice(EditKind::TrailingComma, self.at + 1, "");
        } else {
            self.at += 1;
            self.expect_member();
        }
    }

    fn expect_member(&mut self) {
        self.place = if self.in_object() { Place::Name } else { Place::Value };
    }

    /// Only between a string or container, and an element's opener or a member's name: two numbers may be one that was
    /// broken in two, and two strings one with quotes in it. Not if punctuation is inside the quotes, which may be at the
    /// wrong place: `"x"",a":1`.
    fn missing_comma(&mut self, byte: u8) -> Option<()> {
        let is_member = match byte {
            b'{' | b'[' => !self.in_object(),
            b'"' if self.in_object() => {
                let end = string_end(self.bytes, self.at)?;
                self.bytes.get(skip_space(self.bytes, end)) == Some(&b':')
                    && !is_punctuation(self.bytes[self.at + 1])
                    && !self.bytes[self.at + 1].is_ascii_whitespace()
                    && !self.ends_with_punctuation()
            }
            _ => false,
        };
        if !is_member || self.last != Last::Delimited || !self.kinds.contains(EditKind::MissingComma) {
            return None;
        }
        self.splices.push(Splice::new(EditKind::MissingComma, self.last_end..self.last_end, ','));
        self.expect_member();
        Some(())
    }

    /// Whether the last value is a string that ends with punctuation.
    fn ends_with_punctuation(&self) -> bool {
        matches!(self.bytes[..self.last_end], [.., last, b'"'] if is_punctuation(last))
    }

    fn comment(&mut self) -> Option<()> {
        // After a number, a literal or a string it may belong to the value: a quotient, a URL with a quote too many.
        if self.at > 0 && self.at == self.last_end && !matches!(self.bytes[self.at - 1], b'}' | b']') {
            return None;
        }
        let rest = self.kinds.contains(EditKind::Comment).then(|| &self.bytes[self.at..])?;
        let len = match rest.get(1)? {
            b'/' => memchr(b'\n', rest).unwrap_or(rest.len()),
            b'*' => 2 + memmem::find(&rest[2..], b"*/")? + 2,
            _ => return None,
        };
        if memchr_iter(b'"', &rest[..len]).count() % 2 == 1 {
            // It may be a string whose opening quote is missing.
            return None;
        }
        self.splice(EditKind::Comment, self.at + len, ' ');
        Some(())
    }

    fn scalar(&mut self, byte: u8) -> Option<()> {
        // A root that is a scalar is a word of prose as well.
        self.closers.last()?;
        if self.quoted(byte)? {
            self.value_ended(Last::Delimited);
            return Some(());
        }
        let is_word =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-' | b'.' | b'$');
        let end = run_end(self.bytes, self.at, is_word);
        let literal = match &self.text[self.at..end] {
            "" => return None,
            "True" => "true",
            "False" => "false",
            "None" => "null",
            _ => "",
        };
        if literal.is_empty() {
            self.at = end;
        } else if self.kinds.contains(EditKind::PythonLiteral) {
            self.splice(EditKind::PythonLiteral, end, literal);
        } else {
            return None;
        }
        self.value_ended(if byte.is_ascii_alphabetic() { Last::Literal } else { Last::Other });
        Some(())
    }

    fn name(&mut self, byte: u8) -> Option<()> {
        if !self.quoted(byte)? {
            let is_identifier = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
            let end = run_end(self.bytes, self.at, is_identifier);
            let name = &self.text[self.at..end];
            if !self.kinds.contains(EditKind::BareName) || name.is_empty() || byte.is_ascii_digit() {
                return None;
            }
            // In Python, these are names that are not strings.
            if matches!(name, "True" | "False" | "None" | "true" | "false" | "null") {
                return None;
            }
            self.splice(EditKind::BareName, end, format!("\"{name}\""));
        }
        self.place = Place::Colon;
        Some(())
    }

    /// Drops closers up to the end of the text.
    fn surplus_closers(mut self) -> Option<Vec<Splice>> {
        let rest = self.text[self.at..].trim_end_matches([' ', '\t', '\r', '\n']);
        let is_surplus = |character: char| matches!(character, '}' | ']' | ' ' | '\t' | '\r' | '\n');
        let count = rest.bytes().filter(|byte| matches!(byte, b'}' | b']')).count();
        if !self.kinds.contains(EditKind::SurplusCloser)
            || !rest.chars().all(is_surplus)
            || count > MAX_PLACES
        {
            return None;
        }
        self.splice(EditKind::SurplusCloser, self.at + rest.len(), "");
        Some(self.splices)
    }

    /// Adds closers, if they are all that is missing. A number may be truncated, and a closer at the end of a string may
    /// belong after its quote.
    fn end_of_text(mut self) -> Option<Vec<Splice>> {
        match self.place {
            Place::End => return Some(self.splices),
            Place::AfterValue if self.last != Last::Other && !self.ends_with_punctuation() => {}
            _ => return None,
        }
        if !self.kinds.contains(EditKind::MissingCloser) || self.closers.len() > MAX_MISSING_CLOSERS {
            return None;
        }
        let closers: String = self.closers.iter().rev().copied().map(char::from).collect();
        self.splices.push(Splice::new(EditKind::MissingCloser, self.last_end..self.last_end, closers));
        Some(self.splices)
    }
}

fn is_punctuation(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':')
}

pub(super) fn skip_space(bytes: &[u8], at: usize) -> usize {
    run_end(bytes, at, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

fn run_end(bytes: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|byte| !belongs(*byte)).map_or(bytes.len(), |len| at + len)
}
