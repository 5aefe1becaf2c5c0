//! The resumable state machine that fills the tape.

mod cut;
mod early;
mod machine;
mod token;

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Expected, Fault, SyntaxError};
use super::tape::{DecodedNames, NONE, Node, NodeKind, Tape};
use super::value::{Kind, Value};
use crate::Limits;

pub use cut::{Cut, OpenContainer, OpenToken};
use early::Early;
pub(crate) use token::is_space;
use token::{expected_in_unicode, is_whole_number, number_flags};
pub(super) use token::{is_simple_escape, unicode_escape};

/// What a [`Parser`] answers when it has read what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Feed more: the document is open. A number at the end may go on, so it is open too.
    NeedMore,
    /// The document is whole.
    Complete {
        /// The offset after its last byte.
        end: usize,
    },
    /// The document is not JSON.
    Malformed(SyntaxError),
}

/// As [`Step`], with the fault not yet placed in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawStep {
    NeedMore,
    Complete {
        end: usize,
    },
    Malformed(Fault),
    /// Of a single-line document: a line feed between two tokens. The document may go on behind it,
    /// with [`Parser::pass_line_feed`].
    LineEnd(Fault),
}

/// A resumable, fully validating JSON parser that fills a reusable tape.
///
/// It reads a document that grows: call [`resume`](Parser::resume) with all of the document that
/// there is so far, as often as more arrives. Each byte is looked at once. Once the document is
/// complete, [`value`](Parser::value) lends it; before that, [`snapshot`](Parser::snapshot) lends what
/// there is of it, and [`next_delta`](Parser::next_delta) tells what is new.
///
/// It accepts and rejects what serde_json does, except that a number beyond the range of `f64` is
/// kept as its literal. Nothing recurses, and once the tape has grown to the size of the documents,
/// nothing allocates.
///
/// ```
/// use tokenline_core::json::{Parser, Step};
///
/// let mut parser = Parser::new();
/// assert_eq!(parser.resume(r#"{"entity":"DN"#), Step::NeedMore);
/// let document = r#"{"entity":"DNA"} and more"#;
/// assert_eq!(parser.resume(document), Step::Complete { end: 16 });
/// assert_eq!(parser.value(document).get("entity").unwrap().as_str().unwrap(), "DNA");
///
/// parser.reset();
/// assert!(matches!(parser.resume(r#"{"a":NaN}"#), Step::Malformed(error) if error.offset == 5));
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    tape: Tape,
    /// Hashes of the names of all open objects, outermost first. An initialised slice.
    name_hashes: Vec<u32>,
    name_hashes_len: usize,
    /// For sorting the names of large objects.
    scratch: Vec<(u32, u32)>,
    state: State,
    /// Offset of the next byte to look at.
    at: usize,
    /// The open token: where it starts (a string's after its quote), its flags, progress in it.
    token: usize,
    token_flags: u32,
    token_is_name: bool,
    progress: u8,
    surrogate: u32,
    /// The open container, how many there are, and the members of this one so far.
    container: u32,
    depth: u32,
    count: u32,
    depth_limit: u32,
    single_line: bool,
    examined: u64,
    last_generation: u64,
    /// For who asks before the document is complete. Boxed, because few do.
    early: Option<Box<Early>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Value,
    FirstElement,
    FirstName,
    Name,
    Colon,
    AfterValue,
    String,
    Escape,
    Unicode,
    Number,
    Literal,
    /// On the closing quote of a name. Passed through, never saved.
    NameEnd,
    Done,
    Failed(Fault),
}

/// Why the inner loop stopped.
enum Stop {
    NeedMore,
    Complete,
    Grow,
    Fault(Expected),
}

/// Positions on the tape are 32 bits wide, and a link doubles as a flag.
const MAX_DOCUMENT: usize = 1 << 31;
/// A tape of up to this many nodes, 1 MiB, is kept from document to document.
const KEEP_NODES: usize = 1 << 16;
/// Generations are taken from the process-wide counter in blocks, so that parsers on several
/// threads seldom meet there.
const GENERATION_BLOCK: u64 = 1 << 16;
static NEXT_GENERATION: AtomicU64 = AtomicU64::new(GENERATION_BLOCK);

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    /// A parser with serde_json's depth limit, for documents that may span lines.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tape: Tape::default(),
            name_hashes: Vec::new(),
            name_hashes_len: 0,
            scratch: Vec::new(),
            state: State::Value,
            at: 0,
            token: 0,
            token_flags: 0,
            token_is_name: false,
            progress: 0,
            surrogate: 0,
            container: NONE,
            depth: 0,
            count: 0,
            depth_limit: Limits::DEFAULT.effective_depth(),
            single_line: false,
            examined: 0,
            last_generation: 0,
            early: None,
        }
    }

    /// Sets the depth limit; see [`Limits::depth`].
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.depth_limit = limits.effective_depth();
        self
    }

    /// Lifts the depth limit, for text that was accepted before.
    pub(crate) fn unlimited_depth(mut self) -> Self {
        self.depth_limit = u32::MAX;
        self
    }

    /// Makes the parser stop at each line feed between two tokens, with [`RawStep::LineEnd`].
    pub(crate) fn single_line(mut self) -> Self {
        self.single_line = true;
        self
    }

    /// Forgets the document and starts with the next. Keeps the tape's memory.
    pub fn reset(&mut self) {
        if self.tape.nodes.len() > KEEP_NODES && self.tape.len < self.tape.nodes.len() / 8 {
            self.shrink();
        }
        self.tape.len = 0;
        self.tape.decoded.clear();
        self.tape.repeated_name = None;
        self.tape.has_lone_surrogates = false;
        self.name_hashes_len = 0;
        self.state = State::Value;
        self.at = 0;
        self.container = NONE;
        self.depth = 0;
        self.count = 0;
        if let Some(early) = &mut self.early {
            early.reset();
        }
    }

    /// Reads on. `document` is all of the document so far: what earlier calls were given, and
    /// more. Bytes after the end of the document are not looked at.
    pub fn resume(&mut self, document: &str) -> Step {
        match self.resume_bytes(document.as_bytes()) {
            RawStep::NeedMore => Step::NeedMore,
            RawStep::Complete { end } => Step::Complete { end },
            RawStep::Malformed(fault) | RawStep::LineEnd(fault) => {
                Step::Malformed(SyntaxError::at(document.as_bytes(), fault))
            }
        }
    }

    /// Says that no more will come. Only a number at the end of the document is completed by that.
    pub fn finish(&mut self, document: &str) -> Step {
        match self.finish_bytes(document.as_bytes()) {
            RawStep::NeedMore => Step::NeedMore,
            RawStep::Complete { end } => Step::Complete { end },
            RawStep::Malformed(fault) | RawStep::LineEnd(fault) => {
                Step::Malformed(SyntaxError::at(document.as_bytes(), fault))
            }
        }
    }

    /// Parses a whole document and nothing but it, after a [`reset`](Self::reset).
    ///
    /// # Errors
    ///
    /// If the text is not one JSON value with nothing but white space around it.
    pub fn parse<'a>(&'a mut self, document: &'a str) -> Result<Value<'a>, SyntaxError> {
        self.reset();
        self.read_whole(document.as_bytes())?;
        Ok(self.value(document))
    }

    /// As [`parse`](Self::parse), but takes an escape of half a surrogate pair as well, which reads as
    /// U+FFFD; [`Value::lone_surrogates`] has the halves. Such a document is read twice.
    ///
    /// ```
    /// use tokenline_core::json::Parser;
    ///
    /// let mut parser = Parser::new();
    /// let value = parser.parse_lossy(r#"{"text":"a\ud83d"}"#)?;
    /// let text = value.get("text").unwrap();
    /// assert_eq!(text.as_str().unwrap(), "a\u{fffd}");
    /// assert_eq!(text.lone_surrogates().unwrap().high, Some(0xd83d));
    ///
    /// assert_eq!(parser.parse_lossy(r#""\ud83d\ude00""#)?.lone_surrogates(), None);
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As those of [`parse`](Self::parse).
    pub fn parse_lossy<'a>(&'a mut self, document: &'a str) -> Result<Value<'a>, SyntaxError> {
        self.reset();
        if let Err(error) = self.read_whole(document.as_bytes()) {
            if !matches!(error.expected, Expected::LowSurrogate | Expected::Escape) {
                return Err(error);
            }
            self.reset();
            self.tape.has_lone_surrogates = true;
            self.read_whole(document.as_bytes())?;
        }
        Ok(self.value(document))
    }

    fn read_whole(&mut self, bytes: &[u8]) -> Result<(), SyntaxError> {
        let fault = match self.finish_bytes(bytes) {
            RawStep::Complete { end } => {
                let rest = &bytes[end..];
                match rest.iter().position(|&byte| !is_space(byte, false)) {
                    None => return Ok(()),
                    Some(at) => Fault { offset: end + at, expected: Expected::End },
                }
            }
            RawStep::NeedMore => Fault { offset: bytes.len(), expected: self.expected() },
            RawStep::Malformed(fault) | RawStep::LineEnd(fault) => fault,
        };
        Err(SyntaxError::at(bytes, fault))
    }

    /// The complete document. `document` is the text that [`resume`](Self::resume) was given.
    ///
    /// # Panics
    ///
    /// If the document is not complete. May panic if `document` is another text.
    #[must_use]
    pub fn value<'a>(&'a self, document: &'a str) -> Value<'a> {
        assert!(self.state == State::Done, "the document is not complete");
        Value::new(&self.tape, document, 0)
    }

    /// How many bytes were looked at since the parser was made. The measure of its work: the bytes
    /// of the input, for any way of cutting it; what deltas look at counts again, and each container
    /// that a snapshot closes.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// Goes on by `len` plain bytes inside an open string. Whether there is one.
    #[inline]
    pub(crate) fn continue_string(&mut self, len: usize) -> bool {
        if self.state != State::String {
            return false;
        }
        self.at += len;
        self.examined += len as u64;
        true
    }

    /// Does not count what it looks at from now on as long as `f` runs: it is no part of the input.
    pub(crate) fn uncounted<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let examined = self.examined;
        let result = f(self);
        self.examined = examined;
        result
    }

    /// Goes past the line feed at which it stopped.
    pub(crate) fn pass_line_feed(&mut self) {
        self.at += 1;
        self.examined += 1;
    }

    /// Whether the parser stands inside a string, and whether behind a backslash there.
    pub(crate) fn in_string(&self) -> (bool, bool) {
        match self.state {
            State::String | State::Unicode => (true, false),
            State::Escape => (true, true),
            _ => (false, false),
        }
    }

    /// What the grammar allows where the document stops.
    pub(crate) fn expected(&self) -> Expected {
        match self.state {
            State::Value => Expected::Value,
            State::FirstElement => Expected::ValueOrBracket,
            State::FirstName => Expected::NameOrBrace,
            State::Name => Expected::Name,
            State::Colon => Expected::Colon,
            State::Number if !is_whole_number(self.progress) => Expected::Digit,
            State::AfterValue | State::Number if self.in_object() => Expected::CommaOrBrace,
            State::AfterValue | State::Number => Expected::CommaOrBracket,
            State::String => Expected::StringCharacter,
            State::Escape => Expected::Escape,
            State::Unicode => expected_in_unicode(self.progress),
            State::Literal => Expected::Literal,
            State::Done | State::NameEnd => Expected::End,
            State::Failed(fault) => fault.expected,
        }
    }

    /// Open containers.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// The kind of the complete document's root.
    pub(crate) fn root_kind(&self) -> Kind {
        Value::new(&self.tape, "", 0).kind()
    }

    /// Whether the complete document is or has an object.
    pub(crate) fn has_object(&self) -> bool {
        self.tape.nodes[..self.tape.len].iter().any(|node| node.is(NodeKind::Object))
    }

    /// Whether the complete document is an object or array with nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.tape.len == 1
    }

    /// Whether a member has begun in the open document, up to its colon.
    pub(crate) fn has_member(&self) -> bool {
        let nodes = &self.tape.nodes[..self.tape.len];
        match nodes.split_last() {
            Some((last, before)) => {
                before.iter().any(|node| node.is(NodeKind::Key))
                    || (last.is(NodeKind::Key) && self.expected() != Expected::Colon)
            }
            None => false,
        }
    }

    /// Where the containers begin that are not whole before `offset`, which the parser may have passed.
    pub(crate) fn open_at(&self, offset: usize) -> Vec<usize> {
        let mut open = Vec::new();
        let mut container = self.container;
        while container != NONE {
            open.push(container);
            container = self.tape.node(container).link;
        }
        open.reverse();
        let nodes = self.tape.nodes[..self.tape.len].iter().zip(0_u32..);
        let is_container = |node: &Node| node.is(NodeKind::Array) || node.is(NodeKind::Object);
        nodes
            .filter(|(node, index)| {
                is_container(node) && (open.binary_search(index).is_ok() || node.end as usize > offset)
            })
            .map(|(node, _)| node.start as usize)
            .filter(|start| *start < offset)
            .collect()
    }

    /// Gives back memory that one large document made the tape take, once documents are small
    /// again. Halving keeps the cost in proportion to what was parsed.
    #[cold]
    fn shrink(&mut self) {
        let nodes = &mut self.tape.nodes;
        nodes.truncate(nodes.len() / 2);
        nodes.shrink_to_fit();
        self.name_hashes = Vec::new();
        self.scratch = Vec::new();
        self.tape.decoded = DecodedNames::default();
    }

    fn in_object(&self) -> bool {
        self.container != NONE && self.tape.node(self.container).is(NodeKind::Object)
    }

    pub(crate) fn finish_bytes(&mut self, bytes: &[u8]) -> RawStep {
        let step = self.resume_bytes(bytes);
        if step == RawStep::NeedMore
            && self.container == NONE
            && self.state == State::Number
            && is_whole_number(self.progress)
        {
            // Room was made when the number began.
            let flags = number_flags(self.progress);
            self.tape.nodes[self.tape.len] = Node::new(NodeKind::Number, flags, self.token, bytes.len());
            self.tape.len += 1;
            self.complete();
            return RawStep::Complete { end: bytes.len() };
        }
        step
    }

    fn complete(&mut self) {
        self.state = State::Done;
        self.tape.generation = self.next_generation();
    }

    fn next_generation(&mut self) -> u64 {
        if self.last_generation.is_multiple_of(GENERATION_BLOCK) {
            self.last_generation = NEXT_GENERATION.fetch_add(GENERATION_BLOCK, Ordering::Relaxed);
        }
        self.last_generation += 1;
        self.last_generation
    }

    #[cold]
    fn ensure_room(&mut self) {
        let nodes = &mut self.tape.nodes;
        if self.tape.len + 2 > nodes.len() {
            nodes.resize((nodes.len() * 2).max(32), Node::default());
        }
        if self.name_hashes_len + 1 > self.name_hashes.len() {
            self.name_hashes.resize((self.name_hashes.len() * 2).max(32), 0);
        }
    }

    pub(crate) fn resume_bytes(&mut self, bytes: &[u8]) -> RawStep {
        self.open_again();
        let fault = loop {
            match self.state {
                State::Done => return RawStep::Complete { end: self.at },
                State::Failed(fault) => return RawStep::Malformed(fault),
                _ => {}
            }
            let before = self.at;
            let stop = match (self.single_line, bytes.len() <= MAX_DOCUMENT) {
                (true, true) => self.run::<true>(bytes),
                (false, true) => self.run::<false>(bytes),
                (_, false) => Stop::Fault(Expected::ShorterDocument),
            };
            self.examined += (self.at - before) as u64;
            match stop {
                Stop::NeedMore => return RawStep::NeedMore,
                Stop::Complete => {
                    self.complete();
                    return RawStep::Complete { end: self.at };
                }
                Stop::Grow => self.ensure_room(),
                Stop::Fault(expected) => {
                    let fault = Fault { offset: self.at, expected };
                    if self.single_line && bytes.get(self.at) == Some(&b'\n') && expected.is_between_tokens()
                    {
                        return RawStep::LineEnd(fault);
                    }
                    break fault;
                }
            }
        };
        self.state = State::Failed(fault);
        RawStep::Malformed(fault)
    }
}
