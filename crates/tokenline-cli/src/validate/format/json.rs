//! The report as JSON.

use super::{Format, Writes};

pub(super) const FORMAT: Format = Format {
    name: "json",
    help: "The report as JSON, at the end",
    writes: Writes::AllAtEnd(|summary, _| serde_json::to_string_pretty(&summary.report)),
    has_excerpts: false,
};
