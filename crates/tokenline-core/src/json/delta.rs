//! How a growing document changes, step by step.

use super::tape::{ESCAPED, Node, NodeKind, OPEN, Tape};
use super::unescape::unescape_into;
use super::value::{Kind, Value};

/// One step by which a growing document comes to be what it is.
///
/// The deltas of a document, applied in order, give exactly the document:
///
/// | change | what to do |
/// |---|---|
/// | [`Open`](Change::Open) | put `{}`, `[]` or `""` at the path, in place of what is there |
/// | [`Append`](Change::Append) | append to the string at the path, the one opened last |
/// | [`Set`](Change::Set) | put the number, boolean or `null` at the path, in place of what is there |
/// | [`Close`](Change::Close) | nothing: what was opened at the path is whole |
///
/// What grows is opened and closed, so it is known of each string and container whether it is whole.
/// Nothing is ever taken back, except by the name of a member that is repeated: the last one counts.
///
/// However the document is cut, the deltas are the same once appends that follow each other are
/// joined. An append never ends within a character, an escape, or a surrogate pair.
#[derive(Clone, Copy, Debug)]
pub struct Delta<'a> {
    /// Where: a JSON Pointer (RFC 6901) from the document's root, which is the empty path. An index is
    /// that of the element, never `-`.
    pub path: &'a str,
    /// What.
    pub change: Change<'a>,
}

/// What a [`Delta`] does at its path.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// An object, array or string begins. It is empty.
    Open(Kind),
    /// More of the open string, its escapes decoded. Never empty.
    Append(&'a str),
    /// A whole number, `true`, `false` or `null`.
    Set(Value<'a>),
    /// The open object, array or string is whole.
    Close,
}

/// A string whose closing quote has not come.
#[derive(Clone, Copy)]
pub(super) struct OpenString {
    /// After its opening quote.
    pub(super) start: usize,
    /// Before what is not whole yet.
    pub(super) end: usize,
    pub(super) flags: u32,
}

/// How much of a document was told in deltas.
#[derive(Clone, Debug, Default)]
pub(super) struct Deltas {
    /// The path of what was told last.
    path: String,
    /// Containers that were opened and not closed.
    open: Vec<Container>,
    /// The node that is told next.
    next: u32,
    /// The open string's text is told up to this offset.
    string: Option<u32>,
    /// An append that had escapes.
    decoded: String,
    last: Last,
}

/// A container whose members are being told.
#[derive(Clone, Debug)]
struct Container {
    node: u32,
    /// How much of the path is its own.
    path: usize,
    /// Of an array: the index of the next element.
    index: Option<u32>,
}

/// What was told last, to be lent.
#[derive(Clone, Copy, Debug, Default)]
enum Last {
    #[default]
    Close,
    Open(Kind),
    Plain(u32, u32),
    Decoded,
    Set(u32),
}

impl Deltas {
    /// Starts over. Keeps the memory.
    pub(super) fn reset(&mut self) {
        self.path.clear();
        self.open.clear();
        self.next = 0;
        self.string = None;
    }

    /// Goes on by one delta, if there is one. Counts in `examined` what it looks at.
    pub(super) fn advance(
        &mut self,
        tape: &Tape,
        document: &str,
        open_string: Option<OpenString>,
        examined: &mut u64,
    ) -> bool {
        loop {
            let node = ((self.next as usize) < tape.len).then(|| tape.node(self.next));
            if let Some(from) = self.string {
                let Some((end, flags)) = node
                    .map(|node| (node.end, node.meta))
                    .or(open_string.map(|string| (string.end as u32, string.flags)))
                else {
                    return false;
                };
                if from < end {
                    *examined += u64::from(end - from);
                    self.string = Some(end);
                    self.append(document, from, end, flags);
                    return true;
                }
                if node.is_none() {
                    return false;
                }
                self.string = None;
                self.next += 1;
                self.last = Last::Close;
                return true;
            }
            if let Some(container) = self.open.last()
                && is_closed(tape, container.node)
                && tape.node(container.node).link == self.next
            {
                self.path.truncate(container.path);
                self.open.pop();
                self.last = Last::Close;
                return true;
            }
            let Some(node) = node else {
                let Some(string) = open_string else { return false };
                self.enter_element();
                self.string = Some(string.start as u32);
                self.last = Last::Open(Kind::String);
                return true;
            };
            *examined += 1;
            if node.is(NodeKind::Key) {
                let name = tape.name(document, self.next);
                *examined += name.len() as u64;
                self.enter_member(name);
                self.next += 1;
                continue;
            }
            self.enter_element();
            self.value(node);
            return true;
        }
    }

    /// What [`advance`](Self::advance) went on by.
    #[inline]
    pub(super) fn last<'a>(&'a self, tape: &'a Tape, document: &'a str) -> Delta<'a> {
        let change = match self.last {
            Last::Open(kind) => Change::Open(kind),
            Last::Plain(from, end) => Change::Append(&document[from as usize..end as usize]),
            Last::Decoded => Change::Append(&self.decoded),
            Last::Set(index) => Change::Set(Value::new(tape, document, index)),
            Last::Close => Change::Close,
        };
        Delta { path: &self.path, change }
    }

    /// Tells the value, or that it begins.
    fn value(&mut self, node: Node) {
        let kind = match node.kind() {
            NodeKind::String => {
                self.string = Some(node.start);
                self.last = Last::Open(Kind::String);
                return;
            }
            NodeKind::Array => Kind::Array,
            NodeKind::Object => Kind::Object,
            _ => {
                self.last = Last::Set(self.next);
                self.next += 1;
                return;
            }
        };
        let index = (kind == Kind::Array).then_some(0);
        self.open.push(Container { node: self.next, path: self.path.len(), index });
        self.next += 1;
        self.last = Last::Open(kind);
    }

    fn append(&mut self, document: &str, from: u32, end: u32, flags: u32) {
        self.last = Last::Plain(from, end);
        if flags & ESCAPED != 0 {
            let raw = &document[from as usize..end as usize];
            if memchr::memchr(b'\\', raw.as_bytes()).is_some() {
                // One long string must not pin memory.
                self.decoded.clear();
                self.decoded.shrink_to(KEEP);
                unescape_into(raw, &mut self.decoded);
                self.last = Last::Decoded;
            }
        }
    }

    /// Goes to the member of this name.
    fn enter_member(&mut self, name: &str) {
        let Some(container) = self.open.last() else { return };
        self.path.truncate(container.path);
        self.path.push('/');
        let mut rest = name;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'~' | b'/')) {
            self.path.push_str(&rest[..at]);
            self.path.push_str(if rest.as_bytes()[at] == b'~' { "~0" } else { "~1" });
            rest = &rest[at + 1..];
        }
        self.path.push_str(rest);
    }

    /// Goes to the next element, in an array.
    fn enter_element(&mut self) {
        if let Some(Container { path, index: Some(index), .. }) = self.open.last_mut() {
            self.path.truncate(*path);
            self.path.push('/');
            push_number(&mut self.path, *index);
            *index += 1;
        }
    }
}

/// A buffer larger than this is given back once it is empty.
const KEEP: usize = 64 * 1024;

/// While a container is open, it links to its parent, which is before it, or to none.
fn is_closed(tape: &Tape, index: u32) -> bool {
    let node = tape.node(index);
    debug_assert!(!node.has(OPEN), "not patched");
    node.link > index && node.link as usize <= tape.len
}

fn push_number(out: &mut String, number: u32) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}
