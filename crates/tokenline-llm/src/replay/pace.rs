//! Chunking and pacing of a body.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// How a body is split into pieces, and the delay between them.
///
/// The default is the complete body at once. Each piece is one HTTP chunk, written by itself; the network may still
/// join or split them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Where the body is split.
    pub chunking: Chunking,
    /// The delay before each piece except the first.
    pub delay: Duration,
}

impl Pace {
    /// One event at a time, without delay.
    #[must_use]
    pub fn events() -> Self {
        Self::from(Chunking::Events)
    }

    /// Sets the delay before each piece except the first.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl From<Chunking> for Pace {
    fn from(chunking: Chunking) -> Self {
        Self { chunking, delay: Duration::ZERO }
    }
}

/// Where a body is split into pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunking {
    /// Not at all.
    #[default]
    Whole,
    /// After this many bytes.
    Bytes(NonZeroUsize),
    /// After each event: in server-sent events after each blank line (LF, CRLF or CR), in NDJSON after each line.
    Events,
}

/// A gate that passes one piece per permit, so that a test controls when the next piece is sent.
///
/// Clones share their permits, and so do all responses of a recording [with the gate](super::Recording::gate). The end
/// of the body needs no permit: it follows the last piece.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Adds permits for this many pieces.
    ///
    /// # Panics
    ///
    /// If more than `usize::MAX >> 3` permits are waiting to be used.
    pub fn release(&self, pieces: usize) {
        self.0.add_permits(pieces);
    }

    /// Lets everything pass from now on.
    pub fn open(&self) {
        self.0.close();
    }

    pub(super) async fn pass(&self) {
        // An error means that the gate is permanently open.
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// The length in bytes of the first event in `rest`, including its end; all of `rest` if no event ends in it.
///
/// `rest` starts at the start of a line.
pub(super) fn first_event(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(content) = rest[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        let end = at + content;
        let next = match &rest[end..] {
            [b'\r', b'\n', ..] => end + 2,
            _ => end + 1,
        };
        if content == 0 {
            return next;
        }
        at = next;
    }
    rest.len()
}

/// The length in bytes of the first line in `rest`, including its LF.
pub(super) fn first_line(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(mut rest: &[u8], first: fn(&[u8]) -> usize) -> Vec<&str> {
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at(first(rest));
            pieces.push(std::str::from_utf8(piece).expect("the input is ASCII"));
            rest = tail;
        }
        pieces
    }

    #[test]
    fn events_end_after_their_blank_line_whatever_the_line_end() {
        for end in ["\n", "\r\n", "\r"] {
            let [first, second, open] =
                ["event: x;data: 1;;", ": alive;;", "data: 2;"].map(|text| text.replace(';', end));
            let body = format!("{first}{second}{open}");
            assert_eq!(pieces(body.as_bytes(), first_event), [first, second, open], "{end:?}");
        }
    }

    #[test]
    fn a_second_blank_line_is_a_piece_of_its_own() {
        assert_eq!(pieces(b"a\n\n\nb\n\n", first_event), ["a\n\n", "\n", "b\n\n"]);
    }

    #[test]
    fn lines_keep_their_end() {
        assert_eq!(pieces(b"{}\r\n{}\n{", first_line), ["{}\r\n", "{}\n", "{"]);
    }
}
