//! The value of `--call-format`: a syntax or model family by name, or a file that describes a syntax.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use serde::Deserialize as _;
use serde_json::Value;
use tokenline::CallFormat;
use tokenline::call_format::CallSyntax;
use tokenline::prompt::tools::ToolCalling;

/// Parses the name of a way to call tools, or a file's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallingParser {
    has_function_calling: bool,
}

impl CallingParser {
    /// A parser of all ways.
    pub(crate) const fn new() -> Self {
        Self { has_function_calling: true }
    }
}

impl TypedValueParser for CallingParser {
    type Value = ToolCalling;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<ToolCalling, clap::Error> {
        let name = value.to_string_lossy();
        let fault = |message: String| {
            clap::Error::raw(ErrorKind::InvalidValue, format!("{message}\n")).with_cmd(command)
        };
        match ToolCalling::from_name(&name) {
            Some(ToolCalling::FunctionCalling) if !self.has_function_calling => {
                return Err(fault(format!(
                    "call format {name}: the calls are not in the text; they are read without --call-format"
                )));
            }
            Some(calling) => return Ok(calling),
            None => {}
        }
        let path = Path::new(value);
        match path.extension().and_then(OsStr::to_str) {
            Some(extension @ ("json" | "toml")) => read(path, extension == "toml")
                .map(|syntax| ToolCalling::Text(syntax.into()))
                .map_err(|reason| fault(format!("call format {name}: {reason}"))),
            _ => {
                let function_calling =
                    self.has_function_calling.then_some(ToolCalling::FunctionCalling.as_str());
                Err(fault(format!(
                    "{}; a file that describes one must end in .json or .toml",
                    unknown_call_format(&name, function_calling)
                )))
            }
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
pub(crate) fn call_format() -> impl TypedValueParser<Value = CallFormat> {
    CallingParser { has_function_calling: false }.try_map(|calling| match calling {
        ToolCalling::Text(format) => Ok(format),
        _ => Err("the calls are not in the text"),
    })
}

/// The message for a name of no syntax, with the nearest names. `other` is a name besides those of syntaxes.
pub(crate) fn unknown_call_format(name: &str, other: Option<&'static str>) -> String {
    let built_in = CallFormat::BUILT_IN.iter().map(CallFormat::as_str);
    let rows = CallSyntax::built_in().iter();
    let names = rows.flat_map(|row| std::iter::once(&row.name).chain(&row.models)).map(String::as_str);
    let known: BTreeSet<&str> = built_in.chain(names).chain(other).collect();
    let nearest = match &*nearest(name, &known) {
        [] => String::new(),
        [only] => format!("the nearest name is {only}; "),
        several => format!("the nearest names are {}; ", several.join(", ")),
    };
    format!("unknown call format '{name}': {nearest}`tokenline tools formats` lists all")
}

/// The known names nearest to an unknown one, at most three: first those of which one begins with the other, such as a
/// model's and its family's, then those that few letters set apart.
fn nearest<'a>(name: &str, known: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let name = name.trim().to_ascii_lowercase();
    let name = name.split_once('/').map_or(&*name, |(_, name)| name);
    let distance = |known: &str| {
        let begins_alike = !name.is_empty() && (known.starts_with(name) || name.starts_with(known));
        let distance = strsim::osa_distance(name, known);
        let is_near = begins_alike || distance <= (known.len() / 3).min(2);
        is_near.then_some((!begins_alike, distance))
    };
    let mut near: Vec<_> = known.iter().filter_map(|known| Some((distance(known)?, *known))).collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

/// Reads a syntax from a file.
fn read(path: &Path, is_toml: bool) -> Result<CallSyntax, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let row: Value = if is_toml {
        toml::from_str(&text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            format!("line {}: not TOML: {}", line_at(&text, offset), error.message().replace('\n', ", "))
        })?
    } else {
        let mut values = serde_json::Deserializer::from_str(&text).into_iter();
        let row = values.next().ok_or("the file is empty")?.map_err(|error| format!("not JSON: {error}"))?;
        let rest = text.get(values.byte_offset()..).unwrap_or_default();
        if let Some(more) = rest.find(|c: char| !c.is_whitespace()) {
            let line = line_at(&text, values.byte_offset() + more);
            return Err(format!("line {line}: more text after the syntax; a file describes one"));
        }
        row
    };
    CallSyntax::deserialize(row).map_err(|error| error.to_string())
}

/// The line of an offset, counted from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
