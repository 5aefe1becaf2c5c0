//! A response, read as its prompt says.

mod json;
mod objects;

use serde::de::DeserializeOwned;
use tokenline_core::json::{DeserializeError, Raw};

pub use objects::{Objects, ObjectsWarning};

use crate::error::TakeError;
use crate::prompt::Compiled;
use crate::{JsonResponseError, ResponseType};

/// The response to a prompt, read as the prompt's [`ResponseType`] says.
///
/// Match on it, or take what the prompt is known to give:
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
    /// Of a `text` prompt: the text as it came.
    Text(String),
    /// Of a `json` prompt: the value, which fits the schema if there is one.
    Json(Raw),
    /// Of a `jsonl` prompt: the valid objects, and warnings about the rest.
    Jsonl(Objects),
}

impl Response {
    pub(crate) fn read(prompt: &Compiled, response: String) -> Result<Self, JsonResponseError> {
        Ok(match prompt.prompt.response_type() {
            ResponseType::Text => Self::Text(response),
            ResponseType::Json => Self::Json(json::read(&response, prompt.validator.as_ref())?),
            ResponseType::Jsonl => Self::Jsonl(Objects::read(response, prompt.validator.as_ref())),
        })
    }

    /// Which type it is of.
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
    /// If the prompt is no `text` prompt.
    pub fn into_text(self) -> Result<String, TakeError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.is_not(ResponseType::Text)),
        }
    }

    /// The JSON value, read into a type. [`Raw`] keeps it as it was written.
    ///
    /// # Errors
    ///
    /// If the prompt is no `json` prompt, or the value does not fit the type.
    pub fn into_json<T: DeserializeOwned>(self) -> Result<T, TakeError> {
        match self {
            Self::Json(value) => value.deserialize().map_err(TakeError::Deserialize),
            other => Err(other.is_not(ResponseType::Json)),
        }
    }

    /// The objects, each read into a type; one that does not fit becomes a
    /// [warning](Objects::warnings). [`Raw`] keeps them as they were written.
    ///
    /// # Errors
    ///
    /// If the prompt is no `jsonl` prompt.
    pub fn into_objects<T: DeserializeOwned>(self) -> Result<Objects<T>, TakeError> {
        match self {
            Self::Jsonl(objects) => Ok(objects.typed()),
            other => Err(other.is_not(ResponseType::Jsonl)),
        }
    }

    /// The response as one `serde_json::Value`: a string, the value, or an array of the objects. What
    /// that type does not keep, the digits of numbers and the order of members, is lost.
    ///
    /// # Errors
    ///
    /// If a number is beyond the range of `f64`.
    pub fn to_value(&self) -> Result<serde_json::Value, DeserializeError> {
        match self {
            Self::Text(text) => Ok(text.as_str().into()),
            Self::Json(value) => value.to_value(),
            Self::Jsonl(objects) => objects.iter().map(Raw::to_value).collect(),
        }
    }

    fn is_not(&self, expected: ResponseType) -> TakeError {
        TakeError::Type { expected, found: self.response_type() }
    }
}
