//! A string as it stands in a document, for who knows where it begins and needs nothing else of it.

use std::borrow::Cow;

use super::parser::{is_simple_escape, unicode_escape};
use super::scan::string_run;
use super::unescape::{unescape, unescape_into};

/// What stands between the quotes of a valid JSON string, with its escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawStr<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> RawStr<'a> {
    /// The string that `rest`, the document after an opening quote, begins with.
    ///
    /// Takes what a [`Parser`](super::Parser) takes: `None` means that no quote ends it, or that before
    /// it stands a control character, an unknown escape, or one of half a surrogate pair. What follows
    /// the closing quote, at the [length](Self::len) of the string, is not looked at.
    ///
    /// ```
    /// use tokenline_core::json::RawStr;
    ///
    /// let rest = r#"\u00bd \"pint\"","unit":"ml"}"#;
    /// let text = RawStr::at_start(rest).unwrap();
    /// assert_eq!(text.as_str(), r#"\u00bd \"pint\""#);
    /// assert_eq!(text.unescape(), "½ \"pint\"");
    /// assert!(rest[text.len()..].starts_with('"'));
    ///
    /// assert_eq!(RawStr::at_start(r#"no end"#), None);
    /// assert_eq!(RawStr::at_start(r#"half a \ud83d""#), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn at_start(rest: &'a str) -> Option<Self> {
        let bytes = rest.as_bytes();
        let mut has_escapes = false;
        let mut at = string_run(bytes, 0);
        loop {
            at = match bytes.get(at)? {
                b'"' => return Some(Self { raw: &rest[..at], has_escapes }),
                b'\\' => at + escape_len(&bytes[at..])?,
                _ => return None,
            };
            has_escapes = true;
            at = string_run(bytes, at);
        }
    }

    /// The text with its escapes.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.raw
    }

    /// The length of that, in bytes.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.raw.len()
    }

    /// Whether it is the string `""`.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The text that the string stands for. Borrows if there are no escapes.
    #[must_use]
    pub fn unescape(self) -> Cow<'a, str> {
        if self.has_escapes { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// As [`unescape`](Self::unescape), with a buffer that is written over if there are escapes.
    #[inline]
    #[must_use]
    pub fn unescape_in<'b>(self, buffer: &'b mut String) -> &'b str
    where
        'a: 'b,
    {
        if !self.has_escapes {
            return self.raw;
        }
        buffer.clear();
        unescape_into(self.raw, buffer);
        buffer
    }
}

/// The length of the escape that `bytes` begin with, a surrogate pair's of both its halves.
#[inline]
fn escape_len(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'u' => unicode_escape(bytes),
        &byte => is_simple_escape(byte).then_some(2),
    }
}
