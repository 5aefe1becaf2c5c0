//! Finds the openers of several formats in a text.

use std::sync::Arc;

use super::prefixes::Prefixes;
use super::scan::{Firsts, MAX_NAME, is_name};
use super::{MarkerPair, Opener, ToolCallFormat};

/// The openers of several formats, searched for together.
///
/// They are sorted: those that begin with the bytes read so far are a range, which each byte narrows.
#[derive(Clone, Debug)]
pub struct Openers {
    texts: Vec<OpenerText>,
    /// Formats whose calls begin with a name at the start of a line, and what stands before and after the name.
    names: Vec<(usize, &'static str, &'static str)>,
    /// The markers that come in pairs. Their closers are among the texts.
    pairs: Vec<MarkerPair>,
    /// The first bytes of the texts, and the newline if lines matter.
    firsts: Firsts,
    /// Where a text may begin, or a value, or where a line ends.
    stops: Prefixes,
}

#[derive(Clone, Debug)]
struct OpenerText {
    text: String,
    /// The common part of openers of the same kind; see [`word`].
    word: String,
    /// The index of its format; `None` for a closing marker.
    format: Option<usize>,
}

impl Default for Openers {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            names: Vec::new(),
            pairs: Vec::new(),
            firsts: Firsts::of([]),
            stops: Prefixes::of([]),
        }
    }
}

/// The result of [`Openers::find`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenerMatch {
    /// No opener.
    None,
    /// The text ends in what may become an opener.
    Partial {
        /// Its offset.
        at: usize,
    },
    /// One or more openers; [`Openers::formats_at`] lists their formats.
    At {
        /// Its offset.
        at: usize,
    },
}

impl Openers {
    /// The openers of these formats, identified by their indices.
    #[must_use]
    pub fn new<'f>(formats: impl IntoIterator<Item = (usize, &'f Arc<dyn ToolCallFormat>)>) -> Self {
        let mut openers = Self::default();
        for (index, format) in formats {
            for opener in format.openers() {
                match opener {
                    Opener::Text(text) if text.is_empty() => {}
                    Opener::Text(text) => openers.add(text.into_owned(), Some(index)),
                    Opener::NameAtLineStart => openers.names.push((index, "", "(")),
                    Opener::NameAboveObject => openers.names.push((index, "", "\n{")),
                    Opener::NameInTag => openers.names.push((index, "<", ">")),
                }
            }
            openers.pairs.extend(format.pairs());
        }
        openers.add_closers();
        let texts = openers.texts.iter().map(|opener| opener.text.as_bytes()[0]);
        openers.firsts = Firsts::of(texts.chain((!openers.names.is_empty()).then_some(b'\n')));
        let texts = openers.texts.iter().map(|opener| opener.text.as_str());
        openers.stops = Prefixes::of(["{", "[", "\n"].into_iter().chain(texts));
        openers
    }

    /// Adds a text where it belongs, after those that are the same: formats keep their order.
    fn add(&mut self, text: String, format: Option<usize>) {
        let at = self.texts.partition_point(|opener| opener.text <= text);
        self.texts.insert(at, OpenerText { word: word(&text).to_owned(), text, format });
    }

    fn add_closers(&mut self) {
        for at in 0..self.pairs.len() {
            let close = &self.pairs[at].close;
            if self.texts.iter().all(|opener| opener.text != *close) {
                self.add(close.clone(), None);
            }
        }
    }

    /// Whether there are no openers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Whether an opener may begin with this byte. `is_line_start`: only white space stands before it on its
    /// line.
    pub(crate) fn may_begin(&self, byte: u8, is_line_start: bool) -> bool {
        (byte != b'\n' && self.firsts.contains(byte))
            || (is_line_start && self.names.iter().any(|(_, before, _)| begins_name(byte, before)))
    }

    /// The position of the next byte that may begin an opener or a value, or that ends a line. Leaves out names at the start of a
    /// line.
    pub(crate) fn next_stop(&self, bytes: &[u8]) -> Option<usize> {
        self.stops.find(bytes)
    }

    /// Finds the first opener in `text` from `from` on. `is_line_start`: only white space stands before
    /// `from` on its line. `is_end`: no further text follows.
    ///
    /// Examines every byte once if the next call begins where this one [stopped](OpenerMatch): at the end of
    /// the text, or at the match.
    #[must_use]
    pub fn find(&self, text: &str, from: usize, mut is_line_start: bool, is_end: bool) -> OpenerMatch {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            if is_line_start && !self.names.is_empty() {
                let blanks = bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
                let name = at + blanks.count();
                match self.name_at(&bytes[name..]) {
                    Some(true) => return OpenerMatch::At { at: name },
                    None if !is_end => return OpenerMatch::Partial { at: name },
                    _ => {}
                }
            }
            let Some(found) = self.firsts.find(&bytes[at..]) else { return OpenerMatch::None };
            at += found;
            is_line_start = bytes[at] == b'\n';
            match self.text_at(&bytes[at..]) {
                _ if is_line_start => {}
                None if !is_end => return OpenerMatch::Partial { at },
                None | Some(false) => {}
                Some(true) if self.opens(&text[at..]) => return OpenerMatch::At { at },
                Some(true) => {}
            }
            // At the end, a shorter one counts.
            if is_end && !is_line_start && self.opens(&text[at..]) {
                return OpenerMatch::At { at };
            }
            at += 1;
        }
    }

    /// Whether an opener begins the text.
    /// Closing markers count as well.
    pub(crate) fn begins(&self, text: &str, is_line_start: bool, is_end: bool) -> OpenerMatch {
        let bytes = text.as_bytes();
        let name = if is_line_start { self.name_at(bytes) } else { Some(false) };
        match (self.text_at(bytes), name) {
            (None, _) | (_, None) if !is_end => OpenerMatch::Partial { at: 0 },
            (Some(true), _) | (_, Some(true)) => OpenerMatch::At { at: 0 },
            _ if self.texts_at(bytes).next().is_some() => OpenerMatch::At { at: 0 },
            _ => OpenerMatch::None,
        }
    }

    /// Whether a text begins here; `None` if a longer one may.
    fn text_at(&self, bytes: &[u8]) -> Option<bool> {
        let mut range = &self.texts[..];
        let mut is_found = false;
        for (index, byte) in bytes.iter().enumerate() {
            // They are sorted, so these are all the same.
            if let [OpenerText { text, .. }, .., last] | [last @ OpenerText { text, .. }] = range
                && *text == last.text
            {
                let (text, rest) = (&text.as_bytes()[index..], &bytes[index..]);
                return if rest.len() >= text.len() {
                    Some(is_found || rest.starts_with(text))
                } else if text.starts_with(rest) {
                    None
                } else {
                    Some(is_found)
                };
            }
            let at = |opener: &OpenerText| opener.text.as_bytes().get(index).copied();
            let start = range.partition_point(|opener| at(opener) < Some(*byte));
            let len = range[start..].partition_point(|opener| at(opener) == Some(*byte));
            range = &range[start..start + len];
            if range.is_empty() {
                return Some(is_found);
            }
            is_found |= range[0].text.len() == index + 1;
            if range.iter().all(|opener| opener.text.len() == index + 1) {
                return Some(is_found);
            }
        }
        None
    }

    /// The texts that begin here.
    fn texts_at(&self, bytes: &[u8]) -> impl DoubleEndedIterator<Item = &OpenerText> {
        // A prefix is sorted before what it is a prefix of.
        let first = bytes.first().copied();
        let start = self.texts.partition_point(|opener| opener.text.bytes().next() < first);
        let len = self.texts[start..].partition_point(|opener| opener.text.bytes().next() == first);
        self.texts[start..start + len].iter().filter(move |opener| bytes.starts_with(opener.text.as_bytes()))
    }

    /// Whether a name begins here, with what follows it.
    fn name_at(&self, bytes: &[u8]) -> Option<bool> {
        let mut is_open = false;
        for (_, before, after) in &self.names {
            match name_between(bytes, before, after) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => is_open = true,
            }
        }
        if is_open { None } else { Some(false) }
    }

    /// The formats with an opener at the start of `rest`, the text from a [match](OpenerMatch::At) on, in the
    /// order in which to try them: those with the longest opener first. A format may occur twice.
    #[must_use]
    pub fn formats_at(&self, rest: &str, is_line_start: bool) -> Vec<usize> {
        self.formats_of(rest, is_line_start, |_, _| true)
    }

    /// Like [`formats_at`](Self::formats_at); a format that begins with a name only if `is_opener` says so of
    /// it and the name.
    pub(super) fn formats_of(
        &self,
        rest: &str,
        is_line_start: bool,
        is_opener: impl Fn(usize, &str) -> bool,
    ) -> Vec<usize> {
        let mut found: Vec<&OpenerText> = Vec::new();
        for opener in self.texts_at(rest.as_bytes()) {
            let at = found.partition_point(|longer| longer.text.len() >= opener.text.len());
            found.insert(at, opener);
        }
        let names = self.names.iter().filter(|(index, before, after)| {
            is_line_start
                && name_between(rest.as_bytes(), before, after) == Some(true)
                && rest[before.len()..].split_once(after).is_some_and(|(name, _)| is_opener(*index, name))
        });
        found.iter().filter_map(|opener| opener.format).chain(names.map(|(index, ..)| *index)).collect()
    }

    /// The pairs of markers whose opener begins `rest`; of several openers, the longest.
    pub(crate) fn pairs_at(&self, rest: &str) -> impl Iterator<Item = &MarkerPair> {
        let longest =
            self.pairs.iter().filter(|pair| rest.starts_with(&pair.open)).map(|pair| pair.open.len()).max();
        self.pairs.iter().filter(move |pair| longest == Some(pair.open.len()) && rest.starts_with(&pair.open))
    }

    /// Whether a text that opens a call, or a run of calls, begins here.
    pub(crate) fn opens(&self, rest: &str) -> bool {
        self.texts_at(rest.as_bytes()).any(|opener| opener.format.is_some())
    }

    /// Whether a text that opens a call begins with all of `rest`.
    pub(crate) fn may_open(&self, rest: &str) -> bool {
        self.text_at(rest.as_bytes()).is_none()
    }

    /// The [`word`] of the opener that a text begins with.
    pub(crate) fn word_at(&self, rest: &str) -> &str {
        self.texts_at(rest.as_bytes()).next_back().map_or("", |opener| &opener.word)
    }

    /// Whether an opener with this first word begins here. `None` if more text is needed.
    pub(crate) fn begins_with(&self, rest: &str, of: &str) -> Option<bool> {
        if !rest.starts_with(of) && !of.starts_with(rest) {
            return Some(false);
        }
        let texts = self.texts.iter().filter(|opener| opener.format.is_some() && opener.word == of);
        let mut texts = texts.map(|opener| opener.text.as_str());
        if texts.clone().any(|text| rest.starts_with(text)) {
            return Some(true);
        }
        if texts.any(|text| text.starts_with(rest)) { None } else { Some(false) }
    }
}

/// The opener before the name or the end of its tag: `<function` of `<function=` and `<function name=`. Empty for
/// a bracket alone.
fn word(opener: &str) -> &str {
    let end = ["=", ">", " name"].iter().filter_map(|end| opener.find(end)).min();
    let word = &opener[..end.unwrap_or(opener.len())];
    if word.bytes().all(|byte| byte.is_ascii_punctuation()) { "" } else { word }
}

/// Whether a name with this before it may begin with the byte.
fn begins_name(byte: u8, before: &str) -> bool {
    before.bytes().next().map_or_else(|| is_name(byte), |first| first == byte)
}

/// Whether a name stands here, between these texts; `None` if more text is needed.
fn name_between(bytes: &[u8], before: &str, next: &str) -> Option<bool> {
    let Some(bytes) = bytes.strip_prefix(before.as_bytes()) else { return Some(false) };
    if bytes.is_empty() && !before.is_empty() {
        return None;
    }
    if !bytes.first().is_none_or(|first| *first == b'_' || first.is_ascii_alphabetic() || !first.is_ascii()) {
        return Some(false);
    }
    let len = bytes.iter().take(MAX_NAME + 1).take_while(|byte| is_name(**byte)).count();
    // A blank line may continue; there is nothing to hold back yet.
    if len == 0 || len > MAX_NAME {
        return Some(false);
    }
    let rest = &bytes[len..];
    if rest.starts_with(next.as_bytes()) {
        return Some(true);
    }
    if next.as_bytes().starts_with(rest) { None } else { Some(false) }
}
