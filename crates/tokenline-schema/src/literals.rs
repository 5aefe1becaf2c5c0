//! The numbers of a schema as written, where serde_json cannot hold them exactly.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Number, Value as Schema};
use tokenline_core::json::{self, Value, View};

use crate::cost::address;
use crate::number::Decimal;
use crate::pointer;

/// Numbers by the addresses of the values that stand for them.
#[derive(Debug, Default)]
pub(crate) struct Literals(HashMap<usize, String>);

impl Literals {
    /// `exact` has the numbers by their pointers in `schema`.
    pub(crate) fn new(schema: &Schema, exact: Vec<(String, String)>) -> Self {
        let find = |(pointer, literal): (String, String)| {
            let number = schema.pointer(&pointer).filter(|value| value.is_number())?;
            Some((address(number), literal))
        };
        Self(exact.into_iter().filter_map(find).collect())
    }

    /// A number of the schema as written.
    pub(crate) fn number(&self, value: &Schema) -> Option<Cow<'_, str>> {
        let number = value.as_number()?;
        let exact = self.0.get(&address(value)).map(|literal| Cow::Borrowed(literal.as_str()));
        Some(exact.unwrap_or_else(|| number.to_string().into()))
    }

    /// The JSON of a part of the schema.
    pub(crate) fn json(&self, value: &Schema) -> String {
        if self.0.is_empty() {
            return value.to_string();
        }
        let mut json = String::new();
        self.write(value, &mut json);
        json
    }

    fn write(&self, value: &Schema, json: &mut String) {
        match value {
            Schema::Number(_) => json.push_str(&self.number(value).unwrap_or_default()),
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
                    json.push_str(&Schema::from(name.as_str()).to_string());
                    json.push(':');
                    self.write(member, json);
                }
                json.push('}');
            }
            Schema::Null | Schema::Bool(_) | Schema::String(_) => json.push_str(&value.to_string()),
        }
    }
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
            if Decimal::new(&read.to_string()) != Decimal::new(number.as_str()) {
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

/// The number that serde_json reads, or the nearest to it that is neither zero nor infinite.
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
