//! Validates calls against tool definitions.

use crate::json::{Parser, Raw, Value};
use crate::{Code, Coercion, ValidateCall, Violation};

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
