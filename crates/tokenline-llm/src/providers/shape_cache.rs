//! Fast path for events that differ from an earlier one in one string only.
//!
//! Nearly all events of a response are the same except for a few characters of text, so most of the time would go into
//! parsing the same structure. The cache therefore keeps an event and its meaning, with the places where another event
//! may differ: the text, and values without effect, such as a time stamp. An event that differs nowhere else has the
//! same members of the same types, and so the same meaning with its own text. `scripts/instructions` counts the gain: the
//! path `native-unlike` has the responses of `native-calls`, but no two events of one shape.

use std::fmt;
use std::ops::Range;

use tokenline_core::json::{Kind, RawStr, Value};

/// The two latest shapes of events, with their meaning: two, because calls may be interleaved, and text with reasoning.
pub(super) struct ShapeCache<P> {
    shapes: [Shape<P>; 2],
    /// The shape that last matched or was last learned.
    latest: usize,
    /// Events that matched no shape; each match subtracts two.
    misses: u32,
    unescaped: String,
}

struct Shape<P> {
    kind: Option<P>,
    event: String,
    data: String,
    /// The range of the text.
    text: Range<usize>,
    /// Other values that may differ, by position.
    before: Vec<Slot>,
    after: Vec<Slot>,
}

/// A value without effect: the inside of a string, or an unsigned integer.
struct Slot {
    range: Range<usize>,
    is_string: bool,
}

/// The largest event that is cached or compared. Bounds the memory; parsing dominates for larger events.
const MAX_BYTES: usize = 16 * 1024;
/// After this many misses, as with many interleaved choices, only one event in this many is cached, and only the latest
/// shape is compared.
const MAX_MISSES: u32 = 16;

impl<P> Default for ShapeCache<P> {
    fn default() -> Self {
        let shapes = [Shape::default(), Shape::default()];
        Self { shapes, latest: 0, misses: 0, unescaped: String::new() }
    }
}

impl<P> Default for Shape<P> {
    fn default() -> Self {
        Self {
            kind: None,
            event: String::new(),
            data: String::new(),
            text: 0..0,
            before: Vec::new(),
            after: Vec::new(),
        }
    }
}

impl<P: Copy> ShapeCache<P> {
    /// Matches `data` against the cached shapes; returns its kind and its non-empty text.
    #[inline]
    pub(super) fn read<'a>(&'a mut self, event: &str, data: &'a str) -> Option<(P, &'a str)> {
        let (kind, text) = match self.shapes[self.latest].read(event, data) {
            Some(read) => read,
            None if self.misses > MAX_MISSES => return None,
            None => {
                let read = self.shapes[1 - self.latest].read(event, data)?;
                self.latest = 1 - self.latest;
                read
            }
        };
        self.misses = self.misses.saturating_sub(2);
        Some((kind, text.unescape_in(&mut self.unescaped)))
    }

    /// Caches an event: its kind, and the range of its text in the data. Of the `incidental` members, given as JSON
    /// pointers, strings and unsigned integers may differ.
    pub(super) fn learn(
        &mut self,
        event: &str,
        value: Value<'_>,
        (kind, text): (P, Range<usize>),
        incidental: &[&str],
    ) {
        self.misses += 1;
        let is_turn = self.misses == 2 * MAX_MISSES;
        if is_turn {
            self.misses = MAX_MISSES;
        } else if self.misses > MAX_MISSES {
            return;
        }
        // Only the reader knows which of several members with the same name counts.
        if value.document().len() <= MAX_BYTES && value.repeated_name().is_none() {
            self.latest = 1 - self.latest;
            let others = incidental.iter().filter_map(|pointer| value.pointer(pointer));
            self.shapes[self.latest].learn((event, value.document()), (kind, text), others);
        }
    }

    /// Clears the shapes: the meaning of events may have changed.
    pub(super) fn clear(&mut self) {
        self.shapes.iter_mut().for_each(|shape| shape.kind = None);
    }
}

impl<P: Copy> Shape<P> {
    /// The kind and the text of the event, if it matches.
    #[inline]
    fn read<'a>(&self, event: &str, data: &'a str) -> Option<(P, RawStr<'a>)> {
        let kind = self.kind?;
        if data.len() > MAX_BYTES || event != self.event {
            return None;
        }
        // The values before the text rarely change.
        let is_same = |end: usize| data.as_bytes().starts_with(&self.data.as_bytes()[..end]);
        let start = if is_same(self.text.start) {
            self.text.start
        } else if is_same(self.before.last()?.range.end) {
            return None;
        } else {
            self.match_part(0..self.text.start, &self.before, data, 0)?
        };
        let text = RawStr::at_start(data.get(start..)?).filter(|text| !text.is_empty())?;
        let end = self.match_part(self.text.end..self.data.len(), &self.after, data, start + text.len())?;
        (end == data.len()).then_some((kind, text))
    }

    /// Matches `data` from `at` on against a part of this shape, with its slots; returns the end of the match.
    #[inline]
    fn match_part(&self, part: Range<usize>, slots: &[Slot], data: &str, mut at: usize) -> Option<usize> {
        let own = &self.data.as_bytes()[..part.end];
        let mut from = part.start;
        for Slot { range, is_string } in slots {
            at += len_of_equal(data, at, &own[from..range.start])?;
            let rest = data.get(at..)?;
            at += if *is_string { RawStr::at_start(rest)?.len() } else { len_of_integer(rest)? };
            from = range.end;
        }
        Some(at + len_of_equal(data, at, &own[from..])?)
    }

    fn learn<'v>(
        &mut self,
        (event, data): (&str, &str),
        (kind, text): (P, Range<usize>),
        others: impl Iterator<Item = Value<'v>>,
    ) {
        self.before.clear();
        self.after.clear();
        for slot in others.filter_map(Slot::of) {
            let slots = if slot.range.start < text.start { &mut self.before } else { &mut self.after };
            slots.push(slot);
        }
        self.before.sort_unstable_by_key(|slot| slot.range.start);
        self.after.sort_unstable_by_key(|slot| slot.range.start);
        event.clone_into(&mut self.event);
        data.clone_into(&mut self.data);
        self.text = text;
        self.kind = Some(kind);
    }
}

/// Shows no data: it may be private.
impl<P> fmt::Debug for ShapeCache<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShapeCache").finish_non_exhaustive()
    }
}

impl Slot {
    fn of(value: Value<'_>) -> Option<Self> {
        let range = value.range();
        match value.kind() {
            Kind::String => Some(Self { range: range.start + 1..range.end - 1, is_string: true }),
            Kind::Number if len_of_integer(value.raw()) == Some(range.len()) => {
                Some(Self { range, is_string: false })
            }
            _ => None,
        }
    }
}

/// The length of `own` if `data` continues with it at `at`.
#[inline]
fn len_of_equal(data: &str, at: usize, own: &[u8]) -> Option<usize> {
    data.as_bytes().get(at..)?.starts_with(own).then_some(own.len())
}

/// The length of the unsigned integer at the start of `rest`. What follows is not checked.
#[inline]
fn len_of_integer(rest: &str) -> Option<usize> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let has_leading_zero = len > 1 && rest.starts_with('0');
    (len > 0 && !has_leading_zero).then_some(len)
}

#[cfg(test)]
mod tests {
    use tokenline_core::json::Parser;

    use super::*;

    const EVENT: &str = r#"{"t":17,"id":"a\"b","text":"one","n":0,"pad":"","end":[1.5]}"#;

    fn learned(event: &str, kind: u8) -> ShapeCache<u8> {
        let mut shapes = ShapeCache::default();
        learn(&mut shapes, event, kind);
        shapes
    }

    fn learn(shapes: &mut ShapeCache<u8>, event: &str, kind: u8) {
        let mut json = Parser::new();
        let value = json.parse(event).unwrap();
        let text = value.get("text").unwrap().range();
        // Unordered, and including some that are not slots.
        let others = ["/pad", "/n", "/end", "/missing", "/id", "/t"];
        shapes.learn("message", value, (kind, text.start + 1..text.end - 1), &others);
    }

    #[test]
    fn an_event_may_differ_in_its_slots() {
        let mut shapes = learned(EVENT, 7);
        for (event, text) in [
            (EVENT, "one"),
            (r#"{"t":17,"id":"a\"b","text":"\ud83d\ude00 \n","n":0,"pad":"","end":[1.5]}"#, "😀 \n"),
            (r#"{"t":0,"id":"","text":"é","n":18446744073709551616,"pad":"\u0041","end":[1.5]}"#, "é"),
        ] {
            assert_eq!(shapes.read("message", event), Some((7, text)), "{event}");
        }
    }

    #[test]
    fn other_events_do_not_match() {
        let mut shapes = learned(EVENT, 7);
        for (from, to) in [
            ("one", ""),
            ("one", "\\ud83d"),
            ("one", "\\ude00"),
            ("one", "\\x"),
            ("one", "\t"),
            ("one", "one\",\"x\":\""),
            (r#""one""#, "1"),
            (r#""one""#, "null"),
            ("17", "017"),
            ("17", "-17"),
            ("17", "1.7"),
            ("17", "1e7"),
            ("17", ""),
            ("17", r#""17""#),
            ("1.5", "1.6"),
            ("pad", "PAD"),
            (r#""pad":"""#, r#""pad":"\u12""#),
            (r#""pad":"""#, r#""pad":null"#),
            ("{", " {"),
            ("]}", "] }"),
            ("]}", "]}}"),
            ("]}", "]"),
            ("]}", ""),
        ] {
            let event = EVENT.replacen(from, to, 1);
            assert_eq!(shapes.read("message", &event), None, "{event}");
        }
        for len in 0..EVENT.len() {
            assert_eq!(shapes.read("message", &EVENT[..len]), None);
        }
    }

    #[test]
    fn large_and_ambiguous_events_are_not_cached() {
        let long = format!(r#"{{"text":"one","x":"{}"}}"#, "x".repeat(MAX_BYTES));
        for event in [&long, r#"{"text":"one","text":"two"}"#, r#"{"text":"one","x":{"y":1,"y":2}}"#] {
            assert_eq!(learned(event, 7).read("message", event), None, "{event:.60}");
        }
        let mut shapes = learned(r#"{"text":"one"}"#, 7);
        assert_eq!(shapes.read("message", &format!(r#"{{"text":"{}"}}"#, "x".repeat(MAX_BYTES))), None);
    }

    #[test]
    fn two_shapes_are_cached() {
        let event = |number: u8| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = learned(&event(1), 1);
        learn(&mut shapes, &event(2), 2);
        for number in [1, 2, 2, 1, 1, 2] {
            assert_eq!(shapes.read("message", &event(number)), Some((number, "one")));
        }
        // The shape that matched last is kept.
        learn(&mut shapes, &event(3), 3);
        assert_eq!(shapes.read("message", &event(1)), None);
        assert_eq!(shapes.read("message", &event(2)), Some((2, "one")));
        assert_eq!(shapes.read("message", &event(3)), Some((3, "one")));
    }

    #[test]
    fn few_events_are_cached_if_none_match() {
        let event = |number: u32| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = ShapeCache::default();
        let mut kept = 0;
        for number in 1..=MAX_MISSES * 100 {
            assert_eq!(shapes.read("message", &event(number)), None);
            learn(&mut shapes, &event(number), 7);
            kept += u32::from(shapes.shapes[shapes.latest].data == event(number));
        }
        assert_eq!(kept, MAX_MISSES + 99);
        // The last event was cached.
        for _ in 0..MAX_MISSES {
            assert_eq!(shapes.read("message", &event(MAX_MISSES * 100)), Some((7, "one")));
        }
        learn(&mut shapes, &event(1), 7);
        assert_eq!(shapes.read("message", &event(1)), Some((7, "one")));
    }

    #[test]
    fn one_of_many_interleaved_shapes_is_cached() {
        let event = |number: u32| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = ShapeCache::default();
        let mut known = 0;
        for number in (0..4).cycle().take(4000) {
            match shapes.read("message", &event(number)) {
                Some(_) => known += 1,
                None => learn(&mut shapes, &event(number), 7),
            }
        }
        assert!(known > 900, "{known}");
    }
}
