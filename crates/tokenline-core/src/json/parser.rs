//! The resumable state machine that fills the tape.

mod cut;
mod early;
mod machine;
mod token;

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Expected, Fault, SyntaxError};
use super::tape::{NONE, Node, NodeKind, Tape};
use super::value::{Kind, Value};
use crate::Limits;

pub use cut::{Cut, OpenContainer, OpenToken};
use early::Early;
pub(crate) use token::is_space;
pub(super) use token::{SIMPLE_ESCAPES, is_simple_escape, unicode_escape};
use token::{expected_in_unicode, is_whole_number, number_flags};

/// The result of a [`Parser`] after reading the document so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The document is open: pass more of it. A number at the end may continue, so it is open too.
    NeedMore,
    /// The document is complete.
    Complete {
        /// The offset after its last byte.
        end: usize,
    },
    /// The document is not JSON.
    Malformed(SyntaxError),
}

/// Like [`Step`], with a fault that has no line yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawStep {
    NeedMore,
    Complete {
        end: usize,
    },
    Malformed(Fault),
    /// In a single-line document: a newline between two tokens. To continue after it, call
    /// [`Parser::pass_line_feed`].
    LineEnd(Fault),
}

/// A resumable, fully validating JSON parser that fills a reusable tape.
///
/// It reads a growing document: call [`resume`](Parser::resume) with the complete text so far, whenever more
/// arrives. Each byte is examined once. Once the document is complete, [`value`](Parser::value) returns it;
/// before that, [`snapshot`](Parser::snapshot) returns the part that has arrived, and
/// [`next_delta`](Parser::next_delta) what is new.
///
/// It accepts and rejects the same documents as serde_json, except that a number beyond the range of `f64` is
/// kept as its literal. Nothing recurses, and nothing allocates once the tape has grown to the size of the
/// documents.
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
    name_hashes: Box<[u32]>,
    name_hashes_len: usize,
    state: State,
    /// Why the document is not JSON. Only with [`State::Failed`].
    fault: Fault,
    /// Offset of the next byte to read.
    at: usize,
    /// The open token: its start (of a string, after the quote), its flags, and the progress in it.
    token: usize,
    token_flags: u32,
    token_is_name: bool,
    progress: u8,
    surrogate: u32,
    /// The open container, the number of open containers, and the members of this one so far.
    container: u32,
    depth: u32,
    count: u32,
    depth_limit: u32,
    single_line: bool,
    examined: u64,
    last_generation: u64,
    /// State for reading an incomplete document. Boxed: rarely used.
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
    /// At the closing quote of a name. Only passed through, never saved.
    NameEnd,
    Done,
    /// With a [fault](Parser::fault).
    Failed,
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
/// The first capacities, for a small record: of three members, of which the last is open.
const FIRST_NODES: usize = 6;
const FIRST_NAMES: usize = 4;
/// The capacity, in nodes, kept from document to document: 1 MiB.
const KEEP_NODES: usize = 1 << 16;
/// Generations are taken from the process-wide counter in blocks, so that parsers on several threads rarely
/// contend.
const GENERATION_BLOCK: u64 = 1 << 16;
static NEXT_GENERATION: AtomicU64 = AtomicU64::new(GENERATION_BLOCK);

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    /// A parser with serde_json's depth limit, for documents of any number of lines.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tape: Tape::default(),
            name_hashes: Box::default(),
            name_hashes_len: 0,
            state: State::Value,
            fault: Fault { offset: 0, expected: Expected::Value },
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
        self.set_limits(limits);
        self
    }

    /// As [`with_limits`](Self::with_limits), for the next document.
    pub fn set_limits(&mut self, limits: &Limits) {
        self.depth_limit = limits.effective_depth();
    }

    /// Lifts the depth limit, for text that was already accepted.
    pub(crate) fn unlimited_depth(mut self) -> Self {
        self.depth_limit = u32::MAX;
        self
    }

    /// Makes the parser stop at each newline between two tokens, with [`RawStep::LineEnd`].
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
        if let Some(decoded) = &mut self.tape.decoded {
            decoded.clear();
        }
        self.tape.repeated_name = None;
        self.tape.has_lone_surrogates = false;
        self.tape.document.0 = 0;
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

    /// Reads on. `document` is the complete text so far: that of earlier calls, and more. Bytes after the end
    /// of the document are not read.
    pub fn resume(&mut self, document: &str) -> Step {
        match self.resume_bytes(document.as_bytes()) {
            RawStep::NeedMore => Step::NeedMore,
            RawStep::Complete { end } => Step::Complete { end },
            RawStep::Malformed(fault) | RawStep::LineEnd(fault) => {
                Step::Malformed(SyntaxError::at(document.as_bytes(), fault))
            }
        }
    }

    /// Ends the input. Only a number at the end of the document is completed by that.
    pub fn finish(&mut self, document: &str) -> Step {
        match self.finish_bytes(document.as_bytes()) {
            RawStep::NeedMore => Step::NeedMore,
            RawStep::Complete { end } => Step::Complete { end },
            RawStep::Malformed(fault) | RawStep::LineEnd(fault) => {
                Step::Malformed(SyntaxError::at(document.as_bytes(), fault))
            }
        }
    }

    /// Parses a complete document after a [`reset`](Self::reset).
    ///
    /// # Errors
    ///
    /// If the text is not exactly one JSON value, apart from white space.
    pub fn parse<'a>(&'a mut self, document: &'a str) -> Result<Value<'a>, SyntaxError> {
        self.reset();
        self.read_document(document.as_bytes())?;
        Ok(self.value(document))
    }

    /// Like [`parse`](Self::parse), but also accepts an escape of half a surrogate pair, which reads as
    /// U+FFFD; [`Value::lone_surrogates`] has the halves. Such a document is parsed twice.
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
    /// Those of [`parse`](Self::parse).
    pub fn parse_lossy<'a>(&'a mut self, document: &'a str) -> Result<Value<'a>, SyntaxError> {
        self.reset();
        if let Err(error) = self.read_document(document.as_bytes()) {
            if !matches!(error.expected, Expected::LowSurrogate | Expected::Escape) {
                return Err(error);
            }
            self.reset();
            self.tape.has_lone_surrogates = true;
            self.read_document(document.as_bytes())?;
        }
        Ok(self.value(document))
    }

    fn read_document(&mut self, bytes: &[u8]) -> Result<(), SyntaxError> {
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

    /// The complete document. `document` is the text passed to [`resume`](Self::resume).
    ///
    /// # Panics
    ///
    /// If the document is not complete. May panic if `document` is another text.
    #[must_use]
    pub fn value<'a>(&'a self, document: &'a str) -> Value<'a> {
        assert!(self.state == State::Done, "the document is not complete");
        Value::new(&self.tape, document, 0)
    }

    /// Bytes examined since the parser was created, a measure of its work: the bytes of the input, however
    /// they are split. Also counts the bytes that deltas examine, and each container that a snapshot closes.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }

    /// How much of the document has been parsed, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.at
    }

    /// Continues the open string by `len` plain bytes. Returns whether a string is open.
    #[inline]
    pub(crate) fn continue_string(&mut self, len: usize) -> bool {
        if self.state != State::String {
            return false;
        }
        self.at += len;
        self.examined += len as u64;
        true
    }

    /// Whether a string is open, and no escape in it.
    #[inline(always)]
    pub(crate) fn is_in_string(&self) -> bool {
        self.state == State::String
    }

    /// Runs `f` without counting the bytes it examines, because they are not part of the input.
    pub(crate) fn uncounted<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let examined = self.examined;
        let result = f(self);
        self.examined = examined;
        result
    }

    /// Moves past the newline at which it stopped.
    pub(crate) fn pass_line_feed(&mut self) {
        self.at += 1;
        self.examined += 1;
    }

    /// Whether the parser is inside a string, and whether after a backslash there.
    pub(crate) fn in_string(&self) -> (bool, bool) {
        match self.state {
            State::String | State::Unicode => (true, false),
            State::Escape => (true, true),
            _ => (false, false),
        }
    }

    /// The tokens that the grammar allows at the end of the document so far.
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
            State::Failed => self.fault.expected,
        }
    }

    /// The number of open containers.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// The kind of the complete document's root.
    pub(crate) fn root_kind(&self) -> Kind {
        Value::new(&self.tape, "", 0).kind()
    }

    /// Whether the complete document is or contains an object.
    pub(crate) fn has_object(&self) -> bool {
        self.tape.nodes[..self.tape.len].iter().any(|node| node.is(NodeKind::Object))
    }

    /// Whether the complete document is an empty object or array.
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

    /// The starts of the containers that are not complete before `offset`, which the parser may have passed.
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

    /// Frees memory that one large document made the tape take, once documents are small again. Halving keeps
    /// the cost proportional to the bytes parsed.
    #[cold]
    fn shrink(&mut self) {
        let nodes = &mut self.tape.nodes;
        resize(nodes, nodes.len() / 2);
        self.name_hashes = Box::default();
        self.tape.decoded = None;
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
            // Room was reserved when the number began.
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
            resize(nodes, (nodes.len() * 2).max(FIRST_NODES));
        }
        if self.name_hashes_len + 1 > self.name_hashes.len() {
            let len = (self.name_hashes.len() * 2).max(FIRST_NAMES);
            resize(&mut self.name_hashes, len);
        }
    }

    pub(crate) fn resume_bytes(&mut self, bytes: &[u8]) -> RawStep {
        self.open_again();
        let fault = loop {
            match self.state {
                State::Done => return RawStep::Complete { end: self.at },
                State::Failed => return RawStep::Malformed(self.fault),
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
        self.state = State::Failed;
        self.fault = fault;
        RawStep::Malformed(fault)
    }
}

/// Makes a slice this long. What is new of it is empty.
fn resize<T: Clone + Default>(slice: &mut Box<[T]>, len: usize) {
    let mut items = mem::take(slice).into_vec();
    items.resize(len, T::default());
    *slice = items.into_boxed_slice();
}
