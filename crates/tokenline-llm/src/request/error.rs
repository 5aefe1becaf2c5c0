//! What cannot be asked.

use std::error::Error;
use std::fmt;

use crate::Provider;

/// A request that a provider cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The provider has nothing of this kind.
    Unsupported {
        /// The provider.
        provider: Provider,
        /// What it was to be asked: `seed`.
        what: &'static str,
    },
    /// A message does not fit where it stands.
    Message {
        /// Which message, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting has no meaning, such as a temperature that is not a number.
    Setting(&'static str),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { provider, what } => write!(f, "{} has no {what}", provider.as_str()),
            Self::Message { index, reason } => write!(f, "message {index}: {reason}"),
            Self::Setting(reason) => f.write_str(reason),
        }
    }
}

impl Error for RequestError {}
