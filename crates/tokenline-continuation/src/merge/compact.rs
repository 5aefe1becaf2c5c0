//! Text without the white space between its tokens, for comparing what is spaced otherwise.

use memchr::memchr2;

use super::seam::{Chance, borders, chance};
use crate::text::is_space;

/// Where a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    Tokens,
    String,
    /// Behind the backslash of an escape.
    Escape,
}

impl Within {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Tokens, b'"') | (Self::Escape, _) => Self::String,
            (Self::String, b'"') => Self::Tokens,
            (Self::String, b'\\') => Self::Escape,
            (within, _) => within,
        }
    }
}

/// The bytes that are no white space between tokens, and where each stands.
pub(super) struct Compact {
    bytes: Vec<u8>,
    places: Vec<(u32, Within)>,
}

impl Compact {
    /// Of `text`, whose first byte stands `within`.
    pub(super) fn new(text: &[u8], mut within: Within) -> Self {
        let mut bytes = Vec::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len());
        for (at, &byte) in text.iter().enumerate() {
            if within != Within::Tokens || !is_space(byte) {
                bytes.push(byte);
                places.push((at as u32, within));
            }
            within = within.after(byte);
        }
        Self { bytes, places }
    }

    /// Where `fragment` begins as `self` ends: the place in `self` from which on it is repeated, the place
    /// in the fragment behind that, and the period of what is repeated. Longest first.
    pub(super) fn overlaps<'a>(&'a self, fragment: &'a Self) -> impl Iterator<Item = Overlap> + 'a {
        let found = borders(&fragment.bytes, &self.bytes);
        found.into_iter().filter_map(|(len, period)| {
            let start = self.bytes.len() - len;
            let (base, within) = self.places[start];
            (within == fragment.places[0].1).then(|| Overlap {
                base: base as usize,
                fragment: fragment.places[len - 1].0 as usize + 1,
                chance: chance(&fragment.bytes, &self.bytes, len, period),
                len,
            })
        })
    }
}

pub(super) struct Overlap {
    pub(super) base: usize,
    pub(super) fragment: usize,
    pub(super) chance: Chance,
    /// Without white space.
    pub(super) len: usize,
}

/// How far two texts agree that both begin outside of strings, white space between tokens apart.
pub(super) struct Agreement {
    pub(super) base: usize,
    pub(super) fragment: usize,
    /// Bytes that agree.
    pub(super) len: usize,
    pub(super) in_string: bool,
}

pub(super) fn agreement(base: &[u8], fragment: &[u8]) -> Agreement {
    let (mut b, mut f, mut len) = (0, 0, 0);
    let mut within = Within::Tokens;
    loop {
        if within == Within::Tokens {
            b += base[b..].iter().take_while(|&&byte| is_space(byte)).count();
            f += fragment[f..].iter().take_while(|&&byte| is_space(byte)).count();
        }
        let (Some(&byte), Some(other)) = (base.get(b), fragment.get(f)) else { break };
        if byte != *other {
            break;
        }
        within = within.after(byte);
        (b, f, len) = (b + 1, f + 1, len + 1);
        if within == Within::String {
            let rest = &base[b..base.len().min(b + fragment.len() - f)];
            let run = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            let same = common_prefix(&rest[..run], &fragment[f..]);
            (b, f, len) = (b + same, f + same, len + same);
        }
    }
    Agreement { base: b, fragment: f, len, in_string: within != Within::Tokens }
}

/// How many bytes two texts have in common at their beginning.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 1024;
    let mut len = 0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        if a == b {
            len += a.len();
            continue;
        }
        return len + a.iter().zip(b).take_while(|(a, b)| a == b).count();
    }
    len
}
