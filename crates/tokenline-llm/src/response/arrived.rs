//! The texts that a provider repeats as a whole at their end, as far as they have arrived.

use std::collections::VecDeque;

use tokenline_core::adapter::Digest;

/// The texts of a choice, part by part.
#[derive(Default)]
pub(super) struct ArrivedTexts {
    /// The latest part is the last one.
    parts: VecDeque<Part>,
}

struct Part {
    block: u64,
    number: u64,
    /// Its text.
    text: Digest,
    /// Its text without the white space at its end.
    trimmed: Digest,
    /// The beginning of the text in which something was delivered.
    delivered: Digest,
    /// Its block has begun anew, and no other text has come.
    is_past: bool,
}

impl Part {
    fn new(block: u64, number: u64) -> Self {
        let empty = Digest::default();
        Self { block, number, text: empty, trimmed: empty, delivered: empty, is_past: false }
    }
}

/// How a whole text relates to what has arrived of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WholeText<'a> {
    /// It continues with this text, which may be empty.
    Rest(&'a str),
    /// It differs from text in which something was delivered.
    Late,
    /// It differs from the text after that.
    Contradicts,
}

/// The most parts that are remembered. Limits a server that invents parts: the oldest are forgotten.
const MAX_PARTS: usize = 1024;

/// The digest with more of the text. White space at its start is left out.
fn with(mut digest: Digest, text: &str) -> Digest {
    digest.add(if digest.is_empty() { text.trim_ascii_start() } else { text });
    digest
}

/// The rest of a text that begins with the one of this digest.
fn rest_of(digest: Digest, text: &str) -> Option<&str> {
    let (start, rest) = text.trim_ascii_start().split_at_checked(digest.len())?;
    (Digest::of(start) == digest).then_some(rest)
}

impl ArrivedTexts {
    /// Begins a part, or goes on with one.
    pub(super) fn begin(&mut self, block: u64, number: u64) {
        let known = self.parts.iter().position(|part| part.block == block && part.number == number);
        let part = known.and_then(|at| self.parts.remove(at));
        if self.parts.len() == MAX_PARTS {
            self.parts.pop_front();
        }
        self.parts.push_back(part.unwrap_or(Part::new(block, number)));
    }

    /// A block begins anew. Its text so far may only come again as a whole.
    pub(super) fn restart(&mut self, block: u64) {
        for part in self.parts.iter_mut().filter(|part| part.block == block) {
            part.is_past = true;
        }
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
    }

    fn latest(&mut self, block: u64) -> &mut Part {
        match self.parts.iter().rposition(|part| part.block == block) {
            Some(at) => &mut self.parts[at],
            None => {
                self.begin(block, 0);
                self.parts.back_mut().expect("it was added")
            }
        }
    }

    /// Adds a text. With `delivered`, something was delivered that ends after so many of its bytes, or before it.
    pub(super) fn add(&mut self, block: u64, text: &str, delivered: Option<usize>) {
        let part = self.latest(block);
        if part.is_past {
            *part = Part::new(block, part.number);
        }
        if let Some(start) = delivered.and_then(|len| text.get(..len)) {
            part.delivered = with(part.text, start);
        }
        let trimmed = text.trim_ascii_end();
        if !trimmed.is_empty() {
            part.trimmed = with(part.text, trimmed);
        }
        part.text = with(part.text, text);
    }

    /// Marks what has arrived of a block as delivered.
    pub(super) fn deliver(&mut self, block: u64) {
        let part = self.latest(block);
        if !part.is_past {
            part.delivered = part.text;
        }
    }

    /// Compares a whole text with what has arrived of it.
    pub(super) fn compare<'a>(&self, block: u64, number: u64, whole: &'a str) -> WholeText<'a> {
        let known = self.parts.iter().find(|part| part.block == block && part.number == number);
        let Some(part) = known.filter(|part| !part.text.is_empty()) else { return WholeText::Rest(whole) };
        match rest_of(part.text, whole) {
            Some(rest) if rest.is_empty() || !part.is_past || !part.delivered.is_empty() => {
                WholeText::Rest(rest)
            }
            // Some servers trim it.
            _ if rest_of(part.trimmed, whole) == Some("") => WholeText::Rest(""),
            _ if part.is_past => WholeText::Rest(whole),
            _ if rest_of(part.delivered, whole).is_some() => WholeText::Contradicts,
            _ => WholeText::Late,
        }
    }
}
