//! The parts of a user message.

use serde::de::Error;
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokenline_core::json::{DeserializeError, Value};

use super::RequestError;
use crate::Provider;

/// A part of a user message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserPart {
    /// Text.
    Text(String),
    /// An image: PNG, JPEG, GIF or WebP.
    Image(Source),
    /// A document, such as a PDF or a text.
    Document {
        /// The file name, for the model to refer to.
        name: Option<String>,
        /// The document's data.
        source: Source,
    },
}

/// The data of an image or a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A URL that the provider fetches.
    Url(String),
    /// Data inside the request.
    Base64 {
        /// The media type: `image/png`, `application/pdf`.
        media_type: String,
        /// The bytes in base64 with the standard alphabet.
        data: String,
    },
}

impl Source {
    /// Bytes in base64 with the standard alphabet, and their media type: `image/png`.
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self::Base64 { media_type: media_type.into(), data: data.into() }
    }

    /// A URL, or the data of a `data:` URL.
    pub(crate) fn from_url(url: String) -> Self {
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match inline {
            Some((media_type, data)) => Self::base64(media_type, data),
            None => Self::Url(url),
        }
    }

    /// The URL; a `data:` URL for inline data.
    pub(crate) fn to_url(&self) -> String {
        match self {
            Self::Url(url) => url.clone(),
            Self::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
        }
    }
}

impl UserPart {
    /// An image at a URL.
    pub fn image_url(url: impl Into<String>) -> Self {
        Self::Image(Source::from_url(url.into()))
    }

    /// An image in base64: `image/png`, and the data.
    pub fn image(media_type: impl Into<String>, base64: impl Into<String>) -> Self {
        Self::Image(Source::base64(media_type, base64))
    }

    /// A document in base64: its name, `application/pdf`, and the data.
    pub fn document(
        name: impl Into<String>,
        media_type: impl Into<String>,
        base64: impl Into<String>,
    ) -> Self {
        Self::Document { name: Some(name.into()), source: Source::base64(media_type, base64) }
    }

    /// A part in the form of OpenAI's chat completions or Responses; `None` if it is of another type or by reference.
    pub(crate) fn of_value(value: Value<'_>) -> Option<Self> {
        value.deserialize::<PartForm>().ok()?.into_part::<DeserializeError>().ok()
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) | Self::Document { .. } => None,
        }
    }

    /// The same with hardly any data, to find out whether a provider accepts it.
    pub(crate) fn probe(&self) -> Self {
        let of = |source: &Source| match source {
            Source::Url(url) => Source::Url(url.clone()),
            Source::Base64 { media_type, .. } => Source::base64(media_type, "AA=="),
        };
        match self {
            Self::Text(text) => Self::Text(text.clone()),
            Self::Image(source) => Self::Image(of(source)),
            Self::Document { name, source } => Self::Document { name: name.clone(), source: of(source) },
        }
    }

    /// The error for a provider that does not accept this part.
    pub(crate) fn unsupported(&self, provider: Provider, index: usize) -> RequestError {
        let (what, source) = match self {
            Self::Text(_) => {
                return RequestError::Message { index, reason: "text is not supported".to_owned() };
            }
            Self::Image(source) => ("images", source),
            Self::Document { source, .. } => ("documents", source),
        };
        let how = if matches!(source, Source::Url(_)) { "by URL" } else { "in base64" };
        let reason = format!("{} does not accept {what} {how}", provider.as_str());
        RequestError::Message { index, reason }
    }
}

impl<T: Into<String>> From<T> for UserPart {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// A part in the form of OpenAI's chat completions; the form of the Responses is accepted too.
#[derive(Deserialize)]
pub(super) struct PartForm {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    image_url: Option<ImageUrl>,
    #[serde(default)]
    file: Option<File>,
    #[serde(flatten)]
    input_file: File,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ImageUrl {
    Url(String),
    Object { url: String },
}

#[derive(Default, Deserialize)]
struct File {
    #[serde(default)]
    filename: Option<String>,
    #[serde(default)]
    file_data: Option<String>,
    #[serde(default)]
    file_url: Option<String>,
}

impl PartForm {
    pub(super) fn into_part<E: Error>(self) -> Result<UserPart, E> {
        let Self { kind, text, image_url, file, input_file } = self;
        let missing = |what: &str| E::custom(format!("content of type {kind:?} has no `{what}`"));
        match &*kind {
            _ if kind.ends_with("text") => Ok(UserPart::Text(text)),
            "image_url" | "input_image" => match image_url.ok_or_else(|| missing("image_url"))? {
                ImageUrl::Url(url) | ImageUrl::Object { url } => Ok(UserPart::image_url(url)),
            },
            "file" | "input_file" => {
                let File { filename, file_data, file_url } = file.unwrap_or(input_file);
                let source = match (file_data, file_url) {
                    (Some(data), _) if data.starts_with("data:") => Source::from_url(data),
                    (Some(data), _) => Source::base64("application/pdf", data),
                    (None, Some(url)) => Source::Url(url),
                    (None, None) => return Err(missing("file_data")),
                };
                Ok(UserPart::Document { name: filename, source })
            }
            _ => Err(E::custom(format!("content of type {kind:?} cannot be sent"))),
        }
    }
}

/// The content of a user message: a text, or parts.
pub(super) struct Content<'p>(pub(super) &'p [UserPart]);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [UserPart::Text(text)] = self.0 {
            return serializer.serialize_str(text);
        }
        let mut parts = serializer.serialize_seq(Some(self.0.len()))?;
        for part in self.0 {
            parts.serialize_element(&match part {
                UserPart::Text(text) => json!({"type": "text", "text": text}),
                UserPart::Image(source) => {
                    json!({"type": "image_url", "image_url": {"url": source.to_url()}})
                }
                UserPart::Document { name, source } => {
                    let member = if matches!(source, Source::Url(_)) { "file_url" } else { "file_data" };
                    json!({"type": "file", "file": {"filename": name, member: source.to_url()}})
                }
            })?;
        }
        parts.end()
    }
}
