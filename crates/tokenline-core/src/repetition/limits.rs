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

/// The limits of repetition. A response that reaches one is in a loop.
///
/// ```
/// use tokenline_core::{RepetitionLimit, RepetitionLimits};
///
/// // For a model that repeats itself while it thinks.
/// let limits = RepetitionLimits { reasoning: RepetitionLimit::new(8, 4096), ..RepetitionLimits::default() };
/// assert_eq!(limits.text, RepetitionLimit::new(4, 512));
/// ```
///
/// # Loops of bytes
///
/// A channel is the text between records and that of an open record, the reasoning, or the arguments of one call. A loop is at its end: the
/// smallest period of the last bytes, from 1 byte to [8 KiB](crate::adapter::RepetitionDetector::MAX_PERIOD). Only exact
/// copies count, never shapes, because rows of one shape are the normal case of a stream of records. The content of the
/// period decides which limit holds:
///
/// | a period | is a loop from | because |
/// |---|---|---|
/// | with words | 4 copies and 512 bytes | refrains are shorter |
/// | of rows, with words | 4 copies and 8 KiB | tables and lists of data have equal rows |
/// | without words | 64 copies and 8 KiB | tables of zeros, rules, encoded data and drawings |
/// | of white space | 64 copies and 4 KiB | blank pages; constrained models get stuck in white space |
///
/// - **Words** are letters that are not ASCII, such as one Chinese character, and tokens of ASCII letters and digits with
///   two different letters. Three kinds of tokens are not words: those that begin with a digit, such as `0xff`; `null`,
///   `true`, `false`, `none`, `nan` and `n/a`; and those with a capital or a digit that are longer than 32 bytes, such as
///   base64. Emoji, digits and punctuation are not words.
/// - **Rows** have the marks of JSON (`":`, `"}`, `"]`, `","`) or of markup (`</`, `/>`), or each of their lines is a row.
///   Such a line begins with `|` or with a box drawing, is in braces or brackets, has a tab, has a comma or a semicolon
///   that no white space follows, or is an item of a list in code, such as `Point::default(),`.
/// - Arguments are JSON: an escape in them counts as the character that it stands for.
///
/// The text of a record counts as text until the record is complete. Loops that drift are not found, such as those with a
/// counter.
///
/// # Loops of records and calls
///
/// Equal records or calls in a row, or in a cycle of up to
/// [32](crate::adapter::RecordRepetitionDetector::MAX_CYCLE), are a loop from 64 copies of the cycle and 8 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepetitionLimits {
    /// Text between records, and of an open record, by a period with words. 4 copies and 512 bytes by default.
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
