//! How a client is set up.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};

use super::api_key::ApiKey;
use super::llm_client::{Inner, LlmClient};
use super::retry::Retries;
use super::{ClientError, ClientErrorKind, endpoint, tls};
use crate::Provider;
use crate::secrets::Secrets;

/// Sets up an [`LlmClient`].
///
/// ```
/// use std::time::Duration;
/// use tokenline_llm::Provider;
/// use tokenline_llm::client::LlmClient;
///
/// let client = LlmClient::builder(Provider::Anthropic)
///     .base_url("https://gateway.example.com/anthropic")
///     .header("anthropic-beta", "context-1m-2025-08-07")
///     .read_timeout(Duration::from_secs(60))
///     .retries(4)
///     .http(|http| http.user_agent("my-agent/1.0"))
///     .build()?;
/// # Ok::<(), tokenline_llm::client::ClientError>(())
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct LlmClientBuilder {
    provider: Provider,
    base_url: Option<String>,
    key: Key,
    headers: Vec<(String, String)>,
    connect_timeout: Duration,
    read_timeout: Duration,
    response_timeout: Duration,
    retries: u32,
    http: Vec<Change>,
}

type Change = Box<dyn FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send>;

/// Where the key is from.
enum Key {
    Environment,
    Given(ApiKey),
    None,
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Models that think may be silent for minutes.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3600);
const RETRIES: u32 = 2;
/// Shorter than what servers and load balancers keep an idle connection: one that they close while a
/// request is on its way cannot be told from one that breaks after the model has begun.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// A server that moves on and on.
const MAX_REDIRECTS: usize = 3;

impl LlmClientBuilder {
    pub(super) fn new(provider: Provider) -> Self {
        Self {
            provider,
            base_url: None,
            key: Key::Environment,
            headers: Vec::new(),
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: READ_TIMEOUT,
            response_timeout: RESPONSE_TIMEOUT,
            retries: RETRIES,
            http: Vec::new(),
        }
    }

    /// Sets where the provider is. The path, or the part of it that is missing, is added:
    /// `https://api.openai.com`, `https://api.openai.com/v1` and the whole
    /// `https://api.openai.com/v1/chat/completions` are the same.
    ///
    /// Without it, it is that of `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `GOOGLE_GEMINI_BASE_URL` or
    /// `OLLAMA_HOST`, or else the provider's own.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Sets the API key. Without it, it is the [usual](ApiKey::default_from_env) one of the environment, if there is one.
    pub fn api_key(mut self, key: ApiKey) -> Self {
        self.key = Key::Given(key);
        self
    }

    /// Sends no API key, whatever the environment says.
    pub fn without_api_key(mut self) -> Self {
        self.key = Key::None;
        self
    }

    /// Adds a header to each request, in place of the client's own of that name. Its value is taken for a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets how long a connection may take; 10 seconds unless set.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long there may be silence: before the answer, and between two of its pieces; 5
    /// minutes unless set.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Sets how long a response may take as a whole, from the request to its last byte; an hour unless set. A server
    /// that sends nothing but comments is never silent.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// Sets how often a request may be repeated [while it has produced nothing](super#when-a-request-is-sent-again);
    /// 2 unless set.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Changes the HTTP client in any other way: proxies, certificates, DNS. Its timeouts of connecting and of
    /// reading, and what it does about redirects and repeated requests, are those of this builder in any
    /// case. Secret headers belong to [`header`](Self::header), as others are not masked where a provider
    /// repeats them; reqwest's own `timeout` limits the answer as a whole.
    pub fn http(
        mut self,
        change: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + 'static,
    ) -> Self {
        self.http.push(Box::new(change));
        self
    }

    /// The client. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`Configuration`](ClientErrorKind::Configuration) if the base URL, a header or the key in the environment cannot
    /// be used, or TLS cannot be set up.
    pub fn build(self) -> Result<LlmClient, ClientError> {
        let provider = self.provider;
        let base_url = match &self.base_url {
            Some(base_url) => endpoint::parse(provider, base_url)?,
            None => endpoint::default_from_env(provider)?,
        };
        let key = match self.key {
            Key::Environment => ApiKey::default_from_env(provider)?,
            Key::Given(key) => Some(key),
            Key::None => None,
        };

        let mut secrets = Secrets::default();
        let mut headers = HeaderMap::new();
        let endpoint = &provider.info().endpoint;
        for (name, value) in endpoint.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        secrets.add(key.as_ref().map_or("", ApiKey::as_str));
        let in_url = endpoint::secrets(&base_url);
        in_url.iter().for_each(|secret| secrets.add(secret));
        let mut has_key = key.is_some() || !in_url.is_empty();
        let key_header = key.map(|key| key.header(provider)).map(|(name, value)| (name.to_owned(), value));
        for (name, value) in key_header.into_iter().chain(self.headers) {
            // It is not repeated: a whole line, or a value in its place, may have been given for it.
            let name = HeaderName::try_from(&name).map_err(|_| {
                ClientError::configuration("the name of a header has characters that no name has")
            })?;
            let mut sent = HeaderValue::try_from(&value).map_err(|_| {
                ClientError::configuration(format!("the value of the header {name} cannot be sent"))
            })?;
            sent.set_sensitive(true);
            secrets.add_header(&value);
            has_key |= name == endpoint.key_header.name() || name == AUTHORIZATION;
            headers.insert(name, sent);
        }

        tls::install_crypto_provider();
        let mut http = reqwest::Client::builder();
        if base_url.scheme() == "http" {
            // There will be no TLS. Where the system has no certificates, as in a bare container, that is no reason to
            // refuse a server that does not need them.
            http = http.tls_certs_only([]);
        }
        let http = http.timeout(self.response_timeout);
        let http = self.http.into_iter().fold(http, |http, change| change(http));
        let http = http
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.read_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .redirect(Policy::custom(follow))
            .referer(false)
            // What may be repeated is decided in one place; see `retry`.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| {
                let message =
                    format!("the HTTP client cannot be set up: {}", super::error::root_cause(&error));
                ClientError::new(ClientErrorKind::Configuration, message).with_source(error.without_url())
            })?;
        // The form in which a user and a password in the URL are sent.
        let basic = http.post(base_url.clone()).build().ok();
        let basic = basic.as_ref().and_then(|request| request.headers().get(AUTHORIZATION)?.to_str().ok());
        secrets.add_header(basic.unwrap_or_default());
        let (read_timeout, retries) = (self.read_timeout, Retries(self.retries));
        let inner = Inner { http, provider, base_url, headers, has_key, secrets, read_timeout, retries };
        Ok(LlmClient(Arc::new(inner)))
    }
}

/// Follows a redirect if the request stays what it is, and with whom it was. Otherwise the redirect is the answer, and
/// no success: keys in headers of their own, such as Anthropic's, would go along to any host.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let stays = matches!(attempt.status().as_u16(), 307 | 308);
    let is_same = attempt.previous().last().is_some_and(|before| before.origin() == attempt.url().origin());
    if stays && is_same && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

impl fmt::Debug for LlmClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmClientBuilder").field("provider", &self.provider).finish_non_exhaustive()
    }
}
