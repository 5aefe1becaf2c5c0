//! Repair of malformed JSON: each edit of the list, what is ambiguous, random faults, hostile texts.

mod cases;
#[path = "../common/random.rs"]
mod common_random;
mod delivered;
mod generate;
mod hostile;
mod line_feeds;
mod listed;
mod mutate;
mod random;
mod soup;

use std::collections::BTreeSet;

use serde_json::Value;

/// The shared helpers that this program uses.
mod common {
    pub(crate) use super::common_random as random;
}

/// The places and kinds of all values: a schema that knows the members of a record.
fn members(value: &Value) -> BTreeSet<String> {
    fn add(value: &Value, path: &str, members: &mut BTreeSet<String>) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(elements) => {
                for element in elements {
                    add(element, &format!("{path}/*"), members);
                }
                "array"
            }
            Value::Object(object) => {
                for (name, value) in object {
                    add(value, &format!("{path}/{name}"), members);
                }
                "object"
            }
        };
        members.insert(format!("{path} {kind}"));
    }
    let mut members = BTreeSet::new();
    add(value, "", &mut members);
    members
}
