//! What a reader answers.

use std::borrow::Cow;
use std::ops::Range;

use super::write;
use crate::Code;
use crate::json::{Expected, Parser, SyntaxError};

/// What a [`CallReader`](super::CallReader) answers. Places are bytes from the beginning of the text
/// that it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStep {
    /// Nothing is decided before more has come.
    NeedMore,
    /// A whole call.
    Call(CallText),
    /// A call that cannot be read. Others may follow it.
    Malformed(CallFault),
    /// The run of calls is over.
    Done {
        /// Where what follows begins. The text up to there that is part of no call is markup.
        end: usize,
    },
    /// It is ordinary text, although it begins with an opener. What is inside of it may be something
    /// else: the search goes on right after the opener's first character.
    NotThis,
}

impl CallStep {
    /// Nothing here is a call, or no other one, from the text's first byte on.
    pub(super) fn no_more(has_answered: bool) -> Self {
        if has_answered { Self::Done { end: 0 } } else { Self::NotThis }
    }
}

/// A whole call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallText {
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// It as JSON text, `{"name":...,"parameters":{...}}`, on one line; `None` if what stands between
    /// `start` and `end` is a JSON object already, which a [`ToolCall`](crate::ToolCall) is read from.
    pub json: Option<String>,
    /// Whether something after it proves that it is whole. If not, there is nothing after it: what the
    /// end of the text is worth decides.
    pub is_sealed: bool,
}

impl CallText {
    /// A call that is written as a JSON object.
    #[must_use]
    pub fn as_written(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end, json: None, is_sealed: true }
    }

    /// A call that is not: of this tool, with these parameters, a JSON object as text.
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

    /// As [`converted`](Self::converted), with parameters that are known to be JSON on one line.
    pub(super) fn from_parts(
        range: Range<usize>,
        name: &str,
        parameters: &str,
        call_id: Option<&str>,
    ) -> Self {
        let json = Some(write::call(name, parameters, call_id));
        Self { start: range.start, end: range.end, json, is_sealed: true }
    }

    /// The same with nothing after it that proves that it is whole.
    #[must_use]
    pub fn unsealed(self) -> Self {
        Self { is_sealed: false, ..self }
    }
}

/// Whether a reader goes on.
pub(super) enum Flow {
    On,
    Answer(CallStep),
}

impl Flow {
    #[inline]
    pub(super) fn until_answer(mut step: impl FnMut() -> Self) -> CallStep {
        loop {
            if let Self::Answer(answer) = step() {
                return answer;
            }
        }
    }
}

/// A call that began and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallFault {
    /// What it is about: [`MalformedJson`](Code::MalformedJson) whatever the syntax,
    /// [`Truncated`](Code::Truncated), or what fits better.
    pub code: Code,
    /// The offset of the call's first byte.
    pub start: usize,
    /// The offset of the fault.
    pub at: usize,
    /// Where what follows begins.
    pub end: usize,
    /// One sentence for a person, without a value of the text.
    pub message: Cow<'static, str>,
}

impl CallFault {
    /// A fault at `at` in the call that begins at `start`; it ends there unless
    /// [said otherwise](Self::ending_at).
    #[must_use]
    pub fn new(code: Code, start: usize, at: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, start, at, end: at, message: message.into() }
    }

    /// The same with the place where what follows begins. The fault lies before it.
    #[must_use]
    pub fn ending_at(self, end: usize) -> Self {
        Self { end, at: self.at.min(end), ..self }
    }

    /// What is wrong with the JSON that begins at `from`.
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
