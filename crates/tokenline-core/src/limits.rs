//! Caps on the memory that hostile or broken input can make a decoder hold.

/// Caps that keep memory bounded for any input. All are finite by default.
///
/// ```
/// use tokenline_core::Limits;
///
/// let limits = Limits { line_bytes: 64 * 1024, ..Limits::default() };
/// assert_eq!(limits.depth, 127);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest line or open record, in bytes without its line ending.
    ///
    /// A longer one yields one diagnostic and is discarded up to the next line. Values above 2 GiB are
    /// treated as 2 GiB, because positions inside a record are 32 bits wide.
    pub line_bytes: usize,
    /// Deepest nesting, in containers. Defaults to serde_json's limit. More than [`Limits::MAX_DEPTH`] is
    /// treated as `MAX_DEPTH`: parsing does not recurse, but reading a document into a type does.
    pub depth: usize,
    /// Longest line of a server-sent event stream, in bytes.
    pub sse_line_bytes: usize,
    /// Most `data` bytes of one server-sent event.
    pub sse_event_bytes: usize,
    /// Most steps of the search for a pattern with look-around or a back-reference, for one text. All other patterns
    /// are matched in linear time. A text for which the steps are not enough makes its record a reject. A step may read
    /// all of the text: on texts longer than 1 KiB, the steps are a quarter as many, above 4 KiB a sixteenth, and so on.
    /// All texts of a record together may take 16 times these steps.
    pub pattern_steps: usize,
    /// Most diagnostics that a [`Report`](crate::Report) keeps; the rest are counted.
    pub diagnostics: usize,
}

impl Limits {
    /// The default caps: 8 MiB per line, 127 containers, 16 MiB per SSE line and event, 1,000,000 steps for a pattern,
    /// 1,000 diagnostics.
    pub const DEFAULT: Self = Self {
        line_bytes: 8 * 1024 * 1024,
        depth: 127,
        sse_line_bytes: 16 * 1024 * 1024,
        sse_event_bytes: 16 * 1024 * 1024,
        pattern_steps: 1_000_000,
        diagnostics: 1_000,
    };

    /// The deepest nesting that [`depth`](Self::depth) can allow, 1,024 containers. Reading such a document
    /// into a type fits the 2 MiB stack of a spawned thread, even in a debug build.
    pub const MAX_DEPTH: usize = 1_024;

    /// The line cap as the decoders apply it.
    pub(crate) fn effective_line_bytes(&self) -> u64 {
        (self.line_bytes as u64).min(1 << 31)
    }

    /// The depth cap as the parser applies it.
    pub(crate) fn effective_depth(&self) -> u32 {
        self.depth.min(Self::MAX_DEPTH) as u32
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
