//! Partials from pieces of JSON text, or from owned deltas.

use std::fmt;
use std::mem;

use super::{Partial, PartialBuilder};
use crate::json::{Kind, OwnedChange, OwnedDelta, OwnedKey, Parser, Step, write};

/// Builds the [partial](Partial) of a JSON value from pieces of its text, such as a call's arguments while the model
/// writes them.
///
/// ```
/// use std::collections::BTreeMap;
/// use tokenline_core::partial::PartialText;
///
/// // Usually of a type of your own, with `#[derive(Partial)]`.
/// let mut arguments = PartialText::<BTreeMap<String, String>>::new();
/// arguments.push("{\"city\":\"Os");
/// assert_eq!(arguments.partial().unwrap()["city"], "Os");
/// arguments.push("lo\"}");
/// assert_eq!(arguments.partial().unwrap()["city"], "Oslo");
/// ```
///
/// It keeps the text. Text after the value is ignored, and so is all that follows a fault: whether the value is accepted
/// is for others to say.
pub struct PartialText<T: Partial> {
    builder: PartialBuilder<T>,
    parser: Parser,
    text: String,
    /// The value is complete, or has a fault: nothing more is read.
    has_ended: bool,
    writer: DeltaWriter,
}

impl<T: Partial> PartialText<T> {
    /// Before the first piece.
    #[must_use]
    pub fn new() -> Self {
        Self {
            builder: PartialBuilder::new(),
            parser: Parser::new(),
            text: String::new(),
            has_ended: false,
            writer: DeltaWriter::default(),
        }
    }

    /// Adds a piece. Returns whether the partial has changed. Takes time proportional to the piece.
    pub fn push(&mut self, piece: &str) -> bool {
        self.read(piece)
    }

    /// Applies a delta without borrows, such as that of a response's event. Returns whether the partial has changed. The
    /// first delta of a record starts a new partial. Takes time proportional to the delta.
    ///
    /// A [`PartialBuilder`] takes deltas as they come from a parser, without writing their text again.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use tokenline_core::partial::PartialText;
    /// use tokenline_core::{Event, JsonlParser, Options};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient().partials(true));
    /// let mut words = PartialText::<BTreeMap<String, Vec<String>>>::new();
    /// parser.push("{\"colors\":[\"red\",\"gre");
    /// while let Some(event) = parser.next_event() {
    ///     if let Event::Partial(partial) = event {
    ///         let delta = partial.value.to_owned();
    ///         words.apply(&delta);
    ///     }
    /// }
    /// assert_eq!(words.partial().unwrap()["colors"], ["red", "gre"]);
    /// ```
    pub fn apply(&mut self, delta: &OwnedDelta) -> bool {
        if delta.depth == 0 && delta.begins() {
            self.start_over();
        }
        let mut writer = mem::take(&mut self.writer);
        let has_changed = writer.write(delta).is_some_and(|piece| self.read(piece));
        self.writer = writer;
        has_changed
    }

    fn start_over(&mut self) {
        self.text.clear();
        self.parser.reset();
        self.has_ended = false;
    }

    fn read(&mut self, piece: &str) -> bool {
        if self.has_ended {
            return false;
        }
        self.text.push_str(piece);
        self.has_ended = !matches!(self.parser.resume(&self.text), Step::NeedMore);
        let mut has_changed = false;
        while let Some(delta) = self.parser.next_delta(&self.text) {
            has_changed |= self.builder.apply(delta);
        }
        has_changed
    }

    /// The value as far as it has arrived; `None` before it begins, and before the fields that are `required` are there.
    #[must_use]
    pub fn partial(&self) -> Option<&T::Partial> {
        self.builder.partial()
    }

    /// Takes the partial out, and starts over with the next value.
    pub fn take(&mut self) -> Option<T::Partial> {
        self.start_over();
        self.writer.containers.clear();
        self.builder.take()
    }
}

impl<T: Partial> Default for PartialText<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Not the partial: it may be private.
impl<T: Partial> fmt::Debug for PartialText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialText").field("builder", &self.builder).finish_non_exhaustive()
    }
}

/// Writes the text of a record from its owned deltas.
#[derive(Default)]
pub(super) struct DeltaWriter {
    /// The open objects and arrays, outermost first.
    containers: Vec<Container>,
    /// Reused for each delta.
    piece: String,
}

struct Container {
    end: char,
    is_empty: bool,
}

impl DeltaWriter {
    /// The text that a delta adds; `None` if the record's beginning is not known. A number is followed by a space, which
    /// ends it.
    pub(super) fn write(&mut self, delta: &OwnedDelta) -> Option<&str> {
        let OwnedDelta { depth, key, change } = delta;
        let begins = delta.begins();
        if begins && *depth == 0 {
            self.containers.clear();
        }
        // The end of a container is a delta of its own depth.
        let open = self.containers.len();
        let closes = matches!(change, OwnedChange::Close) && open == depth + 1;
        if open != *depth && !closes {
            return None;
        }
        self.piece.clear();
        if begins && let Some(container) = self.containers.last_mut() {
            if !container.is_empty {
                self.piece.push(',');
            }
            container.is_empty = false;
            if let Some(OwnedKey::Name(name)) = key {
                write::string(&mut self.piece, name);
                self.piece.push(':');
            }
        }
        match change {
            OwnedChange::Open(Kind::Object) => self.open('{', '}'),
            OwnedChange::Open(Kind::Array) => self.open('[', ']'),
            OwnedChange::Open(_) => self.piece.push('"'),
            OwnedChange::Append(text) => write::escaped(&mut self.piece, text),
            OwnedChange::Set(value) => {
                self.piece.push_str(value.as_str());
                self.piece.push(' ');
            }
            OwnedChange::Close if closes => self.piece.extend(self.containers.pop().map(|closed| closed.end)),
            OwnedChange::Close => self.piece.push('"'),
        }
        Some(&self.piece)
    }

    fn open(&mut self, start: char, end: char) {
        self.piece.push(start);
        self.containers.push(Container { end, is_empty: true });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn nothing_is_read_or_kept_after_the_end_or_a_fault() {
        for end in ["}", ",}"] {
            let mut partial = PartialText::<BTreeMap<String, String>>::new();
            assert!(partial.push("{\"a\":\"b\""));
            partial.push(end);
            let kept = partial.text.len();
            assert!(!partial.push("{\"a\":\"c\"}"));
            assert_eq!((partial.text.len(), &*partial.partial().unwrap()["a"]), (kept, "b"));
            partial.take();
            assert!(partial.push("{\"a\":\"c\"}"));
            assert_eq!(partial.partial().unwrap()["a"], "c");
        }
    }
}
