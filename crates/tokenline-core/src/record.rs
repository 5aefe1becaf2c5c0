//! Records and the events that carry them.

use std::convert::Infallible;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, Serializer};

use crate::adapter::CountAs;
use crate::json::{Value, ValueDelta};
use crate::{Code, Diagnostic, Recovered, Span, Validate, Violation};

/// Why a record or tool call counts as complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompletedBy {
    /// A line feed followed.
    Newline,
    /// The next record or call began.
    NextItem,
    /// It is an element of an array, and a comma or the array's end followed.
    ArrayElement,
    /// Other text followed.
    Text,
    /// The provider said that the item it is part of has ended: a content block, an output item.
    ItemStop,
    /// The provider gave a reason for having finished that is no limit.
    FinishReason,
    /// The provider's end of stream followed.
    Terminator,
    /// The input ended after it.
    EndOfInput,
    /// Its brackets balance; released on that alone because of [`Release::OnBalance`].
    Balanced,
}

impl CompletedBy {
    /// The name used in events, such as `newline`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newline => "newline",
            Self::NextItem => "next_item",
            Self::ArrayElement => "array_element",
            Self::Text => "text",
            Self::ItemStop => "item_stop",
            Self::FinishReason => "finish_reason",
            Self::Terminator => "terminator",
            Self::EndOfInput => "end_of_input",
            Self::Balanced => "balanced",
        }
    }
}

impl fmt::Display for CompletedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for CompletedBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// When a record or a tool call is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Once something after it proves that it was whole. `{"query":"x"}` may still be followed by
    /// `,"limit":10}`.
    #[default]
    Confirmed,
    /// As soon as its brackets balance.
    OnBalance,
    /// A native tool call only at the end of the response: the next call does not prove it whole. For servers that
    /// interleave the fragments of parallel calls. Records as for [`Confirmed`](Self::Confirmed).
    AtFinish,
}

/// How forgiving the decoder is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Models' habits are understood: fences, prose, lists, commas, arrays, records over several lines
    /// or several on one, thinking aloud. [`Record::recovered`] says what was.
    #[default]
    Lenient,
    /// Each line that is not blank is one JSON object, and nothing else.
    Strict,
}

/// One decoded JSON object of the stream, with its place and the evidence that it is whole.
///
/// `T` is the tape view [`json::Value`](crate::json::Value) where the record is lent, and the
/// caller's own type where it is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<T> {
    /// The object.
    pub value: T,
    /// The line on which it starts, counted from 1.
    pub line: u64,
    /// The place on that line at which it starts: bytes, counted from 1.
    pub column: u64,
    /// Its bytes, brace to brace, from the start of the stream.
    pub span: Span,
    /// Why it counts as complete.
    pub completion: CompletedBy,
    /// What about it the strict mode would have refused.
    pub recovered: Recovered,
}

impl<T> Record<T> {
    /// The same record around another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Record<U> {
        Record {
            value: f(self.value),
            line: self.line,
            column: self.column,
            span: self.span,
            completion: self.completion,
            recovered: self.recovered,
        }
    }
}

impl Record<Value<'_>> {
    /// The diagnostic for a rule that the record breaks, in the stream's own places.
    #[must_use]
    pub fn diagnose(&self, violation: Violation) -> Diagnostic {
        // A call that was not written as JSON has its faults somewhere in it.
        let is_as_written = self.value.document().len() as u64 == self.span.end - self.span.start;
        let offset = if is_as_written { violation.offset } else { 0 };
        let before = self.value.document().as_bytes().get(..offset).unwrap_or_default();
        // A record gathered from several lines has its faults on any of them.
        let (line, column) = match memchr::memrchr(b'\n', before) {
            None => (self.line, self.column + offset as u64),
            Some(last) => {
                let lines = memchr::memchr_iter(b'\n', before).count();
                (self.line + lines as u64, (offset - last) as u64)
            }
        };
        Diagnostic {
            instance_path: Some(violation.instance_path),
            schema_path: Some(violation.schema_path).filter(|path| !path.is_empty()),
            ..Diagnostic::new(violation.code, line, self.span, column, violation.message)
        }
    }

    /// Holds the record against a validator.
    ///
    /// # Errors
    ///
    /// The diagnostic, if it breaks a rule.
    pub fn validate(&self, validator: &(impl Validate + ?Sized)) -> Result<(), Box<Diagnostic>> {
        validator.validate(self.value).map_err(|violation| Box::new(self.diagnose(*violation)))
    }

    /// Reads the record into a type.
    ///
    /// # Errors
    ///
    /// The diagnostic, if it does not fit the type. It does not repeat what the type's own
    /// `Deserialize` says, which may quote the value.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<Record<T>, Box<Diagnostic>> {
        match self.value.deserialize() {
            Ok(value) => Ok(self.map(|_| value)),
            Err(error) => {
                let offset = error.offset().unwrap_or(0);
                let message = match error.is_custom() {
                    true => "does not fit the type".to_owned(),
                    false => error.to_string(),
                };
                let path = self.value.pointer_at(offset);
                let violation =
                    Violation::new(Code::SchemaViolation, offset, message).with_instance_path(path);
                Err(Box::new(self.diagnose(violation)))
            }
        }
    }
}

/// A part of a record that is not complete, or not known to be: a step by which it grows, or a snapshot.
///
/// It may never become a record. At most one record is open at a time. It is final once the
/// [`Event::Record`] that starts at the same offset comes. If a partial or a record that starts elsewhere
/// comes first, the reject that spans it, or the end, discard what was collected of it. Start afresh at a
/// record's first partial, which opens the root.
///
/// `T` is a [`json::ValueDelta`](crate::json::ValueDelta) in an event, and a [`json::Value`](crate::json::Value)
/// where it is a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRecord<T> {
    /// The part.
    pub value: T,
    /// The line on which the record starts, counted from 1.
    pub line: u64,
    /// The place on that line at which it starts: bytes, counted from 1.
    pub column: u64,
    /// The offset of its first byte from the start of the stream.
    pub start: u64,
}

impl<T> OpenRecord<T> {
    /// The same place around another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> OpenRecord<U> {
        OpenRecord { value: f(self.value), line: self.line, column: self.column, start: self.start }
    }
}

/// What a record parser yields.
///
/// `D` is how partials are told: [`ValueDelta`] where events are [lent](LentEvent), and not at all where they
/// are owned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<T, D = Infallible> {
    /// A whole record.
    Record(Record<T>),
    /// Something that looked like data was not delivered, and why.
    Rejected(Diagnostic),
    /// Information that is no reject: a line of prose.
    Note(Diagnostic),
    /// Text for people, outside records, as it comes; only if [asked for](crate::Options::text). The decoder has
    /// [its text](crate::RecordDecoder::text).
    Text(Span),
    /// What is neither: code fences, list marks, brackets and commas around records, tags around calls. Only with the
    /// text.
    Markup(Span),
    /// The open record has grown; only if [asked for](crate::Options::partials). All of a record's deltas
    /// come before it. A rejected record has those that came before the chunk with the fault.
    Partial(OpenRecord<D>),
}

/// An event that borrows from the parser that yields it.
pub type LentEvent<'a> = Event<Value<'a>, ValueDelta<'a>>;

impl<T, D> Event<T, D> {
    /// The event for a finding: [`Event::Note`] if it is information, else [`Event::Rejected`].
    #[must_use]
    pub fn from_diagnostic(diagnostic: Diagnostic) -> Self {
        match diagnostic.severity() {
            crate::Severity::Info => Self::Note(diagnostic),
            crate::Severity::Error => Self::Rejected(diagnostic),
        }
    }

    /// What the event counts as.
    #[must_use]
    pub fn count_as(&self) -> CountAs<'_> {
        match self {
            Self::Record(record) => CountAs::Record(record.recovered),
            Self::Rejected(diagnostic) | Self::Note(diagnostic) => CountAs::Diagnostic(diagnostic),
            Self::Text(_) | Self::Markup(_) | Self::Partial(_) => CountAs::Other,
        }
    }

    /// The record, if it is one.
    pub fn into_record(self) -> Option<Record<T>> {
        match self {
            Self::Record(record) => Some(record),
            Self::Rejected(_) | Self::Note(_) | Self::Text(_) | Self::Markup(_) | Self::Partial(_) => None,
        }
    }
}
