//! The flat tape that a parser fills: one node per value or name, in document order.

use std::ops::Range;

use super::unescape::unescape_onto;

/// The kind of a tape node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NodeKind {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
    /// The name of an object's member; its value is the next node.
    Key,
}

/// One entry of the tape, 16 bytes.
///
/// `start` and `end` are byte offsets into the document. Strings and names span the text between the quotes,
/// containers include their brackets. While a container is open, `link` is its parent and `end` the base of
/// its names in the parser's name list, so the parser needs no stack. Once it is closed, `link` is the index
/// of the node after its last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) link: u32,
    /// Bits 0 to 3 kind, 4 to 7 flags, 8 to 31 member count (saturating).
    pub(crate) meta: u32,
}

/// A string or name with escapes, which are decoded when it is read.
pub(crate) const ESCAPED: u32 = 1 << 4;
/// A number written with a fraction or an exponent.
pub(crate) const FLOAT: u32 = 1 << 5;
/// An object with two members of the same name.
pub(crate) const REPEATED: u32 = 1 << 6;
/// Incomplete: a container or string of a snapshot that may still grow. Never set while parsing.
pub(crate) const OPEN: u32 = 1 << 7;

const COUNT_SHIFT: u32 = 8;
/// The largest member count that fits; larger containers are counted on demand.
pub(crate) const COUNT_MAX: u32 = u32::MAX >> COUNT_SHIFT;
/// The parent of the root.
pub(crate) const NONE: u32 = u32::MAX;

impl Node {
    #[inline(always)]
    pub(crate) fn new(kind: NodeKind, flags: u32, start: usize, end: usize) -> Self {
        // Positions fit: the parser rejects documents beyond 2 GiB.
        Self { start: start as u32, end: end as u32, link: 0, meta: kind as u32 | flags }
    }

    #[inline(always)]
    pub(crate) fn kind(&self) -> NodeKind {
        match self.meta & 0xF {
            0 => NodeKind::Null,
            1 => NodeKind::False,
            2 => NodeKind::True,
            3 => NodeKind::Number,
            4 => NodeKind::String,
            5 => NodeKind::Array,
            6 => NodeKind::Object,
            _ => NodeKind::Key,
        }
    }

    #[inline(always)]
    pub(crate) fn has(&self, flag: u32) -> bool {
        self.meta & flag != 0
    }

    #[inline(always)]
    pub(crate) fn is(&self, kind: NodeKind) -> bool {
        self.meta & 0xF == kind as u32
    }

    #[inline(always)]
    pub(crate) fn is_container(&self) -> bool {
        self.is(NodeKind::Array) || self.is(NodeKind::Object)
    }

    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.meta >> COUNT_SHIFT
    }

    #[inline(always)]
    pub(crate) fn set_count(&mut self, count: u32) {
        self.meta = (self.meta & ((1 << COUNT_SHIFT) - 1)) | (count.min(COUNT_MAX) << COUNT_SHIFT);
    }

    #[inline(always)]
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The index of the node after the value at `index` and all its members.
#[inline(always)]
pub(crate) fn after(nodes: &[Node], index: u32) -> u32 {
    let node = nodes[index as usize];
    if node.is_container() { node.link } else { index + 1 }
}

/// The decoded forms of the names with escapes, in one buffer; most documents have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecodedNames {
    text: String,
    ends: Vec<usize>,
    /// Scratch space to sort the names of large objects.
    pub(crate) scratch: Vec<(u32, u32)>,
}

impl DecodedNames {
    /// Decodes a name and keeps it. Returns its index.
    pub(crate) fn push(&mut self, raw: &str) -> u32 {
        unescape_onto(raw, &mut self.text);
        self.ends.push(self.text.len());
        self.ends.len() as u32 - 1
    }

    pub(crate) fn name(&self, index: u32) -> &str {
        let index = index as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

/// The decoded form of a name with escapes. Not inlined, because it is rare.
#[inline(never)]
pub(crate) fn decoded_name(names: &Option<Box<DecodedNames>>, node: Node) -> &str {
    names.as_ref().expect("a name was decoded").name(node.link)
}

/// The nodes of a document. Reused from document to document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    /// An initialised slice, longer than used, so that writing a node is a plain store.
    pub(crate) nodes: Box<[Node]>,
    /// How many nodes are in use.
    pub(crate) len: usize,
    /// Decoded names with escapes. A name's node links here.
    pub(crate) decoded: Option<Box<DecodedNames>>,
    /// Where a repeated name starts, if there is one.
    pub(crate) repeated_name: Option<u32>,
    /// Whether its strings contain halves of surrogate pairs.
    pub(crate) has_lone_surrogates: bool,
    /// Identifies this document in the process, as it is now.
    pub(crate) generation: u64,
    /// Identifies it while it grows.
    pub(crate) document: DocumentId,
}

/// The generation of a document's first snapshot; 0 before there is one. A copy of a parser may read on in another way,
/// so its document is another one.
#[derive(Debug, Default)]
pub(crate) struct DocumentId(pub(crate) u64);

impl Clone for DocumentId {
    fn clone(&self) -> Self {
        Self(0)
    }
}

impl Tape {
    #[inline(always)]
    pub(crate) fn node(&self, index: u32) -> Node {
        self.nodes[index as usize]
    }

    /// The index of the node after the value at `index` and all its members.
    #[inline(always)]
    pub(crate) fn after(&self, index: u32) -> u32 {
        after(&self.nodes, index)
    }

    /// The decoded name of the member whose name node is at `index`.
    #[inline(always)]
    pub(crate) fn name<'a>(&'a self, text: &'a str, index: u32) -> &'a str {
        let node = self.node(index);
        if node.has(ESCAPED) { decoded_name(&self.decoded, node) } else { &text[node.range()] }
    }

    /// The number of members of the container at `index`.
    pub(crate) fn member_count(&self, index: u32) -> usize {
        let node = self.node(index);
        let stored = node.count();
        if stored < COUNT_MAX {
            return stored as usize;
        }
        let is_object = node.is(NodeKind::Object);
        let mut count = 0;
        let mut child = index + 1;
        while child < node.link {
            child = self.after(if is_object { child + 1 } else { child });
            count += 1;
        }
        count
    }
}
