//! Sans-IO core of tokenline: bytes in, events out.
#![forbid(unsafe_code)]

mod assembler;
mod diagnostic;
pub mod json;
mod limits;
mod options;
mod parser;
mod record;
mod records;
mod report;
pub mod sse;
mod tool_call;
mod tool_definition;
mod validate;

pub use assembler::{CallDelta, ToolCallAssembler};
pub use diagnostic::{Code, Diagnostic, Example, Severity, Span};
pub use limits::Limits;
pub use options::Options;
pub use parser::JsonlParser;
pub use record::{Completion, Emit, Event, Mode, Record};
pub use records::{Decoded, RecordDecoder};
pub use report::Report;
pub use tool_call::ToolCall;
pub use tool_definition::ToolDefinition;
pub use validate::{Validate, ValidateCall, Violation};
