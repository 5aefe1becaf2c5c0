//! A response, by the type that its prompt specifies.

use serde::de::DeserializeOwned;
use tokenline_core::json::{DeserializeError, Raw};

use super::{Objects, json};
use crate::error::ConvertError;
use crate::prompt::Compiled;
use crate::{JsonResponseError, ResponseType};

/// The response to a prompt, read by its [`ResponseType`].
///
/// Match on it, or convert it to the type that the prompt specifies:
///
/// ```
/// use tokenline_prompt::{Definition, Objects, PromptManager};
///
/// let manager = PromptManager::built_in();
/// let response = manager.apply("extract-definitions", "{\"entity\":\"DNA\",\"definition\":\"A molecule\"}\n")?;
/// let definitions: Objects<Definition> = response.into_objects()?;
/// assert_eq!(definitions[0].entity, "DNA");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// Of a `text` prompt: the unchanged text.
    Text(String),
    /// Of a `json` prompt: the value, which matches the schema if there is one.
    Json(Raw),
    /// Of a `jsonl` prompt: the valid objects, and warnings about the rest.
    Jsonl(Objects),
}

impl Response {
    /// Reads a response. What is not UTF-8 is rejected; in a text, it is replaced by U+FFFD.
    pub(crate) fn read(prompt: &Compiled, response: Vec<u8>) -> Result<Self, JsonResponseError> {
        Ok(match prompt.prompt.response_type() {
            ResponseType::Text => Self::Text(text_of(response)),
            ResponseType::Json => Self::Json(json::read(&response, prompt.validator.as_ref())?),
            ResponseType::Jsonl => Self::Jsonl(Objects::read(&response, prompt.validator.as_ref())),
        })
    }

    /// The type of the response.
    #[must_use]
    pub fn response_type(&self) -> ResponseType {
        match self {
            Self::Text(_) => ResponseType::Text,
            Self::Json(_) => ResponseType::Json,
            Self::Jsonl(_) => ResponseType::Jsonl,
        }
    }

    /// The text.
    ///
    /// # Errors
    ///
    /// If the prompt is not a `text` prompt.
    pub fn into_text(self) -> Result<String, ConvertError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.mismatch(ResponseType::Text)),
        }
    }

    /// The JSON value, deserialized. [`Raw`] keeps its text.
    ///
    /// # Errors
    ///
    /// If the prompt is not a `json` prompt, or the value does not match the type.
    pub fn into_json<T: DeserializeOwned>(self) -> Result<T, ConvertError> {
        match self {
            Self::Json(value) => value.deserialize().map_err(ConvertError::Deserialize),
            other => Err(other.mismatch(ResponseType::Json)),
        }
    }

    /// The objects, deserialized; a mismatch becomes a [warning](Objects::warnings). [`Raw`] keeps their text.
    ///
    /// # Errors
    ///
    /// If the prompt is not a `jsonl` prompt.
    pub fn into_objects<T: DeserializeOwned>(self) -> Result<Objects<T>, ConvertError> {
        match self {
            Self::Jsonl(objects) => Ok(objects.typed()),
            other => Err(other.mismatch(ResponseType::Jsonl)),
        }
    }

    /// The response as one `serde_json::Value`: a string, the value, or an array of the objects. That type does not
    /// keep the digits of numbers and the order of members.
    ///
    /// # Errors
    ///
    /// If a number exceeds the range of `f64`.
    pub fn to_value(&self) -> Result<serde_json::Value, DeserializeError> {
        match self {
            Self::Text(text) => Ok(text.as_str().into()),
            Self::Json(value) => value.to_value(),
            Self::Jsonl(objects) => objects.iter().map(Raw::to_value).collect(),
        }
    }

    fn mismatch(&self, expected: ResponseType) -> ConvertError {
        ConvertError::Type { expected, found: self.response_type() }
    }
}

fn text_of(response: Vec<u8>) -> String {
    String::from_utf8(response).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
