//! Fast path for events that differ from an earlier one in one string only.
//!
//! Nearly all events of a response are the same except for a few characters of text, so most of the time would go into
//! parsing the same structure. A shape is an event without the places where another may differ: the text, and values
//! without effect, such as a time stamp. An event that differs nowhere else has the same members of the same types, and so
//! the same meaning with its own text. The meaning belongs to the response, because earlier events decide it; the shape is
//! [shared](EventShapes) by all responses of a server. `scripts/instructions` counts the gain: the path `native-unlike` has
//! the responses of `native-calls`, but no two events of one shape.

use std::collections::VecDeque;
use std::fmt;
use std::hint;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tokenline_core::json::{Kind, RawStr, Value};

/// The common parts of a server's events, held once for many responses.
///
/// A parser does not parse the JSON of an event that differs from an earlier one only in its text. For that it keeps the
/// rest of the earlier event, such as the name of the model. All responses of a [client](crate::client) share these parts.
/// With your own connections, share them among the [parsers](crate::ResponseParser::with_shapes) of one server and one
/// tenant.
///
/// It holds the 64 latest parts, of at most 16 KiB each, and no text of a response: only what events with different texts
/// have in common.
#[derive(Clone, Default)]
pub struct EventShapes(Arc<Mutex<VecDeque<Arc<Shape>>>>);

/// The latest shapes of a response's events, with their meaning: at most 16, for choices, blocks and calls that take turns.
pub(super) struct ShapeCache<P> {
    /// The one that last matched or was last learned.
    latest: Option<LearnedShape<P>>,
    /// The others, by their last use: in the order in which they come if they take turns.
    others: VecDeque<LearnedShape<P>>,
    /// Events that matched no shape; each match subtracts two.
    misses: u32,
    unescaped: String,
    shared: Option<EventShapes>,
}

struct LearnedShape<P> {
    shape: Arc<Shape>,
    /// The beginning of the event it was learned from, through the byte after the last slot before the text. Compared
    /// first: ids rarely change within a response.
    prefix: Box<[u8]>,
    /// The text it was learned from, until the shape is shared. Before an event with another text has it, it may hold that
    /// text once more, as `logprobs` do.
    first_text: Option<Box<str>>,
    kind: P,
}

/// An event without its text and the values that have no effect.
#[derive(PartialEq, Eq)]
struct Shape {
    /// Its name.
    event: Box<str>,
    /// The rest of its data.
    fixed: Box<str>,
    /// The places of the values that were left out, in order.
    slots: Box<[Slot]>,
    /// The index of the text among them.
    text: usize,
}

/// The place of a value: the inside of a string, or an unsigned integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// Where it stands in the fixed text.
    at: usize,
    is_string: bool,
}

/// The largest event that is cached or compared. Bounds the memory; parsing dominates for larger events.
const MAX_BYTES: usize = 16 * 1024;
/// The most shapes of a response.
const MAX_LEARNED: usize = 16;
/// The most shapes that responses share.
const MAX_SHARED: usize = 64;
/// After this many misses, as with very many interleaved choices, only one event in this many is cached, and only the latest
/// shape is compared.
const MAX_MISSES: u32 = 16;

impl<P> ShapeCache<P> {
    pub(super) fn new(shared: Option<EventShapes>) -> Self {
        Self { latest: None, others: VecDeque::new(), misses: 0, unescaped: String::new(), shared }
    }
}

impl<P: Copy> ShapeCache<P> {
    /// Reads a word of each cache line that a matching event needs.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        if let Some(LearnedShape { prefix, first_text, .. }) = &self.latest {
            let ends = prefix.first().zip(prefix.last()).map_or(0, |(first, last)| first ^ last);
            hint::black_box(ends ^ u8::from(first_text.is_some()));
        }
        hint::black_box(self.unescaped.len());
    }

    /// Matches `data` against the cached shapes; returns its kind and its non-empty text.
    #[inline]
    pub(super) fn read<'a>(&'a mut self, event: &str, data: &'a str) -> Option<(P, &'a str)> {
        let text = match self.latest.as_ref()?.read(event, data) {
            Some(text) => text,
            None => self.read_other(event, data)?,
        };
        let latest = self.latest.as_ref()?;
        let kind = latest.kind;
        if latest.first_text.is_some() {
            self.share_latest(text);
        }
        self.misses = self.misses.saturating_sub(2);
        Some((kind, text.unescape_in(&mut self.unescaped)))
    }

    /// Matches it against all but the latest shape. The one that matches is the latest then.
    fn read_other<'a>(&mut self, event: &str, data: &'a str) -> Option<RawStr<'a>> {
        if self.misses > MAX_MISSES {
            return None;
        }
        let count = self.others.len();
        // Of several that take turns, the next one was used longest ago; if few of many still come, it was used last.
        let mut places = (0..count.min(1)).chain((1..count).rev());
        let (at, text) = places.find_map(|at| Some((at, self.others[at].read(event, data)?)))?;
        let found = self.others.remove(at)?;
        self.others.extend(self.latest.replace(found));
        Some(text)
    }

    /// Shares the latest shape once another text has it.
    #[cold]
    fn share_latest(&mut self, text: RawStr<'_>) {
        let Some(latest) = &mut self.latest else { return };
        if latest.first_text.as_deref() == Some(text.as_str()) {
            return;
        }
        latest.first_text = None;
        if let Some(shared) = &self.shared {
            shared.share(&mut latest.shape);
        }
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
        if value.document().len() > MAX_BYTES || value.repeated_name().is_some() {
            return;
        }
        let first_text = Some(value.document()[text.clone()].into());
        let (shape, prefix) = Shape::of(event, value, text, incidental);
        let prefix = value.document().as_bytes()[..prefix].into();
        // It is known if there were too many misses to compare it.
        self.others.retain(|other| *other.shape != shape);
        if self.others.len() == MAX_LEARNED - 1 {
            self.others.pop_front();
        }
        let learned = LearnedShape { shape: Arc::new(shape), prefix, first_text, kind };
        self.others.extend(self.latest.replace(learned));
    }

    /// Forgets the meaning of events: it may have changed.
    pub(super) fn clear(&mut self) {
        self.latest = None;
        self.others.clear();
    }
}

impl EventShapes {
    /// Replaces a shape with the equal one of other responses, or keeps it for them.
    fn share(&self, shape: &mut Arc<Shape>) {
        let mut shapes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shapes.iter().find(|known| *known == shape) {
            *shape = Arc::clone(known);
            return;
        }
        if shapes.len() == MAX_SHARED {
            shapes.pop_front();
        }
        shapes.push_back(Arc::clone(shape));
    }
}

impl<P> LearnedShape<P> {
    /// The text of the event, if it matches.
    #[inline]
    fn read<'a>(&self, event: &str, data: &'a str) -> Option<RawStr<'a>> {
        let Shape { event: name, slots, text, fixed } = &*self.shape;
        if data.len() > MAX_BYTES || event != &**name {
            return None;
        }
        let mut matching = Matching { fixed: fixed.as_bytes(), passed: 0, data, at: 0 };
        let before = &slots[..*text];
        if data.as_bytes().starts_with(&self.prefix) {
            matching.at = self.prefix.len();
            matching.passed = before.last().map_or(0, |slot| slot.at + 1);
        } else {
            before.iter().try_for_each(|slot| matching.pass(slot))?;
        }
        matching.pass_fixed(slots[*text].at)?;
        let found = RawStr::at_start(data.get(matching.at..)?).filter(|text| !text.is_empty())?;
        matching.at += found.len();
        slots[text + 1..].iter().try_for_each(|slot| matching.pass(slot))?;
        matching.pass_fixed(fixed.len())?;
        (matching.at == data.len()).then_some(found)
    }
}

/// An event that is matched against a shape.
struct Matching<'a> {
    fixed: &'a [u8],
    /// The length of the fixed text that was passed.
    passed: usize,
    data: &'a str,
    /// The length of the event that matches.
    at: usize,
}

impl Matching<'_> {
    /// Passes the fixed text up to this place.
    #[inline(always)]
    fn pass_fixed(&mut self, to: usize) -> Option<()> {
        let own = &self.fixed[self.passed..to];
        self.passed = to;
        let is_same = self.data.as_bytes().get(self.at..)?.starts_with(own);
        self.at += own.len();
        is_same.then_some(())
    }

    /// Passes a value without effect, and the fixed text before it.
    #[inline(always)]
    fn pass(&mut self, slot: &Slot) -> Option<()> {
        self.pass_fixed(slot.at)?;
        let rest = self.data.get(self.at..)?;
        self.at += if slot.is_string { RawStr::at_start(rest)?.len() } else { len_of_integer(rest)? };
        Some(())
    }
}

impl Shape {
    /// The shape of an event, and the length of its [prefix](LearnedShape::prefix).
    fn of(event: &str, value: Value<'_>, text: Range<usize>, incidental: &[&str]) -> (Self, usize) {
        let others = incidental.iter().filter_map(|pointer| value_of_slot(value.pointer(pointer)?));
        let mut places: Vec<(Range<usize>, bool)> = Vec::new();
        for place in others.chain([(text.clone(), true)]) {
            places.insert(places.partition_point(|(range, _)| range.start <= place.0.start), place);
        }
        let index = places.iter().position(|(range, _)| *range == text).expect("it is one of them");
        let data = value.document();
        let mut fixed = String::with_capacity(data.len());
        let (mut end, mut prefix) = (0, 0);
        let mut slots = Vec::with_capacity(places.len());
        for (range, is_string) in places {
            if range.start < text.start {
                prefix = range.end + 1;
            }
            fixed.push_str(&data[mem::replace(&mut end, range.end)..range.start]);
            slots.push(Slot { at: fixed.len(), is_string });
        }
        fixed.push_str(&data[end..]);
        (Self { event: event.into(), fixed: fixed.into(), slots: slots.into(), text: index }, prefix)
    }
}

/// Shows no data: it may be private.
impl<P> fmt::Debug for ShapeCache<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShapeCache").finish_non_exhaustive()
    }
}

/// Shows no data: it may be private.
impl fmt::Debug for EventShapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventShapes").finish_non_exhaustive()
    }
}

/// The range of a value without effect that may differ, and whether it is a string.
fn value_of_slot(value: Value<'_>) -> Option<(Range<usize>, bool)> {
    let range = value.range();
    match value.kind() {
        Kind::String => Some((range.start + 1..range.end - 1, true)),
        Kind::Number if len_of_integer(value.raw()) == Some(range.len()) => Some((range, false)),
        _ => None,
    }
}

/// The length of the unsigned integer at the start of `rest`. What follows is not checked.
#[inline]
fn len_of_integer(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    // A time stamp has ten digits.
    let eight = bytes.first_chunk().is_some_and(|eight| are_digits(u64::from_le_bytes(*eight)));
    let known = if eight { 8 } else { 0 };
    let len = known + bytes[known..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let has_leading_zero = len > 1 && rest.starts_with('0');
    (len > 0 && !has_leading_zero).then_some(len)
}

/// Whether each of eight bytes is a digit.
#[inline]
fn are_digits(bytes: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let values = bytes ^ (ONES * 0x30);
    // A value above 9 has a high bit, or gets one by the addition. No sum exceeds a byte.
    let sums = (values & (ONES * 0x0F)) + ONES * 0x06;
    (values | sums) & (ONES * 0xF0) == 0
}

#[cfg(test)]
mod tests {
    use tokenline_core::json::Parser;

    use super::*;

    const EVENT: &str = r#"{"t":17,"id":"a\"b","text":"one","n":0,"pad":"","end":[1.5]}"#;

    fn learned(event: &str, kind: u8) -> ShapeCache<u8> {
        let mut shapes = ShapeCache::new(None);
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
            (r#"{"t":171,"id":"a\"b","text":"two","n":0,"pad":"","end":[1.5]}"#, "two"),
            (r#"{"t":17,"id":"a\"bc","text":"two","n":0,"pad":"","end":[1.5]}"#, "two"),
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
    fn a_number_before_the_text_may_grow() {
        let event = |number: u32| format!(r#"{{"t":{number},"text":"one"}}"#);
        let mut shapes = learned(&event(1), 7);
        for number in [1, 2, 9, 10, 19, 100] {
            assert_eq!(shapes.read("message", &event(number)), Some((7, "one")), "{number}");
        }
    }

    #[test]
    fn the_digits_of_an_integer() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut bytes = *b"13579864";
                bytes[place] = byte;
                assert_eq!(are_digits(u64::from_le_bytes(bytes)), byte.is_ascii_digit(), "{byte} at {place}");
            }
        }
        for (text, len) in [("12345678", 8), ("1234567", 7), ("1795297487,", 10), ("0,", 1), ("1x345678", 1)]
        {
            assert_eq!(len_of_integer(text), Some(len), "{text}");
        }
        for text in ["", "x", "01", "0123456789", "-1"] {
            assert_eq!(len_of_integer(text), None, "{text}");
        }
    }

    #[test]
    fn the_latest_shapes_are_cached() {
        let event = |number: usize| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = ShapeCache::new(None);
        for number in 0..MAX_LEARNED {
            learn(&mut shapes, &event(number), number as u8);
        }
        let in_turn = (0..MAX_LEARNED).chain(0..MAX_LEARNED).chain([3, 3, 4, 0, 3]);
        for number in in_turn {
            assert_eq!(shapes.read("message", &event(number)), Some((number as u8, "one")));
        }
        // The one that matched longest ago is dropped.
        learn(&mut shapes, &event(99), 99);
        assert_eq!(shapes.read("message", &event(1)), None);
        for number in [0, 2, 3, 4, 99] {
            assert_eq!(shapes.read("message", &event(number)), Some((number as u8, "one")));
        }
        shapes.clear();
        assert_eq!(shapes.read("message", &event(0)), None);
    }

    #[test]
    fn shapes_that_take_turns_are_matched_second() {
        let event = |number: usize| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = ShapeCache::new(None);
        (0..8).for_each(|number| learn(&mut shapes, &event(number), number as u8));
        for number in (0..8).cycle().take(100) {
            let next = shapes.others.front().expect("others");
            assert!(next.read("message", &event(number)).is_some());
            assert!(shapes.read("message", &event(number)).is_some());
        }
    }

    #[test]
    fn few_events_are_cached_if_none_match() {
        let event = |number: u32| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = ShapeCache::new(None);
        let mut kept = 0;
        for number in 1..=MAX_MISSES * 100 {
            assert_eq!(shapes.read("message", &event(number)), None);
            learn(&mut shapes, &event(number), 7);
            let latest = shapes.latest.as_ref().expect("one was learned");
            kept += u32::from(latest.read("message", &event(number)).is_some());
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
    fn one_of_very_many_interleaved_shapes_is_cached() {
        let event = |number: u32| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = ShapeCache::new(None);
        let mut known = 0;
        for number in (0..20).cycle().take(20_000) {
            match shapes.read("message", &event(number)) {
                Some(_) => known += 1,
                None => learn(&mut shapes, &event(number), 7),
            }
        }
        assert!(known > 900, "{known}");
    }

    #[test]
    fn responses_share_shapes_but_not_their_meaning() {
        let shared = EventShapes::default();
        let mut all: Vec<ShapeCache<u8>> = (0..3).map(|_| ShapeCache::new(Some(shared.clone()))).collect();
        for (number, shapes) in all.iter_mut().enumerate() {
            let event = EVENT.replace("one", &format!("text {number}")).replace("17", &number.to_string());
            assert_eq!(shapes.read("message", &event), None);
            learn(shapes, &event, number as u8);
            assert_eq!(shapes.read("message", EVENT), Some((number as u8, "one")));
        }
        let shape = |at: usize| &all[at].latest.as_ref().expect("one was learned").shape;
        assert!(Arc::ptr_eq(shape(0), shape(1)) && Arc::ptr_eq(shape(0), shape(2)));
        assert_eq!(&*shape(0).fixed, r#"{"t":,"id":"","text":"","n":,"pad":"","end":[1.5]}"#);
    }

    #[test]
    fn shapes_with_a_text_are_not_shared() {
        let shared = EventShapes::default();
        let mut shapes = ShapeCache::new(Some(shared.clone()));
        let event = |text: &str| format!(r#"{{"text":"{text}","logprobs":[{{"token":"{text}"}}]}}"#);
        for text in ["one", "one", "two", "three", "one", "one"] {
            if shapes.read("message", &event(text)).is_none() {
                learn(&mut shapes, &event(text), 7);
            }
        }
        assert!(shared.0.lock().unwrap().is_empty());
    }

    #[test]
    fn few_shapes_are_shared() {
        let shared = EventShapes::default();
        for number in 0..3 * MAX_SHARED {
            let mut shapes = ShapeCache::new(Some(shared.clone()));
            let event = |text: &str| format!(r#"{{"x":{number},"text":"{text}"}}"#);
            learn(&mut shapes, &event("one"), 7);
            assert_eq!(shapes.read("message", &event("two")), Some((7, "two")));
        }
        assert_eq!(shared.0.lock().unwrap().len(), MAX_SHARED);
    }

    #[test]
    fn a_shape_is_learned_once() {
        let event = |number: u32| format!(r#"{{"x":{number},"text":"one"}}"#);
        let mut shapes = learned(&event(0), 7);
        for number in 1..=3 * MAX_MISSES {
            learn(&mut shapes, &event(number % 3), 7);
        }
        assert!(shapes.others.len() <= 3, "{}", shapes.others.len());
    }
}
