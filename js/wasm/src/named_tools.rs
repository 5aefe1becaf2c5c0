//! Tools without schemas.

use tokenline_core::json::Value;
use tokenline_core::{Code, ValidateCall, Violation};

/// Tools of which only the names are known.
pub(crate) struct NamedTools(Vec<String>);

impl NamedTools {
    /// From an array of names.
    pub(crate) fn new(names: Value<'_>) -> Self {
        let names = names.as_array().into_iter().flatten();
        Self(names.filter_map(|name| Some(name.as_str()?.into_owned())).collect())
    }
}

impl ValidateCall for NamedTools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        let offset = parameters.range().start;
        let violation = |code, message: &str| Err(Box::new(Violation::new(code, offset, message)));
        if !self.has_tool(name) {
            return violation(Code::UnknownTool, "call of a tool that is not defined");
        }
        if parameters.as_object().is_none() {
            return violation(Code::InvalidParameters, "the parameters are not an object");
        }
        Violation::duplicate_key(parameters).map_or(Ok(()), Err)
    }

    fn has_tool(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }
}
