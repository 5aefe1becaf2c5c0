//! Writes calls as JSON.

use crate::json::write::string;
use crate::json::{Parser, Value};

/// Writes `{"name":...,"parameters":...}`, and the id if there is one.
pub(super) fn call(name: &str, parameters: &str, call_id: Option<&str>) -> String {
    let mut out = String::with_capacity(parameters.len() + name.len() + 32);
    out.push_str("{\"name\":");
    string(&mut out, name);
    out.push_str(",\"parameters\":");
    out.push_str(parameters);
    if let Some(call_id) = call_id {
        out.push_str(",\"call_id\":");
        string(&mut out, call_id);
    }
    out.push('}');
    out
}

/// The object with each member once: of several with the same name, the last.
pub(super) fn without_repetitions(object: &str) -> String {
    let mut parser = Parser::new();
    let Some(members) = parser.parse(object).ok().and_then(Value::as_object) else {
        return object.to_owned();
    };
    // By positions on the tape, which has no more than one for each byte.
    let position = |value: Value<'_>| value.identity().1 as usize;
    let mut is_kept = vec![false; object.len()];
    members.distinct().into_iter().for_each(|(_, value)| is_kept[position(value)] = true);
    let mut out = String::from("{");
    for (name, value) in members {
        if is_kept[position(value)] {
            if out.len() > 1 {
                out.push(',');
            }
            string(&mut out, name);
            out.push(':');
            out.push_str(value.raw());
        }
    }
    out.push('}');
    out
}
