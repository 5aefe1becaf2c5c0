//! Detects repeated ids without keeping them.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// A 128-bit hash of an id, with a new key for every validator: collisions cannot be prepared, and for ten billion ids
/// the probability of any is 1 in 10^18.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdHash(u64, u64);

impl IdHash {
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0_u8), RandomState::new().hash_one(1_u8))
    }

    /// Ids have the same hash wherever they are hashed with this key.
    pub(crate) fn with_key(key: u128) -> Self {
        Self((key >> 64) as u64, key as u64)
    }

    pub(crate) fn of(self, id: &str) -> u128 {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        hasher.write(id.as_bytes());
        hasher.finish128().as_u128()
    }
}

/// 16 bytes per id, plus a table overhead of 20 to a little over 100 percent.
pub(crate) type IdSet = HashSet<u128, BuildHasherDefault<Hashed>>;

/// A pass-through hasher for keys that are hashes.
#[derive(Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.0 ^= u64::from_le_bytes(word);
        }
    }

    fn write_u128(&mut self, id: u128) {
        self.0 = id as u64;
    }
}
