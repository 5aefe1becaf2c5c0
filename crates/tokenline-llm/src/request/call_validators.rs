//! The validators of the calls of a request's tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokenline_core::json::{Raw, Value};
use tokenline_core::{Coercion, ToolDefinition, ValidateCall, Violation};

type CallValidator = Arc<dyn ValidateCall + Send + Sync>;

/// The validators of a request's tools. Equal to any other: requests are equal if they send the same.
#[derive(Clone, Default)]
pub(crate) struct CallValidators {
    validators: Vec<CallValidator>,
    /// The index of the validator of each tool; `None` for a tool without one.
    of_tools: HashMap<String, Option<usize>>,
}

impl CallValidators {
    pub(super) fn add(&mut self, definitions: &[ToolDefinition], validator: Option<CallValidator>) {
        let index = validator.is_some().then_some(self.validators.len());
        self.validators.extend(validator);
        self.of_tools.extend(definitions.iter().map(|definition| (definition.name.clone(), index)));
    }

    /// The validator of all calls; `None` if no tools came with one.
    #[cfg(feature = "client")]
    pub(super) fn validator(&self) -> Option<CallValidator> {
        match &self.validators[..] {
            [] => None,
            [one] if self.of_tools.values().all(Option::is_some) => Some(Arc::clone(one)),
            _ => Some(Arc::new(self.clone())),
        }
    }

    /// The validator that a tool came with. A tool that came with none of them is for the first to reject.
    fn of_tool(&self, name: &str) -> Option<&CallValidator> {
        match self.of_tools.get(name) {
            Some(index) => self.validators.get((*index)?),
            None => self.validators.first(),
        }
    }
}

impl ValidateCall for CallValidators {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        self.of_tool(name).map_or(Ok(()), |validator| validator.validate_call(name, parameters))
    }

    fn has_tool(&self, name: &str) -> bool {
        self.of_tool(name).is_none_or(|validator| validator.has_tool(name))
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
