//! The closed list of edits.

use std::fmt;

use crate::Example;
use crate::Span;
use crate::diagnostic::explained;

explained! {
    /// A kind of edit that makes malformed text JSON.
    #[repr(u8)]
    #[derive(PartialOrd, Ord)]
    pub enum EditKind;

    /// Drops a comma before a closer.
    TrailingComma = "trailing_comma",
        "A comma before `}` or `]` is dropped.",
        Example::Options { options: "--repair", text: "{\"a\":1,}" };
    /// Drops the closers after a complete document, at the very end of the text.
    SurplusCloser = "surplus_closer",
        "Closers after the complete value, at the very end of the text, are dropped.",
        Example::Options { options: "--repair", text: "{\"a\":1}}" };
    /// Drops a comment outside strings: `//` up to the end of the line, or `/*` up to `*/`.
    Comment = "comment",
        "A comment outside strings, `// ...` or `/* ... */`, is dropped.",
        Example::Options { options: "--repair", text: "{\"a\":1 /* one */}" };
    /// Escapes the raw control characters in a string, such as newlines. One edit for each string, from the first of
    /// them to the last.
    ControlCharacter = "control_character",
        "Raw control characters in a string, such as tabs and newlines, are escaped.",
        Example::Options { options: "--repair", text: "{\"a\":\"one\ttwo\"}" };
    /// Replaces the quotes `“` and `”` around a string, in a text where no straight quote delimits.
    CurlyQuotes = "curly_quotes",
        "Curly quotes around a string become straight quotes, if no string has straight ones.",
        Example::Described("`{“a”:1}`, with `--repair` and a schema");
    /// Replaces `True`, `False` or `None`.
    PythonLiteral = "python_literal",
        "`True`, `False` and `None` become `true`, `false` and `null`.",
        Example::Described("`{\"a\":True}`, with `--repair` and a schema");
    /// Quotes a member's name that is an ASCII identifier.
    BareName = "bare_name",
        "A member's name without quotes is quoted, if it is an identifier.",
        Example::Described("`{a:1}`, with `--repair` and a schema");
    /// Replaces the single quotes around a string.
    SingleQuotes = "single_quotes",
        "Single quotes around a string become double quotes, if every apostrophe in the string is escaped.",
        Example::Described("`{'a':1}`, with `--repair` and a schema");
    /// Replaces a `}` that closes an array, or a `]` that closes an object.
    MismatchedCloser = "mismatched_closer",
        "A `}` that closes an array becomes `]`, and a `]` that closes an object becomes `}`.",
        Example::Described("`{\"a\":[1},\"b\":2}`, with `--repair` and a schema");
    /// Adds a comma between a string or closer, and a member's name or an opener.
    MissingComma = "missing_comma",
        "A comma is added between a string or a closer, and a member's name or an opener.",
        Example::Described("`{\"a\":\"x\" \"b\":2}`, with `--repair` and a schema");
    /// Drops the backslash before an apostrophe in a string.
    InvalidEscape = "invalid_escape",
        "The backslash of `\\'` in a string is dropped.",
        Example::Described("`{\"a\":\"it\\'s\"}`, with `--repair` and a schema");
    /// Adds closers after the last value, at a confirmed end.
    MissingCloser = "missing_closer",
        "Closers that are missing at a confirmed end are added.",
        Example::Described("`{\"a\":[\"x\"`, with `--repair` and a schema, as the complete text of a response with the finish reason `stop`");
}

impl EditKind {
    /// Whether the edit cannot change a value, so that it needs no schema.
    #[must_use]
    pub const fn keeps_value(self) -> bool {
        matches!(self, Self::TrailingComma | Self::SurplusCloser | Self::Comment | Self::ControlCharacter)
    }
}

/// An edit of a malformed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    /// The kind.
    pub kind: EditKind,
    /// The bytes of the malformed text that are replaced or dropped. Empty where something is added.
    pub span: Span,
}

/// Most edits that a message names.
const MAX_SHOWN: usize = 4;

/// Writes the edits as `trailing_comma at 7..8, 12..13`. All are in the order of the text.
pub(super) fn write_list(f: &mut fmt::Formatter<'_>, edits: &[Edit]) -> fmt::Result {
    let mut kind = None;
    for edit in edits.iter().take(MAX_SHOWN) {
        let Edit { kind: edit_kind, span } = edit;
        match kind {
            Some(kind) if kind == *edit_kind => f.write_str(", ")?,
            None => write!(f, "{edit_kind} at ")?,
            Some(_) => write!(f, ", {edit_kind} at ")?,
        }
        kind = Some(*edit_kind);
        write!(f, "{}..{}", span.start, span.end)?;
    }
    match edits.len().saturating_sub(MAX_SHOWN) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
