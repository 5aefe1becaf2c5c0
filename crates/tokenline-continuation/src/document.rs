//! A truncated JSON text that grows: at its end as it arrives, or by merging.

mod continuation;
mod finder;

use std::borrow::Cow;

use tokenline_core::json::{Cut, Kind, OpenContainer, OpenToken, Parser, Step, SyntaxError};

use crate::text::{before_fence, is_in_string, tail, trim_end, trim_start};
pub use continuation::{Decision, DocumentContinuation, DocumentRequest};
use finder::{Finder, SearchResult};

/// The status of a [`Document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No JSON has begun: nothing, or prose alone.
    Empty,
    /// The value is incomplete.
    Open,
    /// The value is complete. A number that stands alone counts as complete, although more digits may follow.
    Complete,
    /// Not JSON: the text has an error before its end.
    Malformed(SyntaxError),
}

/// A JSON text that was cut off, with the parser that has read it.
///
/// It is made for the responses of models: prose, think blocks and code fences around the JSON are not part of it. The
/// core's scanner locates the JSON, as it does records. Text that [`push`](Self::push) or [`merge`](Self::merge) appends is
/// read once as it arrives, and once more when the value is complete, however long the document is.
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
    /// All text that was pushed, prose included.
    pub(crate) raw: String,
    /// Where the JSON begins in `raw`.
    pub(crate) start: usize,
    pub(crate) parser: Parser,
    /// Locates the value; `None` once the value is certain.
    finder: Option<Box<Finder>>,
    /// How many bytes the finder read, once it is dropped.
    sought: u64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// No value is open. The value at `start` may be prose, because of an error before the offset `doubted`.
    Seeking { doubted: Option<usize> },
    /// Inside the value.
    Reading,
    /// The value ended at `end`; up to `seen`, only white space followed.
    Ended { end: usize, seen: usize },
    /// After the value, other text followed.
    Trailing { end: usize },
    /// The value is truncated at `end`, where the parser stopped: the closing fence followed, or may have begun.
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
            finder: self.finder.as_ref().map(|finder| Box::new(finder.replayed(&self.raw))),
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

    /// Appends text that has arrived.
    pub fn push(&mut self, text: &str) {
        self.raw.push_str(text);
        while self.step() {}
    }

    /// Appends text only up to the end of the value. Returns the position of that end in `text`, or `None` if the value is
    /// still incomplete. Does not change a complete document.
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

    /// Whether the document is complete, incomplete, empty or malformed.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.stage {
            Stage::Seeking { .. } => Status::Empty,
            Stage::Reading | Stage::Fenced { .. } if self.is_lone_number() => Status::Complete,
            Stage::Reading | Stage::Fenced { .. } => Status::Open,
            Stage::Ended { .. } | Stage::Trailing { .. } => Status::Complete,
            Stage::Failed(fault) => Status::Malformed(fault),
        }
    }

    /// The JSON text as it arrived, possibly truncated, without the prose and fences around it.
    #[must_use]
    pub fn text(&self) -> &str {
        match self.stage {
            Stage::Seeking { .. } => "",
            Stage::Trailing { end } | Stage::Fenced { end, .. } => &self.raw[self.start..self.start + end],
            // White space is kept, so that the text is the same as what was pushed.
            Stage::Ended { seen, .. } => &self.raw[self.start..self.start + seen],
            _ => &self.raw[self.start..],
        }
    }

    /// The end of the text, at most `bytes` bytes and whole characters, which a model is asked to begin with. Empty if
    /// the document is not [open](Status::Open).
    #[must_use]
    pub fn overlap(&self, bytes: usize) -> &str {
        if self.status() == Status::Open { tail(self.text(), bytes) } else { "" }
    }

    /// The complete part, with all open structures closed; `None` if there is no value yet, or the text is malformed.
    /// See [`complete_part`](crate::Contexts::complete_part).
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

    /// How many bytes were read to find the value and to parse it: a measure of the work.
    #[must_use]
    pub fn examined(&self) -> u64 {
        let seeking = self.finder.as_ref().map_or(0, |finder| finder.examined());
        self.parser.examined() + self.sought + seeking
    }

    /// Where the value is truncated; `None` unless it is open.
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

    /// Advances by one step. Returns whether there may be another.
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
                    self.stage = Stage::Trailing { end };
                }
                false
            }
            // One or two back quotes or tildes at the end may turn out not to be a fence.
            Stage::Fenced { fault, .. } if self.before_fence(fault).is_none() => self.doubt(fault),
            Stage::Fenced { .. } => false,
            Stage::Trailing { .. } | Stage::Failed(_) => false,
        }
    }

    /// Where the truncated value ends, if the error at `fault` is the closing fence.
    fn before_fence(&self, fault: SyntaxError) -> Option<usize> {
        before_fence(&self.raw[self.start..], fault.offset, is_in_string(fault.expected))
    }

    /// Handles a syntax error: the closing fence of a truncated value, or a malformed value.
    fn fence_or_fault(&mut self, fault: SyntaxError) -> bool {
        let json = &self.raw[self.start..];
        match self.before_fence(fault).filter(|_| json.starts_with(['{', '['])) {
            Some(end) => {
                // The parser has read past the error: parse again, up to `end`.
                self.parser.reset();
                let _ = self.parser.resume(&json[..end]);
                self.stage = Stage::Fenced { end, fault };
                false
            }
            None => self.doubt(fault),
        }
    }

    /// The value has a syntax error: it is malformed, or is prose.
    fn doubt(&mut self, fault: SyntaxError) -> bool {
        let is_sought = self.finder.is_some();
        self.stage = if is_sought {
            Stage::Seeking { doubted: Some(self.start + fault.offset + 1) }
        } else {
            Stage::Failed(fault)
        };
        is_sought
    }

    /// Looks for the value, or checks whether the value that was read up to `known_to` is prose.
    fn find(&mut self, known_to: Option<usize>) -> bool {
        let Some(finder) = &mut self.finder else { return false };
        match finder.find(&self.raw, known_to.map(|end| self.start..end)) {
            SearchResult::Pending => false,
            SearchResult::Nothing => {
                self.stage = Stage::Seeking { doubted: None };
                false
            }
            SearchResult::Open(start) => {
                self.start = start;
                self.parser.reset();
                self.stage = Stage::Reading;
                true
            }
            SearchResult::Whole(start) => {
                self.drop_finder();
                if !matches!(self.stage, Stage::Ended { .. }) || self.start != start {
                    self.start = start;
                    self.parser.reset();
                    self.stage = Stage::Reading;
                }
                true
            }
            SearchResult::Rejected(start) => {
                self.drop_finder();
                self.start = start;
                self.stage = match Parser::new().parse(&self.raw[start..]) {
                    Err(fault) => Stage::Failed(fault),
                    Ok(value) => Stage::Trailing { end: value.raw().len() },
                };
                false
            }
        }
    }

    /// Decides that the value is the document, not prose, and that it continues where it is truncated.
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
