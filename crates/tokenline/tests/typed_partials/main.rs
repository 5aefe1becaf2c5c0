//! Records in their own type while they grow.
#![cfg(all(feature = "derive", feature = "codec"))]
#![expect(dead_code, reason = "of many types only the partial is read")]

mod every_cut;
mod expected;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod fields;
mod recipe;
mod shapes;
mod streams;

use serde_json::{Value, json};

/// Without members that are `null` or, for lists, empty: a partial does not tell these from absent ones.
fn without_absent(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), without_absent(value)));
            Value::Object(members.filter(|(_, value)| !value.is_null() && *value != json!([])).collect())
        }
        Value::Array(elements) => elements.iter().map(without_absent).collect(),
        scalar => scalar.clone(),
    }
}

/// Whether `after` is `before` and more.
fn has_grown(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            before.iter().all(|(name, value)| after.get(name).is_some_and(|after| has_grown(value, after)))
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len()
                && before.iter().zip(after).all(|(before, after)| has_grown(before, after))
        }
        (Value::String(before), Value::String(after)) => after.starts_with(&**before),
        (before, after) => before == after,
    }
}
