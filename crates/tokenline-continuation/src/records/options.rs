//! How a list of records is continued.

use super::Checkpoint;
use super::progress::Progress;

/// How a list of records is continued, and how long.
///
/// ```
/// use tokenline_continuation::ContinuationOptions;
///
/// let options = ContinuationOptions::new().max_requests(20).max_output_tokens(100_000);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct ContinuationOptions {
    pub(super) max_requests: u32,
    pub(super) max_failures: u32,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) context_bytes: usize,
    pub(super) continue_after_disconnect: bool,
    pub(super) progress: Progress,
}

impl ContinuationOptions {
    /// At most 8 requests and 3 failures in a row, no limit on tokens, 4,096 bytes of context. Also continues after a
    /// broken connection.
    pub fn new() -> Self {
        Self {
            max_requests: 8,
            max_failures: 3,
            max_output_tokens: None,
            context_bytes: 4096,
            continue_after_disconnect: true,
            progress: Progress::default(),
        }
    }

    /// Continues the list of a checkpoint from this or another process. Use the same request, and set the options again:
    /// the checkpoint does not store them.
    pub fn resume(checkpoint: Checkpoint) -> Self {
        Self { progress: checkpoint.progress, ..Self::new() }
    }

    /// Sets the maximum number of requests, the first one and those before the [checkpoint](Self::resume) included. What
    /// a client sends again before a response begins is one request.
    pub fn max_requests(self, max_requests: u32) -> Self {
        Self { max_requests, ..self }
    }

    /// Sets after how many continuations in a row that add nothing the list ends with an error.
    pub fn max_failures(self, max_failures: u32) -> Self {
        Self { max_failures, ..self }
    }

    /// Sets after how many output tokens, of all responses together, no further request is made. Only a provider that
    /// reports its usage is limited.
    pub fn max_output_tokens(self, tokens: u64) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    /// Sets how many bytes are quoted to the model: up to this many of the last records, and up to this many of the record
    /// that was cut off. They are kept in memory and in checkpoints.
    pub fn context_bytes(self, context_bytes: usize) -> Self {
        Self { context_bytes, ..self }
    }

    /// Sets whether a list is continued after a broken connection. If not, that is an error.
    pub fn continue_after_disconnect(self, continue_after_disconnect: bool) -> Self {
        Self { continue_after_disconnect, ..self }
    }
}

impl Default for ContinuationOptions {
    fn default() -> Self {
        Self::new()
    }
}
