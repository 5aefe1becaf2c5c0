//! The parts of an assistant message, in order.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokenline_core::json::Raw;
use tokenline_core::{CompletedBy, ToolCall};

use crate::Provider;

/// A part of an assistant message.
///
/// A provider may attach data to a part that only it can read: signatures and encrypted reasoning. Most reasoning
/// models reject the next request of a tool loop without it, so it goes back unchanged, to that provider only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AssistantPart {
    /// Text of the response.
    Text {
        /// The text; empty if there is only opaque data.
        text: String,
        /// Data the provider attached.
        opaque: Option<Opaque>,
    },
    /// Reasoning, or a summary of it.
    Reasoning {
        /// The text; empty if there is only opaque data.
        text: String,
        /// Data the provider attached.
        opaque: Option<Opaque>,
    },
    /// A tool call.
    ToolCall {
        /// The call.
        call: ToolCall,
        /// Data the provider attached.
        opaque: Option<Opaque>,
    },
}

/// Data in a response that only its provider can read, for the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The provider that sent it.
    pub provider: Provider,
    /// The data as received: JSON, byte for byte. Its meaning depends on the provider: members of the part it is
    /// attached to, or the whole item of the message.
    pub data: Raw,
}

impl AssistantPart {
    /// Text without opaque data.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), opaque: None }
    }

    /// A tool call without opaque data.
    pub fn tool_call(call: ToolCall) -> Self {
        Self::ToolCall { call, opaque: None }
    }

    /// The data the provider attached.
    #[must_use]
    pub fn opaque(&self) -> Option<&Opaque> {
        match self {
            Self::Text { opaque, .. } | Self::Reasoning { opaque, .. } | Self::ToolCall { opaque, .. } => {
                opaque.as_ref()
            }
        }
    }

    /// The opaque data, if `provider` sent it.
    pub(crate) fn opaque_of(&self, provider: Provider) -> Option<&Raw> {
        self.opaque().filter(|opaque| opaque.provider == provider).map(|opaque| &opaque.data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text { text, opaque } | Self::Reasoning { text, opaque } => {
                text.is_empty() && opaque.is_none()
            }
            Self::ToolCall { .. } => false,
        }
    }
}

/// The serialized form of a part.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Stored {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    Reasoning {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    ToolCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_synthetic_id: bool,
        name: String,
        /// JSON text, to keep its bytes.
        arguments: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredOpaque {
    provider: String,
    /// JSON text, to keep its bytes.
    data: String,
}

impl Serialize for AssistantPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.clone() {
            Self::Text { text, opaque } => Stored::Text { text, opaque },
            Self::Reasoning { text, opaque } => Stored::Reasoning { text, opaque },
            Self::ToolCall { call, opaque } => Stored::ToolCall {
                id: call.call_id,
                is_synthetic_id: call.is_synthetic_id,
                name: call.name,
                arguments: call.parameters.as_str().to_owned(),
                opaque,
            },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AssistantPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Text { text, opaque } => Self::Text { text, opaque },
            Stored::Reasoning { text, opaque } => Self::Reasoning { text, opaque },
            Stored::ToolCall { id, is_synthetic_id, name, arguments, opaque } => {
                let parameters = Raw::new(&arguments).map_err(D::Error::custom)?;
                let mut call = ToolCall::new(name, parameters, CompletedBy::ItemStop);
                (call.call_id, call.is_synthetic_id) = (id, is_synthetic_id);
                Self::ToolCall { call, opaque }
            }
        })
    }
}

impl Serialize for Opaque {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (provider, data) = (self.provider.as_str().to_owned(), self.data.as_str().to_owned());
        StoredOpaque { provider, data }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Opaque {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let StoredOpaque { provider, data } = StoredOpaque::deserialize(deserializer)?;
        let unknown = || D::Error::custom(format!("unknown provider {provider:?}"));
        let provider = Provider::from_name(&provider).ok_or_else(unknown)?;
        Ok(Self { provider, data: Raw::new(&data).map_err(D::Error::custom)? })
    }
}
