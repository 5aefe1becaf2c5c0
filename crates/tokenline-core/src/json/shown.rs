//! Errors of a type's own that may be shown.

use std::error::Error;
use std::fmt::{self, Display};

/// An error whose message may be shown in diagnostics.
///
/// The message of a type's own `Deserialize` may quote the value, so a diagnostic says no more than that the record does
/// not fit the type. Wrap the error of a `TryFrom` whose messages hold nothing private, and the diagnostic has its words.
///
/// ```
/// use serde::Deserialize;
/// use tokenline_core::json::{Parser, Shown};
///
/// #[derive(Debug, Deserialize)]
/// #[serde(try_from = "(u64, u64)")]
/// struct Range(u64, u64);
///
/// impl TryFrom<(u64, u64)> for Range {
///     type Error = Shown<&'static str>;
///
///     fn try_from((start, end): (u64, u64)) -> Result<Self, Self::Error> {
///         if start <= end { Ok(Self(start, end)) } else { Err(Shown("the start is after the end")) }
///     }
/// }
///
/// let mut parser = Parser::new();
/// let error = parser.parse("[2,1]")?.deserialize::<Range>().unwrap_err();
/// assert_eq!(error.to_string(), "the start is after the end");
/// // It is not a message that may quote the value.
/// assert!(!error.is_custom());
/// # Ok::<(), tokenline_core::json::SyntaxError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<E>(
    /// The error, or only its message.
    pub E,
);

/// Before the message if that is written with the flag `+`, with which no other error is written differently.
const MARK: char = '\u{1}';

impl<E: Display> Display for Shown<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.sign_plus() { write!(f, "{MARK}{}", self.0) } else { self.0.fmt(f) }
    }
}

impl<E: Display + fmt::Debug> Error for Shown<E> {}

/// The text of a message, and whether it is [`Shown`]. Not by the text alone, which may be a model's.
pub(super) fn text_of(message: &impl Display) -> (String, bool) {
    let text = message.to_string();
    let is_shown = format!("{message:+}").strip_prefix(MARK) == Some(&text);
    (text, is_shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_type_marks_a_message() {
        assert_eq!(text_of(&Shown("a")), ("a".to_owned(), true));
        assert_eq!(text_of(&Shown(format!("{MARK}"))), (format!("{MARK}"), true));
        for text in ["", "a", "+1", "\u{1}", "\u{1}a", "\u{1}\u{1}a"] {
            assert_eq!(text_of(&text), (text.to_owned(), false), "{text:?}");
            assert_eq!(text_of(&format_args!("{text}!")), (format!("{text}!"), false));
        }
        assert_eq!(text_of(&1), ("1".to_owned(), false));
    }
}
