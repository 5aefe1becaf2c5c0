//! Events that say what one before them said, but for a text.
//!
//! Of an answer's events nearly all are the same around a few characters of text, so that most of the
//! time would go into reading what is known already. What an event was read as is therefore kept with
//! the event, and with the places where another may differ from it: the one text that is what came of
//! it, and values that nothing comes of, such as a time stamp. An event that differs nowhere else has
//! the same members, each of the same kind, and so is read as the same, with its own text.

use tokenline_core::json::{Kind, RawStr, Value};

/// The latest events that others may be like, and what they were read as. There are two, as calls may
/// come side by side, and text beside reasoning.
#[derive(Debug)]
pub(super) struct Templates<P> {
    templates: [Template<P>; 2],
    /// Which of them an event was last like, or made.
    latest: usize,
    /// Events that no other was like yet, since one was.
    in_vain: u32,
    unescaped: String,
}

#[derive(Debug)]
struct Template<P> {
    found: Option<P>,
    data: String,
    /// In the order of their places.
    holes: Vec<Hole>,
}

/// A place where events that are alike may differ.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: usize,
    end: usize,
    kind: HoleKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoleKind {
    /// The text that is what came of the event.
    Text,
    /// Another string.
    String,
    /// An integer without a sign.
    Integer,
}

/// Bytes of an event that is kept, or compared. It bounds the memory, and a larger event is not read
/// faster for it.
const MAX_BYTES: usize = 16 * 1024;
/// Where no event is like another, only one in so many is kept, after as many that all were.
const PATIENCE: u32 = 16;

impl<P> Default for Templates<P> {
    fn default() -> Self {
        let templates = [Template::default(), Template::default()];
        Self { templates, latest: 0, in_vain: 0, unescaped: String::new() }
    }
}

impl<P> Default for Template<P> {
    fn default() -> Self {
        Self { found: None, data: String::new(), holes: Vec::new() }
    }
}

impl<P: Copy> Templates<P> {
    /// What an event is read as that is like one before, and its text, which is not empty.
    #[inline]
    pub(super) fn read<'a>(&'a mut self, data: &'a str) -> Option<(P, &'a str)> {
        let (found, text) = match self.templates[self.latest].read(data) {
            Some(read) => read,
            None => {
                let read = self.templates[1 - self.latest].read(data)?;
                self.latest = 1 - self.latest;
                read
            }
        };
        self.in_vain = 0;
        Some((found, text.unescape_in(&mut self.unescaped)))
    }

    /// Keeps an event, a whole document, with what it was `found` to be: nothing else, and the same
    /// whatever state its decoder is in.
    ///
    /// The `text` is where what was found is from, and has to be a string. An event without text may
    /// be found to be something else. Of the `others`, values that nothing depends on, those count that
    /// are strings or integers without a sign.
    pub(super) fn learn<'v>(
        &mut self,
        found: P,
        text: Option<Value<'v>>,
        others: impl IntoIterator<Item = Option<Value<'v>>>,
    ) {
        let Some(text) = text else { return };
        self.in_vain = self.in_vain.saturating_add(1);
        let is_kept = self.in_vain <= PATIENCE || self.in_vain.is_multiple_of(PATIENCE);
        // Which member a repeated name is of, only its reader knows.
        if is_kept && text.document().len() <= MAX_BYTES && text.repeated_name().is_none() {
            self.latest = 1 - self.latest;
            self.templates[self.latest].learn(found, text, others.into_iter().flatten());
        }
    }
}

impl<P: Copy> Template<P> {
    /// What the event is read as, and its text, if it is like this one.
    #[inline]
    fn read<'a>(&self, data: &'a str) -> Option<(P, RawStr<'a>)> {
        let found = self.found?;
        if data.len() > MAX_BYTES {
            return None;
        }
        let (mut rest, mut at) = (data, 0);
        let mut text = None;
        for hole in &self.holes {
            rest = rest.strip_prefix(&self.data[at..hole.start])?;
            let len = match hole.kind {
                HoleKind::Text => text.insert(RawStr::at_start(rest)?).len(),
                HoleKind::String => RawStr::at_start(rest)?.len(),
                HoleKind::Integer => integer_len(rest)?,
            };
            rest = &rest[len..];
            at = hole.end;
        }
        let text = text.filter(|text| !text.is_empty() && *rest == self.data[at..])?;
        Some((found, text))
    }

    fn learn<'v>(&mut self, found: P, text: Value<'v>, others: impl Iterator<Item = Value<'v>>) {
        self.found = None;
        self.holes.clear();
        let Some(text_hole) = Hole::of(text, HoleKind::Text) else { return };
        self.holes.push(text_hole);
        self.holes.extend(others.filter_map(|value| Hole::of(value, HoleKind::String)));
        self.holes.sort_unstable_by_key(|hole| hole.start);
        self.data.clear();
        self.data.push_str(text.document());
        self.found = Some(found);
    }
}

impl Hole {
    fn of(value: Value<'_>, string: HoleKind) -> Option<Self> {
        let range = value.range();
        match value.as_number() {
            _ if value.kind() == Kind::String => {
                Some(Self { start: range.start + 1, end: range.end - 1, kind: string })
            }
            Some(number) if string != HoleKind::Text => {
                integer_len(number.as_str()).filter(|len| *len == range.len())?;
                Some(Self { start: range.start, end: range.end, kind: HoleKind::Integer })
            }
            _ => None,
        }
    }
}

/// The length of the integer without a sign that the document goes on with. What follows it is not
/// looked at.
#[inline]
fn integer_len(rest: &str) -> Option<usize> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let has_leading_zero = rest.starts_with('0') && len > 1;
    (len > 0 && !has_leading_zero).then_some(len)
}
