//! Lists of records and JSON documents that take several responses, requested with the client. The state machines are
//! [`RecordContinuation`] and [`DocumentContinuation`](tokenline_continuation::DocumentContinuation).

mod document;
mod error;
mod events;
mod records;
mod report;
mod request;
mod response_end;
mod verdict;

use tokenline_continuation::{
    Checkpoint, ContinuationError, ContinuationOptions, ContinuationStep, RecordContinuation, ResponseEnd,
};

pub use document::ContinuedDocument;
pub use error::ContinuedError;
pub use events::ContinuedEvents;
pub use records::ContinuedRecords;
pub use report::ContinuationReport;
pub use request::ContinuedRequest;
