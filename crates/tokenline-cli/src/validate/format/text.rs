//! A line of text per error.

use super::{Format, Writes};
use crate::log::printable;

pub(super) const FORMAT: Format = Format {
    name: "text",
    help: "One line of text per error, immediately",
    writes: Writes::EachError(|error| Ok(printable(&error.to_string(), &[]))),
    has_excerpts: true,
};
