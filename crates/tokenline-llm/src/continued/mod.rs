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
//!
//! A response that repeats nothing may begin inside a record. Where records are elements of an array, or take several
//! lines, its records are held, for 64 KiB of it at most, until it ends: it begins with a name that records began with
//! before, closes no more than it opens, and, if it was cut, its first one is no part of the last records where objects
//! within those begin as records do. If not, nothing of it is delivered. The same goes for one whose anchor is a part of
//! another record as well. A first record that has its first member in common with a remembered one, and is another, is
//! that one in other words, unless first members have repeated before.
//!
//! What cannot be known is taken as it was asked for: a record that was left out is missed by nobody, nor is a changed one
//! whose first member was changed; and objects that are like the records, inside one that was skipped or is too long to
//! be quoted, are records to a response that is cut, or longer than those 64 KiB, before it closes that.
//!
//! Held are the open record, the last few that are quoted, and fingerprints of the others; never the answer.

mod among;
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
mod repair;
#[cfg(feature = "client")]
mod report;
#[cfg(feature = "client")]
mod request;
mod response;
mod seam;
mod settings;
mod shape;
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
pub use settings::ContinuationOptions;
