//! What templates are rendered with.

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

    /// The members of a map or struct; of nothing (`()`, `None`), none.
    ///
    /// # Errors
    ///
    /// Why these are no terms.
    pub(crate) fn new(terms: impl Serialize) -> Result<Self, String> {
        let value = Value::from(Serde(terms));
        match value.kind() {
            ValueKind::Map => Ok(Self(value)),
            ValueKind::None | ValueKind::Undefined => Ok(Self::none()),
            ValueKind::Invalid => Err("the terms cannot be serialized".to_owned()),
            other => Err(format!("terms are values by name, as in a map; found a {other}")),
        }
    }

    /// All of these; of those that `below` has too, these.
    pub(crate) fn over(&self, below: &Self) -> Self {
        // Of values by one name, this takes the last.
        Self(merge_maps([below.0.clone(), self.0.clone()]))
    }

    pub(crate) fn value(&self) -> Value {
        self.0.clone()
    }
}
