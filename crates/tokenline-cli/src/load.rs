//! Reading the files that configure a command.

use std::path::Path;

use tokenline::schema::{SchemaOptions, SchemaValidator, ToolSet};

use crate::failure::Failure;

/// A JSON Schema.
pub(crate) fn schema(path: &Path) -> Result<SchemaValidator, Failure> {
    let text = text(path)?;
    SchemaOptions::default().build_str(&text).map_err(|error| at_fault("schema", path, &error))
}

/// Tool definitions.
pub(crate) fn tools(path: &Path) -> Result<ToolSet, Failure> {
    let text = text(path)?;
    ToolSet::from_json_str(&text).map_err(|error| at_fault("tools", path, &error))
}

fn at_fault(what: &str, path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Usage(format!("{what} {}: {error}", path.display()))
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::unreadable(path, &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Usage(format!("{}: not UTF-8: bad byte at offset {at}", path.display()))
    })?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}
