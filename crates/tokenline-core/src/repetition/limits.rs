//! The number of copies that are a loop.

use super::kind::Kind;
use super::{Repeated, RepetitionDetector};

/// The copies and the bytes that make a repetition a loop. Both must be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionLimit {
    /// Fewest copies of the period. Less than [`MIN_COPIES`](Self::MIN_COPIES) is treated as `MIN_COPIES`.
    pub copies: u64,
    /// Fewest bytes of all copies. Less than [`MIN_BYTES`](Self::MIN_BYTES) is treated as `MIN_BYTES`.
    pub bytes: u64,
}

impl RepetitionLimit {
    /// The smallest limit of copies: three may be a refrain.
    pub const MIN_COPIES: u64 = 4;

    /// The smallest limit of bytes: shorter repetitions are ellipses and rules.
    pub const MIN_BYTES: u64 = 512;

    /// The limit of this many copies and bytes.
    #[must_use]
    pub const fn new(copies: u64, bytes: u64) -> Self {
        Self { copies, bytes }
    }

    /// The bytes of copies of `period` bytes that reach the limit.
    pub(super) fn bytes_of(self, period: u64) -> u64 {
        let copies = self.copies.max(Self::MIN_COPIES);
        copies.saturating_mul(period).max(self.bytes).max(Self::MIN_BYTES)
    }
}

/// The limits of repetition, each for a part of a response.
///
/// ```
/// use tokenline_core::{RepetitionLimit, RepetitionLimits};
///
/// // A model that may repeat itself while it thinks.
/// let limits = RepetitionLimits { reasoning: RepetitionLimit::new(8, 4096), ..RepetitionLimits::default() };
/// assert_eq!(limits.text, RepetitionLimit::new(4, 512));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionLimits {
    /// Text outside records and calls, by a period with words. 4 copies and 512 bytes by default.
    pub text: RepetitionLimit,
    /// Reasoning, by a period with words. 4 copies and 512 bytes by default.
    pub reasoning: RepetitionLimit,
    /// The arguments of one call, by a period with words. 4 copies and 512 bytes by default.
    pub arguments: RepetitionLimit,
    /// A period of rows with words, in any channel. 4 copies and 8 KiB by default.
    pub rows: RepetitionLimit,
    /// A period without words, in any channel. 64 copies and 8 KiB by default.
    pub without_words: RepetitionLimit,
    /// A period of white space, in any channel. 64 copies and 4 KiB by default.
    pub white_space: RepetitionLimit,
    /// Whole records or calls. 64 copies and 8 KiB by default.
    pub records: RepetitionLimit,
}

impl RepetitionLimits {
    /// The default limits.
    pub const DEFAULT: Self = Self {
        text: RepetitionLimit::new(4, 512),
        reasoning: RepetitionLimit::new(4, 512),
        arguments: RepetitionLimit::new(4, 512),
        rows: RepetitionLimit::new(4, 8 * 1024),
        without_words: RepetitionLimit::new(64, 8 * 1024),
        white_space: RepetitionLimit::new(64, 4 * 1024),
        records: RepetitionLimit::new(64, 8 * 1024),
    };

    /// A detector for one channel of bytes.
    #[must_use]
    pub fn detector(&self, of: Repeated) -> RepetitionDetector {
        RepetitionDetector::new(of, self)
    }

    /// The limit of a period of this kind.
    pub(super) fn of(&self, of: Repeated, kind: Kind) -> RepetitionLimit {
        match (kind, of) {
            (Kind::WhiteSpace, _) => self.white_space,
            (Kind::WithoutWords, _) => self.without_words,
            (Kind::Rows, _) => self.rows,
            (Kind::Words, Repeated::Reasoning) => self.reasoning,
            (Kind::Words, Repeated::Arguments) => self.arguments,
            (Kind::Words, Repeated::Text | Repeated::Records | Repeated::ToolCalls) => self.text,
        }
    }
}

impl Default for RepetitionLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
