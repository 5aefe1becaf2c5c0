//! The resumable state machine that fills the tape.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{Expected, Fault, SyntaxError};
use super::names::{self, Names};
use super::scan::string_run;
use super::tape::{DecodedNames, ESCAPED, FLOAT, NONE, Node, NodeKind, REPEATED, Tape};
use super::unescape::hex_digit;
use super::value::{Kind, Value};
use crate::Limits;

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
    Complete { end: usize },
    Malformed(Fault),
}

/// A resumable, fully validating JSON parser that fills a reusable tape.
///
/// It reads a document that grows: call [`resume`](Parser::resume) with all of the document that
/// there is so far, as often as more arrives. Each byte is looked at once. Once the document is
/// complete, [`value`](Parser::value) lends it.
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

/// Progress within a number, in the terms of RFC 8259 section 6.
mod number {
    /// After the minus sign.
    pub(super) const MINUS: u8 = 0;
    /// After a leading zero.
    pub(super) const ZERO: u8 = 1;
    /// Within the integer part.
    pub(super) const INT: u8 = 2;
    /// After the decimal point.
    pub(super) const POINT: u8 = 3;
    /// Within the fraction.
    pub(super) const FRACTION: u8 = 4;
    /// After the `e`.
    pub(super) const E: u8 = 5;
    /// After the exponent's sign.
    pub(super) const SIGN: u8 = 6;
    /// Within the exponent.
    pub(super) const EXPONENT: u8 = 7;
}

/// Progress within a `\u` escape: 0 to 3 are the digits of the first unit.
mod unicode {
    /// Before the backslash of the low surrogate.
    pub(super) const BACKSLASH: u8 = 4;
    /// Before its `u`.
    pub(super) const U: u8 = 5;
    /// Before its first digit.
    pub(super) const LOW: u8 = 6;
    /// Before its last digit.
    pub(super) const LAST: u8 = 9;
    /// The escape is whole.
    pub(super) const WHOLE: u8 = 10;
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
        }
    }

    /// Sets the depth limit; see [`Limits::depth`].
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.depth_limit = limits.effective_depth();
        self
    }

    /// Lifts the depth limit as far as it goes, for text that was accepted before.
    pub(crate) fn unlimited_depth(mut self) -> Self {
        self.depth_limit = Limits { depth: usize::MAX, ..Limits::DEFAULT }.effective_depth();
        self
    }

    /// Makes a line feed end the document: one inside it is a fault.
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
        self.name_hashes_len = 0;
        self.state = State::Value;
        self.at = 0;
        self.container = NONE;
        self.depth = 0;
        self.count = 0;
    }

    /// Reads on. `document` is all of the document so far: what earlier calls were given, and
    /// more. Bytes after the end of the document are not looked at.
    pub fn resume(&mut self, document: &str) -> Step {
        match self.resume_bytes(document.as_bytes()) {
            RawStep::NeedMore => Step::NeedMore,
            RawStep::Complete { end } => Step::Complete { end },
            RawStep::Malformed(fault) => Step::Malformed(SyntaxError::at(document.as_bytes(), fault)),
        }
    }

    /// Says that no more will come. Only a number at the end of the document is completed by that.
    pub fn finish(&mut self, document: &str) -> Step {
        match self.finish_bytes(document.as_bytes()) {
            RawStep::NeedMore => Step::NeedMore,
            RawStep::Complete { end } => Step::Complete { end },
            RawStep::Malformed(fault) => Step::Malformed(SyntaxError::at(document.as_bytes(), fault)),
        }
    }

    /// Parses a whole document and nothing but it, after a [`reset`](Self::reset).
    ///
    /// # Errors
    ///
    /// If the text is not one JSON value with nothing but white space around it.
    pub fn parse<'a>(&'a mut self, document: &'a str) -> Result<Value<'a>, SyntaxError> {
        self.reset();
        let bytes = document.as_bytes();
        let fault = match self.finish_bytes(bytes) {
            RawStep::Complete { end } => {
                let rest = &bytes[end..];
                match rest.iter().position(|&byte| !is_space(byte, false)) {
                    None => return Ok(self.value(document)),
                    Some(at) => Fault { offset: end + at, expected: Expected::End },
                }
            }
            RawStep::NeedMore => Fault { offset: bytes.len(), expected: self.expected() },
            RawStep::Malformed(fault) => fault,
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
    /// of the input, for any way of cutting it.
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

    /// Where the literal or number starts that the parser stands in, or stood in at a fault.
    pub(crate) fn token_start(&self) -> usize {
        self.token
    }

    /// Open containers.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// The kind of the complete document's root.
    pub(crate) fn root_kind(&self) -> Kind {
        Value::new(&self.tape, "", 0).kind()
    }

    /// Whether the complete document has an object below its root.
    pub(crate) fn has_inner_object(&self) -> bool {
        self.tape.nodes[..self.tape.len].iter().skip(1).any(|node| node.is(NodeKind::Object))
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
        if self.last_generation.is_multiple_of(GENERATION_BLOCK) {
            self.last_generation = NEXT_GENERATION.fetch_add(GENERATION_BLOCK, Ordering::Relaxed);
        }
        self.last_generation += 1;
        self.tape.generation = self.last_generation;
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
                    break Fault { offset: self.at, expected };
                }
            }
        };
        self.state = State::Failed(fault);
        RawStep::Malformed(fault)
    }

    /// The machine. Everything it needs is in locals while it runs and is saved when it stops.
    ///
    /// The outer loop goes on with a token that the last call left open; the inner one reads
    /// members, each a name in an object, a value and what follows it, for as long as they are
    /// whole. Nearly all bytes are read by the inner loop.
    fn run<const SINGLE_LINE: bool>(&mut self, bytes: &[u8]) -> Stop {
        let mut len = self.tape.len;
        let Tape { nodes, decoded, repeated_name, .. } = &mut self.tape;
        let nodes: &mut [Node] = nodes;
        let hashes: &mut [u32] = &mut self.name_hashes;
        let mut hashes_len = self.name_hashes_len;
        let mut at = self.at;
        let mut state = self.state;
        let mut token = self.token;
        let mut flags = self.token_flags;
        let mut is_name = self.token_is_name;
        let mut progress = self.progress;
        let mut container = self.container;
        let mut depth = self.depth;
        let mut count = self.count;
        let (mut in_object, mut base) = open_container(nodes, container);

        let stop = 'machine: loop {
            // Whether the next thing is a member, the first of its container, one with a name, or
            // what follows a value.
            let (mut is_member, mut is_first, mut has_name) = match state {
                State::Value => (true, false, false),
                State::FirstElement => (true, true, false),
                State::Name => (true, false, true),
                State::FirstName => (true, true, true),
                State::AfterValue => (false, false, false),
                State::String => {
                    at = string_run(bytes, at);
                    match bytes.get(at) {
                        None => break Stop::NeedMore,
                        Some(b'"') if is_name => state = State::NameEnd,
                        Some(b'"') => {
                            nodes[len] = Node::new(NodeKind::String, flags, token, at);
                            len += 1;
                            at += 1;
                            state = State::AfterValue;
                        }
                        Some(b'\\') => {
                            flags |= ESCAPED;
                            at += 1;
                            state = State::Escape;
                        }
                        Some(_) => break Stop::Fault(Expected::StringCharacter),
                    }
                    continue;
                }
                State::Escape => {
                    match bytes.get(at) {
                        None => break Stop::NeedMore,
                        Some(b'u') => {
                            progress = 0;
                            self.surrogate = 0;
                            state = State::Unicode;
                        }
                        Some(&byte) if is_simple_escape(byte) => state = State::String,
                        Some(_) => break Stop::Fault(Expected::Escape),
                    }
                    at += 1;
                    continue;
                }
                State::Unicode => {
                    let Some(&byte) = bytes.get(at) else { break Stop::NeedMore };
                    match unicode_step(progress, &mut self.surrogate, byte) {
                        Ok(unicode::WHOLE) => state = State::String,
                        Ok(next) => progress = next,
                        Err(expected) => break Stop::Fault(expected),
                    }
                    at += 1;
                    continue;
                }
                State::Number => {
                    match number_end(bytes, &mut at, &mut progress) {
                        NumberEnd::Whole => {
                            nodes[len] = Node::new(NodeKind::Number, number_flags(progress), token, at);
                            len += 1;
                            state = State::AfterValue;
                        }
                        NumberEnd::NeedMore => break Stop::NeedMore,
                        NumberEnd::Fault => break Stop::Fault(Expected::Digit),
                    }
                    continue;
                }
                State::Literal => {
                    let (word, kind) = literal(bytes[token]);
                    while let Some(&letter) = word.get(progress as usize) {
                        match bytes.get(at) {
                            None => break 'machine Stop::NeedMore,
                            Some(&byte) if byte == letter => {
                                at += 1;
                                progress += 1;
                            }
                            Some(_) => break 'machine Stop::Fault(Expected::Literal),
                        }
                    }
                    nodes[len] = Node::new(kind, 0, token, at);
                    len += 1;
                    state = State::AfterValue;
                    continue;
                }
                // `at` is on the closing quote of a name.
                State::NameEnd => {
                    let mut node = Node::new(NodeKind::Key, flags, token, at);
                    let hash = if flags & ESCAPED == 0 {
                        names::hash(bytes, token, at)
                    } else {
                        // The bytes may not be UTF-8; then the line is rejected before it is lent.
                        node.link = decoded.push(&String::from_utf8_lossy(&bytes[token..at]));
                        let name = decoded.name(node.link).as_bytes();
                        names::hash(name, 0, name.len())
                    };
                    nodes[len] = node;
                    if count < names::SMALL && hashes[base..hashes_len].contains(&hash) {
                        let names = Names { nodes, decoded, bytes };
                        if names.is_repeated(container, len as u32) {
                            nodes[container as usize].meta |= REPEATED;
                            repeated_name.get_or_insert(token as u32 - 1);
                        }
                    }
                    hashes[hashes_len] = hash;
                    hashes_len += 1;
                    len += 1;
                    at += 1;
                    state = State::Colon;
                    continue;
                }
                State::Colon => {
                    match next_token::<SINGLE_LINE>(bytes, &mut at) {
                        None => break Stop::NeedMore,
                        Some(b':') => {
                            at += 1;
                            state = State::Value;
                        }
                        Some(_) => break Stop::Fault(Expected::Colon),
                    }
                    continue;
                }
                State::Done | State::Failed(_) => break Stop::Complete,
            };

            loop {
                let mut is_empty = false;
                if is_member {
                    if has_name {
                        let Some(byte) = next_token::<SINGLE_LINE>(bytes, &mut at) else {
                            state = if is_first { State::FirstName } else { State::Name };
                            break 'machine Stop::NeedMore;
                        };
                        if byte == b'"' {
                            if len + 1 >= nodes.len() || hashes_len >= hashes.len() {
                                state = if is_first { State::FirstName } else { State::Name };
                                break 'machine Stop::Grow;
                            }
                            token = at + 1;
                            at = string_run(bytes, token);
                            if bytes.get(at) != Some(&b'"') {
                                flags = 0;
                                is_name = true;
                                state = State::String;
                                continue 'machine;
                            }
                            nodes[len] = Node::new(NodeKind::Key, 0, token, at);
                            let hash = names::hash(bytes, token, at);
                            if count < names::SMALL {
                                for &other in &hashes[base..hashes_len] {
                                    if other == hash {
                                        // Compared properly, and noted, on the way round.
                                        flags = 0;
                                        state = State::NameEnd;
                                        continue 'machine;
                                    }
                                }
                            }
                            hashes[hashes_len] = hash;
                            hashes_len += 1;
                            len += 1;
                            at += 1;
                            is_first = false;
                            if bytes.get(at) != Some(&b':') {
                                state = State::Colon;
                                continue 'machine;
                            }
                            at += 1;
                        } else if byte == b'}' && is_first {
                            at += 1;
                            is_empty = true;
                        } else {
                            let expected = if is_first { Expected::NameOrBrace } else { Expected::Name };
                            break 'machine Stop::Fault(expected);
                        }
                    }
                    if !is_empty {
                        let Some(byte) = next_token::<SINGLE_LINE>(bytes, &mut at) else {
                            state = if is_first { State::FirstElement } else { State::Value };
                            break 'machine Stop::NeedMore;
                        };
                        if len >= nodes.len() {
                            state = if is_first { State::FirstElement } else { State::Value };
                            break 'machine Stop::Grow;
                        }
                        match byte {
                            b'"' => {
                                token = at + 1;
                                flags = 0;
                                at = string_run(bytes, token);
                                while bytes.get(at) == Some(&b'\\') {
                                    flags = ESCAPED;
                                    match bytes.get(at + 1) {
                                        Some(&byte) if is_simple_escape(byte) => {
                                            at = string_run(bytes, at + 2);
                                        }
                                        _ => break,
                                    }
                                }
                                if bytes.get(at) != Some(&b'"') {
                                    is_name = false;
                                    state = State::String;
                                    continue 'machine;
                                }
                                nodes[len] = Node::new(NodeKind::String, flags, token, at);
                                len += 1;
                                at += 1;
                            }
                            b'{' | b'[' => {
                                if depth >= self.depth_limit {
                                    break 'machine Stop::Fault(Expected::LessDepth);
                                }
                                if let Some(parent) = nodes.get_mut(container as usize) {
                                    parent.set_count(count);
                                }
                                in_object = byte == b'{';
                                base = hashes_len;
                                let kind = if in_object { NodeKind::Object } else { NodeKind::Array };
                                nodes[len] = Node { link: container, ..Node::new(kind, 0, at, base) };
                                container = len as u32;
                                count = 0;
                                depth += 1;
                                len += 1;
                                at += 1;
                                has_name = in_object;
                                is_first = true;
                                continue;
                            }
                            b'0'..=b'9' | b'-' => {
                                token = at;
                                progress = match byte {
                                    b'-' => number::MINUS,
                                    b'0' => number::ZERO,
                                    _ => number::INT,
                                };
                                at += 1;
                                state = State::Number;
                                match number_end(bytes, &mut at, &mut progress) {
                                    NumberEnd::Whole => {
                                        nodes[len] =
                                            Node::new(NodeKind::Number, number_flags(progress), token, at);
                                        len += 1;
                                    }
                                    NumberEnd::NeedMore => break 'machine Stop::NeedMore,
                                    NumberEnd::Fault => break 'machine Stop::Fault(Expected::Digit),
                                }
                            }
                            b't' | b'f' | b'n' => {
                                let (word, kind) = literal(byte);
                                if bytes.get(at..at + word.len()) != Some(word) {
                                    token = at;
                                    progress = 1;
                                    at += 1;
                                    state = State::Literal;
                                    continue 'machine;
                                }
                                nodes[len] = Node::new(kind, 0, at, at + word.len());
                                len += 1;
                                at += word.len();
                            }
                            b']' if is_first => {
                                at += 1;
                                is_empty = true;
                            }
                            _ if is_first => break 'machine Stop::Fault(Expected::ValueOrBracket),
                            _ => break 'machine Stop::Fault(Expected::Value),
                        }
                    }
                }

                // What follows the value: containers may end, one after the other.
                loop {
                    if !is_empty {
                        if container == NONE {
                            break 'machine Stop::Complete;
                        }
                        let Some(byte) = next_token::<SINGLE_LINE>(bytes, &mut at) else {
                            state = State::AfterValue;
                            break 'machine Stop::NeedMore;
                        };
                        let end = if in_object { b'}' } else { b']' };
                        if byte == b',' {
                            count += 1;
                            at += 1;
                            break;
                        }
                        if byte != end {
                            state = State::AfterValue;
                            break 'machine Stop::Fault(match in_object {
                                true => Expected::CommaOrBrace,
                                false => Expected::CommaOrBracket,
                            });
                        }
                        count += 1;
                        at += 1;
                    }
                    is_empty = false;
                    if in_object && count > names::SMALL {
                        let names = Names { nodes, decoded, bytes };
                        if let Some(name) = names.find_repeated(container, len as u32, &mut self.scratch) {
                            nodes[container as usize].meta |= REPEATED;
                            let start = nodes[name as usize].start - 1;
                            *repeated_name = Some(repeated_name.map_or(start, |first| first.min(start)));
                        }
                    }
                    hashes_len = base;
                    let node = &mut nodes[container as usize];
                    container = node.link;
                    node.link = len as u32;
                    node.end = at as u32;
                    node.set_count(count);
                    depth -= 1;
                    (in_object, base) = open_container(nodes, container);
                    count = nodes.get(container as usize).map_or(0, Node::count);
                }
                is_member = true;
                is_first = false;
                has_name = in_object;
            }
        };

        self.tape.len = len;
        self.name_hashes_len = hashes_len;
        self.at = at;
        self.state = state;
        self.token = token;
        self.token_flags = flags;
        self.token_is_name = is_name;
        self.progress = progress;
        self.container = container;
        self.depth = depth;
        self.count = count;
        stop
    }
}

/// The next byte that is no white space, and `at` on it.
#[inline(always)]
fn next_token<const SINGLE_LINE: bool>(bytes: &[u8], at: &mut usize) -> Option<u8> {
    let mut byte = *bytes.get(*at)?;
    // Most tokens follow directly or after one space.
    while is_space(byte, SINGLE_LINE) {
        *at += 1;
        byte = *bytes.get(*at)?;
    }
    Some(byte)
}

/// White space between tokens. In a single-line document a line feed is none.
#[inline(always)]
pub(crate) fn is_space(byte: u8, single_line: bool) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') || (byte == b'\n' && !single_line)
}

/// Whether the open container is an object, and where its names start.
#[inline(always)]
fn open_container(nodes: &[Node], container: u32) -> (bool, usize) {
    match nodes.get(container as usize) {
        Some(node) => (node.is(NodeKind::Object), node.end as usize),
        None => (false, 0),
    }
}

/// An escape of one character after the backslash.
#[inline(always)]
fn is_simple_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// The literal that starts with this letter.
#[inline(always)]
fn literal(first: u8) -> (&'static [u8], NodeKind) {
    match first {
        b't' => (b"true", NodeKind::True),
        b'f' => (b"false", NodeKind::False),
        _ => (b"null", NodeKind::Null),
    }
}

enum NumberEnd {
    Whole,
    NeedMore,
    Fault,
}

/// Reads on in a number, up to the byte after it.
#[inline(always)]
fn number_end(bytes: &[u8], at: &mut usize, progress: &mut u8) -> NumberEnd {
    loop {
        let Some(&byte) = bytes.get(*at) else { return NumberEnd::NeedMore };
        *progress = match (*progress, byte) {
            (number::INT | number::FRACTION | number::EXPONENT, b'0'..=b'9') => *progress,
            (number::ZERO | number::INT, b'.') => number::POINT,
            (number::POINT, b'0'..=b'9') => number::FRACTION,
            (number::MINUS, b'0') => number::ZERO,
            (number::MINUS, b'1'..=b'9') => number::INT,
            (number::ZERO | number::INT | number::FRACTION, b'e' | b'E') => number::E,
            (number::E, b'+' | b'-') => number::SIGN,
            (number::E | number::SIGN, b'0'..=b'9') => number::EXPONENT,
            (number::ZERO | number::INT | number::FRACTION | number::EXPONENT, _) => return NumberEnd::Whole,
            _ => return NumberEnd::Fault,
        };
        *at += 1;
    }
}

fn is_whole_number(progress: u8) -> bool {
    matches!(progress, number::ZERO | number::INT | number::FRACTION | number::EXPONENT)
}

fn number_flags(progress: u8) -> u32 {
    if progress >= number::FRACTION { FLOAT } else { 0 }
}

/// One byte of a `\u` escape; what progress it makes.
#[inline]
fn unicode_step(progress: u8, unit: &mut u32, byte: u8) -> Result<u8, Expected> {
    match progress {
        unicode::BACKSLASH if byte == b'\\' => return Ok(unicode::U),
        unicode::U if byte == b'u' => {
            *unit = 0;
            return Ok(unicode::LOW);
        }
        unicode::BACKSLASH | unicode::U => return Err(Expected::LowSurrogate),
        _ => {}
    }
    *unit = (*unit << 4) | hex_digit(byte).ok_or(Expected::HexDigit)?;
    match progress {
        3 => match *unit {
            0xD800..0xDC00 => Ok(unicode::BACKSLASH),
            0xDC00..0xE000 => Err(Expected::Escape),
            _ => Ok(unicode::WHOLE),
        },
        unicode::LAST if (0xDC00..0xE000).contains(unit) => Ok(unicode::WHOLE),
        unicode::LAST => Err(Expected::LowSurrogate),
        _ => Ok(progress + 1),
    }
}

fn expected_in_unicode(progress: u8) -> Expected {
    match progress {
        unicode::BACKSLASH | unicode::U => Expected::LowSurrogate,
        _ => Expected::HexDigit,
    }
}
