//! Secrets that are sent to a provider and shown to nobody.

use std::env;
use std::fmt;

use super::ClientError;
use crate::Provider;
use crate::providers::KeyHeader;

/// An API key. It is sent to its provider, and neither displayed nor debugged.
///
/// ```
/// use tokenline_llm::client::ApiKey;
///
/// let key = ApiKey::new("sk-1234")?;
/// assert_eq!(format!("{key:?}"), "ApiKey(..)");
/// # Ok::<(), tokenline_llm::client::ClientError>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key, without the white space around it that files and pipes leave.
    ///
    /// # Errors
    ///
    /// If it is empty, or has characters that no key has: white space inside, or anything but ASCII.
    pub fn new(key: impl Into<String>) -> Result<Self, ClientError> {
        let key = key.into().trim().to_owned();
        if key.is_empty() {
            return Err(ClientError::configuration("the API key is empty"));
        }
        // Whatever has got into it, such as an ellipsis or a second line, is better found before it is sent.
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ClientError::configuration("the API key has characters that no key has"));
        }
        Ok(Self(key))
    }

    /// The key in an environment variable.
    ///
    /// # Errors
    ///
    /// If it is not set, or as [`new`](Self::new).
    pub fn from_env(variable: &str) -> Result<Self, ClientError> {
        match env::var(variable) {
            Ok(key) => Self::new(key).map_err(|error| error.in_variable(variable)),
            Err(env::VarError::NotPresent) => {
                Err(ClientError::configuration(format!("the environment variable {variable} is not set")))
            }
            Err(env::VarError::NotUnicode(_)) => {
                Err(ClientError::configuration(format!("the environment variable {variable} is not UTF-8")))
            }
        }
    }

    /// The key in the variable that the provider's own tools read, if it is set and not empty:
    /// `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GOOGLE_API_KEY` or else `GEMINI_API_KEY`, `OLLAMA_API_KEY`.
    ///
    /// # Errors
    ///
    /// If it is set to what cannot be a key.
    pub fn default_from_env(provider: Provider) -> Result<Option<Self>, ClientError> {
        let is_set = |variable: &&&str| env::var_os(variable).is_some_and(|key| !key.is_empty());
        provider
            .info()
            .endpoint
            .key_variables
            .iter()
            .find(is_set)
            .map(|variable| Self::from_env(variable))
            .transpose()
    }

    /// The header that carries it: name and value.
    pub(super) fn header(&self, provider: Provider) -> (&'static str, String) {
        match provider.info().endpoint.key_header {
            KeyHeader::Bearer => (KeyHeader::AUTHORIZATION, format!("Bearer {}", self.0)),
            KeyHeader::Named(name) => (name, self.0.clone()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}
