//! The parts of a schema that a plan covers, for people and programs.

use std::fmt;

use super::{Outside, Plan};

/// How a [`SchemaValidator`](crate::SchemaValidator) validates; see
/// [`SchemaValidator::plan`](crate::SchemaValidator::plan).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidationPlan {
    /// With a plan for the whole schema, several times as fast as jsonschema.
    Compiled {
        /// The number of distinct subschemas. One that is only a reference does not count.
        subschemas: usize,
    },
    /// With jsonschema for the whole schema, because plans do not support a keyword.
    Jsonschema {
        /// The first such keyword. `$ref` also stands for a reference into another document, and for one that leads
        /// back to itself for the same value.
        keyword: String,
        /// JSON Pointer to it from the schema's root.
        path: String,
    },
}

impl ValidationPlan {
    /// Whether the whole schema is compiled.
    #[must_use]
    pub fn is_compiled(&self) -> bool {
        matches!(self, Self::Compiled { .. })
    }

    pub(crate) fn of(plan: Result<&Plan, &Outside>) -> Self {
        match plan {
            Ok(plan) => Self::Compiled { subschemas: plan.len() },
            Err(Outside { keyword, path }) => {
                Self::Jsonschema { keyword: keyword.clone(), path: path.clone() }
            }
        }
    }
}

impl fmt::Display for ValidationPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiled { subschemas: 1 } => f.write_str("compiled: 1 subschema"),
            Self::Compiled { subschemas } => write!(f, "compiled: {subschemas} subschemas"),
            Self::Jsonschema { keyword, path } => write!(f, "jsonschema, because of `{keyword}` at {path}"),
        }
    }
}
