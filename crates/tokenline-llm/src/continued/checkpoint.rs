//! Where a continued answer is, to be saved.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::progress::Progress;

/// Where a continued answer is: enough to go on in another process, with
/// [`ContinuationOptions::resume`](super::ContinuationOptions::resume).
///
/// It holds the last records and the beginning of the open one, and of all others no more than fingerprints; that is
/// up to the [bytes quoted](super::ContinuationOptions::quote_bytes), and the open record. Its fields are not for reading:
/// serialize it. One taken between two records is good for exactly what comes after the first of them.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    version: Version,
    #[serde(flatten)]
    progress: Progress,
}

/// The form that a checkpoint is written in. Another one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Version {
    #[serde(rename = "1")]
    First,
}

impl Checkpoint {
    pub(super) fn new(progress: Progress) -> Self {
        Self { version: Version::First, progress }
    }

    pub(super) fn into_progress(self) -> Progress {
        self.progress
    }

    /// Records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.progress.records
    }

    /// Requests made.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.progress.requests
    }

    /// How far the answer has been delivered: bytes of its text up to the end of the last record, without what
    /// responses repeated.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.progress.offset
    }

    /// Whether the answer has come to its end: then there is nothing to go on with.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.progress.is_done
    }
}

/// Without the text.
impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("records", &self.records())
            .field("requests", &self.requests())
            .field("offset", &self.offset())
            .field("is_done", &self.is_done())
            .finish_non_exhaustive()
    }
}
