//! Random numbers, and parts of hostile texts; the same for the same seed.

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    #[allow(dead_code, reason = "a module shared by several test programs")]
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// The bytes in pieces of up to `most`.
    #[allow(dead_code, reason = "a module shared by several test programs")]
    pub(crate) fn pieces<'a>(&mut self, mut bytes: &'a [u8], most: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(1 + self.below(most)));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }

    /// True once in `times`.
    #[allow(dead_code, reason = "a module shared by several test programs")]
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Parts of values, prose, fences and tags for thinking.
#[allow(dead_code, reason = "a module shared by several test programs")]
pub(crate) const VALUE_PARTS: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"a\"",
    "\"a\":1",
    "1",
    "-",
    "12.5",
    "tru",
    "true",
    "null",
    " ",
    "  ",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "```",
    "```json\n",
    "\n```\n",
    "```py\n",
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "{\"a\":1}",
    "[1]",
    "[{\"a\":1}]",
    "[]",
    "{}",
    "- ",
    "1. ",
    "text ",
    "\u{feff}",
    "é",
    "\\",
    "{x}",
    "[see]",
    "{a: 1}",
    "[\n{\"a\":\n",
];
