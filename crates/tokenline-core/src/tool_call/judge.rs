//! Calls held against the definitions of tools.

use crate::json::{Kind, Parser, Raw, Value};
use crate::{Code, ValidateCall, Violation};

/// A value of a call's parameters that was written as one kind and is delivered as another, because
/// [that was asked for](ValidateCall::coerce).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coercion {
    /// JSON Pointer to it, from the parameters.
    pub instance_path: String,
    /// What it was.
    pub from: Kind,
    /// What it is now.
    pub to: Kind,
}

impl Coercion {
    /// A value that changed its kind.
    #[must_use]
    pub fn new(instance_path: impl Into<String>, from: Kind, to: Kind) -> Self {
        Self { instance_path: instance_path.into(), from, to }
    }
}

/// Parameters as they are delivered.
pub(crate) struct Judged {
    pub(crate) parameters: Raw,
    pub(crate) coerced: Vec<Coercion>,
}

/// Holds a call against the tools' definitions, if there are any.
pub(crate) fn judge(
    tools: Option<&dyn ValidateCall>,
    name: &str,
    parameters: Value<'_>,
) -> Result<Judged, Box<Violation>> {
    let as_written = |parameters| Judged { parameters: Raw::from(parameters), coerced: Vec::new() };
    let Some(tools) = tools else { return Ok(as_written(parameters)) };
    let Err(violation) = tools.validate_call(name, parameters) else { return Ok(as_written(parameters)) };
    // Only what does not fit as it is may be changed, and only if it fits then.
    if violation.code == Code::InvalidParameters
        && let Some((changed, coerced)) = tools.coerce(name, parameters)
        && let Ok(value) = Parser::new().parse(changed.as_str())
        && tools.validate_call(name, value).is_ok()
    {
        return Ok(Judged { parameters: changed, coerced });
    }
    Err(violation)
}
