//! An owned, valid piece of JSON text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::value::{Value, View, compact, single_line};
use super::{DeserializeError, Parser, SyntaxError};

/// A JSON value as written: number literals, escapes and the order of members are unchanged.
///
/// ```
/// use tokenline_core::json::Raw;
///
/// let parameters = Raw::new(r#"{"price": 0.90}"#)?;
/// assert_eq!(parameters.as_str(), r#"{"price": 0.90}"#);
/// assert_eq!(parameters.to_value()?["price"], 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Box<str>);

impl Raw {
    /// Validates a text, and keeps it without the white space around it.
    ///
    /// # Errors
    ///
    /// If the text is not one JSON value.
    pub fn new(text: &str) -> Result<Self, SyntaxError> {
        Ok(Self::from(Parser::new().parse(text)?))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value on one line: as written if it is on one line, else without the white space between tokens.
    /// Literals and escapes are unchanged.
    #[must_use]
    pub fn to_single_line(&self) -> Cow<'_, str> {
        single_line(&self.0)
    }

    /// The value without the white space between tokens. Literals and escapes are unchanged.
    ///
    /// ```
    /// use tokenline_core::json::Raw;
    ///
    /// let value = Raw::new("{ \"price\" : 1.50, \"name\": \"two words\" }")?;
    /// assert_eq!(value.to_compact(), "{\"price\":1.50,\"name\":\"two words\"}");
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    #[must_use]
    pub fn to_compact(&self) -> String {
        compact(&self.0)
    }

    /// Passes the parsed value to a closure.
    pub fn with_value<R>(&self, f: impl FnOnce(Value<'_>) -> R) -> R {
        let mut parser = Parser::new().unlimited_depth();
        match parser.parse(&self.0) {
            Ok(value) => f(value),
            Err(error) => unreachable!("checked when it was made: {error}"),
        }
    }

    /// Deserializes the value.
    ///
    /// # Errors
    ///
    /// If the value does not fit the type.
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, DeserializeError> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method is not general over lifetimes"
        )]
        self.with_value(|value| value.deserialize())
    }

    /// The value as serde_json would read it.
    ///
    /// # Errors
    ///
    /// If a number is beyond the range of `f64`.
    pub fn to_value(&self) -> Result<serde_json::Value, DeserializeError> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method is not general over lifetimes"
        )]
        self.with_value(|value| value.to_value())
    }
}

impl From<Value<'_>> for Raw {
    fn from(value: Value<'_>) -> Self {
        Self(value.to_json().into())
    }
}

impl From<serde_json::Value> for Raw {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Raw {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<&str> for Raw {
    fn eq(&self, other: &&str) -> bool {
        *self.0 == **other
    }
}

/// The name that asks the deserializer of a [`Value`] for the text instead of the value.
pub(super) const RAW: &str = "$tokenline::json::Raw";

impl<'de> Deserialize<'de> for Raw {
    /// From a [`Value`], the text as written; from another format, the value as JSON.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;

        impl<'de> Visitor<'de> for RawVisitor {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw(text.into()))
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
                serde_json::Value::deserialize(deserializer).map(Raw::from)
            }
        }

        deserializer.deserialize_newtype_struct(RAW, RawVisitor)
    }
}

impl Serialize for Raw {
    /// Serializes the value, not the text: serializers cannot take a literal.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_value(|value| value.serialize(serializer))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.view() {
            View::Null => serializer.serialize_unit(),
            View::Bool(bool) => serializer.serialize_bool(bool),
            View::String(string) => serializer.serialize_str(&string),
            View::Number(number) => {
                if let Some(number) = number.as_u64() {
                    serializer.serialize_u64(number)
                } else if let Some(number) = number.as_i64() {
                    serializer.serialize_i64(number)
                } else if let Some(number) = number.as_f64() {
                    serializer.serialize_f64(number)
                } else {
                    Err(serde::ser::Error::custom("number out of range"))
                }
            }
            View::Array(array) => {
                let mut seq = serializer.serialize_seq(Some(array.len()))?;
                for element in array {
                    seq.serialize_element(&element)?;
                }
                seq.end()
            }
            View::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (name, value) in object {
                    map.serialize_entry(name, &value)?;
                }
                map.end()
            }
        }
    }
}
