//! Reads a parsed document from its tape.

use std::borrow::Cow;
use std::ops::Range;

use super::containers::{Array, Object};
use super::delta::Key;
use super::number::Number;
use super::pointer::push_key;
use super::tape::{ESCAPED, FLOAT, Node, NodeKind, OPEN, Tape};
use super::unescape::{LoneSurrogates, unescape, unescape_into};

/// The six kinds of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// Its name in JSON Schema, such as `boolean`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Its name with an article, such as `a boolean`.
    #[must_use]
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A [`Value`] by kind, to `match` on.
#[derive(Clone, Debug)]
pub enum View<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number<'a>),
    /// A string, with its escapes decoded.
    String(Cow<'a, str>),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

/// A value of a parsed document: a position on the tape and the text it describes. Cheap to copy. Borrows
/// from the parser until the parser is used again.
///
/// In a [snapshot](super::Parser::snapshot) of an incomplete document, a string or container may be
/// [open](Self::is_open).
#[derive(Clone, Copy)]
pub struct Value<'a> {
    pub(super) tape: &'a Tape,
    pub(super) text: &'a str,
    pub(super) index: u32,
}

impl<'a> Value<'a> {
    #[inline]
    pub(crate) fn new(tape: &'a Tape, text: &'a str, index: u32) -> Self {
        Self { tape, text, index }
    }

    #[inline(always)]
    pub(super) fn node(self) -> Node {
        self.tape.node(self.index)
    }

    /// Its kind.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.node().kind() {
            NodeKind::Null => Kind::Null,
            NodeKind::False | NodeKind::True => Kind::Bool,
            NodeKind::Number => Kind::Number,
            NodeKind::String | NodeKind::Key => Kind::String,
            NodeKind::Array => Kind::Array,
            NodeKind::Object => Kind::Object,
        }
    }

    /// The value by kind.
    #[inline]
    #[must_use]
    pub fn view(self) -> View<'a> {
        let node = self.node();
        match node.kind() {
            NodeKind::Null => View::Null,
            NodeKind::False => View::Bool(false),
            NodeKind::True => View::Bool(true),
            NodeKind::Number => View::Number(Number::new(&self.text[node.range()], node.has(FLOAT))),
            NodeKind::String | NodeKind::Key => {
                View::String(decode(&self.text[node.range()], node.has(ESCAPED)))
            }
            NodeKind::Array => View::Array(Array(self)),
            NodeKind::Object => View::Object(Object(self)),
        }
    }

    /// Whether it is `null`.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self.node().is(NodeKind::Null)
    }

    /// Whether it may still grow: an incomplete string or container of a [snapshot](super::Parser::snapshot).
    #[inline]
    #[must_use]
    pub fn is_open(self) -> bool {
        self.node().has(OPEN)
    }

    /// The boolean, if it is one.
    #[inline]
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.node().kind() {
            NodeKind::True => Some(true),
            NodeKind::False => Some(false),
            _ => None,
        }
    }

    /// The string, if it is one. Borrowed unless it has escapes, which are decoded here.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.raw_str().map(|(raw, escaped)| decode(raw, escaped))
    }

    /// Like [`as_str`](Self::as_str), with a buffer that is overwritten if there are escapes: faster than a new string for
    /// each.
    ///
    /// ```
    /// use tokenline_core::json::Parser;
    ///
    /// let mut parser = Parser::new();
    /// let value = parser.parse(r#"["plain", "two\nlines"]"#)?;
    /// let mut buffer = String::new();
    /// let mut bytes = 0;
    /// for text in value.as_array().unwrap() {
    ///     bytes += text.as_str_in(&mut buffer).unwrap().len();
    /// }
    /// assert_eq!(bytes, 14);
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn as_str_in<'b>(self, buffer: &'b mut String) -> Option<&'b str>
    where
        'a: 'b,
    {
        let (raw, escaped) = self.raw_str()?;
        if !escaped {
            return Some(raw);
        }
        unescape_into(raw, buffer);
        Some(buffer)
    }

    /// The halves of surrogate pairs at the start and end of a string, if the document has any; see
    /// [`Parser::parse_lossy`](super::Parser::parse_lossy).
    #[inline]
    #[must_use]
    pub fn lone_surrogates(self) -> Option<LoneSurrogates> {
        let of = |(raw, _)| LoneSurrogates::of(raw);
        self.tape.has_lone_surrogates.then(|| self.raw_str().map(of).unwrap_or_default())
    }

    /// The text between the quotes as written, if it is a string, and whether it has escapes.
    #[inline(always)]
    pub(crate) fn raw_str(self) -> Option<(&'a str, bool)> {
        let node = self.node();
        (node.is(NodeKind::String)).then(|| (&self.text[node.range()], node.has(ESCAPED)))
    }

    /// The length of the string in characters (Unicode scalar values), if it is one. Does not decode it.
    #[must_use]
    pub fn char_count(self) -> Option<usize> {
        let (raw, escaped) = self.raw_str()?;
        Some(if escaped { super::unescape::char_count(raw) } else { raw.chars().count() })
    }

    /// The number, if it is one.
    #[inline]
    #[must_use]
    pub fn as_number(self) -> Option<Number<'a>> {
        let node = self.node();
        (node.is(NodeKind::Number)).then(|| Number::new(&self.text[node.range()], node.has(FLOAT)))
    }

    /// The array, if it is one.
    #[inline]
    #[must_use]
    pub fn as_array(self) -> Option<Array<'a>> {
        (self.node().is(NodeKind::Array)).then_some(Array(self))
    }

    /// The object, if it is one.
    #[inline]
    #[must_use]
    pub fn as_object(self) -> Option<Object<'a>> {
        (self.node().is(NodeKind::Object)).then_some(Object(self))
    }

    /// The member with this name, if it is an object that has one. If the name is repeated, the last.
    #[inline]
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.as_object()?.get(name)
    }

    /// The value at this JSON Pointer (RFC 6901), relative to this value.
    #[must_use]
    pub fn pointer(self, pointer: &str) -> Option<Value<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| match value.kind() {
            Kind::Object if token.contains('~') => value.get(&token.replace("~1", "/").replace("~0", "~")),
            Kind::Object => value.get(token),
            Kind::Array if token == "0" || !token.starts_with(['0', '+']) => {
                value.as_array()?.iter().nth(token.parse().ok()?)
            }
            _ => None,
        })
    }

    /// Its byte range in the document: a string with its quotes, a container with its brackets. An
    /// [open](Self::is_open) value extends to the end: a string to its last complete character, a container
    /// to the last byte read.
    #[inline]
    #[must_use]
    pub fn range(self) -> Range<usize> {
        let node = self.node();
        match node.kind() {
            NodeKind::String | NodeKind::Key => {
                node.start as usize - 1..node.end as usize + usize::from(!node.has(OPEN))
            }
            _ => node.range(),
        }
    }

    /// The value as written; not valid JSON if it is [open](Self::is_open).
    #[inline]
    #[must_use]
    pub fn raw(self) -> &'a str {
        &self.text[self.range()]
    }

    /// The value as JSON: as written, and closed if it is [open](Self::is_open).
    #[must_use]
    pub fn to_json(self) -> Cow<'a, str> {
        if self.is_open() { Cow::Owned(self.closed()) } else { Cow::Borrowed(self.raw()) }
    }

    /// The text up to the end of the last value, followed by what closes the open containers.
    fn closed(self) -> String {
        let mut closers = String::new();
        let mut here = self;
        let end = loop {
            let range = here.range();
            let last = match here.kind() {
                _ if !here.is_open() => break range.end,
                Kind::Array => here.as_array().and_then(|array| array.iter().last()),
                Kind::Object => here.as_object().and_then(|object| Some(object.iter().last()?.1)),
                _ => {
                    closers.push('"');
                    break range.end;
                }
            };
            closers.push(if here.kind() == Kind::Array { ']' } else { '}' });
            match last {
                Some(value) => here = value,
                None => break range.start + 1,
            }
        };
        let mut json = self.text[self.range().start..end].to_owned();
        json.extend(closers.chars().rev());
        json
    }

    /// The value as [JSON](Self::to_json) on one line: as written if it is on one line, else without the
    /// white space between tokens. Literals and escapes are unchanged.
    #[must_use]
    pub fn to_single_line(self) -> Cow<'a, str> {
        match self.to_json() {
            Cow::Borrowed(json) => single_line(json),
            Cow::Owned(json) => Cow::Owned(single_line(&json).into_owned()),
        }
    }

    /// The complete document that contains it.
    #[must_use]
    pub fn document(self) -> &'a str {
        self.text
    }

    /// The start of the first repeated member name in the document (its quote, in bytes from the start of the
    /// document), if an object names a member twice.
    #[inline]
    #[must_use]
    pub fn repeated_name(self) -> Option<usize> {
        self.tape.repeated_name.map(|start| start as usize)
    }

    /// Identifies this value among all values of this process: the document's generation, and the position on
    /// its tape.
    #[inline]
    #[must_use]
    pub fn identity(self) -> (u64, u32) {
        (self.tape.generation, self.index)
    }

    /// Identifies its document while that grows: the same in all [snapshots](super::Parser::snapshot) of it, and once it
    /// is complete. `None` if there was no snapshot.
    #[inline]
    #[must_use]
    pub fn document_id(self) -> Option<u64> {
        Some(self.tape.document.0).filter(|id| *id != 0)
    }

    /// The value of the same document at a position on the tape: of its [identity](Self::identity), in this or an
    /// earlier snapshot of the document.
    ///
    /// # Panics
    ///
    /// If there is no such position.
    #[inline]
    #[must_use]
    pub fn at_position(self, position: u32) -> Self {
        assert!((position as usize) < self.tape.nodes.len(), "no position on the tape");
        self.at(position)
    }

    /// The JSON Pointer, from this value, of the innermost value or member name at `offset` of the document.
    #[must_use]
    pub fn pointer_at(self, offset: usize) -> String {
        let mut pointer = String::new();
        let mut here = self;
        'down: loop {
            if let Some(object) = here.as_object() {
                for (name, value) in object.iter() {
                    if value.range().contains(&offset) {
                        push_key(&mut pointer, Key::Name(name));
                        here = value;
                        continue 'down;
                    }
                }
            } else if let Some(array) = here.as_array() {
                for (index, value) in array.iter().enumerate() {
                    if value.range().contains(&offset) {
                        push_key(&mut pointer, Key::Index(index));
                        here = value;
                        continue 'down;
                    }
                }
            }
            return pointer;
        }
    }

    pub(super) fn at(self, index: u32) -> Self {
        Self { index, ..self }
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

/// Valid JSON on one line; see [`Value::to_single_line`].
pub(super) fn single_line(raw: &str) -> Cow<'_, str> {
    if memchr::memchr2(b'\n', b'\r', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(compact(raw))
}

/// Valid JSON without the white space between tokens.
pub(super) fn compact(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in raw.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            ' ' | '\t' | '\n' | '\r' if !in_string => continue,
            _ => {}
        }
        out.push(character);
    }
    out
}

#[inline]
fn decode(raw: &str, escaped: bool) -> Cow<'_, str> {
    if escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) }
}
