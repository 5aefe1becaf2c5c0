//! Ids told apart without keeping them.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};

use siphasher::sip128::{Hasher128 as _, SipHasher13};

/// 128 bits of an id, keyed anew for every validator: nobody can prepare two ids that pass for one, and among ten
/// billion the odds that any two do are one to 10^18.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdHash(u64, u64);

impl IdHash {
    pub(crate) fn new() -> Self {
        Self(RandomState::new().hash_one(0_u8), RandomState::new().hash_one(1_u8))
    }

    pub(crate) fn of(self, id: &str) -> u128 {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        hasher.write(id.as_bytes());
        hasher.finish128().as_u128()
    }
}

/// 16 bytes an id, and what the table takes besides: between a fifth of it and a little more than as much again.
pub(crate) type IdSet = HashSet<u128, BuildHasherDefault<Hashed>>;

/// For keys that are hashes.
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
