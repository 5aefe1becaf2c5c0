//! Reads a document before it is complete: deltas and snapshots.

use super::super::delta::{Cursor, OpenString, ValueDelta};
use super::super::tape::{NONE, Node, NodeKind, OPEN};
use super::super::value::Value;
use super::{Parser, State};

/// State for reading an incomplete document.
#[derive(Clone, Debug, Default)]
pub(super) struct Early {
    cursor: Cursor,
    /// The open containers as they were before a snapshot closed them, innermost first.
    pub(super) patched: Vec<Node>,
}

impl Early {
    pub(super) fn reset(&mut self) {
        self.cursor.reset();
        self.patched.clear();
    }
}

impl Parser {
    /// The next step by which the document has grown. Call it until it returns `None`, after
    /// [`resume`](Self::resume) and with the same `document`.
    ///
    /// Takes time proportional to what is new, however long and deep the document and however long its names
    /// are. Strings are yielded as far as they have arrived, numbers and literals once they are complete. A
    /// malformed document has no further deltas.
    ///
    /// ```
    /// use tokenline_core::json::{Change, Parser};
    ///
    /// let mut parser = Parser::new();
    /// let mut answer = String::new();
    /// let document = r#"{"steps":[{"n":1}],"answer":"caf\u00e9 au lait"}"#;
    /// for end in [4, 16, 33, 40, document.len()] {
    ///     let document = &document[..end];
    ///     let _ = parser.resume(document);
    ///     while let Some(delta) = parser.next_delta(document) {
    ///         match delta.change {
    ///             Change::Append(text) if delta.is_at("/answer") => answer += text,
    ///             Change::Set(number) if delta.is_at("/steps/0/n") => assert_eq!(number.raw(), "1"),
    ///             _ => {}
    ///         }
    ///     }
    /// }
    /// assert_eq!(answer, "café au lait");
    /// ```
    ///
    /// # Panics
    ///
    /// May panic if `document` is another text.
    pub fn next_delta<'a>(&'a mut self, document: &'a str) -> Option<ValueDelta<'a>> {
        self.advance_deltas(document).then(|| self.last_delta(document))
    }

    /// Advances by one delta. Returns whether there was one.
    #[inline(always)]
    pub(crate) fn advance_deltas(&mut self, document: &str) -> bool {
        self.open_again();
        if matches!(self.state, State::Failed) {
            return false;
        }
        let open_string = self.open_string();
        let early = self.early.get_or_insert_default();
        early.cursor.advance(&self.tape, document, open_string, &mut self.examined)
    }

    /// Whether there may be deltas that it has not advanced by.
    #[inline(always)]
    pub(crate) fn has_deltas(&self) -> bool {
        let Some(early) = &self.early else { return true };
        let open_string = self.open_string().map(|string| string.end);
        !early.cursor.is_at(self.tape.len, self.container, open_string)
    }

    /// Advances by the last `len` bytes, by which [`continue_string`](Self::continue_string) continued the open string.
    /// Returns false if they are in a name, or there are deltas before.
    #[inline]
    pub(crate) fn advance_by_token(&mut self, len: usize) -> bool {
        let Some(early) = &mut self.early else { return false };
        let is_next = !self.token_is_name && early.cursor.append_plain(self.at - len, self.at);
        if is_next {
            self.examined += len as u64;
        }
        is_next
    }

    /// The last delta that [`advance_deltas`](Self::advance_deltas) advanced by.
    #[inline(always)]
    pub(crate) fn last_delta<'a>(&'a self, document: &'a str) -> ValueDelta<'a> {
        match &self.early {
            Some(early) => early.cursor.last(&self.tape, document),
            None => unreachable!("a delta was gone on by"),
        }
    }

    /// Whether the document has begun with an object.
    pub(crate) fn is_object(&self) -> bool {
        self.tape.len > 0 && self.tape.node(0).is(NodeKind::Object)
    }

    /// Whether the document has begun with an object or an array.
    pub(crate) fn is_container(&self) -> bool {
        self.is_object() || self.tape.len > 0 && self.tape.node(0).is(NodeKind::Array)
    }

    /// The document so far, as if it ended here: open containers and strings are closed.
    ///
    /// A string value ends before an incomplete character, escape or surrogate pair. An incomplete number,
    /// literal or name is left out, and so is a name without a value; so there may be nothing yet.
    /// [`is_open`](Value::is_open) marks values that may still grow.
    ///
    /// Takes time proportional to the depth of the document's end, not to its length.
    ///
    /// ```
    /// use tokenline_core::json::Parser;
    ///
    /// let mut parser = Parser::new();
    /// let document = r#"{"entity":"DNA","tags":["a","b\u00"#;
    /// let _ = parser.resume(document);
    /// let value = parser.snapshot(document).unwrap();
    /// assert_eq!(value.to_json(), r#"{"entity":"DNA","tags":["a","b"]}"#);
    /// assert!(!value.get("entity").unwrap().is_open());
    /// ```
    ///
    /// `None` also if the document is malformed.
    ///
    /// # Panics
    ///
    /// May panic if `document` is not the text last passed to [`resume`](Self::resume).
    pub fn snapshot<'a>(&'a mut self, document: &'a str) -> Option<Value<'a>> {
        self.open_again();
        match self.state {
            State::Done => {
                if self.tape.document.0 == 0 {
                    self.tape.document.0 = self.tape.generation;
                }
                return Some(self.value(document));
            }
            State::Failed => return None,
            _ => {}
        }
        let open_string = self.open_string();
        let nodes = &mut self.tape.nodes;
        let mut end = self.tape.len;
        // A member is counted by the token after it.
        let mut count = self.count;
        if let Some(OpenString { start, end: safe_end, flags }) = open_string {
            // Room was reserved when the string began.
            nodes[end] = Node::new(NodeKind::String, flags | OPEN, start, safe_end);
            end += 1;
            count += 1;
        } else if self.state == State::AfterValue {
            count += 1;
        } else if end > 0 && nodes[end - 1].is(NodeKind::Key) {
            end -= 1;
        }
        if end == 0 {
            return None;
        }
        let patched = &mut self.early.get_or_insert_default().patched;
        let mut container = self.container;
        while container != NONE {
            let node = &mut nodes[container as usize];
            let before = *node;
            patched.push(before);
            node.link = end as u32;
            node.end = self.at as u32;
            node.meta |= OPEN;
            node.set_count(count);
            container = before.link;
            count = nodes.get(container as usize).map_or(0, |parent| parent.count() + 1);
        }
        self.examined += patched.len() as u64;
        self.tape.generation = self.next_generation();
        if self.tape.document.0 == 0 {
            self.tape.document.0 = self.tape.generation;
        }
        Some(Value::new(&self.tape, document, 0))
    }

    /// Undoes the changes of a snapshot to the open containers.
    #[inline]
    pub(super) fn open_again(&mut self) {
        if self.early.as_ref().is_some_and(|early| !early.patched.is_empty()) {
            self.undo_patch();
        }
    }

    #[cold]
    fn undo_patch(&mut self) {
        let Some(early) = &mut self.early else { return };
        let mut container = self.container;
        for node in early.patched.drain(..) {
            self.tape.nodes[container as usize] = node;
            container = node.link;
        }
    }

    /// The string value at the end of the document.
    #[inline]
    fn open_string(&self) -> Option<OpenString> {
        let cut = self.open_escape()?;
        (!self.token_is_name).then_some(OpenString {
            start: self.token,
            end: self.at - cut,
            flags: self.token_flags,
        })
    }
}
