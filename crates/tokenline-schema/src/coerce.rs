//! Converts values that hold what the schema asks for, but as another kind.

use tokenline_core::Coercion;
use tokenline_core::json::{Kind, Parser, Raw, Value};

/// The value with strings and numbers converted to the kind that the schema asks for, and the changes; `None`
/// if there are none.
///
/// Looks only at `type`, and only below `properties` and `items`: references and alternatives are not
/// followed.
pub(crate) fn coerce(schema: &serde_json::Value, value: Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
    let mut coerced = Coerced { changes: Vec::new(), path: String::new() };
    coerced.walk(schema, value);
    if coerced.changes.is_empty() {
        return None;
    }
    let written = value.raw();
    let base = value.range().start;
    let mut text = String::with_capacity(written.len());
    let mut from = 0;
    let mut coercions = Vec::with_capacity(coerced.changes.len());
    for (place, replacement, coercion) in coerced.changes {
        text.push_str(&written[from..place.start - base]);
        text.push_str(&replacement);
        from = place.end - base;
        coercions.push(coercion);
    }
    text.push_str(&written[from..]);
    Some((Raw::new(&text).ok()?, coercions))
}

struct Coerced {
    /// In text order: the range, its replacement, and the change to record.
    changes: Vec<(std::ops::Range<usize>, String, Coercion)>,
    path: String,
}

impl Coerced {
    /// Recurses at most as deep as the schema, which was parsed within a depth limit.
    fn walk(&mut self, schema: &serde_json::Value, value: Value<'_>) {
        if let Some(object) = value.as_object() {
            let Some(properties) = schema.get("properties") else { return };
            for (name, member) in object {
                if let Some(schema) = properties.get(name) {
                    self.walk_to(&name.replace('~', "~0").replace('/', "~1"), schema, member);
                }
            }
        } else if let Some(array) = value.as_array() {
            let Some(items) = schema.get("items") else { return };
            for (index, element) in array.iter().enumerate() {
                self.walk_to(&index.to_string(), items, element);
            }
        } else if let Some((replacement, to)) = convert(schema, value) {
            let coercion = Coercion::new(self.path.clone(), value.kind(), to);
            self.changes.push((value.range(), replacement, coercion));
        }
    }

    fn walk_to(&mut self, token: &str, schema: &serde_json::Value, value: Value<'_>) {
        let len = self.path.len();
        self.path.push('/');
        self.path.push_str(token);
        self.walk(schema, value);
        self.path.truncate(len);
    }
}

/// The text of the converted value, and its kind.
fn convert(schema: &serde_json::Value, value: Value<'_>) -> Option<(String, Kind)> {
    let wanted = schema.get("type")?;
    let wants = |name: &str| match wanted {
        serde_json::Value::String(only) => only == name,
        serde_json::Value::Array(names) => names.iter().any(|other| other == name),
        _ => false,
    };
    match value.kind() {
        Kind::String if !wants("string") => {
            let text = value.as_str()?;
            let mut parser = Parser::new();
            let held = parser.parse(&text).ok()?;
            let fits = match held.kind() {
                Kind::String => false,
                Kind::Number => {
                    let is_integer = held.as_number()?.is_written_as_integer();
                    wants("number") || (wants("integer") && is_integer)
                }
                other => wants(other.as_str()),
            };
            // White space around it belongs to a string, not to a number.
            let is_exact = held.raw().len() == text.len();
            (fits && is_exact).then(|| (held.to_single_line().into_owned(), held.kind()))
        }
        Kind::Number if wants("string") && !wants("number") && !wants("integer") => {
            Some((format!("\"{}\"", value.raw()), Kind::String))
        }
        _ => None,
    }
}
