//! How a stream ended.

/// How a stream ended; the label and field `outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Complete,
    Incomplete,
    Failed,
    Dropped,
}

impl Outcome {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}
