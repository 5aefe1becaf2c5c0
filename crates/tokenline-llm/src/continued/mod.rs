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
//!   are, all together, those that were delivered. Where the first record is also the last, it has to go on as the
//!   first eight do, and those must not come round at the end;
//! - nothing, and it goes on inside the cut record: it is merged with that, if there is one way to do so;
//! - nothing: the next record is new. If one was cut off, it has to begin as that did, or to stand behind a repeat.
//!
//! A record that was cut again when it was written again, or that is about as long as what a response brings, is not
//! asked for as a whole: the end of it is quoted, and a response that begins with exactly that goes on inside it.
//!
//! Records are compared without the white space between their tokens. Where two readings are equally good, and where
//! what is repeated is not what was delivered, nothing of the response is delivered, and the model is asked again.
//! What cannot be known is taken as it was asked for: a response that repeats nothing where no record is open, and
//! begins within an element of an array, may be read as an element.
//!
//! Held are the open record, the last few that are quoted, and fingerprints of the others; never the answer.

mod checkpoint;
mod error;
#[cfg(feature = "client")]
mod events;
mod fingerprint;
mod machine;
mod open;
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
mod source;

pub use checkpoint::Checkpoint;
#[cfg(feature = "client")]
pub use error::ContinuedError;
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
