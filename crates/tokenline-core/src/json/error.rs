//! The faults of malformed documents, and their positions.

use std::fmt;

/// The tokens that the grammar allows at the position of a [`SyntaxError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// Any value.
    Value,
    /// A value, or the end of an empty array.
    ValueOrBracket,
    /// A member's name.
    Name,
    /// A member's name, or the end of an empty object.
    NameOrBrace,
    /// The colon after a name.
    Colon,
    /// A comma, or the end of the object.
    CommaOrBrace,
    /// A comma, or the end of the array.
    CommaOrBracket,
    /// A digit of a number.
    Digit,
    /// The rest of `true`, `false` or `null`.
    Literal,
    /// A character of a string; control characters must be escaped.
    StringCharacter,
    /// One of the escapes of RFC 8259 after a backslash.
    Escape,
    /// A hexadecimal digit of a `\u` escape.
    HexDigit,
    /// The low half of a surrogate pair.
    LowSurrogate,
    /// Less nesting: the depth limit is reached.
    LessDepth,
    /// The end of the document.
    End,
    /// A shorter document: the limit is 2 GiB.
    ShorterDocument,
}

impl Expected {
    /// Whether the position is inside a string.
    pub(crate) fn is_in_string(self) -> bool {
        matches!(self, Self::StringCharacter | Self::Escape | Self::HexDigit | Self::LowSurrogate)
    }

    /// Whether white space is allowed at the position.
    pub(crate) fn is_between_tokens(self) -> bool {
        match self {
            Self::Value
            | Self::ValueOrBracket
            | Self::Name
            | Self::NameOrBrace
            | Self::Colon
            | Self::CommaOrBrace
            | Self::CommaOrBracket
            | Self::End => true,
            Self::Digit
            | Self::Literal
            | Self::StringCharacter
            | Self::Escape
            | Self::HexDigit
            | Self::LowSurrogate
            | Self::LessDepth
            | Self::ShorterDocument => false,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Value => "a value",
            Self::ValueOrBracket => "a value or `]`",
            Self::Name => "a name in double quotes",
            Self::NameOrBrace => "a name in double quotes or `}`",
            Self::Colon => "`:` after the name",
            Self::CommaOrBrace => "`,` or `}`",
            Self::CommaOrBracket => "`,` or `]`",
            Self::Digit => "a digit",
            Self::Literal => "the rest of `true`, `false` or `null`",
            Self::StringCharacter => "the rest of the string",
            Self::Escape => "an escape: one of `\"\\/bfnrtu`",
            Self::HexDigit => "a hexadecimal digit",
            Self::LowSurrogate => "the low half of a surrogate pair",
            Self::LessDepth => "less nesting: the depth limit is reached",
            Self::End => "the end of the document",
            Self::ShorterDocument => "a document of at most 2 GiB",
        }
    }
}

/// The token that was found instead. A class rather than the byte, because errors do not repeat the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnexpectedToken {
    /// One of `{ } [ ] : , "`.
    Structural(u8),
    /// A newline.
    LineFeed,
    /// Another control character.
    Control(u8),
    /// A digit or a minus sign.
    Digit,
    /// An ASCII letter.
    Letter,
    /// A single quote, which many languages allow around strings.
    SingleQuote,
    /// A character outside ASCII, such as a typographic quote.
    NonAscii,
    /// Any other byte.
    Other,
    /// The end of the input.
    EndOfInput,
}

impl UnexpectedToken {
    pub(crate) fn classify(byte: u8) -> Self {
        match byte {
            b'{' | b'}' | b'[' | b']' | b':' | b',' | b'"' => Self::Structural(byte),
            b'\n' => Self::LineFeed,
            0..0x20 => Self::Control(byte),
            b'0'..=b'9' | b'-' => Self::Digit,
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letter,
            b'\'' => Self::SingleQuote,
            0x80.. => Self::NonAscii,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for UnexpectedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structural(byte) => write!(f, "`{}`", char::from(*byte)),
            Self::LineFeed => f.write_str("the end of the line"),
            Self::Control(byte) => write!(f, "the control character 0x{byte:02X}"),
            Self::Digit => f.write_str("a number"),
            Self::Letter => f.write_str("a letter"),
            Self::SingleQuote => f.write_str("a single quote"),
            Self::NonAscii => f.write_str("a non-ASCII character"),
            Self::Other => f.write_str("another character"),
            Self::EndOfInput => f.write_str("the end of the input"),
        }
    }
}

/// The error of a malformed document: the position, what was expected, and what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The offset of the fault, in bytes from the start of the document.
    pub offset: usize,
    /// The line in the document, from 1.
    pub line: usize,
    /// The column in that line: bytes, from 1.
    pub column: usize,
    /// The tokens that the grammar allows there.
    pub expected: Expected,
    /// The token that was found there.
    pub found: UnexpectedToken,
}

impl SyntaxError {
    /// The error for a fault in the document `bytes`, with its line and column.
    pub(crate) fn at(bytes: &[u8], fault: Fault) -> Self {
        let before = &bytes[..fault.offset.min(bytes.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        Self {
            offset: fault.offset,
            line: 1 + memchr::memchr_iter(b'\n', before).count(),
            column: 1 + fault.offset - line_start,
            expected: fault.expected,
            found: bytes
                .get(fault.offset)
                .map_or(UnexpectedToken::EndOfInput, |&byte| UnexpectedToken::classify(byte)),
        }
    }

    /// The fault, without the position.
    #[must_use]
    pub fn description(&self) -> String {
        describe(self.expected, self.found)
    }
}

pub(crate) fn describe(expected: Expected, found: UnexpectedToken) -> String {
    match expected {
        Expected::LessDepth | Expected::ShorterDocument => {
            format!("expected {}", expected.describe())
        }
        Expected::StringCharacter if found != UnexpectedToken::EndOfInput => {
            format!("expected {}, found {found} (control characters must be escaped)", expected.describe())
        }
        _ => format!("expected {}, found {found}", expected.describe()),
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.description(), self.line, self.column)
    }
}

impl std::error::Error for SyntaxError {}

/// A fault as the parser sees it: an offset and what was expected. Its line is computed only for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) expected: Expected,
}
