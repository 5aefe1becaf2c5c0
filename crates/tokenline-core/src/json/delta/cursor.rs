//! The position up to which a document has been yielded in deltas.
//!
//! A path is kept as one slot per open container, never as text, so a delta costs the same whatever the depth
//! and the length of the names.

use super::super::tape::{ESCAPED, NONE, Node, NodeKind, OPEN, Tape};
use super::super::unescape::unescape_into;
use super::super::value::{Kind, Value};
use super::{Change, Key, ValueDelta};

/// A string whose closing quote has not arrived.
#[derive(Clone, Copy)]
pub(in super::super) struct OpenString {
    /// The offset after its opening quote.
    pub(in super::super) start: usize,
    /// The offset after its last complete character.
    pub(in super::super) end: usize,
    pub(in super::super) flags: u32,
}

/// Walks the growing tape, one delta at a time.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Cursor {
    /// The open containers, outermost first.
    open: Vec<Container>,
    /// The number of containers around the last delta's value.
    depth: usize,
    /// The last delta's value.
    slot: Slot,
    /// The next node to yield.
    next: u32,
    /// The offset up to which the open string has been yielded.
    string: Option<u32>,
    /// The decoded text of an append with escapes.
    decoded: String,
    last: Last,
}

#[derive(Clone, Debug)]
struct Container {
    node: u32,
    slot: Slot,
    /// For an array, the index of the next element.
    next_index: Option<u32>,
}

/// A value's position in its container.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Slot {
    #[default]
    Root,
    /// The node of the member's name.
    Name(u32),
    Index(u32),
}

impl Slot {
    #[inline]
    pub(super) fn key<'a>(self, tape: &'a Tape, document: &'a str) -> Option<Key<'a>> {
        match self {
            Self::Root => None,
            Self::Name(node) => Some(Key::Name(tape.name(document, node))),
            Self::Index(index) => Some(Key::Index(index as usize)),
        }
    }
}

/// The last delta's change, as offsets and indices.
#[derive(Clone, Copy, Debug, Default)]
enum Last {
    /// The document has not begun.
    #[default]
    None,
    Open(Kind),
    Plain(u32, u32),
    Decoded,
    Set(u32),
    Close(u32),
}

/// A larger buffer is freed once it is empty.
const KEEP: usize = 64 * 1024;

impl Cursor {
    /// Starts over. Keeps the memory.
    pub(in super::super) fn reset(&mut self) {
        self.open.clear();
        self.slot = Slot::Root;
        self.next = 0;
        self.string = None;
    }

    /// Advances by one delta; `false` if there is none yet. Adds the bytes and nodes it reads to `examined`.
    pub(in super::super) fn advance(
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
                self.last = Last::Close(self.next);
                self.next += 1;
                return true;
            }
            if let Some(container) = self.open.last()
                && is_closed(tape, container.node)
                && tape.node(container.node).link == self.next
            {
                (self.slot, self.last) = (container.slot, Last::Close(container.node));
                self.open.pop();
                self.depth = self.open.len();
                return true;
            }
            let Some(node) = node else {
                let Some(string) = open_string else { return false };
                self.enter_value();
                self.string = Some(string.start as u32);
                self.last = Last::Open(Kind::String);
                return true;
            };
            *examined += 1;
            if node.is(NodeKind::Key) {
                self.slot = Slot::Name(self.next);
                self.next += 1;
                continue;
            }
            self.enter_value();
            self.value(node);
            return true;
        }
    }

    /// Whether everything is yielded of a document with this many nodes, this innermost open container, and a string
    /// value that is open and ends here.
    #[inline]
    pub(in super::super) fn is_at(&self, nodes: usize, container: u32, open_string: Option<usize>) -> bool {
        self.next as usize == nodes
            && self.string == open_string.map(|end| end as u32)
            && self.open.last().map_or(NONE, |container| container.node) == container
    }

    /// Advances by bytes of the open string that have no escapes, if it has been yielded up to them.
    #[inline]
    pub(in super::super) fn append_plain(&mut self, from: usize, end: usize) -> bool {
        let (from, end) = (from as u32, end as u32);
        if self.string != Some(from) {
            return false;
        }
        (self.string, self.last) = (Some(end), Last::Plain(from, end));
        true
    }

    /// The delta that [`advance`](Self::advance) advanced by.
    #[inline(always)]
    pub(in super::super) fn last<'a>(&'a self, tape: &'a Tape, document: &'a str) -> ValueDelta<'a> {
        let change = match self.last {
            Last::Open(kind) => Change::Open(kind),
            Last::Plain(from, end) => Change::Append(&document[from as usize..end as usize]),
            Last::Decoded => Change::Append(&self.decoded),
            Last::Set(index) => Change::Set(Value::new(tape, document, index)),
            Last::Close(_) | Last::None => Change::Close,
        };
        let key = self.slot.key(tape, document);
        ValueDelta { depth: self.depth, key, change, cursor: self, tape, document }
    }

    /// The value that the last delta completed.
    pub(super) fn completed<'a>(&self, tape: &'a Tape, document: &'a str) -> Option<Value<'a>> {
        match self.last {
            Last::Set(node) | Last::Close(node) => Some(Value::new(tape, document, node)),
            Last::None | Last::Open(_) | Last::Plain(..) | Last::Decoded => None,
        }
    }

    /// The container that the last delta opened, if the tape already has all of it.
    pub(super) fn opened<'a>(&self, tape: &'a Tape, document: &'a str) -> Option<Value<'a>> {
        let container = self.open.last().filter(|_| matches!(self.last, Last::Open(_)))?;
        let is_complete = self.open.len() == self.depth + 1 && is_closed(tape, container.node);
        is_complete.then(|| Value::new(tape, document, container.node))
    }

    /// A cursor at the container that is open at this depth.
    pub(super) fn restarted_at(&self, depth: usize) -> Option<Self> {
        let container = self.open.get(depth)?;
        Some(Self { next: container.node, ..Self::default() })
    }

    /// Whether both have handed out the same value last, and completed it.
    pub(super) fn has_caught_up_with(&self, other: &Self) -> bool {
        match (self.last, other.last) {
            (Last::Set(left), Last::Set(right)) | (Last::Close(left), Last::Close(right)) => left == right,
            _ => false,
        }
    }

    /// The slots from the root to the last delta's value, both included.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.open[..self.depth].iter().map(|container| container.slot).chain([self.slot])
    }

    /// Moves to the next value of the open container.
    #[inline]
    fn enter_value(&mut self) {
        self.depth = self.open.len();
        if let Some(Container { next_index: Some(index), .. }) = self.open.last_mut() {
            self.slot = Slot::Index(*index);
            *index += 1;
        }
    }

    /// Yields a scalar, or the beginning of a container or string.
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
        let next_index = (kind == Kind::Array).then_some(0);
        self.open.push(Container { node: self.next, slot: self.slot, next_index });
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
}

/// While a container is open, it links to its parent, which is before it, or to none.
fn is_closed(tape: &Tape, index: u32) -> bool {
    let node = tape.node(index);
    debug_assert!(!node.has(OPEN), "not patched");
    node.link > index && node.link as usize <= tape.len
}
