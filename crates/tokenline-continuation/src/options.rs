//! How a list or document is continued.

use crate::contexts::ContextOptions;
use crate::error::ContinuationError;
use crate::records::{Checkpoint, Progress};

/// How a list or document is continued, and how long.
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
    pub(crate) max_requests: u32,
    pub(crate) max_failures: u32,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) context_bytes: usize,
    pub(crate) overlap_bytes: usize,
    pub(crate) max_bytes: usize,
    pub(crate) continue_after_disconnect: bool,
    pub(crate) progress: Progress,
}

impl ContinuationOptions {
    /// At most 8 requests and 3 failures in a row, no limit on tokens, 4,096 bytes of context, a document of at most 64 MiB.
    /// Also continues after a broken connection.
    pub fn new() -> Self {
        Self {
            max_requests: 8,
            max_failures: 3,
            max_output_tokens: None,
            context_bytes: 4096,
            overlap_bytes: ContextOptions::default().overlap_bytes,
            max_bytes: 64 << 20,
            continue_after_disconnect: true,
            progress: Progress::default(),
        }
    }

    /// Continues the list of a checkpoint from this or another process. Use the same request, and set the options again:
    /// the checkpoint does not store them. A document has no checkpoint: [`DocumentContinuation::resume`] takes it as it is.
    ///
    /// [`DocumentContinuation::resume`]: crate::DocumentContinuation::resume
    pub fn resume(checkpoint: Checkpoint) -> Self {
        Self { progress: checkpoint.progress, ..Self::new() }
    }

    /// Sets the maximum number of requests, the first one and those before the [checkpoint](Self::resume) included. What
    /// a client sends again before a response begins is one request.
    pub fn max_requests(self, max_requests: u32) -> Self {
        Self { max_requests, ..self }
    }

    /// Sets after how many responses in a row without progress, at least 1, the list or document ends with an error.
    pub fn max_failures(self, max_failures: u32) -> Self {
        Self { max_failures, ..self }
    }

    /// Sets after how many output tokens, of all responses together, no further request is made. Only a provider that
    /// reports its usage is limited.
    pub fn max_output_tokens(self, tokens: u64) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    /// Sets how many bytes are quoted to the model: up to this many of a document; or of a list's last records, and as many of
    /// the record that was cut off. Those of a list are kept in memory and in checkpoints.
    pub fn context_bytes(self, context_bytes: usize) -> Self {
        Self { context_bytes, ..self }
    }

    /// Sets the length of the overlap, the end of a document that each response is asked to repeat: 200 bytes by default. It has
    /// at least 32 bytes besides white space, because a shorter text may occur elsewhere. For documents only.
    pub fn overlap_bytes(self, overlap_bytes: usize) -> Self {
        Self { overlap_bytes, ..self }
    }

    /// Sets the maximum length of a document plus the next response, in bytes. A longer response ends the document with an
    /// error, even if it only repeats text. For documents only: the length of a record is a
    /// [limit](tokenline_core::Limits::line_bytes) of the reading options.
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Sets whether a list or document is continued after a broken connection. If not, that is an error.
    pub fn continue_after_disconnect(self, continue_after_disconnect: bool) -> Self {
        Self { continue_after_disconnect, ..self }
    }
}

impl ContinuationOptions {
    /// Why no further request is made after so many requests and output tokens.
    pub(crate) fn limit_reached(&self, requests: u32, tokens: u64) -> Option<ContinuationError> {
        if requests >= self.max_requests {
            return Some(ContinuationError::TooManyRequests { requests });
        }
        let is_spent = self.max_output_tokens.is_some_and(|max| tokens >= max && requests > 0);
        is_spent.then_some(ContinuationError::TooManyTokens { tokens })
    }
}

impl Default for ContinuationOptions {
    fn default() -> Self {
        Self::new()
    }
}
