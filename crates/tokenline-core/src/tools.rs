//! Tools for a request.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::{ToolDefinition, ValidateCall};

/// The tools of a request: their definitions, and the validator of their calls if there is one.
///
/// ```
/// use tokenline_core::{ToolDefinition, Tools};
///
/// let now = ToolDefinition::new("now").with_description("The time.");
/// let tools = Tools::from([&now]);
/// assert!(tools.definitions == [now] && tools.validator.is_none());
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Tools {
    /// The definitions, as sent to the model.
    pub definitions: Vec<ToolDefinition>,
    /// The validator of their calls.
    pub validator: Option<Arc<dyn ValidateCall + Send + Sync>>,
}

impl Tools {
    /// Sets the validator of their calls.
    #[must_use]
    pub fn validated_by(self, validator: impl ValidateCall + Send + Sync + 'static) -> Self {
        Self { validator: Some(Arc::new(validator)), ..self }
    }
}

/// Definitions whose calls are not validated.
impl<I: IntoIterator<Item: Borrow<ToolDefinition>>> From<I> for Tools {
    fn from(definitions: I) -> Self {
        let definitions = definitions.into_iter().map(|definition| definition.borrow().clone()).collect();
        Self { definitions, validator: None }
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("definitions", &self.definitions)
            .field("is_validated", &self.validator.is_some())
            .finish()
    }
}
