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
            Self::Setting(reason) => f.write_str(reason),
        }
    }
}

impl Error for RequestError {}
