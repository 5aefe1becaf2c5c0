//! Records and the events that carry them.

use std::borrow::Cow;
use std::convert::Infallible;
use std::mem;

use serde::de::DeserializeOwned;
use serde::ser::{Serialize, Serializer};

use crate::diagnostic::explained;
use crate::json::{Value, ValueDelta};
use crate::{Code, Diagnostic, Example, Recovered, Span, Validate, Violation};

explained! {
    /// Why a record or tool call counts as complete.
    pub enum CompletedBy;

    /// A newline followed.
    Newline = "newline",
        "A newline followed the record.", Example::Text("{\"a\":1}\n");
    /// The next record or call began.
    NextItem = "next_item",
        "The next record or call began.", Example::Text("{\"a\":1} {\"a\":2}");
    /// It is an array element, and a comma or the end of the array followed.
    ArrayElement = "array_element",
        "The record is an element of an array, and a comma or the end of the array followed.",
        Example::Text("[{\"a\":1},{\"a\":2}]");
    /// Other text followed.
    Text = "text",
        "Other text followed.", Example::Text("{\"a\":1} is all.");
    /// The provider ended the item that contains it: a content block, an output item.
    ItemStop = "item_stop",
        "The provider ended the part of the response that contains it, such as a content block.",
        Example::Options {
            options: "--from ollama",
            text: r#"{"message":{"tool_calls":[{"function":{"name":"now","arguments":{}}}]},"done":true}"#,
        };
    /// The provider gave a finish reason other than a limit.
    FinishReason = "finish_reason",
        "The provider gave a finish reason other than a limit.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"content":"{\"a\":1}"},"finish_reason":"stop"}]}"#,
            "\n\n",
        ));
    /// The provider ended the stream.
    Terminator = "terminator",
        "The provider marked the end of the stream.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"content":"{\"a\":1}"}}]}"#,
            "\n\ndata: [DONE]\n\n",
        ));
    /// The input ended after it.
    EndOfInput = "end_of_input",
        "The input ended after the record.", Example::Text("{\"a\":1}");
    /// Its brackets balance, which is enough with [`Release::OnBalance`].
    Balanced = "balanced",
        "Its brackets balance. With `--eager` that is enough; more may have followed.",
        Example::Options { options: "--eager", text: "{\"a\":1}" };
}

impl Serialize for CompletedBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// When a record or a tool call is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Once something after it proves that it is complete. `{"query":"x"}` may still be followed by
    /// `,"limit":10}`.
    #[default]
    Confirmed,
    /// As soon as its brackets balance.
    OnBalance,
    /// Like [`Confirmed`](Self::Confirmed), but native tool calls only at the end of the response: the next
    /// call does not prove the previous one complete. For servers that interleave the fragments of parallel
    /// calls.
    AtFinish,
}

/// How tolerant the decoder is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Recovers records from what models add: code fences, prose, lists, commas, arrays, records on several
    /// lines or several on one, thinking. [`Record::recovered`] lists what was recovered.
    #[default]
    Lenient,
    /// Each line that is not blank is one JSON object, and nothing else.
    Strict,
}

/// A decoded JSON object of the stream, with its position and the evidence that it is complete.
///
/// `T` is the tape view [`json::Value`](crate::json::Value) in a borrowed record, and the caller's own type
/// in an owned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<T> {
    /// The object.
    pub value: T,
    /// The line on which it starts, counted from 1.
    pub line: u64,
    /// Its column on that line: bytes, from 1.
    pub column: u64,
    /// Its span in the stream, brace to brace.
    pub span: Span,
    /// Why it counts as complete.
    pub completion: CompletedBy,
    /// The faults for which the strict mode would have rejected it.
    pub recovered: Recovered,
}

impl<T> Record<T> {
    /// The offset in the stream at which its [`line`](Self::line) starts: where to read on after a restart, with
    /// [`JsonlParser::starting_at`](crate::JsonlParser::starting_at) and its kin. An array may have several records on a
    /// line: skip those whose span ends at or before the end of the last one that is stored.
    pub fn line_start(&self) -> u64 {
        self.span.start - (self.column - 1)
    }

    /// The same record with another value.
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
    /// The diagnostic for a rule that the record breaks, with its position in the stream.
    #[must_use]
    pub fn diagnose(&self, mut violation: Violation) -> Diagnostic {
        let further = mem::take(&mut violation.further);
        self.diagnose_one(violation)
            .with_further(further.into_iter().map(|one| self.diagnose_one(one)).collect())
    }

    fn diagnose_one(&self, violation: Violation) -> Diagnostic {
        // A violation has no exact position in a call that was not written as JSON.
        let is_as_written = self.value.document().len() as u64 == self.span.end - self.span.start;
        let offset = if is_as_written { violation.offset } else { 0 };
        let before = self.value.document().as_bytes().get(..offset).unwrap_or_default();
        // A record of several lines can break the rule on any of them.
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

    /// Validates the record.
    ///
    /// # Errors
    ///
    /// The diagnostic, if it breaks a rule.
    pub fn validate(&self, validator: &(impl Validate + ?Sized)) -> Result<(), Box<Diagnostic>> {
        validator.validate(self.value).map_err(|violation| Box::new(self.diagnose(*violation)))
    }

    /// Deserializes the record.
    ///
    /// # Errors
    ///
    /// The diagnostic, if it does not fit the type. The message leaves out errors of the type's own
    /// `Deserialize`, which may quote the value, unless they are [`Shown`](crate::json::Shown).
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<Record<T>, Box<Diagnostic>> {
        match self.value.deserialize() {
            Ok(value) => Ok(self.map(|_| value)),
            Err(error) => {
                let offset = error.offset().unwrap_or(0);
                let message =
                    if error.is_custom() { "does not fit the type".to_owned() } else { error.to_string() };
                let path = self.value.pointer_at(offset);
                let violation =
                    Violation::new(Code::SchemaViolation, offset, message).with_instance_path(path);
                Err(Box::new(self.diagnose(violation)))
            }
        }
    }
}

/// A part of an incomplete or unconfirmed record: a step by which it grows, or a snapshot.
///
/// It may never become a record. At most one record is open at a time. The parts are final once an
/// [`Event::Record`] with the same start arrives. If a partial or a record with another start, the reject
/// that spans the record, or the end comes first, discard them. Start afresh at a record's first partial,
/// which opens the root.
///
/// `T` is a [`json::ValueDelta`](crate::json::ValueDelta) in an event, and a
/// [`json::Value`](crate::json::Value) in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRecord<T> {
    /// The part.
    pub value: T,
    /// The line on which the record starts, counted from 1.
    pub line: u64,
    /// Its column on that line: bytes, from 1.
    pub column: u64,
    /// The offset of its first byte from the start of the stream.
    pub start: u64,
}

impl<T> OpenRecord<T> {
    /// The same part with another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> OpenRecord<U> {
        OpenRecord { value: f(self.value), line: self.line, column: self.column, start: self.start }
    }
}

/// An event of a record parser.
///
/// `D` is the type of partials: [`ValueDelta`] in [borrowed](LentEvent) events; owned events have none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<T, D = Infallible> {
    /// A complete record.
    Record(Record<T>),
    /// Something that looked like data and was not delivered, with the reason.
    Rejected(Diagnostic),
    /// Information that is not a reject, such as a line of prose.
    Note(Diagnostic),
    /// Text for people outside records, as it arrives; only if [asked for](crate::Options::text). Its bytes
    /// come from [`RecordDecoder::text`](crate::RecordDecoder::text).
    Text(Span),
    /// The model's thinking before it answers, as it arrives, without the tags around it; only if
    /// [text is asked for](crate::Options::text).
    Reasoning(Span),
    /// Markup: code fences, list markers, brackets and commas around records, tags around calls. Only with
    /// [`Options::text`](crate::Options::text).
    Markup(Span),
    /// The open record has grown; only if [asked for](crate::Options::partials). All deltas of a record come
    /// before it. A rejected record has the deltas of the chunks before the one with the fault.
    Partial(OpenRecord<D>),
}

/// A tool call that is not complete yet; see [`RecordDecoder::open_call`](crate::RecordDecoder::open_call).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenCall<'a> {
    /// The offset of its first byte.
    pub start: u64,
    /// The tool's name.
    pub name: Cow<'a, str>,
    /// The id of the call, if one was written so far.
    pub call_id: Option<Cow<'a, str>>,
    /// The JSON text of its parameters so far, which only grows.
    pub parameters: &'a str,
}

/// An event that borrows from the parser that yields it.
pub type LentEvent<'a> = Event<Value<'a>, ValueDelta<'a>>;

impl<T, D> Event<T, D> {
    /// The event for a diagnostic: [`Event::Note`] for information, else [`Event::Rejected`].
    #[must_use]
    pub fn from_diagnostic(diagnostic: Diagnostic) -> Self {
        match diagnostic.severity() {
            crate::Severity::Info | crate::Severity::Warning => Self::Note(diagnostic),
            crate::Severity::Error => Self::Rejected(diagnostic),
        }
    }

    /// The count that the event belongs to.
    #[must_use]
    pub fn count_as(&self) -> CountAs<'_> {
        match self {
            Self::Record(record) => CountAs::Record(record.recovered),
            Self::Rejected(diagnostic) | Self::Note(diagnostic) => CountAs::Diagnostic(diagnostic),
            Self::Text(_) | Self::Reasoning(_) | Self::Markup(_) | Self::Partial(_) => CountAs::Other,
        }
    }

    /// The record, if it is one.
    pub fn into_record(self) -> Option<Record<T>> {
        match self {
            Self::Record(record) => Some(record),
            Self::Rejected(_)
            | Self::Note(_)
            | Self::Text(_)
            | Self::Reasoning(_)
            | Self::Markup(_)
            | Self::Partial(_) => None,
        }
    }
}

/// The kind under which a [`Tally`](crate::adapter::Tally) and metrics count an event.
#[derive(Clone, Copy, Debug)]
pub enum CountAs<'a> {
    /// A delivered record, and what was recovered or repaired for it.
    Record(Recovered),
    /// A delivered tool call, and what was recovered or repaired for it.
    ToolCall(Recovered),
    /// A reject or a note.
    Diagnostic(&'a Diagnostic),
    /// Tokens used so far: input, output, and how many of the input tokens came from a cache.
    Usage([Option<u64>; 3]),
    /// The model's finish reason, such as `stop`.
    Finish(&'a str),
    /// None of these, such as a piece of text.
    Other,
}
