//! Lists of records that take several responses, requested with the client. The state machine is
//! [`RecordContinuation`].

mod error;
mod events;
mod records;
mod report;
mod request;

use tokenline_continuation::{
    Checkpoint, ContinuationError, ContinuationOptions, ContinuationStep, RecordContinuation, ResponseEnd,
};

pub use error::ContinuedError;
pub use events::ContinuedEvents;
pub use records::ContinuedRecords;
pub use report::ContinuationReport;
pub use request::ContinuedRequest;
