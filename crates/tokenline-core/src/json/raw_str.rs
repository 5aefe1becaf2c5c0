//! A JSON string at a known position, without parsing the document.

use std::borrow::Cow;

use super::parser::{is_simple_escape, unicode_escape};
use super::scan::string_run;
use super::unescape::{unescape, unescape_into};

/// The text between the quotes of a valid JSON string, with its escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawStr<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> RawStr<'a> {
    /// The string at the start of `rest`, the document after an opening quote.
    ///
    /// Accepts the same strings as a [`Parser`](super::Parser). `None` if no quote ends it, or before the
    /// quote there is a control character, an unknown escape, or an escape of half a surrogate pair. The text
    /// after the closing quote, at the [length](Self::len) of the string, is not read.
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

    /// Its length with its escapes, in bytes.
    #[inline]
    #[must_use]
    pub fn len(self) -> usize {
        self.raw.len()
    }

    /// Whether it is `""`.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The decoded string. Borrows if there are no escapes.
    #[must_use]
    pub fn unescape(self) -> Cow<'a, str> {
        if self.has_escapes { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// Like [`unescape`](Self::unescape), with a buffer that is overwritten if there are escapes.
    #[inline]
    #[must_use]
    pub fn unescape_in<'b>(self, buffer: &'b mut String) -> &'b str
    where
        'a: 'b,
    {
        if !self.has_escapes {
            return self.raw;
        }
        unescape_into(self.raw, buffer);
        buffer
    }
}

/// The length of the escape at the start of `bytes`; of a surrogate pair, that of both halves.
#[inline]
fn escape_len(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'u' => unicode_escape(bytes),
        &byte => is_simple_escape(byte).then_some(2),
    }
}
