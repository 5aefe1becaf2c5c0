//! API keys: sent to a provider, never shown.

use std::env;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use super::ClientError;
use crate::Provider;
use crate::providers::KeyHeader;

/// An API key. It is sent to its provider, and never shown by `Display` or `Debug`.
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
    /// A key. Surrounding white space, as left by files and pipes, is removed.
    ///
    /// # Errors
    ///
    /// If the key is empty, or contains white space or characters that are not ASCII.
    pub fn new(key: impl Into<String>) -> Result<Self, ClientError> {
        let key = key.into().trim().to_owned();
        if key.is_empty() {
            return Err(ClientError::configuration("the API key is empty"));
        }
        // Catches an ellipsis or a second line before the key is sent.
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ClientError::configuration(
                "the API key contains white space or a character that is not ASCII",
            ));
        }
        Ok(Self(key))
    }

    /// The key in an environment variable.
    ///
    /// # Errors
    ///
    /// If the variable is not set, or as for [`new`](Self::new).
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

    /// The key in the provider's standard variable, if it is set and not empty: `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`,
    /// `GOOGLE_API_KEY` or else `GEMINI_API_KEY`, `OLLAMA_API_KEY`.
    ///
    /// # Errors
    ///
    /// If the variable holds an invalid key.
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

    /// The name and value of the header with the key.
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

/// Issues the key of an attempt.
pub(super) type KeySource = Arc<dyn Fn() -> IssuedKey + Send + Sync>;
type IssuedKey = Pin<Box<dyn Future<Output = Result<ApiKey, ClientError>> + Send>>;

/// A source out of a closure.
pub(super) fn source<K, E, F>(issue: impl Fn() -> F + Send + Sync + 'static) -> KeySource
where
    F: Future<Output = Result<K, E>> + Send + 'static,
    K: TryInto<ApiKey>,
    ClientError: From<K::Error>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    Arc::new(move || {
        let issued = issue();
        Box::pin(async move {
            let key = issued.await.map_err(|error| {
                let error: Box<dyn Error + Send + Sync> = error.into();
                ClientError::configuration(format!("cannot get the API key: {error}")).with_source(error)
            })?;
            key.try_into().map_err(ClientError::from)
        })
    })
}

impl TryFrom<&str> for ApiKey {
    type Error = ClientError;

    fn try_from(key: &str) -> Result<Self, ClientError> {
        Self::new(key)
    }
}

impl TryFrom<String> for ApiKey {
    type Error = ClientError;

    fn try_from(key: String) -> Result<Self, ClientError> {
        Self::new(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}
