//! Helpers to scan a growing text.

use crate::Limits;
use crate::json::{Parser, UnexpectedToken, error};

/// Whether a text continues with one of several literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// It does; the index of the literal.
    Found(usize),
    /// It does not.
    None,
    /// The text ends inside a literal, or right before one.
    NeedMore,
}

/// Whether `text` continues at `at` with one of the literals. No literal may be a prefix of another.
pub(super) fn literal(text: &str, at: usize, literals: &[&str]) -> Literal {
    let rest = &text.as_bytes()[at..];
    let mut is_open = false;
    for (index, literal) in literals.iter().enumerate() {
        if rest.starts_with(literal.as_bytes()) {
            return Literal::Found(index);
        }
        is_open |= literal.as_bytes().starts_with(rest);
    }
    if is_open { Literal::NeedMore } else { Literal::None }
}

/// Skips white space, and returns the next byte.
pub(super) fn next_byte(text: &str, at: &mut usize) -> Option<u8> {
    let rest = &text.as_bytes()[*at..];
    match rest.iter().position(|byte| !is_space(*byte)) {
        Some(found) => {
            *at += found;
            Some(rest[found])
        }
        None => {
            *at = text.len();
            None
        }
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The longest name of a tool. OpenAI allows 64 bytes, MCP 128.
pub(super) const MAX_NAME: usize = 128;

/// Whether a byte may be part of a tool's name in a syntax without quotes. Non-ASCII bytes count as letters.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii()
}

/// The token at `at`, for a message.
pub(super) fn found(text: &str, at: usize) -> UnexpectedToken {
    text.as_bytes()
        .get(at)
        .map_or(UnexpectedToken::EndOfInput, |byte| error::UnexpectedToken::classify(*byte))
}

/// A parser of parameters, which are one level below the call that contains them.
pub(super) fn parameters_parser(limits: &Limits) -> Parser {
    Parser::new().with_limits(&Limits { depth: limits.depth.saturating_sub(1), ..*limits })
}
