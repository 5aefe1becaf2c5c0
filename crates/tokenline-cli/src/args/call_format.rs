//! The value of `--call-format`: a syntax or model family by name, or a file that describes a syntax.

use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use tokenline::CallFormat;
use tokenline::call_format::CallSyntax;
use tokenline::prompt::tools::ToolCalling;

/// Parses the name of a way to call tools, or a file's.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallingParser;

impl TypedValueParser for CallingParser {
    type Value = ToolCalling;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<ToolCalling, clap::Error> {
        let name = value.to_string_lossy();
        if let Some(calling) = ToolCalling::from_name(&name) {
            return Ok(calling);
        }
        let fault = |message: String| {
            clap::Error::raw(ErrorKind::InvalidValue, format!("{message}\n")).with_cmd(command)
        };
        let path = Path::new(value);
        match path.extension().and_then(OsStr::to_str) {
            Some(extension @ ("json" | "toml")) => read(path, extension == "toml")
                .map(|syntax| ToolCalling::Text(syntax.into()))
                .map_err(|reason| fault(format!("call format {name}: {reason}"))),
            _ => Err(fault(format!(
                "unknown call format '{name}': `tokenline tools formats` lists them, and the name of a file that \
                 describes one ends in .json or .toml"
            ))),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let built_in = CallFormat::BUILT_IN.iter().take(3).map(CallFormat::as_str);
        let mut names: Vec<&str> =
            built_in.chain(CallSyntax::built_in().iter().map(|row| &*row.name)).collect();
        names.dedup();
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}

/// Parses the name of a syntax in text, or a file's.
pub(super) fn call_format() -> impl TypedValueParser<Value = CallFormat> {
    CallingParser.try_map(|calling| match calling {
        ToolCalling::Text(format) => Ok(format),
        _ => Err("function calling is not a syntax in text"),
    })
}

/// Reads a syntax from a file.
fn read(path: &Path, is_toml: bool) -> Result<CallSyntax, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match is_toml {
        true => toml::from_str(&text).map_err(|error| error.to_string()),
        false => serde_json::from_str(&text).map_err(|error| error.to_string()),
    }
}
