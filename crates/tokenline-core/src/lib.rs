//! Sans-IO core of tokenline: bytes in, events out.
//!
//! A language model streams its response in arbitrary chunks. This crate assembles them into complete
//! records, events and calls, delivers each as soon as it is complete, and reports what it rejected:
//!
//! | in | machine | out |
//! |---|---|---|
//! | text in chunks | [`JsonlParser`], [`RecordDecoder`] | records, one JSON object each |
//! | text in chunks | [`TextParser`] | records, tool calls and the text beside them |
//! | text in chunks, for streams | [`Driver`](crate::adapter::Driver) | typed records or tool calls, with quotas, repair and a report |
//! | a growing JSON document | [`json::Parser`] | a tape, read as values or into types |
//! | the bytes of an event stream | [`sse::SseDecoder`] | server-sent events |
//! | fragments of tool calls | [`ToolCallAssembler`] | tool calls |
//!
//! It does no I/O: no async, no clock, no files, and no `unsafe`. Streams and codecs are in
//! `tokenline-codec`, schemas in `tokenline-schema`, the wire formats of providers in `tokenline-llm`.
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
//! # Guarantees of every machine
//!
//! - However the input is split, the events are the same. So are a record's deltas ([`Event::Partial`]), once
//!   consecutive appends are joined.
//! - Invalid input is an event with a [`Diagnostic`], never an error that ends the stream.
//! - Nothing is completed by guessing, and nothing is released without evidence ([`CompletedBy`]).
//! - Every byte is read once or twice, however small the chunks; memory stays within [`Limits`]; after
//!   warm-up, a record costs no allocation.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod assembler;
pub mod call_format;
mod chunk;
mod diagnostic;
mod digest;
mod driver;
mod feature;
pub mod json;
mod judge;
mod kept_diagnostics;
mod limits;
mod machine;
mod open_validation;
mod options;
mod own_rule;
mod parser;
pub mod partial;
mod record;
mod records;
mod recovered;
mod rejected_call;
mod rejected_texts;
mod repair;
mod repetition;
mod report;
mod rules;
pub mod sse;
mod stop_after;
pub mod syntax_repair;
mod tally;
mod text_parser;
mod text_reader;
mod tool_call;
mod tool_definition;
mod tools;
mod user_syntax;
mod validate;

pub use assembler::{CallDelta, CallUpdate, ToolCallAssembler};
pub use call_format::CallFormat;
pub use chunk::Chunk;
pub use diagnostic::{Code, Diagnostic, Example, ForModel, Origin, Severity, Span};
pub use limits::Limits;
pub use options::Options;
pub use parser::JsonlParser;
pub use record::{CompletedBy, Event, LentEvent, Mode, OpenCall, OpenRecord, Record, Release};
pub use records::{CheckedChunk, Decoded, RecordDecoder};
pub(crate) use recovered::Recoveries;
pub use recovered::{Recovered, Recovery};
pub use repair::Rejected;
pub use repetition::{Repeated, Repetition, RepetitionLimit, RepetitionLimits};
pub use report::{EarlyEnd, Reasks, Report};
pub use rules::Reads;
pub use stop_after::TooManyRejected;
pub use text_parser::{TextEvent, TextParser};
pub use tool_call::{RejectedCall, ToolCall};
pub use tool_definition::ToolDefinition;
pub use tools::Tools;
pub use validate::{Coercion, Validate, ValidateCall, ValidateOpen, Violation};

/// For authors of stream adapters: the loop between a source of bytes and a stream of events, with counts, limits and
/// repair.
pub mod adapter {
    pub use crate::assembler::{CertainArguments, PartialArgument, PartialValue, SYNTHETIC_ID_PREFIX};
    pub use crate::call_format::scan::char_start;
    pub use crate::digest::Digest;
    pub use crate::driver::{Driver, PartialDriver};
    pub use crate::feature::{
        Absent, Boxed, CallsFeature, Feature, RepairFeature, RepetitionFeature, Switch,
    };
    pub use crate::judge::{Judge, Passage, Verdict};
    pub use crate::kept_diagnostics::KeptDiagnostics;
    pub use crate::machine::{SourceEnd, StreamMachine, StreamStep};
    pub use crate::open_validation::OpenValidation;
    pub use crate::own_rule::OwnRule;
    pub use crate::record::CountAs;
    pub use crate::records::{Gap, THINK_TAGS};
    pub use crate::rejected_texts::RejectedTexts;
    pub use crate::repair::{RejectBuffer, RepairHook};
    pub use crate::repetition::{RecordRepetitionDetector, RepetitionDetector, RepetitionGuard};
    pub use crate::report::ReportParts;
    pub use crate::rules::{Made, Rules};
    pub use crate::stop_after::{QuotaUnit, StopAfter};
    pub use crate::tally::Tally;
    pub use crate::text_reader::{LeftCalls, TextPart, TextReader};
}

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
