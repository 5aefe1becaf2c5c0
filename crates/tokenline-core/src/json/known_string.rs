//! Strings that are looked for in many documents.

use super::containers::Members;
use super::kind_set::KindSet;
use super::tape::{ESCAPED, NodeKind, OPEN};
use super::value::Value;

/// A string that is looked for in many documents, as the name of a member or as a value. Most comparisons take one or
/// two words of the text, and no decoding.
///
/// ```
/// use tokenline_core::json::{KnownString, Parser};
///
/// let (entity, weight) = (KnownString::new("entity"), KnownString::new("weight"));
/// let mut parser = Parser::new();
/// let value = parser.parse(r#"{"entity":"DNA","weight":0.9}"#)?;
/// let mut members = value.as_object().unwrap().iter();
/// assert!(members.next_if(&weight).is_none());
/// let names = ["RNA", "DNA"].map(KnownString::new);
/// assert_eq!(members.next_if(&entity).unwrap().find_in(&names, |name| name).unwrap().as_str(), "DNA");
/// assert_eq!(members.next_if(&weight).unwrap().raw(), "0.9");
/// # Ok::<(), tokenline_core::json::SyntaxError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KnownString {
    /// The first bytes of `quoted`, and which bits of a word are theirs.
    head: u64,
    mask: u64,
    /// The last bytes of `quoted`, if it is longer than a word.
    tail: u64,
    /// As in a document without escapes, with the quote that ends it.
    quoted: Box<[u8]>,
    string: Box<str>,
}

const WORD: usize = size_of::<u64>();

impl KnownString {
    /// Prepares a string.
    #[must_use]
    pub fn new(string: &str) -> Self {
        let has_escapes = string.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\');
        // No text has a zero byte: what cannot be written without escapes is never found there.
        let mut quoted = if has_escapes { vec![0] } else { string.as_bytes().to_vec() };
        quoted.push(b'"');
        let mut head = [0; WORD];
        let mut mask = [0; WORD];
        for ((head, mask), byte) in head.iter_mut().zip(&mut mask).zip(&quoted) {
            (*head, *mask) = (*byte, u8::MAX);
        }
        Self {
            head: u64::from_le_bytes(head),
            mask: u64::from_le_bytes(mask),
            tail: quoted.last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail)),
            quoted: quoted.into(),
            string: string.into(),
        }
    }

    /// The string.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.string
    }

    /// Whether a string without escapes that starts here is this one.
    #[inline(always)]
    fn starts(&self, text: &[u8], start: usize) -> bool {
        match word(text, start) {
            Some(head) if !self.has_head(head) => false,
            Some(_) if self.is_short() => self.surely_follows(text, start),
            _ => self.starts_anywhere(text, start),
        }
    }

    /// The same if it is [short](Self::is_short); otherwise and at the end of the text, no.
    #[inline(always)]
    fn surely_starts(&self, text: &[u8], start: usize) -> bool {
        word(text, start).is_some_and(|head| self.has_head(head)) && self.surely_follows(text, start)
    }

    /// Whether two words are all of it.
    #[inline(always)]
    fn is_short(&self) -> bool {
        self.quoted.len() <= 2 * WORD
    }

    #[inline(always)]
    fn has_head(&self, word: u64) -> bool {
        (word ^ self.head) & self.mask == 0
    }

    /// Whether what begins with its head goes on like it, if it is short.
    #[inline(always)]
    fn surely_follows(&self, text: &[u8], start: usize) -> bool {
        self.quoted.len() <= WORD
            || self.is_short() && word(text, start + self.quoted.len() - WORD) == Some(self.tail)
    }

    #[inline(never)]
    fn starts_anywhere(&self, text: &[u8], start: usize) -> bool {
        text[start..].starts_with(&self.quoted)
    }
}

#[inline(always)]
fn word(text: &[u8], start: usize) -> Option<u64> {
    text.get(start..start + WORD)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

impl Value<'_> {
    /// The first of the strings that this value is. Compares one by one: for a few.
    #[inline(always)]
    #[must_use]
    pub fn find_in<T>(self, known: &[T], string: impl Fn(&T) -> &KnownString) -> Option<&T> {
        let node = self.node();
        let (text, start) = (self.text.as_bytes(), node.start as usize);
        let (NodeKind::String, false, Some(head)) =
            (node.kind(), node.has(ESCAPED | OPEN), word(text, start))
        else {
            return self.find_decoded_in(known, string);
        };
        // A loop, because the closure of `find` is not inlined.
        for known in known {
            let string = string(known);
            if string.has_head(head)
                && (string.surely_follows(text, start)
                    || !string.is_short() && string.starts_anywhere(text, start))
            {
                return Some(known);
            }
        }
        None
    }

    #[cold]
    fn find_decoded_in<T>(self, known: &[T], string: impl Fn(&T) -> &KnownString) -> Option<&T> {
        let own = self.as_str()?;
        known.iter().find(|known| string(known).as_str() == own)
    }
}

impl<'a> Members<'a> {
    /// Passes over the next member if it has this name and a value of one of these kinds, and returns whether. May not, if
    /// telling is not a matter of a few words.
    // Without calls, so that a loop has all in registers.
    #[inline(always)]
    pub fn skip_if(&mut self, name: &KnownString, kinds: KindSet) -> bool {
        let Value { tape, text, index } = self.next;
        let at = index as usize;
        if index < self.end
            && let Some([key, value]) = tape.nodes.get(at..at + 2).and_then(<[_]>::first_chunk)
            && !key.has(ESCAPED)
            && name.surely_starts(text.as_bytes(), key.start as usize)
            && kinds.has_node(value)
        {
            self.next.index = if value.is_container() { value.link } else { index + 2 };
            return true;
        }
        false
    }

    /// The value of the next member, if that has this name.
    #[inline(always)]
    pub fn next_if(&mut self, name: &KnownString) -> Option<Value<'a>> {
        let Value { tape, text, index } = self.next;
        if index >= self.end {
            return None;
        }
        let at = index as usize;
        let [key, value] = *tape.nodes.get(at..at + 2)?.first_chunk()?;
        let is_next = if key.has(ESCAPED) {
            tape.name(text, index) == name.as_str()
        } else {
            name.starts(text.as_bytes(), key.start as usize)
        };
        if !is_next {
            return None;
        }
        self.next.index = if value.is_container() { value.link } else { index + 2 };
        Some(Value { tape, text, index: index + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Parser;

    const STRINGS: [&str; 14] = [
        "",
        "a",
        "b",
        "ab",
        "entity",
        "sevenly",
        "eightful",
        "eightfun",
        "fifteen_letters",
        "sixteen_letters!",
        "sixteen_letters?",
        "a_name_of_more_than_sixteen_letters",
        "größe",
        "a\":\"b",
    ];

    #[test]
    fn a_string_is_itself_only() {
        let mut parser = Parser::new();
        for own in STRINGS {
            for written in [serde_json::to_string(own).unwrap(), escaped(own)] {
                for space in ["", "                "] {
                    let text = format!("{{{written}:{written}{space}}}");
                    let value = parser.parse(&text).unwrap();
                    for other in STRINGS {
                        let known = KnownString::new(other);
                        let mut members = value.as_object().unwrap().iter();
                        assert_eq!(members.next_if(&known).is_some(), own == other, "{text} {other}");
                        assert_eq!(members.next().is_some(), own != other, "{text} {other}");
                        let member = value.get(own).unwrap();
                        assert_eq!(member.find_in(&[known], |known| known).is_some(), own == other, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_member_does_not_pass_for_a_name() {
        let mut parser = Parser::new();
        let value = parser.parse(r#"{"a":"b"}"#).unwrap();
        assert!(value.as_object().unwrap().iter().next_if(&KnownString::new("a\":\"b")).is_none());
        assert!(value.find_in(&[KnownString::new("a")], |known| known).is_none());
    }

    #[test]
    fn members_after_containers_are_found() {
        let mut parser = Parser::new();
        let value = parser.parse(r#"{"a":[1,{"b":2}],"ab":{},"b":3}"#).unwrap();
        let mut members = value.as_object().unwrap().iter();
        for name in ["a", "ab", "b"] {
            assert!(members.next_if(&KnownString::new(name)).is_some(), "{name}");
        }
        assert!(members.next_if(&KnownString::new("b")).is_none());
    }

    /// Every character as an escape.
    fn escaped(string: &str) -> String {
        let units: String = string.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    }
}
