//! Locates the value of a document.

use std::ops::Range;

use tokenline_core::{Event, Limits, Options, RecordDecoder};

/// Finds the value with the core scanner, which tells data from prose, think blocks and fences. It stops where a value
/// opens, and continues from there once that value has ended.
#[derive(Debug)]
pub(super) struct Finder(RecordDecoder);

/// The result of a search.
#[derive(Debug)]
pub(super) enum SearchResult {
    /// No value is open.
    Nothing,
    /// A value has opened here. It may still prove to be prose.
    Open(usize),
    /// Whether the known value is data or prose depends on what follows.
    Pending,
    /// The value here is complete.
    Whole(usize),
    /// The value here is malformed.
    Rejected(usize),
}

impl Finder {
    pub(super) fn new() -> Self {
        let limits = Limits { line_bytes: usize::MAX, ..Limits::default() };
        Self(RecordDecoder::new(Options::lenient().whole_values(true).limits(limits)))
    }

    /// Continues in `text`, of which it has read the beginning, up to the next result. The value at the start of
    /// `known` has been parsed up to its end.
    pub(super) fn find(&mut self, text: &str, mut known: Option<Range<usize>>) -> SearchResult {
        let bytes = text.as_bytes();
        loop {
            let at = self.0.position() as usize;
            let end = match &known {
                Some(known) if at < known.end => known.end.min(bytes.len()),
                // The next byte may turn the known value into prose, which may contain other values.
                Some(_) if at < bytes.len() => at + 1,
                _ => memchr::memchr2(b'{', b'[', &bytes[at..]).map_or(bytes.len(), |found| at + found + 1),
            };
            // Take all events up to `end` first: `open_value` must not depend on how many there were.
            loop {
                match self.0.decode(&bytes[self.0.position() as usize..end]).event {
                    Some(Event::Record(record)) => return SearchResult::Whole(record.span.start as usize),
                    Some(Event::Rejected(reject)) => {
                        return SearchResult::Rejected(reject.span.start as usize);
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            if let Some(start) = self.0.rejected_value() {
                return SearchResult::Rejected(start as usize);
            }
            let is_known = |start| known.as_ref().is_some_and(|known| known.start == start);
            match self.0.open_value().map(|start| start as usize) {
                Some(start) if !is_known(start) => return SearchResult::Open(start),
                Some(_) if end == bytes.len() => return SearchResult::Pending,
                None if end == bytes.len() => return SearchResult::Nothing,
                None => known = None,
                Some(_) => {}
            }
        }
    }

    /// A new finder that has read as much of the text as this one.
    pub(super) fn replayed(&self, text: &str) -> Self {
        let (mut finder, to) = (Self::new(), self.0.position() as usize);
        while finder.0.decode(&text.as_bytes()[finder.0.position() as usize..to]).event.is_some() {}
        finder
    }

    pub(super) fn examined(&self) -> u64 {
        self.0.examined()
    }
}
