//! Where the value of a document begins, and whether it is one.

use std::ops::Range;

use tokenline_core::{Event, Limits, Options, RecordDecoder};

/// Finds the value with the core scanner, which tells data from prose, think blocks and fences. It stops where a value
/// opens, and continues from there once that value has ended.
#[derive(Debug)]
pub(super) struct Finder(RecordDecoder);

#[derive(Debug)]
pub(super) enum Found {
    /// No value is open.
    Nothing,
    /// A value has opened here. It may still prove to be prose.
    Open(usize),
    /// Whether the value that was known is one depends on what follows.
    Pending,
    /// The value here is whole.
    Whole(usize),
    /// A value was meant here, but is malformed.
    Rejected(usize),
}

impl Finder {
    pub(super) fn new() -> Self {
        let limits = Limits { line_bytes: usize::MAX, ..Limits::default() };
        Self(RecordDecoder::new(Options::lenient().whole_values(true).limits(limits)))
    }

    /// Reads on in `text`, of which it has read the beginning, up to the next thing found. Of the value that opens at the
    /// start of `known`, this much is known.
    pub(super) fn find(&mut self, text: &str, mut known: Option<Range<usize>>) -> Found {
        let bytes = text.as_bytes();
        loop {
            let at = self.0.position() as usize;
            let end = match &known {
                Some(known) if at < known.end => known.end.min(bytes.len()),
                // The byte that decides may make what was read text, with other values in it.
                Some(_) if at < bytes.len() => at + 1,
                _ => memchr::memchr2(b'{', b'[', &bytes[at..]).map_or(bytes.len(), |found| at + found + 1),
            };
            // Events first, up to `end`: what is open there must not depend on how many came before it.
            loop {
                match self.0.decode(&bytes[self.0.position() as usize..end]).event {
                    Some(Event::Record(record)) => return Found::Whole(record.span.start as usize),
                    Some(Event::Rejected(reject)) => return Found::Rejected(reject.span.start as usize),
                    Some(_) => {}
                    None => break,
                }
            }
            if let Some(start) = self.0.rejected_value() {
                return Found::Rejected(start as usize);
            }
            let is_known = |start| known.as_ref().is_some_and(|known| known.start == start);
            match self.0.open_value().map(|start| start as usize) {
                Some(start) if !is_known(start) => return Found::Open(start),
                Some(_) if end == bytes.len() => return Found::Pending,
                None if end == bytes.len() => return Found::Nothing,
                None => known = None,
                Some(_) => {}
            }
        }
    }

    /// The same again, as far as it has read the text.
    pub(super) fn again(&self, text: &str) -> Self {
        let (mut again, to) = (Self::new(), self.0.position() as usize);
        while again.0.decode(&text.as_bytes()[again.0.position() as usize..to]).event.is_some() {}
        again
    }

    pub(super) fn examined(&self) -> u64 {
        self.0.examined()
    }
}
