//! Validates calls against tool definitions.

use crate::json::{Kind, Parser, Raw, Value};
use crate::{Code, ValidateCall, Violation};

/// A value of a call's parameters that was written as one kind and is delivered as another, because [coercion
/// was asked for](ValidateCall::coerce).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coercion {
    /// JSON Pointer to it, from the parameters.
    pub instance_path: String,
    /// The kind as written.
    pub from: Kind,
    /// The kind as delivered.
    pub to: Kind,
}

impl Coercion {
    /// A value whose kind was changed.
    #[must_use]
    pub fn new(instance_path: impl Into<String>, from: Kind, to: Kind) -> Self {
        Self { instance_path: instance_path.into(), from, to }
    }
}

/// Parameters as they are delivered.
pub(crate) struct ValidatedParameters {
    pub(crate) parameters: Raw,
    pub(crate) coerced: Vec<Coercion>,
}

/// Validates a call against tool definitions, if there are any.
pub(crate) fn validate_call(
    tools: Option<&dyn ValidateCall>,
    name: &str,
    parameters: Value<'_>,
) -> Result<ValidatedParameters, Box<Violation>> {
    let as_written =
        |parameters| ValidatedParameters { parameters: Raw::from(parameters), coerced: Vec::new() };
    let Some(tools) = tools else { return Ok(as_written(parameters)) };
    let Err(violation) = tools.validate_call(name, parameters) else { return Ok(as_written(parameters)) };
    // Coerce only what does not fit, and keep the result only if it fits.
    if violation.code == Code::InvalidParameters
        && let Some((changed, coerced)) = tools.coerce(name, parameters)
        && let Ok(value) = Parser::new().parse(changed.as_str())
        && tools.validate_call(name, value).is_ok()
    {
        return Ok(ValidatedParameters { parameters: changed, coerced });
    }
    Err(violation)
}
