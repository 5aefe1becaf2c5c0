//! Errors of requests.

use std::error::Error;
use std::fmt;

use crate::Provider;

/// A request that cannot be sent to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The provider does not support a setting.
    Unsupported {
        /// The provider.
        provider: Provider,
        /// The setting: `seed`.
        setting: &'static str,
    },
    /// A message is invalid at its position.
    Message {
        /// The index of the message, from 0.
        index: usize,
        /// The reason.
        reason: String,
    },
    /// The provider enforces every response schema, and cannot enforce this one.
    Schema {
        /// The provider.
        provider: Provider,
        /// The keyword at fault: one that is there, or a missing one.
        keyword: String,
        /// JSON Pointer (RFC 6901) to the schema that has the keyword, or lacks it.
        pointer: String,
        /// The reason.
        reason: &'static str,
    },
    /// The body has no place for an [additional member](crate::request::ChatRequest::extra_at).
    ExtraMember {
        /// The JSON Pointer that leads nowhere.
        pointer: String,
    },
    /// A setting is invalid, such as a temperature that is not a number.
    Setting(&'static str),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { provider, setting } => {
                write!(f, "{} does not support {setting}", provider.as_str())
            }
            Self::Message { index, reason } => write!(f, "message {index}: {reason}"),
            Self::Schema { provider, keyword, pointer, reason } => {
                let place = if pointer.is_empty() { "the root" } else { pointer };
                write!(
                    f,
                    "{} cannot enforce the response schema: `{keyword}` at {place}: {reason}",
                    provider.as_str()
                )
            }
            Self::ExtraMember { pointer } => write!(
                f,
                "the body has no place for the additional member {pointer}: the path to it must exist"
            ),
            Self::Setting(reason) => f.write_str(reason),
        }
    }
}

impl Error for RequestError {}
