//! The end of an incomplete document, for callers that close or continue it.

use std::ops::Range;

use super::super::error::Expected;
use super::super::tape::{NONE, Node, NodeKind};
use super::super::value::Kind;
use super::token::is_whole_number;
use super::{Parser, State};

/// The end of an incomplete document. Offsets are bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The tokens that the grammar allows next.
    pub expected: Expected,
    /// The token at the end; `None` between two tokens.
    pub token: Option<OpenToken>,
    /// The start of the incomplete member or element, including a member's name: the end of the document if
    /// there is none. The text before it, apart from a comma and white space, is complete.
    pub member: usize,
}

/// A token that may continue. `start` is its first byte; of a string, the quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenToken {
    /// The name of a member.
    Name {
        /// Its opening quote.
        start: usize,
        /// The end of its complete part: before an incomplete escape or surrogate pair.
        whole: usize,
    },
    /// A string that is a value.
    String {
        /// Its opening quote.
        start: usize,
        /// The end of its complete part: before an incomplete escape or surrogate pair.
        whole: usize,
    },
    /// A number.
    Number {
        /// Its first byte.
        start: usize,
        /// Whether it would be a valid number if nothing followed: `12` is, `12.` is not.
        is_whole: bool,
    },
    /// `true`, `false` or `null`.
    Literal {
        /// Its first byte.
        start: usize,
    },
}

impl OpenToken {
    /// Its first byte; of a string, the quote.
    #[must_use]
    pub fn start(self) -> usize {
        match self {
            Self::Name { start, .. }
            | Self::String { start, .. }
            | Self::Number { start, .. }
            | Self::Literal { start } => start,
        }
    }
}

/// An open object or array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenContainer {
    /// [`Kind::Object`] or [`Kind::Array`].
    pub kind: Kind,
    /// Its bracket.
    pub start: usize,
    /// If it is a member of an object, its name as written, between the quotes.
    pub name: Option<Range<usize>>,
}

impl Parser {
    /// The end of the document, while it is neither complete nor malformed.
    ///
    /// ```
    /// use tokenline_core::json::{OpenToken, Parser};
    ///
    /// let mut parser = Parser::new();
    /// let _ = parser.resume(r#"{"entity":"DNA","note":"caf\u00"#);
    /// let cut = parser.cut().unwrap();
    /// assert_eq!(cut.token, Some(OpenToken::String { start: 23, whole: 27 }));
    /// assert_eq!(cut.member, 16);
    /// ```
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        if matches!(self.state, State::Done | State::Failed) {
            return None;
        }
        let token = self.open_token();
        let member = match (token, self.tape.len) {
            (Some(OpenToken::Name { start, .. }), _) => start,
            (_, len @ 1..) if self.tape.nodes[len - 1].is(NodeKind::Key) => {
                token_start(&self.tape.nodes[len - 1])
            }
            (token, _) => token.map_or(self.at, OpenToken::start),
        };
        Some(Cut { expected: self.expected(), token, member })
    }

    /// The open containers, innermost first.
    ///
    /// ```
    /// use tokenline_core::json::{Kind, Parser};
    ///
    /// let mut parser = Parser::new();
    /// let document = r#"{"rows":[{"a":1},{"#;
    /// let _ = parser.resume(document);
    /// let open: Vec<_> = parser.open_containers().map(|open| (open.kind, open.start)).collect();
    /// assert_eq!(open, [(Kind::Object, 17), (Kind::Array, 8), (Kind::Object, 0)]);
    /// ```
    pub fn open_containers(&self) -> impl Iterator<Item = OpenContainer> + '_ {
        // A snapshot has replaced the links of these nodes.
        let patched = self.early.as_deref().map_or(&[][..], |early| &early.patched);
        let mut container = self.container;
        let mut level = 0;
        std::iter::from_fn(move || {
            if container == NONE {
                return None;
            }
            let node = patched.get(level).copied().unwrap_or(self.tape.node(container));
            let before = container.checked_sub(1).map(|before| self.tape.node(before));
            level += 1;
            container = node.link;
            Some(OpenContainer {
                kind: if node.is(NodeKind::Object) { Kind::Object } else { Kind::Array },
                start: node.start as usize,
                name: before.filter(|before| before.is(NodeKind::Key)).map(|name| name.range()),
            })
        })
    }

    /// The start of the last value or name at or before `offset`, or 0. Considers complete values and names,
    /// and open containers.
    ///
    /// From there, the text can be read without knowing what is before it. Takes time logarithmic in the
    /// document's length.
    #[must_use]
    pub fn token_before(&self, offset: usize) -> usize {
        let nodes = &self.tape.nodes[..self.tape.len];
        let after = nodes.partition_point(|node| token_start(node) <= offset);
        after.checked_sub(1).map_or(0, |index| token_start(&nodes[index]))
    }

    fn open_token(&self) -> Option<OpenToken> {
        let cut = match self.state {
            State::Number => {
                return Some(OpenToken::Number {
                    start: self.token,
                    is_whole: is_whole_number(self.progress),
                });
            }
            State::Literal => return Some(OpenToken::Literal { start: self.token }),
            _ => self.open_escape()?,
        };
        let (start, whole) = (self.token - 1, self.at - cut);
        Some(if self.token_is_name {
            OpenToken::Name { start, whole }
        } else {
            OpenToken::String { start, whole }
        })
    }

    /// In a string: how many bytes of an escape have arrived.
    #[inline]
    pub(super) fn open_escape(&self) -> Option<usize> {
        match self.state {
            State::String => Some(0),
            State::Escape => Some(1),
            // Progress counts the bytes after `\u`; of a pair, those of both halves.
            State::Unicode => Some(2 + usize::from(self.progress)),
            _ => None,
        }
    }
}

/// The first byte of a value or name.
fn token_start(node: &Node) -> usize {
    let is_quoted = node.is(NodeKind::String) || node.is(NodeKind::Key);
    node.start as usize - usize::from(is_quoted)
}
