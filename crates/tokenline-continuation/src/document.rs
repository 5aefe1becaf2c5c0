//! A cut JSON text that grows: at its end as it arrives, or by merging.

mod finder;

use std::borrow::Cow;

use tokenline_core::json::{Cut, Kind, OpenContainer, OpenToken, Parser, Step, SyntaxError};

use crate::text::{before_fence, is_in_string, tail, trim_end, trim_start};
use finder::{Finder, Found};

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
/// It is made for the responses of models: prose, think blocks and code fences around the JSON are not part of it. Where
/// the JSON is, the core's scanner says, as it does for records. What is appended, by [`push`](Self::push) or
/// [`merge`](Self::merge), is read once as it comes, and once more when the value is whole, however long the document is
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
#[derive(Debug)]
pub struct Document {
    /// All that came, prose included.
    pub(crate) raw: String,
    /// Where the JSON begins in it.
    pub(crate) start: usize,
    pub(crate) parser: Parser,
    /// Until it is known where the value is.
    finder: Option<Box<Finder>>,
    /// How many bytes the finder looked at, once it is gone.
    sought: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// For the beginning. The value at `start` may be none, because of what stands before this offset.
    Seeking { doubted: Option<usize> },
    /// In the value.
    Reading,
    /// Behind the value, which ends there; what follows is white space up to `seen`.
    Ended { end: usize, seen: usize },
    /// Behind the value and in what is none of it.
    Left { end: usize },
    /// The value is cut, but its fence was closed, or may be, behind `end`, which the parser stands at.
    Fenced { end: usize, fault: SyntaxError },
    /// Not JSON.
    Failed(SyntaxError),
}

impl Default for Document {
    fn default() -> Self {
        Self {
            raw: String::new(),
            start: 0,
            parser: Parser::new(),
            finder: Some(Box::new(Finder::new())),
            sought: 0,
            stage: Stage::Seeking { doubted: None },
        }
    }
}

impl Clone for Document {
    fn clone(&self) -> Self {
        Self {
            raw: self.raw.clone(),
            start: self.start,
            parser: self.parser.clone(),
            finder: self.finder.as_ref().map(|finder| Box::new(finder.again(&self.raw))),
            sought: self.sought,
            stage: self.stage,
        }
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
        let Stage::Reading = self.stage else {
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
                self.stage = Stage::Ended { end, seen: end };
                Some(self.raw.len() - before)
            }
            Step::Malformed(fault) => {
                self.doubt(fault);
                while self.step() {}
                None
            }
        }
    }

    /// Whether it is cut.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.stage {
            Stage::Seeking { .. } => Status::Empty,
            Stage::Reading | Stage::Fenced { .. } if self.is_lone_number() => Status::Complete,
            Stage::Reading | Stage::Fenced { .. } => Status::Open,
            Stage::Ended { .. } | Stage::Left { .. } => Status::Complete,
            Stage::Failed(fault) => Status::Malformed(fault),
        }
    }

    /// The JSON text as it came, cut where it was cut: without prose and fences around it.
    #[must_use]
    pub fn text(&self) -> &str {
        match self.stage {
            Stage::Seeking { .. } => "",
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

    /// How many bytes were looked at, by the parser and to find the value: the measure of its work.
    #[must_use]
    pub fn examined(&self) -> u64 {
        let seeking = self.finder.as_ref().map_or(0, |finder| finder.examined());
        self.parser.examined() + self.sought + seeking
    }

    /// Where it is cut; `None` unless it is open.
    pub(crate) fn cut(&self) -> Option<Cut> {
        matches!(self.stage, Stage::Reading | Stage::Fenced { .. }).then(|| self.parser.cut()).flatten()
    }

    /// The open containers, the outermost first.
    pub(crate) fn open_containers(&self) -> Vec<OpenContainer> {
        let mut open: Vec<_> = self.parser.open_containers().collect();
        open.reverse();
        open
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
            Stage::Seeking { doubted } => self.find(doubted),
            Stage::Reading => match self.parser.resume(&self.raw[self.start..]) {
                Step::NeedMore => false,
                Step::Complete { end } => {
                    self.stage = Stage::Ended { end, seen: end };
                    true
                }
                Step::Malformed(fault) => self.fence_or_fault(fault),
            },
            Stage::Ended { end, seen } => {
                let rest = trim_start(&self.raw[self.start + seen..]);
                let (is_all, seen) = (rest.is_empty(), self.raw.len() - self.start - rest.len());
                self.stage = Stage::Ended { end, seen };
                if self.finder.is_some() {
                    return self.find(Some(self.start + end));
                }
                if !is_all {
                    self.stage = Stage::Left { end };
                }
                false
            }
            // A fence may have been a back quote or two at the end, and prove to be none.
            Stage::Fenced { fault, .. } if self.before_fence(fault).is_none() => self.doubt(fault),
            Stage::Fenced { .. } => false,
            Stage::Left { .. } | Stage::Failed(_) => false,
        }
    }

    /// Where the value ends if it is cut, and its fence ends at the fault.
    fn before_fence(&self, fault: SyntaxError) -> Option<usize> {
        before_fence(&self.raw[self.start..], fault.offset, is_in_string(fault.expected))
    }

    /// The value is cut and its fence is closed, or it is malformed.
    fn fence_or_fault(&mut self, fault: SyntaxError) -> bool {
        let json = &self.raw[self.start..];
        match self.before_fence(fault).filter(|_| json.starts_with(['{', '['])) {
            Some(end) => {
                // The parser stands behind its fault: once more, without it.
                self.parser.reset();
                let _ = self.parser.resume(&json[..end]);
                self.stage = Stage::Fenced { end, fault };
                false
            }
            None => self.doubt(fault),
        }
    }

    /// The value has a fault there: it is malformed, or prose.
    fn doubt(&mut self, fault: SyntaxError) -> bool {
        let is_sought = self.finder.is_some();
        self.stage = match is_sought {
            true => Stage::Seeking { doubted: Some(self.start + fault.offset + 1) },
            false => Stage::Failed(fault),
        };
        is_sought
    }

    /// Looks for the value, or for whether the one that was read up to an offset is one.
    fn find(&mut self, known_to: Option<usize>) -> bool {
        let Some(finder) = &mut self.finder else { return false };
        match finder.find(&self.raw, known_to.map(|end| self.start..end)) {
            Found::Pending => false,
            Found::Nothing => {
                self.stage = Stage::Seeking { doubted: None };
                false
            }
            Found::Open(start) => {
                self.start = start;
                self.parser.reset();
                self.stage = Stage::Reading;
                true
            }
            Found::Whole(start) => {
                self.drop_finder();
                if !matches!(self.stage, Stage::Ended { .. }) || self.start != start {
                    self.start = start;
                    self.parser.reset();
                    self.stage = Stage::Reading;
                }
                true
            }
            Found::Rejected(start) => {
                self.drop_finder();
                self.start = start;
                self.stage = match Parser::new().parse(&self.raw[start..]) {
                    Err(fault) => Stage::Failed(fault),
                    Ok(value) => Stage::Left { end: value.raw().len() },
                };
                false
            }
        }
    }

    /// Says that the value is the document, and no prose, and that it goes on where it is cut.
    pub(crate) fn commit(&mut self) {
        if let Stage::Fenced { end, .. } = self.stage {
            self.raw.truncate(self.start + end);
            self.stage = Stage::Reading;
        }
        self.drop_finder();
    }

    fn drop_finder(&mut self) {
        self.sought += self.finder.take().map_or(0, |finder| finder.examined());
    }
}
