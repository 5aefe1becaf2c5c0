//! How an answer is continued.

use super::Checkpoint;
use super::progress::Progress;

/// How an answer is continued, and how long.
///
/// ```
/// use tokenline_llm::ContinuationOptions;
///
/// let continuation = ContinuationOptions::new().max_requests(20).max_output_tokens(100_000);
/// # let _ = continuation;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "settings do nothing by themselves"]
pub struct ContinuationOptions {
    pub(super) max_requests: u32,
    pub(super) max_failures: u32,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) quote_bytes: usize,
    pub(super) after_breaks: bool,
    pub(super) progress: Progress,
}

impl ContinuationOptions {
    /// At most 8 requests, at most 3 failures in a row, no limit on tokens, 4,096 bytes quoted, and continued as well
    /// where the connection broke.
    pub fn new() -> Self {
        Self {
            max_requests: 8,
            max_failures: 3,
            max_output_tokens: None,
            quote_bytes: 4096,
            after_breaks: true,
            progress: Progress::default(),
        }
    }

    /// Goes on where another stream, of this process or another one, was: the first request is a continuation. The
    /// request and the options have to be the same.
    pub fn resume(checkpoint: Checkpoint) -> Self {
        Self { progress: checkpoint.into_progress(), ..Self::new() }
    }

    /// Sets how many requests are made at most, the first one among them, and those that were made before the
    /// [checkpoint](Self::resume). What the client sends again before an answer begins is one request.
    pub fn max_requests(self, max_requests: u32) -> Self {
        Self { max_requests, ..self }
    }

    /// Sets after how many continuations in a row that brought nothing new the stream ends with an error.
    pub fn max_failures(self, max_failures: u32) -> Self {
        Self { max_failures, ..self }
    }

    /// Sets the tokens, written in all answers together, after which no further request is made. What counts is what
    /// the provider tells; one that tells nothing is not limited.
    pub fn max_output_tokens(self, tokens: u64) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    /// Sets how much of the answer is quoted to the model, in bytes: the last records, and as much again of the
    /// beginning of the record that was cut off. That is kept in memory, and in checkpoints.
    ///
    /// If the last record alone is longer, the model is not asked to repeat it.
    pub fn quote_bytes(self, quote_bytes: usize) -> Self {
        Self { quote_bytes, ..self }
    }

    /// Sets whether an answer is continued if its connection broke, or closed before the provider's end. If not, that
    /// is an error.
    pub fn after_breaks(self, after_breaks: bool) -> Self {
        Self { after_breaks, ..self }
    }
}

impl Default for ContinuationOptions {
    fn default() -> Self {
        Self::new()
    }
}
