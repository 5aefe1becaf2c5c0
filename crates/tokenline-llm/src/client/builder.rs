//! The builder of the client.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use rustls::ClientConfig;

use super::api_key::{self, ApiKey, KeySource};
use super::llm_client::{Inner, LlmClient};
use super::retry::Retries;
use super::{ClientError, ClientErrorKind, endpoint, tls};
use crate::Provider;
use crate::providers::EventShapes;
use crate::secrets::Secrets;

/// Builds an [`LlmClient`].
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
    tls: Option<ClientConfig>,
    http: Vec<Change>,
}

type Change = Box<dyn FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send>;

/// The source of the key.
enum Key {
    Environment,
    Given(Result<ApiKey, ClientError>),
    Issued(KeySource),
    None,
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Reasoning models may be silent for minutes.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3600);
const RETRIES: u32 = 2;
/// Shorter than the idle timeout of servers and load balancers: a connection that they close while a request is on its
/// way cannot be told from one that breaks after the model has begun.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Limits endless redirects.
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
            tls: None,
            http: Vec::new(),
        }
    }

    /// Sets the provider's base URL. The missing part of the path is added: `https://api.openai.com`,
    /// `https://api.openai.com/v1` and `https://api.openai.com/v1/chat/completions` are equivalent.
    ///
    /// Default: `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`, `GOOGLE_GEMINI_BASE_URL` or `OLLAMA_HOST`, or else the
    /// provider's own URL.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Sets the API key: a string, of which [`build`](Self::build) checks that it can be one, or an [`ApiKey`]. Default:
    /// the key [in the environment](ApiKey::default_from_env), if there is one.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::client::LlmClient;
    ///
    /// let client = LlmClient::builder(Provider::OpenAiChat).api_key("sk-1234").build()?;
    /// let error = LlmClient::builder(Provider::OpenAiChat).api_key("").build().unwrap_err();
    /// assert_eq!(error.to_string(), "the API key is empty");
    /// # Ok::<(), tokenline_llm::client::ClientError>(())
    /// ```
    pub fn api_key<K>(mut self, key: K) -> Self
    where
        K: TryInto<ApiKey>,
        ClientError: From<K::Error>,
    {
        self.key = Key::Given(key.try_into().map_err(ClientError::from));
        self
    }

    /// Asks a closure for the API key before each attempt: for keys that expire. The closure keeps the key while it is
    /// valid. If the server does not accept it (HTTP 401), the closure is asked once more; a different key is tried at
    /// once.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::client::LlmClient;
    ///
    /// # async fn token() -> Result<String, std::io::Error> { Ok("ya29.a0Af".to_owned()) }
    /// let client = LlmClient::builder(Provider::Gemini).api_key_from(|| async { token().await }).build()?;
    /// # Ok::<(), tokenline_llm::client::ClientError>(())
    /// ```
    pub fn api_key_from<K, E, F>(mut self, issue: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<K, E>> + Send + 'static,
        K: TryInto<ApiKey>,
        ClientError: From<K::Error>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.key = Key::Issued(api_key::source(issue));
        self
    }

    /// Sends no API key, even if the environment has one.
    pub fn without_api_key(mut self) -> Self {
        self.key = Key::None;
        self
    }

    /// Adds a header to each request, replacing the client's own of that name. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the timeout for connecting; default 10 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the timeout for each read: until the response starts, and between its chunks; default 5 minutes.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Sets the timeout for the complete response, from the request to the last byte; default 1 hour. It also ends a
    /// response that consists of endless comments.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// Sets how often a request may be repeated [while it has produced nothing](super#when-a-request-is-sent-again);
    /// default 2.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the TLS configuration, for instance other trusted certificates or a client certificate; its ALPN protocols
    /// are replaced by `http/1.1`. Default: the [system's trusted certificates](super#tls).
    ///
    /// ```
    /// # fn client(certificate: rustls::pki_types::CertificateDer<'static>) -> Result<(), Box<dyn std::error::Error>> {
    /// # use tokenline_llm::{Provider, client::LlmClient};
    /// use tokenline_llm::client::rustls::{ClientConfig, RootCertStore, crypto::ring};
    ///
    /// let mut trusted = RootCertStore::empty();
    /// trusted.add(certificate)?;
    /// let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
    ///     .with_safe_default_protocol_versions()?
    ///     .with_root_certificates(trusted)
    ///     .with_no_client_auth();
    /// let client = LlmClient::builder(Provider::OpenAiChat).base_url("https://models.example.com").tls(tls).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn tls(mut self, config: ClientConfig) -> Self {
        self.tls = Some(config);
        self
    }

    /// Changes other settings of the HTTP client: proxies, DNS. Proxies that the environment names are used, except for
    /// servers on this machine. This builder always sets TLS (see [`tls`](Self::tls)),
    /// the connect and read timeouts, redirects and retries: reqwest's own methods for certificates have no effect. Set
    /// secret headers with [`header`](Self::header): others are not masked if a provider repeats them. reqwest's own
    /// `timeout` limits the complete response. The crate is re-exported as `client::reqwest`.
    pub fn http(
        mut self,
        change: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + 'static,
    ) -> Self {
        self.http.push(Box::new(change));
        self
    }

    /// Builds the client. This sends nothing.
    ///
    /// # Errors
    ///
    /// [`Configuration`](ClientErrorKind::Configuration) if the base URL, a header or the key is
    /// invalid, or TLS cannot be set up.
    pub fn build(self) -> Result<LlmClient, ClientError> {
        let provider = self.provider;
        let base_url = match &self.base_url {
            Some(base_url) => endpoint::parse(provider, base_url)?,
            None => endpoint::default_from_env(provider)?,
        };
        let (key, key_source) = match self.key {
            Key::Environment => (ApiKey::default_from_env(provider)?, None),
            Key::Given(key) => (Some(key?), None),
            Key::Issued(source) => (None, Some(source)),
            Key::None => (None, None),
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
        let mut has_key = key.is_some() || key_source.is_some() || !in_url.is_empty();
        let key_header = key.map(|key| key.header(provider)).map(|(name, value)| (name.to_owned(), value));
        for (name, value) in key_header.into_iter().chain(self.headers) {
            // The error does not repeat the name: it may be a complete line or a misplaced value.
            let name = HeaderName::try_from(&name).map_err(|_| {
                ClientError::configuration("the name of a header contains invalid characters")
            })?;
            let mut sent = HeaderValue::try_from(&value).map_err(|_| {
                ClientError::configuration(format!(
                    "the value of the header {name} contains invalid characters"
                ))
            })?;
            sent.set_sensitive(true);
            secrets.add_header(&value);
            has_key |= name == endpoint.key_header.name() || name == AUTHORIZATION;
            headers.insert(name, sent);
        }

        let tls = match self.tls {
            Some(tls) => Ok(tls),
            None => tls::config(base_url.scheme() == "https"),
        };
        let mut tls = tls.map_err(|error| {
            let message = format!("cannot set up the HTTP client: {error}");
            ClientError::new(ClientErrorKind::Configuration, message).with_source(error)
        })?;
        // Whether reqwest can speak HTTP/2 depends on the features that other crates ask for.
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let http = reqwest::Client::builder().timeout(self.response_timeout);
        // The environment may name a proxy, which cannot reach this machine's servers, and would get the key.
        let http = if endpoint::is_loopback(&base_url) { http.no_proxy() } else { http };
        let http = self.http.into_iter().fold(http, |http, change| change(http));
        let http = http
            .use_preconfigured_tls(tls)
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.read_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .redirect(Policy::custom(follow))
            .referer(false)
            // `retry` alone decides which requests are repeated.
            .retry(reqwest::retry::never())
            .build()
            .map_err(|error| {
                let message = format!("cannot set up the HTTP client: {}", super::error::root_cause(&error));
                ClientError::new(ClientErrorKind::Configuration, message).with_source(error.without_url())
            })?;
        // The form in which a user and a password in the URL are sent.
        let basic = http.post(base_url.clone()).build().ok();
        let basic = basic.as_ref().and_then(|request| request.headers().get(AUTHORIZATION)?.to_str().ok());
        secrets.add_header(basic.unwrap_or_default());
        let (read_timeout, retries) = (self.read_timeout, Retries(self.retries));
        let shapes = EventShapes::default();
        let secrets = Arc::new(RwLock::new(secrets));
        let inner = Inner {
            http,
            provider,
            base_url,
            headers,
            has_key,
            secrets,
            key_source,
            read_timeout,
            retries,
            shapes,
        };
        Ok(LlmClient(Arc::new(inner)))
    }
}

/// Follows a redirect only if it keeps the request unchanged and the origin the same. Any other redirect becomes an
/// error: key headers of their own, such as Anthropic's, would be sent to any host.
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
