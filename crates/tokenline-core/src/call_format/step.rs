//! The steps of a call reader.

use std::borrow::Cow;
use std::ops::Range;

use super::write;
use crate::Code;
use crate::json::{Expected, Parser, SyntaxError};

/// A step of a [`CallReader`](super::CallReader). Offsets count from the beginning of the text that it
/// received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStep {
    /// More text is needed.
    NeedMore,
    /// A complete call.
    Call(CallText),
    /// A malformed call. Others may follow it.
    Malformed(CallFault),
    /// Text that is not a call, but belongs to a message that the reader reads on: markup, or reasoning.
    Passed {
        /// Where it ends.
        end: usize,
        /// The role of the text.
        role: PassedRole,
    },
    /// The run of calls is over.
    Done {
        /// Where the text after the run begins. Text up to there that belongs to no call is markup.
        end: usize,
    },
    /// Ordinary text, although it begins with an opener. The search continues after the opener's first
    /// character.
    NotACall,
}

/// The role of text outside calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassedRole {
    /// Text for people, in which nothing is looked for.
    Text,
    /// Reasoning.
    Reasoning,
    /// Markup, such as the header of a message.
    Markup,
}

impl CallStep {
    /// No call, or no further one, begins at the first byte of the text.
    pub(super) fn no_more(has_step: bool) -> Self {
        if has_step { Self::Done { end: 0 } } else { Self::NotACall }
    }
}

/// A complete call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallText {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// The call as JSON text, `{"name":...,"parameters":{...}}`, on one line; `None` if the text between
    /// `start` and `end` already is a JSON object that a [`ToolCall`](crate::ToolCall) can be read from.
    pub json: Option<String>,
    /// Whether something after it proves that it is complete. Otherwise it is the last thing in the text, and
    /// the evidence at the end of the text decides.
    pub is_confirmed: bool,
    /// Whether the marker after it is missing.
    pub is_end_missing: bool,
    /// Whether its values were written without types: they get those of the tool's parameters.
    pub is_untyped: bool,
}

impl CallText {
    /// A call that is written as a JSON object.
    #[must_use]
    pub fn as_written(range: Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
            json: None,
            is_confirmed: true,
            is_end_missing: false,
            is_untyped: false,
        }
    }

    /// A call in another syntax: the tool's name, and its parameters as the text of a JSON object.
    ///
    /// # Errors
    ///
    /// If the parameters are not JSON.
    pub fn converted(
        range: Range<usize>,
        name: &str,
        parameters: &str,
        call_id: Option<&str>,
    ) -> Result<Self, CallFault> {
        let mut parser = Parser::new();
        match parser.parse(parameters) {
            Ok(value) => Ok(Self::from_parts(range, name, &value.to_single_line(), call_id)),
            Err(error) => Err(CallFault::from_syntax(range.start, range.start, error).ending_at(range.end)),
        }
    }

    /// Like [`converted`](Self::converted), with parameters that are known to be JSON on one line.
    pub(super) fn from_parts(
        range: Range<usize>,
        name: &str,
        parameters: &str,
        call_id: Option<&str>,
    ) -> Self {
        let json = Some(write::call(name, parameters, call_id));
        Self {
            start: range.start,
            end: range.end,
            json,
            is_confirmed: true,
            is_end_missing: false,
            is_untyped: false,
        }
    }

    /// A call as JSON text that has name and parameters in it.
    pub(super) fn as_json(range: Range<usize>, json: String) -> Self {
        Self { json: Some(json), ..Self::as_written(range) }
    }

    /// The same call, without the marker that should follow it.
    #[must_use]
    pub fn without_end(self) -> Self {
        Self { is_end_missing: true, ..self }
    }

    /// The same call, whose values were written without types.
    #[must_use]
    pub fn untyped(self) -> Self {
        Self { is_untyped: true, ..self }
    }

    /// The same call, but not confirmed by anything after it.
    #[must_use]
    pub fn unconfirmed(self) -> Self {
        Self { is_confirmed: false, ..self }
    }
}

/// The control flow of a reader.
pub(super) enum Flow {
    Continue,
    Return(CallStep),
}

impl Flow {
    #[inline]
    pub(super) fn run(mut step: impl FnMut() -> Self) -> CallStep {
        loop {
            if let Self::Return(step) = step() {
                return step;
            }
        }
    }
}

/// A call that began and is malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallFault {
    /// [`MalformedJson`](Code::MalformedJson) in any syntax, [`Truncated`](Code::Truncated), or a more
    /// specific code.
    pub code: Code,
    /// The offset of the call's first byte.
    pub start: usize,
    /// The offset of the fault.
    pub at: usize,
    /// Where the text after the call begins.
    pub end: usize,
    /// One sentence for the user, without values of the text.
    pub message: Cow<'static, str>,
}

impl CallFault {
    /// A fault at `at` in the call that begins at `start`. The call ends there unless [set
    /// otherwise](Self::ending_at).
    #[must_use]
    pub fn new(code: Code, start: usize, at: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, start, at, end: at, message: message.into() }
    }

    /// Sets where the text after the call begins. The fault lies before it.
    #[must_use]
    pub fn ending_at(self, end: usize) -> Self {
        Self { end, at: self.at.min(end), ..self }
    }

    /// The fault for malformed JSON that begins at `from`.
    pub(super) fn from_syntax(start: usize, from: usize, error: SyntaxError) -> Self {
        let code = match error.expected {
            Expected::LessDepth => Code::TooDeep,
            _ => Code::MalformedJson,
        };
        Self::new(code, start, from + error.offset, error.description())
    }

    /// The text ended inside the call.
    pub(super) fn truncated(start: usize, end: usize) -> Self {
        Self::new(Code::Truncated, start, end, "the text ended inside a tool call")
    }
}
