//! The numbers of a schema as written, where serde_json cannot hold them exactly.

use std::borrow::Cow;
use std::collections::HashMap;
#[cfg(not(feature = "jsonschema"))]
use std::collections::HashSet;

use serde_json::{Map, Number, Value as Schema};
use tokenline_core::json::{self, Value, View};

#[cfg(feature = "jsonschema")]
use crate::number::Decimal;
use crate::pointer;
use crate::text::push_json_string;
#[cfg(not(feature = "jsonschema"))]
use crate::tree;
use crate::tree::address;

/// Numbers, and their positions by the addresses of the values that stand for them.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    positions: HashMap<usize, usize>,
    literals: Vec<String>,
}

impl Literals {
    /// `exact` has the numbers by their pointers in `schema`.
    pub(crate) fn new(schema: &Schema, exact: Vec<(String, String)>) -> Self {
        let mut literals = Self::default();
        for (pointer, literal) in exact {
            if let Some(number) = pointer::find(schema, &pointer).filter(|value| value.is_number()) {
                literals.positions.insert(address(number), literals.literals.len());
                literals.literals.push(literal);
            }
        }
        literals
    }

    /// A number of the schema as written.
    pub(crate) fn number(&self, value: &Schema) -> Option<Cow<'_, str>> {
        let number = value.as_number()?;
        let at = self.positions.get(&address(value));
        let exact = at.map(|at| Cow::Borrowed(self.literals[*at].as_str()));
        Some(exact.unwrap_or_else(|| print(number).into()))
    }

    /// The JSON of a part of the schema.
    pub(crate) fn json(&self, value: &Schema) -> String {
        let mut json = String::new();
        self.write(value, &mut json);
        json
    }

    fn write(&self, value: &Schema, json: &mut String) {
        match value {
            Schema::Null => json.push_str("null"),
            Schema::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            Schema::Number(_) => json.push_str(&self.number(value).unwrap_or_default()),
            Schema::String(text) => push_json_string(json, text),
            Schema::Array(elements) => {
                json.push('[');
                for (at, element) in elements.iter().enumerate() {
                    json.push_str(if at > 0 { "," } else { "" });
                    self.write(element, json);
                }
                json.push(']');
            }
            Schema::Object(members) => {
                json.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    json.push_str(if at > 0 { "," } else { "" });
                    push_json_string(json, name);
                    json.push(':');
                    self.write(member, json);
                }
                json.push('}');
            }
        }
    }
}

/// A number that has no literal.
#[cfg(feature = "jsonschema")]
fn print(number: &Number) -> String {
    number.to_string()
}

/// A number that has no literal: an integer. See [`nearest`].
#[cfg(not(feature = "jsonschema"))]
fn print(number: &Number) -> String {
    number
        .as_i64()
        .map(|number| number.to_string())
        .or(number.as_u64().map(|number| number.to_string()))
        .unwrap_or_default()
}

/// A schema as serde_json reads it, and the numbers that are not exact in it, by their pointers. A number beyond the
/// range of `f64` is the last one inside.
pub(crate) fn read(schema: Value<'_>) -> (Schema, Vec<(String, String)>) {
    let mut exact = Vec::new();
    let schema = read_at(schema, &mut String::new(), &mut exact);
    (schema, exact)
}

fn read_at(value: Value<'_>, path: &mut String, exact: &mut Vec<(String, String)>) -> Schema {
    let len = path.len();
    match value.view() {
        View::Null => Schema::Null,
        View::Bool(value) => value.into(),
        View::String(value) => value.into(),
        View::Number(number) => {
            let read = nearest(number);
            if !is_exact(&read, number) {
                exact.push((path.clone(), number.as_str().to_owned()));
            }
            Schema::Number(read)
        }
        View::Array(array) => {
            let mut elements = Vec::with_capacity(array.len());
            for (at, element) in array.iter().enumerate() {
                pointer::push(path, &at.to_string());
                elements.push(read_at(element, path, exact));
                path.truncate(len);
            }
            Schema::Array(elements)
        }
        View::Object(object) => {
            let mut members = Map::new();
            for (name, member) in object {
                pointer::push(path, name);
                members.insert(name.to_owned(), read_at(member, path, exact));
                path.truncate(len);
            }
            Schema::Object(members)
        }
    }
}

/// Whether a number is the same as read.
#[cfg(feature = "jsonschema")]
fn is_exact(read: &Number, number: json::Number<'_>) -> bool {
    Decimal::new(&read.to_string()) == Decimal::new(number.as_str())
}

#[cfg(not(feature = "jsonschema"))]
fn is_exact(read: &Number, _: json::Number<'_>) -> bool {
    !read.is_f64()
}

/// A placeholder for a number that is no small integer. Only the literal of such a number is used: to read and print it,
/// WebAssembly would need tables of 20 KB.
#[cfg(not(feature = "jsonschema"))]
fn nearest(number: json::Number<'_>) -> Number {
    let integer = number.as_u64().map(Number::from).or_else(|| number.as_i64().map(Number::from));
    integer.or_else(|| Number::from_f64(0.5)).unwrap_or_else(|| 0.into())
}

/// The schema with the nearest numbers to its literals.
#[cfg(not(feature = "jsonschema"))]
pub(crate) fn restore(schema: &Schema, literals: &Literals) -> Schema {
    match schema {
        Schema::Number(_) => {
            let number = literals.number(schema).and_then(|literal| literal.parse::<f64>().ok());
            let number = number.filter(|_| schema.is_f64()).map(|number| number.clamp(f64::MIN, f64::MAX));
            number.map_or_else(|| schema.clone(), Schema::from)
        }
        Schema::Array(elements) => elements.iter().map(|element| restore(element, literals)).collect(),
        Schema::Object(members) => Schema::Object(
            members.iter().map(|(name, member)| (name.clone(), restore(member, literals))).collect(),
        ),
        other => other.clone(),
    }
}

/// The literals of all numbers that are no small integers, among them these.
#[cfg(not(feature = "jsonschema"))]
pub(crate) fn complete(schema: &Schema, mut exact: Vec<(String, String)>) -> Vec<(String, String)> {
    let known: HashSet<String> = exact.iter().map(|(path, _)| path.clone()).collect();
    tree::visit(schema, &mut |value, here| {
        if let Some(number) = value.as_number().filter(|number| number.is_f64()) {
            let path = here.pointer();
            if !known.contains(&path) {
                exact.push((path, number.to_string()));
            }
        }
        false
    });
    exact
}

/// The number that serde_json reads, or the nearest to it that is neither zero nor infinite.
#[cfg(feature = "jsonschema")]
fn nearest(number: json::Number<'_>) -> Number {
    let read = number
        .to_number()
        .filter(|read| read.as_f64() != Some(0.0) || Decimal::new(number.as_str()) == Decimal::new("0"));
    read.unwrap_or_else(|| {
        let is_small = number.as_f64() == Some(0.0);
        let size = if is_small { f64::MIN_POSITIVE } else { f64::MAX };
        let signed = if number.as_str().starts_with('-') { -size } else { size };
        Number::from_f64(signed).unwrap_or_else(|| 0.into())
    })
}
