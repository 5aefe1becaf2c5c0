//! The formats of the errors on standard output: a module each, and a row in the list.

mod github;
mod json;
mod jsonl;
mod sarif;
mod text;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Result;
use tokenline::conversations::LineError;

use super::summary::Summary;

const FORMATS: [&Format; 5] = [&text::FORMAT, &json::FORMAT, &jsonl::FORMAT, &sarif::FORMAT, &github::FORMAT];

/// A format of the errors.
#[derive(Debug)]
pub(super) struct Format {
    name: &'static str,
    help: &'static str,
    pub(super) writes: Writes,
    /// Whether an excerpt may follow each error.
    pub(super) has_excerpts: bool,
}

#[derive(Debug)]
pub(super) enum Writes {
    /// A line for each error, immediately.
    EachError(fn(&LineError) -> Result<String>),
    /// A report of all errors, at the end. Their columns are counted in characters.
    AllAtEnd(fn(&Summary<'_>, &[Option<u64>]) -> Result<String>),
}

/// Parses the name of a format.
pub(super) fn format() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.map(|format| PossibleValue::new(format.name).help(format.help));
    PossibleValuesParser::new(names)
        .try_map(|name| FORMATS.into_iter().find(|format| format.name == name).ok_or("not a format"))
}

/// The message of an error, with the path to the value.
fn message(error: &LineError) -> String {
    match &*error.instance_path {
        "" => error.message.clone(),
        path => format!("{} (at {path})", error.message),
    }
}
