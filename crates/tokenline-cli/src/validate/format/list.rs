//! The list of the formats.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::Result;
use tokenline::conversations::LineError;

use super::{github, json, jsonl, sarif, text};
use crate::validate::summary::Summary;

const FORMATS: [&Format; 5] = [&text::FORMAT, &json::FORMAT, &jsonl::FORMAT, &sarif::FORMAT, &github::FORMAT];

/// A format of the errors.
#[derive(Debug)]
pub(in crate::validate) struct Format {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(in crate::validate) writes: Writes,
}

#[derive(Debug)]
pub(in crate::validate) enum Writes {
    /// A line for each error, immediately.
    EachError(fn(&LineError) -> Result<String>),
    /// A report of all errors, at the end.
    AllAtEnd(fn(&Summary<'_>) -> Result<String>),
}

/// Parses the name of a format.
pub(in crate::validate) fn format() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.map(|format| PossibleValue::new(format.name).help(format.help));
    PossibleValuesParser::new(names)
        .try_map(|name| FORMATS.into_iter().find(|format| format.name == name).ok_or("not a format"))
}
