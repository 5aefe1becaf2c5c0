//! The random number generator of the corpora.

/// SplitMix64 (Steele, Lea and Flood, 2014): integers only, so the same on every machine.
pub struct Random(u64);

impl Random {
    /// A generator whose sequence is determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        // Multiply-shift; its bias of limit / 2^64 does not matter here.
        u64::try_from((u128::from(self.next()) * u128::from(limit)) >> 64)
            .expect("the high half of a product of two u64")
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let index = self.below(items.len() as u64);
        items[usize::try_from(index).expect("an index below a length")]
    }
}
