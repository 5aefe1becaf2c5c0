//! The type of a column for the values of a schema.

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Map, Value};

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Any value, as its JSON text.
    Json,
    Text,
    Int64,
    Double,
    Bool,
    /// Microseconds, UTC.
    Timestamp,
    List(Box<ColumnType>),
    Struct(Vec<(String, ColumnType)>),
}

/// The deepest nesting of columns; deeper values are JSON text.
const MAX_DEPTH: usize = 32;
/// The most columns of one schema; further values are JSON text. References of a small schema can multiply to billions.
const MAX_COLUMNS: usize = 4096;

impl ColumnType {
    /// The type for the values of this schema.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        Mapping { root: schema, path: Vec::new(), columns: 0 }.column(schema)
    }

    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Json | Self::Text => DataType::Utf8,
            Self::Int64 => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::List(items) => DataType::List(Arc::new(Field::new_list_field(items.data_type(), true))),
            Self::Struct(fields) => {
                let field = |(name, column): &(String, Self)| Field::new(name, column.data_type(), true);
                DataType::Struct(fields.iter().map(field).collect())
            }
        }
    }
}

struct Mapping<'s> {
    root: &'s Value,
    /// The schemas around the current one.
    path: Vec<&'s Value>,
    columns: usize,
}

impl<'s> Mapping<'s> {
    fn column(&mut self, schema: &'s Value) -> ColumnType {
        let is_recursive = self.path.iter().any(|outer| std::ptr::eq(*outer, schema));
        // References in a part with an id of its own are relative to that.
        let is_other_document = !self.path.is_empty()
            && schema.get("$id").or_else(|| schema.get("id")).is_some_and(Value::is_string);
        self.columns += 1;
        if is_recursive || is_other_document || self.path.len() >= MAX_DEPTH || self.columns > MAX_COLUMNS {
            return ColumnType::Json;
        }
        let Some(members) = schema.as_object() else { return ColumnType::Json };
        self.path.push(schema);
        let column = self.of_members(members);
        self.path.pop();
        column
    }

    fn of_members(&mut self, members: &'s Map<String, Value>) -> ColumnType {
        if let Some(reference) = members.get("$ref") {
            let target = reference.as_str().and_then(|reference| self.resolve(reference));
            return target.map_or(ColumnType::Json, |target| self.column(target));
        }
        if let Some(types) = members.get("type") {
            return match only_type(types) {
                Some(name) => self.of_type(name, members),
                None => ColumnType::Json,
            };
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(alternatives) = members.get(keyword).and_then(Value::as_array) {
                return self.of_alternatives(alternatives);
            }
        }
        if let Some([only]) = members.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            return self.column(only);
        }
        let constant = members.get("const").map(std::slice::from_ref);
        if let Some(values) = constant.or_else(|| members.get("enum")?.as_array().map(Vec::as_slice)) {
            let is_text = values.iter().any(Value::is_string)
                && values.iter().all(|value| value.is_string() || value.is_null());
            return if is_text { ColumnType::Text } else { ColumnType::Json };
        }
        if members.contains_key("properties") { self.of_object(members) } else { ColumnType::Json }
    }

    fn of_type(&mut self, name: &str, members: &'s Map<String, Value>) -> ColumnType {
        match name {
            "string" if members.get("format").and_then(Value::as_str) == Some("date-time") => {
                ColumnType::Timestamp
            }
            "string" => ColumnType::Text,
            "integer" => ColumnType::Int64,
            "number" => ColumnType::Double,
            "boolean" => ColumnType::Bool,
            "object" => self.of_object(members),
            "array" => {
                let is_tuple = members.contains_key("prefixItems");
                match members.get("items") {
                    Some(Value::Array(_)) => ColumnType::Json,
                    _ if is_tuple => ColumnType::Json,
                    Some(items) => ColumnType::List(Box::new(self.column(items))),
                    None => ColumnType::List(Box::new(ColumnType::Json)),
                }
            }
            _ => ColumnType::Json,
        }
    }

    fn of_object(&mut self, members: &'s Map<String, Value>) -> ColumnType {
        match members.get("properties").and_then(Value::as_object) {
            Some(properties) if !properties.is_empty() => {
                let field = |(name, schema): (&'s String, &'s Value)| (name.clone(), self.column(schema));
                ColumnType::Struct(properties.iter().map(field).collect())
            }
            _ => ColumnType::Json,
        }
    }

    /// The type that all alternatives but null have.
    fn of_alternatives(&mut self, alternatives: &'s [Value]) -> ColumnType {
        let mut columns =
            alternatives.iter().filter(|schema| !is_null(schema)).map(|schema| self.column(schema));
        let Some(first) = columns.next() else { return ColumnType::Json };
        if columns.all(|column| column == first) { first } else { ColumnType::Json }
    }

    /// The part of the schema that a reference within it names.
    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let pointer = reference.strip_prefix('#')?;
        // An encoded pointer: rare, and JSON text holds anything.
        (!pointer.contains('%')).then(|| self.root.pointer(pointer)).flatten()
    }
}

/// The one type besides null.
fn only_type(types: &Value) -> Option<&str> {
    match types {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            let first = names.next()?;
            names.next().is_none().then_some(first)
        }
        _ => None,
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null") || schema.get("const").is_some_and(Value::is_null)
}
