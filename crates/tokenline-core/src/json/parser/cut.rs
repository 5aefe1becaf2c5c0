//! Where a document stops that is not complete: for who wants to close it, or to go on with it.

use std::ops::Range;

use super::super::error::Expected;
use super::super::tape::{NONE, Node, NodeKind};
use super::super::value::Kind;
use super::token::is_whole_number;
use super::{Parser, State};

/// Where a document that is not complete stops. Offsets are bytes from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What the grammar allows there.
    pub expected: Expected,
    /// The token that it stops in; `None` between two tokens.
    pub token: Option<OpenToken>,
    /// Where the member or element begins that is not whole, a member's name included: the end of the
    /// document if there is none. What is before it, up to a comma and white space, is whole.
    pub member: usize,
}

/// A token that may go on. `start` is its first byte, the quote of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenToken {
    /// The name of a member.
    Name {
        /// Its opening quote.
        start: usize,
        /// The end of what is whole of it: before an escape or a surrogate pair that is not.
        whole: usize,
    },
    /// A string that is a value.
    String {
        /// Its opening quote.
        start: usize,
        /// The end of what is whole of it: before an escape or a surrogate pair that is not.
        whole: usize,
    },
    /// A number.
    Number {
        /// Its first byte.
        start: usize,
        /// Whether it is a number if nothing follows: `12` is, `12.` is not.
        is_whole: bool,
    },
    /// `true`, `false` or `null`.
    Literal {
        /// Its first byte.
        start: usize,
    },
}

impl OpenToken {
    /// Its first byte, the quote of a string.
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

/// An object or array that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenContainer {
    /// [`Kind::Object`] or [`Kind::Array`].
    pub kind: Kind,
    /// Its bracket.
    pub start: usize,
    /// If it is a member of an object, its name as it is written, between the quotes.
    pub name: Option<Range<usize>>,
}

impl Parser {
    /// Where the document stops, while it is neither complete nor malformed.
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
        if matches!(self.state, State::Done | State::Failed(_)) {
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

    /// The containers that are open where the document stops, the innermost first.
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
        // A snapshot has put other links in their place.
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

    /// Where the last value or name begins that begins at `offset` or before it; 0 if none does. Of
    /// those that are whole, or open containers.
    ///
    /// From there the text can be read without knowing what is before it. Takes time in proportion to
    /// the logarithm of the document's length.
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
        Some(match self.token_is_name {
            true => OpenToken::Name { start, whole },
            false => OpenToken::String { start, whole },
        })
    }

    /// In a string: how many bytes of an escape have come.
    pub(super) fn open_escape(&self) -> Option<usize> {
        match self.state {
            State::String => Some(0),
            State::Escape => Some(1),
            // Progress counts the bytes after `\u`, of both halves if it is of a pair.
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
