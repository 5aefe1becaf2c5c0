//! A call that is not complete yet.

use std::borrow::Cow;

/// A call that a [`CallReader`](crate::call_format::CallReader) has begun to read, once its name is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallSoFar<'t> {
    /// The offset of its first byte.
    pub start: usize,
    /// The tool's name.
    pub name: Cow<'t, str>,
    /// The id of the call, if one was written.
    pub call_id: Option<Cow<'t, str>>,
    /// The JSON text of its parameters so far, which only grows. Without types: the complete members, and no
    /// closing brace.
    pub parameters: Cow<'t, str>,
    /// Whether the text of its parameters is that of the call, with its line breaks.
    pub is_as_written: bool,
    /// Whether its values are written without types: they get those of the tool's parameters.
    pub is_untyped: bool,
    /// The name and the text so far of the parameter that is open, if it is written as text.
    pub open_parameter: Option<(Cow<'t, str>, &'t str)>,
}

impl<'t> CallSoFar<'t> {
    /// A call that begins at `start`, with the JSON text of its parameters so far.
    pub fn new(start: usize, name: impl Into<Cow<'t, str>>, parameters: impl Into<Cow<'t, str>>) -> Self {
        Self { start, name: name.into(), parameters: parameters.into(), ..Self::default() }
    }
}
