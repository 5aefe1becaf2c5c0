//! Lists of records: each record once and in order, however many responses a list takes.
//!
//! A response is asked to begin with the last complete record, the anchor, and to write the record that was cut off again;
//! or, if that record is long or was cut again, to begin with the end of it, the overlap. A response is used if it begins
//!
//! - with the anchor, ignoring white space between tokens, and then with the record that was cut off, as far as that
//!   came; or
//! - with the overlap, byte for byte: it continues the open record; or
//! - with all delivered records, compared by fingerprint.
//!
//! White space, a think block, lines of prose, a code fence and the opening of the array, unchanged, may come before the
//! anchor; line breaks and a code fence before the overlap. If nothing was delivered yet, a response that begins the
//! list again must begin with the record that was cut off, as far as it came. Any other response is dropped, and the
//! next request asks in another way where there is one: for an overlap instead of the anchor, or the reverse, or for
//! the record that was cut off without requiring the same text.
//!
//! | file | |
//! |---|---|
//! | `progress.rs` | the state of the list, the text that the next response is asked to begin with, the checkpoint |
//! | `ask.rs` | the messages to the model |
//! | `repeats.rs` | compares the beginning of a response with the delivered records |
//! | `reader.rs` | reads the new part with the scanner |
//! | `response.rs` | one response: divides it into repeated and new parts |
//! | `machine.rs` | the whole list, from request to request |

mod ask;
mod fingerprint;
mod machine;
mod progress;
mod reader;
mod repair;
mod repeats;
mod response;

pub use ask::ContinuationMessages;
pub use machine::{ContinuationStep, RecordContinuation};
pub use progress::Checkpoint;
pub(crate) use progress::Progress;
