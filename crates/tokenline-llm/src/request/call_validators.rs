//! The validators of the calls of a request's tools.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use tokenline_core::json::{Raw, Value};
use tokenline_core::{Coercion, ToolDefinition, ValidateCall, Violation};

type CallValidator = Arc<dyn ValidateCall + Send + Sync>;

/// The validators of a request's tools. Equal to any other: requests are equal if they send the same.
#[derive(Clone, Default)]
pub(crate) struct CallValidators {
    validators: Vec<CallValidator>,
    /// The names of the tools without one.
    not_validated: HashSet<String>,
}

impl CallValidators {
    pub(super) fn add(&mut self, definitions: &[ToolDefinition], validator: Option<CallValidator>) {
        match validator {
            Some(validator) => self.validators.push(validator),
            None => self.not_validated.extend(definitions.iter().map(|definition| definition.name.clone())),
        }
    }

    /// The validator of all calls; `None` if no tools came with one.
    #[cfg(feature = "client")]
    pub(super) fn validator(&self) -> Option<CallValidator> {
        match &self.validators[..] {
            [] => None,
            [one] if self.not_validated.is_empty() => Some(Arc::clone(one)),
            _ => Some(Arc::new(self.clone())),
        }
    }

    /// The validator that has this tool. A tool that nobody has is for the first to reject.
    fn of_tool(&self, name: &str) -> Option<&CallValidator> {
        let of_tool = self.validators.iter().find(|validator| validator.has_tool(name));
        of_tool.or_else(|| self.validators.first().filter(|_| !self.not_validated.contains(name)))
    }
}

impl ValidateCall for CallValidators {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        self.of_tool(name).map_or(Ok(()), |validator| validator.validate_call(name, parameters))
    }

    fn has_tool(&self, name: &str) -> bool {
        self.not_validated.contains(name) || self.validators.iter().any(|validator| validator.has_tool(name))
    }

    fn coerce(&self, name: &str, parameters: Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
        self.of_tool(name)?.coerce(name, parameters)
    }

    fn coerces(&self) -> bool {
        self.validators.iter().any(ValidateCall::coerces)
    }

    fn shows_names(&self) -> bool {
        !self.validators.is_empty() && self.validators.iter().all(ValidateCall::shows_names)
    }

    fn type_text(&self, name: &str, parameters: Value<'_>) -> Option<Raw> {
        self.of_tool(name)?.type_text(name, parameters)
    }

    fn is_text(&self, name: &str, parameter: &str) -> bool {
        self.of_tool(name).is_some_and(|validator| validator.is_text(name, parameter))
    }
}

impl PartialEq for CallValidators {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for CallValidators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.validators.iter().map(|_| "validator")).finish()
    }
}
