//! Answers that were cut off, continued: each record once, in order, however many responses it takes.
//!
//! [`RecordContinuation`] is the machine, sans-IO; with the feature `client`, `ContinuedRecords` puts it behind a
//! client. A response that was cut is followed by a request that quotes its end and asks the model to repeat the last
//! record, the anchor, and to go on from there. What a model does then is another matter. At the head of each response
//! it is decided, in this order, what it repeats:
//!
//! - the anchor: one record is skipped. Of many equal records that is the only reading that keeps their number;
//! - several of the last eight records, in order, up to the last: they are skipped;
//! - the answer from its beginning: records are skipped until as many have come as were delivered, and only if they
//!   are, all together, those that were delivered. An answer whose first record is also its last cannot be known so;
//! - nothing, and it goes on inside the cut record: its two halves are joined, if there is one way to do so;
//! - nothing: the next record is new. If one was cut off, it has to begin as that did, or to stand behind a repeat.
//!
//! Records are compared without the white space between their tokens. Where two readings are equally good, and where
//! what is repeated is not what was delivered, nothing of the response is delivered, and the model is asked again.
//!
//! Held are the open record, the last few that are quoted, and fingerprints of the others; never the answer.

mod checkpoint;
mod error;
#[cfg(feature = "client")]
mod events;
mod fingerprint;
mod machine;
mod overlap;
mod progress;
mod prompt;
mod reader;
#[cfg(feature = "client")]
mod records;
#[cfg(feature = "client")]
mod report;
#[cfg(feature = "client")]
mod request;
mod response;
mod seam;
mod settings;
#[cfg(feature = "client")]
mod stream_error;

pub use checkpoint::Checkpoint;
pub use error::{ContinuationError, ContinuationFailure};
#[cfg(feature = "client")]
pub use events::ContinuedEvents;
pub use machine::{ContinuationStep, RecordContinuation, ResponseEnd};
#[cfg(feature = "client")]
pub use records::ContinuedRecords;
#[cfg(feature = "client")]
pub use report::ContinuationReport;
#[cfg(feature = "client")]
pub use request::ContinuedRequest;
pub use settings::Continuation;
#[cfg(feature = "client")]
pub use stream_error::ContinuedError;
