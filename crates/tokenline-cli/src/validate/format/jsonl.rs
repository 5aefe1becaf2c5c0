//! A JSON object per error.

use super::{Format, Writes};

pub(super) const FORMAT: Format = Format {
    name: "jsonl",
    help: "One JSON object per error, immediately",
    writes: Writes::EachError(serde_json::to_string),
    has_excerpts: false,
};
