//! Tools whose parameters are not checked against a schema.

use tokenline_core::json::Value;
use tokenline_core::{Code, Violation};

/// The strings of an array.
pub(crate) fn names(names: Value<'_>) -> Vec<String> {
    let names = names.as_array().into_iter().flatten();
    names.filter_map(|name| Some(name.as_str()?.into_owned())).collect()
}

/// Checks that parameters are an object without repeated names.
pub(crate) fn check_form(parameters: Value<'_>) -> Result<(), Box<Violation>> {
    if parameters.as_object().is_none() {
        let message = "the parameters are not an object";
        return Err(Box::new(Violation::new(Code::InvalidParameters, parameters.range().start, message)));
    }
    Violation::duplicate_key(parameters).map_or(Ok(()), Err)
}

/// Tools of which only the names are known.
#[cfg(not(feature = "schema"))]
pub(crate) struct NamedTools(pub(crate) Vec<String>);

#[cfg(not(feature = "schema"))]
impl tokenline_core::ValidateCall for NamedTools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        if self.has_tool(name) {
            return check_form(parameters);
        }
        let message = "call of a tool that is not defined";
        Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, message)))
    }

    fn has_tool(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }
}
