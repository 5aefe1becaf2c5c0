//! The changes of a growing document.

mod cursor;

use std::fmt;

use super::pointer;
use super::raw::Raw;
use super::tape::Tape;
use super::value::{Kind, Value};

pub(super) use cursor::{Cursor, OpenString};

/// A step by which a document grows.
///
/// A delta names its value by [`depth`](Self::depth) and [`key`](Self::key) instead of the complete path:
/// deltas come in document order, so a list of the open values, indexed by depth, is enough to apply them.
/// Applied in order, they give exactly the document:
///
/// | change | how to apply it |
/// |---|---|
/// | [`Open`](Change::Open) | put an empty object, array or string at `key` of the container that is open at `depth - 1`, in place of what is there |
/// | [`Append`](Change::Append) | append the text to the string that is open at `depth` |
/// | [`Set`](Change::Set) | put the number, boolean or `null` at `key` of the container that is open at `depth - 1`, in place of what is there |
/// | [`Close`](Change::Close) | nothing: the value that is open at `depth` is complete |
///
/// Nothing is taken back, except that the last of several members with the same name counts. However the
/// document is split, the deltas are the same once adjacent appends are joined. An append never ends inside a
/// character, an escape, or a surrogate pair.
///
/// ```
/// use tokenline_core::json::{Change, Key, Parser};
///
/// let document = r#"{"title":"Soup","steps":["Peel",{"minutes":20}]}"#;
/// let mut parser = Parser::new();
/// let _ = parser.resume(document);
/// let mut outline = Vec::new();
/// while let Some(delta) = parser.next_delta(document) {
///     let key = match delta.key {
///         Some(Key::Name(name)) => name.to_owned(),
///         Some(Key::Index(index)) => index.to_string(),
///         None => "root".to_owned(),
///     };
///     outline.push(match delta.change {
///         Change::Open(kind) => format!("{} {key}: {}", delta.depth, kind.as_str()),
///         Change::Append(text) => format!("{} {key} + {text}", delta.depth),
///         Change::Set(value) => format!("{} {key} = {}", delta.depth, value.raw()),
///         Change::Close => format!("{} {key} complete", delta.depth),
///     });
/// }
/// assert_eq!(outline, [
///     "0 root: object",
///     "1 title: string",
///     "1 title + Soup",
///     "1 title complete",
///     "1 steps: array",
///     "2 0: string",
///     "2 0 + Peel",
///     "2 0 complete",
///     "2 1: object",
///     "3 minutes = 20",
///     "2 1 complete",
///     "1 steps complete",
///     "0 root complete",
/// ]);
/// ```
#[derive(Clone, Copy)]
pub struct ValueDelta<'a> {
    /// The number of containers around the value: 0 for the root.
    pub depth: usize,
    /// The value's name or index in the container around it; `None` for the root.
    pub key: Option<Key<'a>>,
    /// The change to the value.
    pub change: Change<'a>,
    cursor: &'a Cursor,
    tape: &'a Tape,
    document: &'a str,
}

/// The change that a [`ValueDelta`] makes to its value.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// An object, array or string begins, empty.
    Open(Kind),
    /// More of the open string, with its escapes decoded. Never empty.
    Append(&'a str),
    /// A complete number, `true`, `false` or `null`.
    Set(Value<'a>),
    /// The open object, array or string is complete.
    Close,
}

/// The position of a value in its container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// A member's name, with its escapes decoded.
    Name(&'a str),
    /// The index of an array's element, from 0.
    Index(usize),
}

impl<'a> ValueDelta<'a> {
    /// The value, once it is complete: with [`Change::Set`] and [`Change::Close`].
    ///
    /// ```
    /// use tokenline_core::json::{Change, Parser};
    ///
    /// let document = r#"{"size":[3,4]}"#;
    /// let mut parser = Parser::new();
    /// let _ = parser.resume(document);
    /// let mut size = None;
    /// while let Some(delta) = parser.next_delta(document) {
    ///     if delta.is_at("/size")
    ///         && let Some(value) = delta.value()
    ///     {
    ///         size = Some(value.raw().to_owned());
    ///     }
    /// }
    /// assert_eq!(size.as_deref(), Some("[3,4]"));
    /// ```
    #[must_use]
    pub fn value(&self) -> Option<Value<'a>> {
        self.cursor.completed(self.tape, self.document)
    }

    /// The container that this delta opens, if all of it has been parsed.
    pub(crate) fn opened(&self) -> Option<Value<'a>> {
        self.cursor.opened(self.tape, self.document)
    }

    /// Goes once more through the container that is open at `depth`, up to this delta, which completes a value. The
    /// container is the root of the deltas.
    pub(crate) fn repeat_since(&self, depth: usize, mut apply: impl FnMut(ValueDelta<'_>)) {
        let Some(mut cursor) = self.cursor.restarted_at(depth) else { return };
        while cursor.advance(self.tape, self.document, None, &mut 0) {
            apply(cursor.last(self.tape, self.document));
            if cursor.has_caught_up_with(self.cursor) {
                break;
            }
        }
    }

    /// The keys from the root to the value, whose own [`key`](Self::key) is last.
    ///
    /// Takes one step per key, regardless of the names' length.
    pub fn keys(&self) -> impl Iterator<Item = Key<'a>> + use<'a> {
        let Self { cursor, tape, document, .. } = *self;
        cursor.slots().filter_map(move |slot| slot.key(tape, document))
    }

    /// Whether the value is at this JSON Pointer (RFC 6901). The empty pointer is the root.
    ///
    /// Takes time proportional to `pointer` at most, however long the value's own path is.
    ///
    /// ```
    /// use tokenline_core::json::{Change, Parser};
    ///
    /// let document = r#"{"steps":[{"text":"Peel."},{"text":"Cook."}]}"#;
    /// let mut parser = Parser::new();
    /// let _ = parser.resume(document);
    /// let mut second = String::new();
    /// while let Some(delta) = parser.next_delta(document) {
    ///     if let Change::Append(text) = delta.change
    ///         && delta.is_at("/steps/1/text")
    ///     {
    ///         second += text;
    ///     }
    /// }
    /// assert_eq!(second, "Cook.");
    /// ```
    #[must_use]
    pub fn is_at(&self, pointer: &str) -> bool {
        // Each key takes at least one byte of a pointer, even if empty.
        self.depth <= pointer.len()
            && self.keys().try_fold(pointer, pointer::strip_key).is_some_and(str::is_empty)
    }

    /// The value's JSON Pointer (RFC 6901). The empty pointer is the root.
    ///
    /// Allocates, and takes time proportional to the pointer's length. Calling it for every delta repeats the
    /// container's path for each of its values, which is quadratic if a model chooses the names. To look for
    /// one value, use [`is_at`](Self::is_at).
    ///
    /// ```
    /// use tokenline_core::json::Parser;
    ///
    /// let document = r#"{"a/b":[{"c":null}]}"#;
    /// let mut parser = Parser::new();
    /// let _ = parser.resume(document);
    /// let mut pointers = Vec::new();
    /// while let Some(delta) = parser.next_delta(document) {
    ///     pointers.push(delta.pointer());
    /// }
    /// assert_eq!(pointers, ["", "/a~1b", "/a~1b/0", "/a~1b/0/c", "/a~1b/0", "/a~1b", ""]);
    /// ```
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        for key in self.keys() {
            pointer::push_key(&mut pointer, key);
        }
        pointer
    }
}

impl ValueDelta<'_> {
    /// The same delta without borrows.
    #[must_use]
    pub fn to_owned(&self) -> OwnedDelta {
        let change = match self.change {
            Change::Open(kind) => OwnedChange::Open(kind),
            Change::Append(text) => OwnedChange::Append(text.to_owned()),
            Change::Set(value) => OwnedChange::Set(value.into()),
            Change::Close => OwnedChange::Close,
        };
        let begins = matches!(self.change, Change::Open(_) | Change::Set(_));
        let key = self.key.filter(|_| begins).map(|key| match key {
            Key::Name(name) => OwnedKey::Name(name.to_owned()),
            Key::Index(index) => OwnedKey::Index(index),
        });
        OwnedDelta { depth: self.depth, key, change }
    }
}

/// A [`ValueDelta`] that borrows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedDelta {
    /// The number of containers around the value: 0 for the root.
    pub depth: usize,
    /// The value's name or index in the container around it, where the value begins. A later delta at this depth has
    /// none: names may be long.
    pub key: Option<OwnedKey>,
    /// The change to the value.
    pub change: OwnedChange,
}

impl OwnedDelta {
    /// Whether its value begins with it.
    pub(crate) fn begins(&self) -> bool {
        matches!(self.change, OwnedChange::Open(_) | OwnedChange::Set(_))
    }
}

/// A [`Change`] that borrows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedChange {
    /// An object, array or string begins. It is empty.
    Open(Kind),
    /// More of the open string, its escapes decoded. Never empty.
    Append(String),
    /// A complete number, `true`, `false` or `null`.
    Set(Raw),
    /// The open object, array or string is complete.
    Close,
}

/// A [`Key`] that borrows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedKey {
    /// The name of an object's member, its escapes decoded.
    Name(String),
    /// The index of an array's element, counted from 0.
    Index(usize),
}

impl fmt::Debug for ValueDelta<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { depth, key, change, .. } = self;
        f.debug_struct("ValueDelta")
            .field("depth", depth)
            .field("key", key)
            .field("change", change)
            .finish_non_exhaustive()
    }
}
