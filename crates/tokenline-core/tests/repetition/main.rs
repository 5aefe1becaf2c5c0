//! Loops are found early, and nothing else is.
#![allow(clippy::disallowed_methods, reason = "texts are files")]

#[path = "../common/random.rs"]
mod random;

mod detector;
mod files;
mod loops;
mod no_loops;
mod records;
mod speed;
mod stops;

use tokenline_core::{Repeated, Repetition, RepetitionLimits};

/// The first loop in the bytes of a channel, in chunks of this many bytes.
fn find_in_chunks(of: Repeated, bytes: &[u8], chunk: usize) -> Option<Repetition> {
    let mut detector = RepetitionLimits::default().detector(of);
    bytes.chunks(chunk).find_map(|chunk| detector.push(chunk))
}

/// The first loop in the bytes of a channel, the same for several sizes of chunks.
#[track_caller]
fn find(of: Repeated, text: impl AsRef<[u8]>) -> Option<Repetition> {
    let bytes = text.as_ref();
    let found = find_in_chunks(of, bytes, usize::MAX);
    for chunk in [7, 128, 1000] {
        assert_eq!(find_in_chunks(of, bytes, chunk), found, "in chunks of {chunk}");
    }
    found
}
