//! Sans-IO core of tokenline: bytes in, events out.
//!
//! What a language model streams arrives in arbitrary pieces. This crate turns the pieces into whole
//! things, each as soon as it is complete, and reports what was not delivered:
//!
//! | in | machine | out |
//! |---|---|---|
//! | text in pieces | [`JsonlParser`], [`RecordDecoder`] | records, one JSON object each |
//! | text in pieces, for streams | [`Driver`](crate::adapter::Driver) | typed records or tool calls, with quotas, repair and a report |
//! | a growing JSON document | [`json::Parser`] | a tape that is read as values or into types |
//! | the bytes of an event stream | [`sse::SseDecoder`] | server-sent events |
//! | fragments of tool calls | [`ToolCallAssembler`] | tool calls |
//!
//! It is not for I/O: there is no async, no clock, no file here, and no `unsafe`. Streams and codecs
//! are in `tokenline-codec`, schemas in `tokenline-schema`, the wire formats of providers in
//! `tokenline-llm`.
//!
//! ```
//! use tokenline_core::{Event, JsonlParser, Options};
//!
//! let mut parser = JsonlParser::new(Options::lenient());
//! parser.push("Here you are:\n{\"entity\":\"DNA\"}\n{\"enti");
//! let mut entities = Vec::new();
//! while let Some(event) = parser.next_event() {
//!     if let Event::Record(record) = event {
//!         let entity = record.value.get("entity").and_then(|value| value.as_str());
//!         entities.push(entity.unwrap_or_default().into_owned());
//!     }
//! }
//! assert_eq!(entities, ["DNA"]);
//! ```
//!
//! # What holds for every machine
//!
//! - However the input is cut, the events are the same; so are a record's deltas ([`Event::Partial`]),
//!   once appends that follow each other are joined.
//! - What is wrong with the input is an event with a [`Diagnostic`], never an error that ends things.
//! - Nothing is completed by guessing, and nothing is released without evidence ([`CompletedBy`]).
//! - Every byte is looked at once or twice, whatever the pieces; memory stays within [`Limits`]; once
//!   warm, nothing is allocated for a record.
#![forbid(unsafe_code)]

mod assembler;
pub mod call_format;
mod chunk;
mod diagnostic;
mod driver;
pub mod json;
mod limits;
mod machine;
mod options;
mod parser;
pub mod partial;
mod record;
mod records;
mod recovered;
mod repair;
mod report;
pub mod sse;
mod stop_after;
mod tally;
mod tool_call;
mod tool_definition;
mod validate;

pub use assembler::{CallDelta, CallUpdate, PartialArgument, PartialValue, ToolCallAssembler};
pub use call_format::CallFormat;
pub use chunk::Chunk;
pub use diagnostic::{Code, Diagnostic, Example, Origin, Severity, Span};
pub use limits::Limits;
pub use options::{InvalidPointer, Options};
pub use parser::JsonlParser;
pub use record::{CompletedBy, Event, LentEvent, Mode, OpenRecord, Record, Release};
pub use records::{Decoded, Gap, RecordDecoder};
pub use recovered::{Recovered, Recovery};
pub use repair::Rejected;
pub use report::Report;
pub use stop_after::{EarlyEnd, TooManyRejected};
pub use tool_call::{Coercion, RejectedCall, ToolCall};
pub use tool_definition::ToolDefinition;
pub use validate::{Validate, ValidateCall, Violation};

/// For authors of stream adapters: the loop between a source of bytes and a stream of events, with counts, limits and
/// repair.
pub mod adapter {
    pub use crate::driver::{Driver, PartialDriver};
    pub use crate::machine::{CountAs, SourceEnd, StreamMachine, StreamStep};
    pub use crate::repair::{RejectBuffer, RepairHook};
    pub use crate::stop_after::{QuotaUnit, StopAfter};
    pub use crate::tally::Tally;
}
