//! Helpers to scan a growing text.

use std::ops::Range;

use crate::Limits;
use crate::json::{Parser, UnexpectedToken, error};

/// Whether a text continues with one of several literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal<K> {
    /// It does: the kind of the literal, and its length.
    Found(K, usize),
    /// It does not.
    None,
    /// The text ends inside a literal, or right before one.
    NeedMore,
}

/// Whether `text` continues at `at` with one of the literals; of several, the longest, and never one that is
/// empty. At the end of the text, `NeedMore` means that it ends inside a literal.
pub(super) fn literal<'l, K>(
    text: &str,
    at: usize,
    is_end: bool,
    literals: impl IntoIterator<Item = (K, &'l str)>,
) -> Literal<K> {
    let (mut found, mut longest) = (None, Longest { rest: &text.as_bytes()[at..], len: 0, is_open: false });
    for (kind, literal) in literals {
        if longest.is_now(literal.as_bytes()) {
            found = Some(kind);
        }
    }
    match found {
        // A longer one may still follow.
        Some(_) if longest.is_open && !is_end => Literal::NeedMore,
        Some(kind) => Literal::Found(kind, longest.len),
        None if longest.is_open => Literal::NeedMore,
        None => Literal::None,
    }
}

/// The longest literal that a text begins with.
struct Longest<'t> {
    rest: &'t [u8],
    len: usize,
    /// Whether the text ends inside a literal.
    is_open: bool,
}

impl Longest<'_> {
    /// Takes another literal: is it the longest now?
    fn is_now(&mut self, literal: &[u8]) -> bool {
        if !self.rest.starts_with(literal) {
            self.is_open |= literal.starts_with(self.rest);
            return false;
        }
        let is_longer = literal.len() > self.len;
        self.len = self.len.max(literal.len());
        is_longer
    }
}

/// Literals of one kind.
pub(super) fn kind<'l, K: Copy>(
    kind: K,
    literals: impl IntoIterator<Item = &'l str>,
) -> impl Iterator<Item = (K, &'l str)> {
    literals.into_iter().map(move |literal| (kind, literal))
}

/// Whether `text` continues at `at` with one of the literals, all of one kind.
pub(super) fn one_of<'l>(
    text: &str,
    at: usize,
    is_end: bool,
    literals: impl IntoIterator<Item = &'l str>,
) -> Literal<()> {
    literal(text, at, is_end, kind((), literals))
}

/// Finds the first literal that begins in `starts`: where it begins, and its length. `NeedMore` if one may begin
/// earlier than all that are complete, or later in `starts`.
pub(super) fn first_literal<'l>(
    text: &str,
    starts: Range<usize>,
    is_end: bool,
    literals: &(impl Iterator<Item = &'l str> + Clone),
) -> Literal<usize> {
    for at in starts {
        match one_of(text, at, is_end, literals.clone()) {
            Literal::Found((), len) => return Literal::Found(at, len),
            Literal::NeedMore if !is_end => return Literal::NeedMore,
            _ if at >= text.len() => return if is_end { Literal::None } else { Literal::NeedMore },
            _ => {}
        }
    }
    Literal::None
}

/// Whether the text ends inside a marker, of which it has `rest`.
pub(super) fn ends_inside(rest: &str, marker: &str) -> bool {
    marker.len() > rest.len() && marker.starts_with(rest)
}

/// The first bytes of some literals, to search for.
#[derive(Clone, Debug)]
pub(super) struct Firsts {
    is_first: [bool; 256],
    /// The same, if they are at most three.
    few: [u8; 3],
    count: usize,
}

impl Firsts {
    pub(super) fn of(firsts: impl IntoIterator<Item = u8>) -> Self {
        let mut all = Self { is_first: [false; 256], few: [0; 3], count: 0 };
        for first in firsts {
            if !std::mem::replace(&mut all.is_first[usize::from(first)], true) {
                if let Some(few) = all.few.get_mut(all.count) {
                    *few = first;
                }
                all.count += 1;
            }
        }
        all
    }

    pub(super) fn of_literals<'l>(literals: impl IntoIterator<Item = &'l str>) -> Self {
        Self::of(literals.into_iter().filter_map(|literal| literal.bytes().next()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.is_first[usize::from(byte)]
    }

    /// The first such byte.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let [one, two, three] = self.few;
        match self.count {
            0 => None,
            1 => memchr::memchr(one, bytes),
            2 => memchr::memchr2(one, two, bytes),
            3 => memchr::memchr3(one, two, three, bytes),
            _ => bytes.iter().position(|byte| self.contains(*byte)),
        }
    }
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

/// The start of the character at `at`, or the end of a shorter text.
///
/// ```
/// # use tokenline_core::adapter::char_start;
/// assert_eq!((char_start("né", 2), char_start("né", 9)), (1, 3));
/// ```
#[must_use]
pub fn char_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The next byte after at most a line of white space, looked up without moving on: `Err` if there is more of it,
/// `Ok(None)` at the end of the text.
pub(super) fn peek_byte(text: &str, at: usize) -> Result<Option<u8>, ()> {
    let rest = &text.as_bytes()[at..];
    match rest.iter().take(MAX_BLANKS + 1).position(|byte| !is_space(*byte)) {
        Some(found) => Ok(Some(rest[found])),
        None if rest.len() > MAX_BLANKS => Err(()),
        None => Ok(None),
    }
}

/// The most white space that is read again with each chunk.
pub(super) const MAX_BLANKS: usize = 64;

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
