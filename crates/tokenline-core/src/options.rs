//! What a record parser is told before it starts.

use crate::{Emit, Limits, Mode};

/// How a [`JsonlParser`](crate::JsonlParser) reads.
///
/// ```
/// use tokenline_core::{Emit, Options};
///
/// let options = Options::lenient().emit(Emit::Eager);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How forgiving it is.
    pub mode: Mode,
    /// When a record is released.
    pub emit: Emit,
    /// Caps on memory.
    pub limits: Limits,
}

impl Options {
    /// Reads what models write around JSON Lines: fences, prose, blank lines, a comma after a record,
    /// several records on a line. The default.
    ///
    /// A record stands on one line: an object over several lines, or one inside an array, is not
    /// delivered but reported.
    #[must_use]
    pub fn lenient() -> Self {
        Self::default()
    }

    /// Reads JSON Lines and nothing else: each line that is not blank is one object.
    #[must_use]
    pub fn strict() -> Self {
        Self { mode: Mode::Strict, ..Self::default() }
    }

    /// Sets when a record is released.
    #[must_use]
    pub fn emit(mut self, emit: Emit) -> Self {
        self.emit = emit;
        self
    }

    /// Sets the caps on memory.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
