//! The format of a response's text.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokenline_core::Validate;
use tokenline_core::json::Raw;

use super::strict::{Strict, StrictError};
use super::{Object, RequestError, list};
use crate::Provider;

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
    /// Whether to use the provider's strict mode, which enforces a subset of JSON Schema. The schema is always sent in a
    /// form that the provider's subset allows, or without strict mode.
    ///
    /// - `None` uses it if the subset has a form of the schema with the same meaning.
    /// - `Some(true)` also uses it if the closest form differs in what is permitted here: objects that do not set
    ///   `additionalProperties` allow no other members, members that may be null or have a default are required, and
    ///   rules that the provider does not enforce, such as lengths, move into the descriptions, for validation to
    ///   enforce.
    /// - `Some(false)` never uses it.
    ///
    /// Anthropic and Bedrock have no other mode, so all three send the closest form. If there is none, the request is a
    /// [`RequestError::Schema`](super::RequestError::Schema). Limits of size and depth, which change, are not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// JSON Pointer (RFC 6901) to an array whose elements are the records, each delivered as soon as it is complete. A
    /// client's stream uses it; a parser needs [`Options::items`](tokenline_core::Options::items).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// It is not sent, and does not make formats differ.
    #[serde(skip)]
    validator: RecordValidator,
}

/// A validator of records. Equal to any other.
#[derive(Clone, Default)]
struct RecordValidator(Option<Arc<dyn Validate + Send + Sync>>);

impl PartialEq for RecordValidator {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for RecordValidator {}

impl fmt::Debug for RecordValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "validator" } else { "none" })
    }
}

impl ResponseFormat {
    /// One JSON value that matches a schema: a [`Raw`], a `serde_json::Value`, a `schemars::Schema`.
    pub fn json_schema(name: impl Into<String>, schema: impl Into<Raw>) -> Self {
        JsonFormat::new(name, schema).into()
    }

    /// The JSON Pointer to the records.
    #[cfg(feature = "client")]
    pub(crate) fn items(&self) -> Option<&str> {
        let Self::JsonSchema(format) = self else { return None };
        format.items.as_deref()
    }

    /// The validator of the records.
    #[cfg(feature = "client")]
    pub(crate) fn validator(&self) -> Option<Arc<dyn Validate + Send + Sync>> {
        let Self::JsonSchema(format) = self else { return None };
        format.validator.0.clone()
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
        let format = JsonFormat::new(name_of::<T>(), Raw::schema_of::<T>());
        JsonFormat { strict: Some(true), ..format }.into()
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
        let format = JsonFormat::list(name, &Raw::schema_of::<T>(), "/items");
        JsonFormat { strict: Some(true), ..format }.into()
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
        Self {
            name: name.into(),
            schema: schema.into(),
            strict: None,
            items: None,
            validator: RecordValidator::default(),
        }
    }

    /// Sets the validator of the records: the complete value, or each element at [`items`](Self::items). A
    /// [client](crate::client) applies it to the response, and rejects what does not pass.
    ///
    /// ```
    /// use tokenline_core::{Validate, json::Raw};
    /// use tokenline_llm::request::{ChatRequest, JsonFormat};
    ///
    /// # fn request(schema: Raw, validator: impl Validate + Send + Sync + 'static) -> ChatRequest {
    /// let format = JsonFormat::list("facts", &schema, "/facts").validated_by(validator);
    /// ChatRequest::new("m").user("List facts.").response_format(format)
    /// # }
    /// ```
    #[must_use]
    pub fn validated_by(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        Self { validator: RecordValidator(Some(Arc::new(validator))), ..self }
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

    /// The schema for a strict mode that is optional, if strict mode is requested and possible.
    pub(crate) fn strict_schema(&self, mode: Strict) -> Option<Object> {
        match self.strict {
            None => mode.exact(&self.schema).ok(),
            Some(true) => mode.of(&self.schema).ok(),
            Some(false) => None,
        }
    }

    /// The schema for a provider that has only a strict mode.
    pub(crate) fn only_strict_schema(
        &self,
        mode: Strict,
        provider: Provider,
    ) -> Result<Object, RequestError> {
        mode.of(&self.schema).map_err(|error| {
            let StrictError { keyword, pointer, reason } = error;
            RequestError::Schema { provider, keyword, pointer, reason }
        })
    }
}
