//! Building a partial from deltas.

use std::fmt;

use super::step::Frame;
use super::{Partial, PartialStep};
use crate::json::ValueDelta;

/// Builds the [partial](Partial) of the open record from its deltas.
///
/// ```
/// use std::collections::BTreeMap;
/// use tokenline_core::partial::PartialBuilder;
/// use tokenline_core::{Event, JsonlParser, Options};
///
/// let mut parser = JsonlParser::new(Options::lenient().partials(true));
/// // Usually of a type of your own, with `#[derive(Partial)]`.
/// let mut words = PartialBuilder::<BTreeMap<String, Vec<String>>>::new();
/// parser.push("{\"colors\":[\"red\",\"gre");
/// while let Some(event) = parser.next_event() {
///     if let Event::Partial(partial) = event {
///         words.apply(partial.value);
///     }
/// }
/// assert_eq!(words.partial().unwrap()["colors"], ["red", "gre"]);
/// ```
pub struct PartialBuilder<T: Partial> {
    root: Option<T::Partial>,
    /// For each open container, outermost first, what the next delta needs to know.
    frames: Vec<Frame>,
}

impl<T: Partial> PartialBuilder<T> {
    /// A builder before the first delta.
    #[must_use]
    pub fn new() -> Self {
        Self { root: None, frames: Vec::new() }
    }

    /// Applies a delta. Returns whether the partial has changed: `false` while a number or an enum is not complete,
    /// for example.
    ///
    /// The first delta of a record starts a new partial. Takes time proportional to the delta's text and the depth of
    /// its value in `T`; a value that appears when it is complete is read once, at its end.
    #[inline]
    pub fn apply(&mut self, delta: ValueDelta<'_>) -> bool {
        if delta.depth > 0 && self.frames.is_empty() {
            // The rest of a record whose partial was taken out.
            return false;
        }
        let mut step = PartialStep::new(delta, &mut self.frames);
        if step.begins() {
            self.root = None;
        }
        T::apply(&mut self.root, &mut step);
        step.has_changed
    }

    /// The record as far as it has arrived; `None` before it begins, and before the fields that are `required` are there.
    #[must_use]
    pub fn partial(&self) -> Option<&T::Partial> {
        self.root.as_ref()
    }

    /// Takes the partial out, and starts over.
    pub fn take(&mut self) -> Option<T::Partial> {
        self.frames.clear();
        self.root.take()
    }
}

impl<T: Partial> Default for PartialBuilder<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Not the partial: it may be private.
impl<T: Partial> fmt::Debug for PartialBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialBuilder").field("has_begun", &self.root.is_some()).finish_non_exhaustive()
    }
}
