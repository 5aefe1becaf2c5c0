//! How much the long tests try: by default a sample, in full with `TOKENLINE_EXHAUSTIVE=1`; and how many random cases.
#![allow(dead_code, reason = "a module shared by several test programs, each uses a part")]

use std::env;
use std::str::FromStr;

/// The number of random cases: `TOKENLINE_CASES`, or this default.
pub(crate) fn cases<N: FromStr>(default: N) -> N {
    env::var("TOKENLINE_CASES").map_or(default, |cases| {
        cases.parse().unwrap_or_else(|_| panic!("TOKENLINE_CASES is a number of cases"))
    })
}

/// Whether exhaustive loops try everything.
pub(crate) fn is_exhaustive() -> bool {
    env::var_os("TOKENLINE_EXHAUSTIVE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// One of so many is tried: 1 if loops are exhaustive, otherwise `sampled`.
pub(crate) fn stride(sampled: usize) -> usize {
    if is_exhaustive() { 1 } else { sampled.max(1) }
}

/// The positions in a text of this length that are tried: all in a short text or if loops are exhaustive, otherwise about
/// `most`, one in each part of the text, at a place that differs from part to part and with the length.
pub(crate) fn positions(len: usize, most: usize) -> impl Iterator<Item = usize> + Clone {
    let stride = stride(len.div_ceil(most));
    let place = move |part: usize| (part + len).wrapping_mul(0x9E37_79B1) / 7 % stride;
    (0..=len).step_by(stride).enumerate().map(move |(part, start)| (start + place(part)).min(len))
}
