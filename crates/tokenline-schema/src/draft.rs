//! The drafts of JSON Schema.

use serde_json::Value;

/// A draft, from the oldest to the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    Draft4,
    Draft6,
    Draft7,
    Draft201909,
    #[default]
    Draft202012,
}

impl Draft {
    /// The draft that a schema names with `$schema`, the latest if it names none; `None` for a dialect that is no draft.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
        let Some(uri) = schema.get("$schema").and_then(Value::as_str) else { return Some(Self::default()) };
        let uri = uri.trim_end_matches('#');
        let path = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        Some(match path.strip_prefix("json-schema.org/")? {
            "draft-04/schema" => Self::Draft4,
            "draft-06/schema" => Self::Draft6,
            "draft-07/schema" => Self::Draft7,
            "draft/2019-09/schema" => Self::Draft201909,
            "draft/2020-12/schema" | "schema" => Self::Draft202012,
            _ => return None,
        })
    }

    /// The keyword with the identifier of a schema.
    pub(crate) fn id_keyword(self) -> &'static str {
        if self == Self::Draft4 { "id" } else { "$id" }
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Draft4 => "draft 4",
            Self::Draft6 => "draft 6",
            Self::Draft7 => "draft 7",
            Self::Draft201909 => "draft 2019-09",
            Self::Draft202012 => "draft 2020-12",
        }
    }
}
