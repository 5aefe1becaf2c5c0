//! Sans-IO core of tokenline: bytes in, events out.
#![forbid(unsafe_code)]

mod diagnostic;
pub mod json;
mod limits;
mod options;
mod record;
mod report;
pub mod sse;

pub use diagnostic::{Code, Diagnostic, Example, Severity, Span};
pub use limits::Limits;
pub use options::Options;
pub use record::{Completion, Emit, Event, Mode, Record};
pub use report::Report;
