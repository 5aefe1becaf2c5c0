//! The type of a column: of a schema, or of a field of Arrow.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde_json::{Map, Value};

use super::scalar::{DecimalType, Fixed};
use crate::ExtractError;

/// A column: how its values are read, and the type of its array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedColumn {
    pub(crate) column: ColumnType,
    pub(crate) data_type: DataType,
}

/// How the values of a column are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Any value, as its JSON text.
    Json,
    Text,
    Bool,
    Float,
    Double,
    Fixed(Fixed),
    Decimal(DecimalType),
    List(Box<Slot>),
    Struct(Vec<(String, Slot)>),
}

/// The items of a list, or a member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) column: ColumnType,
    pub(crate) is_nullable: bool,
}

/// The deepest nesting of columns; deeper values are JSON text.
const MAX_DEPTH: usize = 32;
/// The most columns of one schema; further values are JSON text. References of a small schema can multiply to billions.
const MAX_COLUMNS: usize = 4096;

/// The extension type of JSON text (Arrow's canonical extensions).
const JSON_EXTENSION: &str = "arrow.json";

impl TypedColumn {
    /// The type for the records of this schema.
    pub(crate) fn of_schema(schema: &Value) -> Self {
        Mapping { root: schema, path: Vec::new(), columns: 0 }.column(schema)
    }

    fn new(column: ColumnType, data_type: DataType) -> Self {
        Self { column, data_type }
    }

    fn json() -> Self {
        Self::new(ColumnType::Json, DataType::Utf8)
    }

    fn text() -> Self {
        Self::new(ColumnType::Text, DataType::Utf8)
    }

    fn date_time() -> Self {
        let unit = TimeUnit::Microsecond;
        let column = ColumnType::Fixed(Fixed::Timestamp { unit, is_local: false });
        Self::new(column, DataType::Timestamp(unit, Some("UTC".into())))
    }

    /// The schema says which values may be null, and validates them: every column is nullable.
    fn list(items: Self) -> Self {
        let item = Field::new_list_field(items.data_type, true);
        let slot = Slot { column: items.column, is_nullable: true };
        Self::new(ColumnType::List(Box::new(slot)), DataType::List(Arc::new(item)))
    }

    fn structure(members: impl Iterator<Item = (String, Self)>) -> Self {
        let member = |(name, Self { column, data_type }): (String, Self)| {
            let field = Field::new(&name, data_type, true);
            ((name, Slot { column, is_nullable: true }), field)
        };
        let (slots, fields): (Vec<_>, Vec<Field>) = members.map(member).unzip();
        Self::new(ColumnType::Struct(slots), DataType::Struct(fields.into()))
    }

    /// The type with these columns.
    ///
    /// # Errors
    ///
    /// If a column has a type that no value of JSON is read as, or two have the same name.
    pub(crate) fn of_fields(fields: &Fields) -> Result<Self, ExtractError> {
        let data_type = DataType::Struct(fields.clone());
        Ok(Self { column: of_arrow("", &Field::new("value", data_type.clone(), false))?, data_type })
    }
}

/// How the values of a field are read. `path` names it in errors.
fn of_arrow(path: &str, field: &Field) -> Result<ColumnType, ExtractError> {
    let int = |bits, is_signed| ColumnType::Fixed(Fixed::Int { bits, is_signed });
    let decimal = |precision, scale, is_wide| ColumnType::Decimal(DecimalType { precision, scale, is_wide });
    Ok(match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            if field.extension_type_name() == Some(JSON_EXTENSION) {
                ColumnType::Json
            } else {
                ColumnType::Text
            }
        }
        DataType::Boolean => ColumnType::Bool,
        DataType::Int8 => int(8, true),
        DataType::Int16 => int(16, true),
        DataType::Int32 => int(32, true),
        DataType::Int64 => int(64, true),
        DataType::UInt8 => int(8, false),
        DataType::UInt16 => int(16, false),
        DataType::UInt32 => int(32, false),
        DataType::UInt64 => int(64, false),
        DataType::Float32 => ColumnType::Float,
        DataType::Float64 => ColumnType::Double,
        DataType::Date32 => ColumnType::Fixed(Fixed::Date { is_wide: false }),
        DataType::Date64 => ColumnType::Fixed(Fixed::Date { is_wide: true }),
        DataType::Time32(unit @ (TimeUnit::Second | TimeUnit::Millisecond))
        | DataType::Time64(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => {
            ColumnType::Fixed(Fixed::Time(*unit))
        }
        DataType::Timestamp(unit, zone) => {
            ColumnType::Fixed(Fixed::Timestamp { unit: *unit, is_local: zone.is_none() })
        }
        DataType::Decimal32(precision @ 1..=9, scale) if is_scale(*precision, *scale) => {
            decimal(*precision, *scale, false)
        }
        DataType::Decimal64(precision @ 1..=18, scale) if is_scale(*precision, *scale) => {
            decimal(*precision, *scale, false)
        }
        DataType::Decimal128(precision @ 1..=38, scale) if is_scale(*precision, *scale) => {
            decimal(*precision, *scale, false)
        }
        DataType::Decimal256(precision @ 1..=76, scale) if is_scale(*precision, *scale) => {
            decimal(*precision, *scale, true)
        }
        DataType::List(item) | DataType::LargeList(item) => {
            let column = of_arrow(&format!("{path}[]"), item)?;
            ColumnType::List(Box::new(Slot { column, is_nullable: item.is_nullable() }))
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let mut slots = Vec::with_capacity(fields.len());
            for (at, field) in fields.iter().enumerate() {
                let name = field.name();
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if fields[..at].iter().any(|before| before.name() == name) {
                    return Err(ExtractError::DuplicateColumn { column: path });
                }
                let column = of_arrow(&path, field)?;
                slots.push((name.clone(), Slot { column, is_nullable: field.is_nullable() }));
            }
            ColumnType::Struct(slots)
        }
        other => {
            let column = if path.is_empty() { field.name() } else { path };
            return Err(ExtractError::UnsupportedColumn {
                column: column.to_owned(),
                data_type: other.clone(),
            });
        }
    })
}

/// Whether a decimal may have this many digits after the point: as many as it has, or zeros before the point.
fn is_scale(precision: u8, scale: i8) -> bool {
    i16::from(scale).unsigned_abs() <= u16::from(precision)
}

struct Mapping<'s> {
    root: &'s Value,
    /// The schemas around the current one.
    path: Vec<&'s Value>,
    columns: usize,
}

impl<'s> Mapping<'s> {
    fn column(&mut self, schema: &'s Value) -> TypedColumn {
        let is_recursive = self.path.iter().any(|outer| std::ptr::eq(*outer, schema));
        // References in a part with an id of its own are relative to that.
        let is_other_document = !self.path.is_empty()
            && schema.get("$id").or_else(|| schema.get("id")).is_some_and(Value::is_string);
        self.columns += 1;
        if is_recursive || is_other_document || self.path.len() >= MAX_DEPTH || self.columns > MAX_COLUMNS {
            return TypedColumn::json();
        }
        let Some(members) = schema.as_object() else { return TypedColumn::json() };
        self.path.push(schema);
        let column = self.of_members(members);
        self.path.pop();
        column
    }

    fn of_members(&mut self, members: &'s Map<String, Value>) -> TypedColumn {
        if let Some(reference) = members.get("$ref") {
            let target = reference.as_str().and_then(|reference| self.resolve(reference));
            return target.map_or(TypedColumn::json(), |target| self.column(target));
        }
        if let Some(types) = members.get("type") {
            return match only_type(types) {
                Some(name) => self.of_type(name, members),
                None => TypedColumn::json(),
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
            return if is_text { TypedColumn::text() } else { TypedColumn::json() };
        }
        if members.contains_key("properties") { self.of_object(members) } else { TypedColumn::json() }
    }

    fn of_type(&mut self, name: &str, members: &'s Map<String, Value>) -> TypedColumn {
        match name {
            "string" => match members.get("format").and_then(Value::as_str) {
                Some("date-time") => TypedColumn::date_time(),
                Some("date") => {
                    TypedColumn::new(ColumnType::Fixed(Fixed::Date { is_wide: false }), DataType::Date32)
                }
                _ => TypedColumn::text(),
            },
            "integer" => {
                TypedColumn::new(ColumnType::Fixed(Fixed::Int { bits: 64, is_signed: true }), DataType::Int64)
            }
            "number" => TypedColumn::new(ColumnType::Double, DataType::Float64),
            "boolean" => TypedColumn::new(ColumnType::Bool, DataType::Boolean),
            "object" => self.of_object(members),
            "array" => {
                let is_tuple = members.contains_key("prefixItems");
                match members.get("items") {
                    Some(Value::Array(_)) => TypedColumn::json(),
                    _ if is_tuple => TypedColumn::json(),
                    Some(items) => TypedColumn::list(self.column(items)),
                    None => TypedColumn::list(TypedColumn::json()),
                }
            }
            _ => TypedColumn::json(),
        }
    }

    fn of_object(&mut self, members: &'s Map<String, Value>) -> TypedColumn {
        match members.get("properties").and_then(Value::as_object) {
            Some(properties) if !properties.is_empty() => {
                let field = |(name, schema): (&'s String, &'s Value)| (name.clone(), self.column(schema));
                TypedColumn::structure(properties.iter().map(field))
            }
            _ => TypedColumn::json(),
        }
    }

    /// The type that all alternatives but null have.
    fn of_alternatives(&mut self, alternatives: &'s [Value]) -> TypedColumn {
        let mut columns =
            alternatives.iter().filter(|schema| !is_null(schema)).map(|schema| self.column(schema));
        let Some(first) = columns.next() else { return TypedColumn::json() };
        if columns.all(|column| column == first) { first } else { TypedColumn::json() }
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
