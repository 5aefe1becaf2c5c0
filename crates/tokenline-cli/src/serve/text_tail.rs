//! The end of each text, for showing what was rejected.

use std::collections::HashMap;

use tokenline::Span;

use super::events::Place;

/// The bytes kept of each text.
const KEPT_BYTES: usize = 64 * 1024;
/// The texts kept: responses have one for each choice and block.
const MAX_TEXTS: usize = 16;

/// The ends of the texts of a response.
#[derive(Default)]
pub(super) struct TextTail(HashMap<Place, Tail>);

#[derive(Default)]
struct Tail {
    /// The offset of its first byte in the text.
    base: u64,
    text: String,
}

impl TextTail {
    /// Adds to a text.
    pub(super) fn push(&mut self, place: Place, text: &str) {
        if self.0.len() == MAX_TEXTS && !self.0.contains_key(&place) {
            self.0.clear();
        }
        let tail = self.0.entry(place).or_default();
        tail.text.push_str(text);
        if tail.text.len() > 2 * KEPT_BYTES {
            tail.drop_to(tail.base + (tail.text.len() - KEPT_BYTES) as u64);
        }
    }

    /// Drops a text up to an offset: it was delivered.
    pub(super) fn release(&mut self, place: Place, end: u64) {
        if let Some(tail) = self.0.get_mut(&place) {
            tail.drop_to(end);
        }
    }

    /// A part of a text, if it is still kept.
    pub(super) fn get(&self, place: Place, span: Span) -> Option<&str> {
        let tail = self.0.get(&place)?;
        let start = usize::try_from(span.start.checked_sub(tail.base)?).ok()?;
        let end = usize::try_from(span.end.checked_sub(tail.base)?).ok()?;
        tail.text.get(start..end.min(tail.text.len())).filter(|text| !text.is_empty())
    }
}

impl Tail {
    fn drop_to(&mut self, offset: u64) {
        let count = usize::try_from(offset.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let mut count = count.min(self.text.len());
        while !self.text.is_char_boundary(count) {
            count += 1;
        }
        self.text.drain(..count);
        self.base += count as u64;
    }
}
