//! The format of a response's text.

use serde::{Deserialize, Serialize};
use tokenline_core::json::Raw;

use super::strict::Strict;
use super::{Object, list};

/// The format of a response's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Free text, as the prompt asks for it; JSON Lines too.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// One JSON value that matches a schema.
    JsonSchema(JsonFormat),
}

/// A schema for the text of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JsonFormat {
    /// A name: letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON Schema as written: models write members in its order.
    pub schema: Raw,
    /// Whether to use the provider's strict mode, in which the response cannot violate the schema. `Some(true)` sends a
    /// schema that requires all members and allows no others, if one exists that allows nothing `schema` forbids.
    /// `None` turns the mode on for schemas already written that way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// JSON Pointer (RFC 6901) to an array whose elements are the records, each delivered as soon as it is complete. A
    /// client's stream uses it; a parser needs [`Options::items`](tokenline_core::Options::items).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
}

impl ResponseFormat {
    /// One JSON value that matches a schema: a [`Raw`], a `serde_json::Value`, a `schemars::Schema`.
    pub fn json_schema(name: impl Into<String>, schema: impl Into<Raw>) -> Self {
        JsonFormat::new(name, schema).into()
    }

    /// One value of a type, by its [schema](Raw::schema_of), in the provider's strict mode if possible. Most providers
    /// require an object, so the type should be a struct.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::request::{ChatRequest, ResponseFormat};
    ///
    /// #[derive(JsonSchema)]
    /// struct Answer {
    ///     reasoning: String,
    ///     answer: Option<u8>,
    /// }
    ///
    /// let request = ChatRequest::new("gpt-5-mini").user("6 * 7?").response_format(ResponseFormat::of::<Answer>());
    /// let body: serde_json::Value = serde_json::from_str(&request.to_body(Provider::OpenAiChat)?)?;
    /// let format = &body["response_format"]["json_schema"];
    /// assert_eq!((&format["name"], &format["strict"]), (&"Answer".into(), &true.into()));
    /// assert_eq!(format["schema"]["required"], serde_json::json!(["reasoning", "answer"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        JsonFormat::new(name_of::<T>(), Raw::schema_of::<T>()).strict_if_possible().into()
    }

    /// Any number of values of a type: an object with the array `items`. Each element is a record, delivered as soon as
    /// it is complete.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use tokenline_core::Options;
    /// use tokenline_llm::request::ResponseFormat;
    /// use tokenline_llm::{Provider, ResponseEvent, ResponseParser};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Definition {
    ///     entity: String,
    /// }
    ///
    /// let ResponseFormat::JsonSchema(format) = ResponseFormat::list_of::<Definition>() else { panic!() };
    /// let options = Options::lenient().items(&format.items.unwrap())?;
    /// let mut parser = ResponseParser::<Definition>::new(Provider::Ollama, options);
    /// parser.push(br#"{"message":{"content":"{\"items\":[{\"entity\":\"DNA\"},{\"en"},"done":false}
    /// "#.as_slice());
    /// let Some(ResponseEvent::Record { record, .. }) = parser.next_event() else { panic!() };
    /// assert_eq!(record.value.entity, "DNA");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "schemars")]
    #[must_use]
    pub fn list_of<T: schemars::JsonSchema>() -> Self {
        let name = format!("{}_list", name_of::<T>());
        JsonFormat::list(name, &Raw::schema_of::<T>(), "/items").strict_if_possible().into()
    }
}

/// The name of a type, in the characters and the length that providers allow.
#[cfg(feature = "schemars")]
fn name_of<T: schemars::JsonSchema>() -> String {
    let name = T::schema_name();
    let name = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    name.take(56).collect()
}

impl From<JsonFormat> for ResponseFormat {
    fn from(format: JsonFormat) -> Self {
        Self::JsonSchema(format)
    }
}

impl JsonFormat {
    /// A named schema; `strict` and `items` are not set.
    pub fn new(name: impl Into<String>, schema: impl Into<Raw>) -> Self {
        Self { name: name.into(), schema: schema.into(), strict: None, items: None }
    }

    /// Any number of values that match a schema, in the array at a JSON Pointer (RFC 6901): builds the complete schema
    /// from the schema of one item. References inside the item's schema keep their targets.
    ///
    /// ```
    /// use tokenline_core::json::Raw;
    /// use tokenline_llm::request::JsonFormat;
    ///
    /// let format = JsonFormat::list("facts", &Raw::new(r#"{"type":"string"}"#)?, "/facts");
    /// assert_eq!(
    ///     format.schema,
    ///     r#"{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"}}},"required":["facts"],"additionalProperties":false}"#
    /// );
    /// # Ok::<(), tokenline_core::json::SyntaxError>(())
    /// ```
    pub fn list(name: impl Into<String>, item: &Raw, pointer: &str) -> Self {
        let format = Self::new(name, list::of(item, pointer));
        Self { items: Some(pointer.to_owned()), ..format }
    }

    #[cfg(feature = "schemars")]
    fn strict_if_possible(self) -> Self {
        let strict = Some(Strict::WithBounds.of(&self.schema).is_some());
        Self { strict, ..self }
    }

    /// The schema for this strict mode, if strict mode is requested and possible.
    pub(crate) fn strict_schema(&self, mode: Strict) -> Option<Object> {
        match self.strict {
            Some(true) => mode.of(&self.schema),
            _ => None,
        }
    }
}
