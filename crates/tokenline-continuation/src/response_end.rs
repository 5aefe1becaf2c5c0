//! How a response ended.

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The model stopped by itself. If the text ends inside a value, it is incomplete nevertheless.
    Clean,
    /// At a limit.
    Cut,
    /// The connection broke, or closed before the provider's end, or the provider reported an error.
    Broken,
}
