//! The terms for templates.

use minijinja::Value;
use minijinja::value::{Serde, ValueKind, merge_maps};
use serde::Serialize;

/// Values by name.
#[derive(Clone, Debug)]
pub(crate) struct Terms(Value);

impl Terms {
    pub(crate) fn none() -> Self {
        Self(Value::from_pairs::<_, String, Value>([]))
    }

    /// The members of a map or struct; empty for `()` and `None`.
    ///
    /// # Errors
    ///
    /// The reason the value cannot be used as terms.
    pub(crate) fn new(terms: impl Serialize) -> Result<Self, String> {
        let value = Value::from(Serde(terms));
        match value.kind() {
            ValueKind::Map => Ok(Self(value)),
            ValueKind::None | ValueKind::Undefined => Ok(Self::none()),
            ValueKind::Invalid => Err("the terms cannot be serialized".to_owned()),
            other => Err(format!("expected a map of terms, found a {other}")),
        }
    }

    /// Merges two sets of terms; these override those in `below`.
    pub(crate) fn over(&self, below: &Self) -> Self {
        // If a name is repeated, the last value counts.
        Self(merge_maps([below.0.clone(), self.0.clone()]))
    }

    pub(crate) fn value(&self) -> Value {
        self.0.clone()
    }
}
