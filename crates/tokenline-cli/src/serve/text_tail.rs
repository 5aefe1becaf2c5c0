//! The end of each text, for showing what was rejected.

use std::collections::HashMap;

use tokenline::Span;

use super::event_data::Place;

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
    /// Adds the piece of a text that begins at `start`.
    pub(super) fn push(&mut self, place: Place, start: u64, text: &str) {
        if self.0.len() == MAX_TEXTS && !self.0.contains_key(&place) {
            self.0.clear();
        }
        let tail = self.0.entry(place).or_default();
        if start != tail.base + tail.text.len() as u64 {
            // Another text of the same block, or one whose beginning was dropped.
            *tail = Tail { base: start, text: String::new() };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_text() {
        let mut tail = TextTail::default();
        let get =
            |tail: &TextTail, place, start, end| tail.get(place, Span::new(start, end)).map(str::to_owned);
        tail.push((0, 0), 0, "some prose\n");
        tail.push((0, 0), 11, "{bad}\n");
        assert_eq!(get(&tail, (0, 0), 11, 16).as_deref(), Some("{bad}"));
        tail.release((0, 0), 17);
        assert_eq!(get(&tail, (0, 0), 11, 16), None);
        // The block begins again.
        tail.push((0, 0), 0, "{worse}");
        assert_eq!(get(&tail, (0, 0), 0, 7).as_deref(), Some("{worse}"));
        // Others push it out, and it goes on.
        (1..=16).for_each(|choice| tail.push((choice, 0), 0, "x"));
        tail.push((0, 0), 7, "\n{é}");
        assert_eq!(get(&tail, (0, 0), 0, 7), None);
        assert_eq!(get(&tail, (0, 0), 8, 12).as_deref(), Some("{é}"));
        for at in 0..100_000 {
            tail.push((0, 0), 12 + 2 * at, "é");
        }
        assert_eq!(get(&tail, (0, 0), 200_010, 200_012).as_deref(), Some("é"));
        assert!(tail.0[&(0, 0)].text.len() <= 2 * KEPT_BYTES);
    }
}
