//! Deserialization directly from the tape, and conversion to `serde_json::Value`.

use std::borrow::Cow;
use std::fmt::{self, Display};

use serde::de::{
    self, Deserialize, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::containers::{Elements, Members};
use super::raw::RAW;
use super::shown;
use super::value::{Kind, Value, View};

/// The error of a value that does not fit the type it is read into.
///
/// The message names kinds and expectations, not the value, so it can be logged. The only exception are
/// messages of a type's own `Deserialize` that are not [`Shown`](super::Shown), which [`is_custom`](Self::is_custom)
/// marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeserializeError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    message: String,
    offset: Option<usize>,
    custom: bool,
}

impl DeserializeError {
    fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Inner { message: message.into(), offset: None, custom: false }))
    }

    /// The offset of the value that does not fit, in bytes from the start of the document.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// Whether the message comes from the type's own `Deserialize`, and may quote the value.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.0.custom
    }

    /// Keeps the first offset: errors pass from the innermost value outward.
    fn at(mut self, value: Value<'_>) -> Self {
        self.0.offset.get_or_insert_with(|| value.range().start);
        self
    }
}

impl Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for DeserializeError {}

impl de::Error for DeserializeError {
    fn custom<T: Display>(message: T) -> Self {
        let (text, is_shown) = shown::text_of(&message);
        let mut error = Self::new(text);
        error.0.custom = !is_shown;
        error
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("invalid type: {}, expected {expected}", name_of(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("invalid value: {}, expected {expected}", name_of(unexpected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("invalid length {length}, expected {expected}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing field `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("duplicate field `{field}`"))
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown variant, expected one of {}", quoted(expected)))
    }

    fn unknown_field(_field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown field, expected one of {}", quoted(expected)))
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn name_of(unexpected: Unexpected<'_>) -> &'static str {
    match unexpected {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "an array",
        Unexpected::Map => "an object",
        _ => "another kind of value",
    }
}

impl<'de> Value<'de> {
    /// Deserializes the value. Strings without escapes are borrowed if the type borrows.
    ///
    /// # Errors
    ///
    /// If the value does not fit the type, or a number is out of the type's range.
    pub fn deserialize<T: Deserialize<'de>>(self) -> Result<T, DeserializeError> {
        T::deserialize(self)
    }

    /// The value as serde_json would read it.
    ///
    /// # Errors
    ///
    /// If a number is beyond the range of `f64`.
    pub fn to_value(self) -> Result<serde_json::Value, DeserializeError> {
        // Recursion is bounded by the parser's depth limit, here and in `visit`.
        Ok(match self.view() {
            View::Null => serde_json::Value::Null,
            View::Bool(bool) => serde_json::Value::Bool(bool),
            View::String(string) => serde_json::Value::String(string.into_owned()),
            View::Number(number) => {
                serde_json::Value::Number(number.to_number().ok_or_else(|| out_of_range().at(self))?)
            }
            View::Array(array) => {
                serde_json::Value::Array(array.iter().map(Value::to_value).collect::<Result<_, _>>()?)
            }
            View::Object(object) => {
                let mut map = serde_json::Map::new();
                for (name, value) in object {
                    map.insert(name.to_owned(), value.to_value()?);
                }
                serde_json::Value::Object(map)
            }
        })
    }

    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.view() {
            View::Null => visitor.visit_unit(),
            View::Bool(bool) => visitor.visit_bool(bool),
            View::String(Cow::Borrowed(string)) => visitor.visit_borrowed_str(string),
            View::String(Cow::Owned(string)) => visitor.visit_string(string),
            View::Number(number) => {
                if let Some(number) = number.as_u64() {
                    visitor.visit_u64(number)
                } else if let Some(number) = number.as_i64() {
                    visitor.visit_i64(number)
                } else {
                    visitor.visit_f64(number.as_f64().ok_or_else(out_of_range)?)
                }
            }
            View::Array(array) => {
                let mut access = ElementAccess(array.iter());
                let value = visitor.visit_seq(&mut access)?;
                match access.0.next() {
                    None => Ok(value),
                    Some(_) => Err(de::Error::invalid_length(array.len(), &"an array with fewer elements")),
                }
            }
            View::Object(object) => {
                let mut access = MemberAccess { members: object.iter(), value: None };
                let value = visitor.visit_map(&mut access)?;
                match access.members.next() {
                    None => Ok(value),
                    Some(_) => Err(de::Error::invalid_length(object.len(), &"an object with fewer members")),
                }
            }
        }
    }
}

fn out_of_range() -> DeserializeError {
    DeserializeError::new("number out of range")
}

impl<'de> de::Deserializer<'de> for Value<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.visit(visitor).map_err(|error| error.at(self))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match name {
            RAW => match self.to_json() {
                Cow::Borrowed(json) => visitor.visit_borrowed_str(json),
                Cow::Owned(json) => visitor.visit_string(json),
            },
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        let result = match self.view() {
            View::String(variant) => visitor.visit_enum(variant.into_deserializer()),
            View::Object(object) => match (object.iter().next(), object.len()) {
                (Some((variant, value)), 1) => visitor.visit_enum(Variant { variant, value }),
                _ => Err(de::Error::invalid_length(object.len(), &"an object with one member, the variant")),
            },
            _ => Err(DeserializeError::new("expected a variant: a string or an object with one member")),
        };
        result.map_err(|error| error.at(self))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        let result = match self.view() {
            View::String(Cow::Borrowed(string)) => visitor.visit_borrowed_bytes(string.as_bytes()),
            View::String(Cow::Owned(string)) => visitor.visit_byte_buf(string.into_bytes()),
            _ => self.visit(visitor),
        };
        result.map_err(|error| error.at(self))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.wide_integer(visitor, Visitor::visit_i128)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.wide_integer(visitor, Visitor::visit_u128)
    }

    /// A name, never the index of a field or variant, which visitors would also accept.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        // The errors name kinds only, so their values do not matter.
        let unexpected = match self.view() {
            View::String(_) => return self.visit(visitor).map_err(|error| error.at(self)),
            View::Null => Unexpected::Unit,
            View::Bool(bool) => Unexpected::Bool(bool),
            View::Number(number) if number.is_written_as_integer() => Unexpected::Signed(0),
            View::Number(_) => Unexpected::Float(0.0),
            View::Array(_) => Unexpected::Seq,
            View::Object(_) => Unexpected::Map,
        };
        Err(DeserializeError::at(de::Error::invalid_type(unexpected, &visitor), self))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_identifier(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_identifier(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char unit unit_struct seq tuple
        tuple_struct map struct
    }
}

impl<'de> Value<'de> {
    /// Integers beyond 64 bits are parsed from the literal, never through a float.
    fn wide_integer<V: Visitor<'de>, I: std::str::FromStr>(
        self,
        visitor: V,
        visit: fn(V, I) -> Result<V::Value, DeserializeError>,
    ) -> Result<V::Value, DeserializeError> {
        let result = match self.view() {
            View::Number(number) if number.is_written_as_integer() => match number.as_str().parse() {
                Ok(integer) => visit(visitor, integer),
                Err(_) => Err(out_of_range()),
            },
            _ => self.visit(visitor),
        };
        result.map_err(|error| error.at(self))
    }
}

impl<'de> IntoDeserializer<'de, DeserializeError> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct ElementAccess<'de>(Elements<'de>);

impl<'de> SeqAccess<'de> for ElementAccess<'de> {
    type Error = DeserializeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DeserializeError> {
        self.0.next().map(|value| seed.deserialize(value)).transpose()
    }
}

struct MemberAccess<'de> {
    members: Members<'de>,
    value: Option<Value<'de>>,
}

impl<'de> MapAccess<'de> for MemberAccess<'de> {
    type Error = DeserializeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DeserializeError> {
        let Some((name, value)) = self.members.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(MemberName(name)).map(Some).map_err(|error| error.at(value))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DeserializeError> {
        let value = self
            .value
            .take()
            .ok_or_else(|| DeserializeError::new("a value was asked for before its name"))?;
        seed.deserialize(value).map_err(|error| error.at(value))
    }
}

/// A member's name. Map keys may be integers or booleans, written as strings.
struct MemberName<'de>(&'de str);

/// Whether a text that Rust parses as a number or boolean is also one in JSON: without `+` or a leading zero.
/// `-0` is a float.
fn is_json_literal(name: &str) -> bool {
    let digits = name.strip_prefix('-').unwrap_or(name);
    !name.starts_with('+') && (name == "0" || !digits.starts_with('0'))
}

macro_rules! parsed_name {
    ($($method:ident => $visit:ident,)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
            match self.0.parse() {
                Ok(key) if is_json_literal(self.0) => visitor.$visit(key),
                _ => visitor.visit_borrowed_str(self.0),
            }
        }
    )+};
}

impl<'de> de::Deserializer<'de> for MemberName<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed_name! {
        deserialize_bool => visit_bool,
        deserialize_i8 => visit_i8,
        deserialize_i16 => visit_i16,
        deserialize_i32 => visit_i32,
        deserialize_i64 => visit_i64,
        deserialize_i128 => visit_i128,
        deserialize_u8 => visit_u8,
        deserialize_u16 => visit_u16,
        deserialize_u32 => visit_u32,
        deserialize_u64 => visit_u64,
        deserialize_u128 => visit_u128,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

struct Variant<'de> {
    variant: &'de str,
    value: Value<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = DeserializeError;
    type Variant = Value<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Value<'de>), DeserializeError> {
        Ok((seed.deserialize(MemberName(self.variant))?, self.value))
    }
}

impl<'de> VariantAccess<'de> for Value<'de> {
    type Error = DeserializeError;

    fn unit_variant(self) -> Result<(), DeserializeError> {
        self.deserialize()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, DeserializeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.kind() {
            Kind::Array => de::Deserializer::deserialize_any(self, visitor),
            _ => Err(DeserializeError::new("expected an array, the variant's fields").at(self)),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self.kind() {
            Kind::Object => de::Deserializer::deserialize_any(self, visitor),
            _ => Err(DeserializeError::new("expected an object, the variant's fields").at(self)),
        }
    }
}
