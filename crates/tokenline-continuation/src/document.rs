//! A cut JSON text that grows: at its end as it arrives, or by merging.

mod seek;

use std::borrow::Cow;

use tokenline_core::json::{Cut, Expected, Kind, OpenContainer, OpenToken, Parser, Step, SyntaxError};

use crate::text::{ClosingFence, is_followed, is_in_string, tail, trim_end, trim_start};
use seek::{Found, Seek};

/// What there is of a [`Document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No JSON has begun: nothing, or prose alone.
    Empty,
    /// Cut: more is to come.
    Open,
    /// Whole. So is a number that stands alone, though it may go on.
    Complete,
    /// No JSON: the text is at fault before its end.
    Malformed(SyntaxError),
}

/// A JSON text that was cut off, with the parser that has read it.
///
/// It is made for the answers of models: prose and code fences around the JSON are not part of it. What
/// is appended, by [`push`](Self::push) or [`merge`](Self::merge), is read once, however long the document is
/// by then.
///
/// ```
/// use tokenline_continuation::{ContextOptions, Document, Status};
///
/// let mut document = Document::new();
/// document.push("Here you are:\n```json\n{\"rows\":[{\"a\":1},{\"a\":");
/// assert_eq!(document.text(), r#"{"rows":[{"a":1},{"a":"#);
/// assert_eq!(document.contexts(&ContextOptions::default()).complete_part, r#"{"rows":[{"a":1},{}]}"#);
/// document.push("2}]}\n```");
/// assert_eq!(document.status(), Status::Complete);
/// assert_eq!(document.text(), r#"{"rows":[{"a":1},{"a":2}]}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// All that came, prose included.
    pub(crate) raw: String,
    /// Where the JSON begins in it.
    pub(crate) start: usize,
    pub(crate) parser: Parser,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// For the beginning.
    Seeking(Seek),
    /// In the value.
    Reading { is_fresh: bool },
    /// Behind the value, which ends there; what follows is white space up to `seen`.
    Ended { is_fresh: bool, end: usize, seen: usize },
    /// Behind the value and in what is none of it.
    Left { end: usize },
    /// The value is cut, but its fence was closed, or may be, behind `end`, which the parser stands at.
    Fenced { is_fresh: bool, end: usize, fence: ClosingFence, fault: SyntaxError },
    /// Not JSON.
    Failed(SyntaxError),
}

impl Default for Stage {
    fn default() -> Self {
        Self::Seeking(Seek::default())
    }
}

impl Document {
    /// An empty document.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The document in `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut document = Self::new();
        document.push(text);
        document
    }

    /// Appends what has arrived.
    pub fn push(&mut self, text: &str) {
        self.raw.push_str(text);
        while self.step() {}
    }

    /// Appends what has arrived up to the end of the value, and no more: where in `text` that is, or `None` if the
    /// value is not at its end. A document that is complete takes nothing.
    ///
    /// ```
    /// use tokenline_continuation::Document;
    ///
    /// let mut document = Document::of("{\"a\":[1,");
    /// assert_eq!(document.push_value("2"), None);
    /// assert_eq!(document.push_value("]}\n{\"a\":[3]}"), Some(2));
    /// assert_eq!(document.text(), "{\"a\":[1,2]}");
    /// ```
    pub fn push_value(&mut self, text: &str) -> Option<usize> {
        let Stage::Reading { is_fresh } = self.stage else {
            if self.status() == Status::Complete {
                return Some(0);
            }
            self.push(text);
            return None;
        };
        let before = self.raw.len();
        self.raw.push_str(text);
        match self.parser.resume(&self.raw[self.start..]) {
            Step::NeedMore => None,
            Step::Complete { end } => {
                self.raw.truncate(self.start + end);
                self.stage = Stage::Ended { is_fresh, end, seen: end };
                Some(self.raw.len() - before)
            }
            Step::Malformed(fault) => {
                self.stage = self.faulty(is_fresh, fault);
                while self.step() {}
                None
            }
        }
    }

    /// Whether it is cut.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.stage {
            Stage::Seeking(_) => Status::Empty,
            Stage::Reading { .. } | Stage::Fenced { .. } if self.is_lone_number() => Status::Complete,
            Stage::Reading { .. } | Stage::Fenced { .. } => Status::Open,
            Stage::Ended { .. } | Stage::Left { .. } => Status::Complete,
            Stage::Failed(fault) => Status::Malformed(fault),
        }
    }

    /// The JSON text as it came, cut where it was cut: without prose and fences around it.
    #[must_use]
    pub fn text(&self) -> &str {
        match self.stage {
            Stage::Seeking(_) => "",
            Stage::Left { end } | Stage::Fenced { end, .. } => &self.raw[self.start..self.start + end],
            // White space is kept, so that what is pushed and what is there are the same.
            Stage::Ended { seen, .. } => &self.raw[self.start..self.start + seen],
            _ => &self.raw[self.start..],
        }
    }

    /// The tail of the cut text, of at most `bytes` bytes, from a character's first byte on: what a
    /// model is asked to begin with. Empty if the document is not [open](Status::Open).
    #[must_use]
    pub fn overlap(&self, bytes: usize) -> &str {
        if self.status() == Status::Open { tail(self.text(), bytes) } else { "" }
    }

    /// What is whole, with all that is open closed; `None` if there is no value yet, or the text is
    /// malformed. See [`complete_part`](crate::Contexts::complete_part).
    ///
    /// Finding it takes time in proportion to the depth, copying it to the length.
    #[must_use]
    pub fn complete_part(&self) -> Option<Cow<'_, str>> {
        let text = self.text();
        match self.status() {
            Status::Complete => return Some(Cow::Borrowed(trim_end(text))),
            Status::Open => {}
            Status::Empty | Status::Malformed(_) => return None,
        }
        let cut = self.cut()?;
        let (whole, quote) = match cut.token {
            Some(OpenToken::String { whole, .. }) => (&text[..whole], "\""),
            _ => {
                let before = trim_end(&text[..cut.member]);
                (before.strip_suffix(',').map_or(before, trim_end), "")
            }
        };
        let mut closed = String::with_capacity(whole.len() + 128);
        closed.push_str(whole);
        closed.push_str(quote);
        for open in self.parser.open_containers() {
            closed.push(if open.kind == Kind::Object { '}' } else { ']' });
        }
        (!closed.is_empty()).then_some(Cow::Owned(closed))
    }

    /// How many bytes the parser has looked at: the measure of its work.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.parser.examined()
    }

    /// Where it is cut; `None` unless it is open.
    pub(crate) fn cut(&self) -> Option<Cut> {
        matches!(self.stage, Stage::Reading { .. } | Stage::Fenced { .. })
            .then(|| self.parser.cut())
            .flatten()
    }

    /// The open containers, the outermost first.
    pub(crate) fn open_containers(&self) -> Vec<OpenContainer> {
        let mut open: Vec<_> = self.parser.open_containers().collect();
        open.reverse();
        open
    }

    /// Leaves out what followed the cut text, and goes on from there.
    pub(crate) fn drop_what_follows(&mut self) {
        if let Stage::Fenced { is_fresh, end, .. } = self.stage {
            self.raw.truncate(self.start + end);
            self.stage = Stage::Reading { is_fresh };
        }
    }

    fn is_lone_number(&self) -> bool {
        self.parser.open_containers().next().is_none()
            && self
                .parser
                .cut()
                .is_some_and(|cut| matches!(cut.token, Some(OpenToken::Number { is_whole: true, .. })))
    }

    /// One step on; whether there may be another.
    fn step(&mut self) -> bool {
        match self.stage {
            Stage::Seeking(seek) => match seek.find(&self.raw) {
                Found::Nothing(seek) => {
                    self.stage = Stage::Seeking(seek);
                    false
                }
                Found::Start { at, is_fresh } => {
                    self.start = at;
                    self.parser.reset();
                    self.stage = Stage::Reading { is_fresh };
                    true
                }
            },
            Stage::Reading { is_fresh } => match self.parser.resume(&self.raw[self.start..]) {
                Step::NeedMore => false,
                Step::Complete { end } => {
                    self.stage = Stage::Ended { is_fresh, end, seen: end };
                    true
                }
                Step::Malformed(fault) => {
                    let json = &self.raw[self.start..];
                    let mut fence = ClosingFence::new(json, fault.offset, is_in_string(fault.expected));
                    self.stage = match fence.read(json) {
                        Some(end) => {
                            // The parser stands behind its fault: once more, without it.
                            self.parser.reset();
                            let _ = self.parser.resume(&json[..end]);
                            Stage::Fenced { is_fresh, end, fence, fault }
                        }
                        None => self.faulty(is_fresh, fault),
                    };
                    matches!(self.stage, Stage::Seeking(_))
                }
            },
            Stage::Ended { is_fresh, end, seen } => {
                let rest = trim_start(&self.raw[self.start + seen..]);
                let seen = self.raw.len() - self.start - rest.len();
                let is_scalar = !self.raw[self.start..].starts_with(['{', '[']);
                self.stage = match rest.as_bytes().first() {
                    None => Stage::Ended { is_fresh, end, seen },
                    Some(_) if is_fresh && is_scalar && "```".starts_with(rest) => {
                        Stage::Ended { is_fresh, end, seen }
                    }
                    // `12 rows follow:` is prose.
                    Some(_) if is_fresh && is_scalar && !rest.starts_with("```") => {
                        Stage::Seeking(Seek::in_prose(self.start + 1))
                    }
                    Some(&byte) if is_followed(byte) => self.trailing(seen),
                    Some(_) => Stage::Left { end },
                };
                matches!(self.stage, Stage::Seeking(_))
            }
            Stage::Fenced { is_fresh, mut fence, fault, .. } => {
                // A fence may have been a back quote or two at the end, and prove to be none.
                self.stage = match fence.read(&self.raw[self.start..]) {
                    Some(end) => Stage::Fenced { is_fresh, end, fence, fault },
                    None => self.faulty(is_fresh, fault),
                };
                matches!(self.stage, Stage::Seeking(_))
            }
            Stage::Left { .. } | Stage::Failed(_) => false,
        }
    }

    /// What a fault means that is not the end of the fence: prose that is no JSON, or JSON that is none.
    fn faulty(&self, is_fresh: bool, fault: SyntaxError) -> Stage {
        let json = &self.raw[self.start..];
        let before = &json.as_bytes()[..fault.offset];
        let is_scalar = !json.starts_with(['{', '[']);
        if is_scalar && is_fresh {
            return Stage::Seeking(Seek::in_prose(self.start + 1));
        }
        let is_too_large = matches!(fault.expected, Expected::LessDepth | Expected::ShorterDocument);
        // `{x}` and `[see below]`: no name or value of it is whole.
        if !is_too_large && !before.iter().any(|byte| matches!(byte, b'"' | b',')) {
            return Stage::Seeking(Seek::behind(self.start));
        }
        Stage::Failed(fault)
    }

    /// The value is followed by what cannot follow it.
    fn trailing(&self, at: usize) -> Stage {
        let json = &self.raw[self.start..];
        match Parser::new().parse(&json[..(at + 1).min(json.len())]) {
            Err(fault) => Stage::Failed(fault),
            Ok(_) => Stage::Left { end: at },
        }
    }
}
