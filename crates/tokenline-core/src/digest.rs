//! Texts that are compared without being kept.

/// A digest to compare texts by: the length, and FNV-1a over the bytes. The same for the same bytes, however they are
/// added, and in all versions. No protection against made-up collisions.
///
/// ```
/// use tokenline_core::adapter::Digest;
///
/// let mut digest = Digest::of("Par");
/// digest.add("is");
/// assert!(digest == Digest::of("Paris") && digest.len() == 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    len: usize,
    hash: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self { len: 0, hash: 0xCBF2_9CE4_8422_2325 }
    }
}

impl Digest {
    /// The digest of a text.
    #[must_use]
    pub fn of(text: impl AsRef<[u8]>) -> Self {
        let mut digest = Self::default();
        digest.add(text);
        digest
    }

    /// Adds the next part of the text.
    pub fn add(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.len += text.len();
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        self.hash = text.iter().fold(self.hash, step);
    }

    /// The length of the text in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The hash of the text.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }
}
