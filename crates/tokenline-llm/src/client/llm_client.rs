//! The HTTP client.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};
use tokenline_codec::observe::ModelRequest;

use super::api_key::{ApiKey, KeySource};
use super::builder::LlmClientBuilder;
use super::error::root_cause;
use super::retry::Retries;
use super::{ClientError, ClientErrorKind, ContinuedRequest, StreamRequest, endpoint, error_response};
use crate::providers::EventShapes;
use crate::request::ChatRequest;
use crate::secrets::Secrets;
use crate::{ContinuationOptions, Provider};

/// Requests streamed responses from a provider or a compatible server.
///
/// Cheap to clone; clones share their connections. See [the module](super).
#[derive(Clone)]
pub struct LlmClient(pub(super) Arc<Inner>);

#[derive(Clone)]
pub(super) struct Inner {
    pub(super) http: reqwest::Client,
    pub(super) provider: Provider,
    pub(super) base_url: Url,
    pub(super) headers: HeaderMap,
    /// Whether requests carry credentials.
    pub(super) has_key: bool,
    pub(super) secrets: Arc<RwLock<Secrets>>,
    /// Where the key of each attempt comes from, if the headers do not have it.
    pub(super) key_source: Option<KeySource>,
    pub(super) read_timeout: Duration,
    pub(super) retries: Retries,
    /// The common parts of events, shared by all responses.
    pub(super) shapes: EventShapes,
}

impl LlmClient {
    /// A builder, for all settings.
    pub fn builder(provider: Provider) -> LlmClientBuilder {
        LlmClientBuilder::new(provider)
    }

    /// A client with the base URL and the key in the environment. Default: the provider's own URL.
    ///
    /// # Errors
    ///
    /// As [`LlmClientBuilder::build`].
    pub fn from_env(provider: Provider) -> Result<Self, ClientError> {
        Self::builder(provider).build()
    }

    /// A client for the provider, or a compatible server, at this base URL, with the key in the environment, if there
    /// is one.
    ///
    /// # Errors
    ///
    /// As [`LlmClientBuilder::build`].
    pub fn new(provider: Provider, base_url: impl Into<String>) -> Result<Self, ClientError> {
        Self::builder(provider).base_url(base_url).build()
    }

    /// A client that shares the connections of this one, and sends this key: for requests on behalf of others.
    ///
    /// # Errors
    ///
    /// [`Configuration`](ClientErrorKind::Configuration) if it cannot be a key.
    pub fn with_api_key<K>(&self, key: K) -> Result<Self, ClientError>
    where
        K: TryInto<ApiKey>,
        ClientError: From<K::Error>,
    {
        let key = key.try_into().map_err(ClientError::from)?;
        let (name, value) = key.header(self.provider());
        self.0.secrets.write().unwrap_or_else(PoisonError::into_inner).add_issued(key.as_str());
        let mut value = HeaderValue::try_from(value).expect("a key is graphic ASCII");
        value.set_sensitive(true);
        Ok(self.with_header_value(HeaderName::from_static(name), value))
    }

    /// A client that shares the connections of this one, and sends this header, in place of its own of that name. The
    /// value is no secret.
    #[must_use]
    pub fn with_header(&self, name: HeaderName, value: HeaderValue) -> Self {
        self.with_header_value(name, value)
    }

    fn with_header_value(&self, name: HeaderName, value: HeaderValue) -> Self {
        let mut inner = Inner::clone(&self.0);
        if name == inner.provider.info().endpoint.key_header.name() {
            (inner.has_key, inner.key_source) = (true, None);
        }
        inner.headers.insert(name, value);
        Self(Arc::new(inner))
    }

    /// Whether requests carry credentials of the client.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.0.has_key
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    /// The environment variable of the API key, if requests go to the provider's own server without one: it will
    /// reject them.
    #[must_use]
    pub fn missing_key(&self) -> Option<&'static str> {
        let endpoint = &self.0.provider.info().endpoint;
        let own = Url::parse(endpoint.base_url).ok()?;
        let is_own = self.0.base_url.host_str() == own.host_str() && own.host_str() != Some("localhost");
        endpoint.key_variables.first().copied().filter(|_| is_own && !self.0.has_key)
    }

    /// Prepares a request, and validates it before anything is sent.
    ///
    /// # Errors
    ///
    /// [`Request`](ClientErrorKind::Request) if the provider cannot express the request.
    pub fn stream(&self, request: &ChatRequest) -> Result<StreamRequest, ClientError> {
        let provider = self.provider();
        if !request.stream {
            let message = "cannot send the request: the client only reads streams, but `stream` is false";
            return Err(ClientError::new(ClientErrorKind::Request, message));
        }
        let mut body = request.to_object(provider).map_err(|error| {
            ClientError::new(ClientErrorKind::Request, format!("cannot send the request: {error}"))
                .with_source(error)
        })?;
        let url = endpoint::url(provider, &self.0.base_url, &request.model);
        provider.requests().adapt_to_host(&mut body, url.host_str().unwrap_or_default());
        let options = request.response_options().map_err(|error| {
            ClientError::new(ClientErrorKind::Request, format!("cannot send the request: {error}"))
                .with_source(error)
        })?;
        let model = ModelRequest {
            provider: provider.info().gen_ai_name,
            model: Some(request.model.clone()),
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            top_p: request.top_p,
            seed: request.seed,
            server_address: url.host_str().map(str::to_owned),
            server_port: url.port_or_known_default(),
        };
        let sends_tools = !request.tools.is_empty();
        Ok(StreamRequest::new(self.clone(), url, body.to_string().into(), options, model, sends_tools))
    }

    /// Prepares a request whose response is continued when it is cut off, by as many further requests as needed and
    /// allowed: a list of records, see [`ContinuedRecords`](super::ContinuedRecords), or one JSON document, see
    /// [`ContinuedDocument`](super::ContinuedDocument).
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream).
    pub fn continued(
        &self,
        request: &ChatRequest,
        continuation: ContinuationOptions,
    ) -> Result<ContinuedRequest, ClientError> {
        let options = self.stream(request)?.into_text_options();
        Ok(ContinuedRequest::new(self.clone(), request.clone(), continuation, options))
    }

    /// Sends a body, with retries. Returns the response and the number of attempts.
    pub(super) async fn send(&self, url: &Url, body: &Bytes) -> Result<(Response, u32), ClientError> {
        self.0.retries.run(|| self.0.attempt(url.clone(), body.clone())).await
    }
}

impl Inner {
    /// The texts that must not be shown.
    pub(super) fn secrets(&self) -> RwLockReadGuard<'_, Secrets> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a body once; and again if the server does not accept the key, and the source has another.
    async fn attempt(&self, url: Url, body: Bytes) -> Result<Response, ClientError> {
        let Some(source) = &self.key_source else { return self.send_once(url, body, None).await };
        let key = self.issued(source).await?;
        let result = self.send_once(url.clone(), body.clone(), Some(&key)).await;
        let Err(error) = result else { return result };
        if error.status() != Some(401) {
            return Err(error);
        }
        let renewed = self.issued(source).await?;
        if renewed.as_str() == key.as_str() {
            return Err(error);
        }
        self.send_once(url, body, Some(&renewed)).await
    }

    pub(super) async fn issued(&self, source: &KeySource) -> Result<ApiKey, ClientError> {
        let key = source().await?;
        self.secrets.write().unwrap_or_else(PoisonError::into_inner).add_issued(key.as_str());
        Ok(key)
    }

    async fn send_once(&self, url: Url, body: Bytes, key: Option<&ApiKey>) -> Result<Response, ClientError> {
        let host = endpoint::authority(&url);
        let request = self.http.post(url).headers(self.headers_of_request()).body(body);
        let started = Instant::now();
        match self.with_key(request, key).send().await {
            Ok(response) => error_response::check(self, response).await,
            Err(error) => Err(self.send_error(error, &host, started.elapsed())),
        }
    }

    /// The headers of a request for a response.
    pub(super) fn headers_of_request(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        let own = [(CONTENT_TYPE, "application/json"), (ACCEPT, self.provider.info().framing.media_type())];
        for (name, value) in own {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        headers
    }

    /// Adds the header of an issued key, unless the user sets this header.
    pub(super) fn with_key(&self, request: RequestBuilder, key: Option<&ApiKey>) -> RequestBuilder {
        let key = key.map(|key| key.header(self.provider));
        match key.filter(|(name, _)| !self.headers.contains_key(*name)) {
            Some((name, value)) => {
                let mut value = HeaderValue::try_from(value).expect("a key is graphic ASCII");
                value.set_sensitive(true);
                request.header(name, value)
            }
            None => request,
        }
    }

    /// Requests a document from the server, and returns its text. No retries.
    pub(super) async fn get(&self, url: Url, max_bytes: usize) -> Result<String, ClientError> {
        let host = endpoint::authority(&url);
        let key = match &self.key_source {
            Some(source) => Some(self.issued(source).await?),
            None => None,
        };
        let request = self.http.get(url).header(ACCEPT, "application/json").headers(self.headers.clone());
        let started = Instant::now();
        let failed = |error| self.send_error(error, &host, started.elapsed());
        let mut response = self.with_key(request, key.as_ref()).send().await.map_err(failed)?;
        if !response.status().is_success() {
            response = error_response::check(self, response).await?;
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > max_bytes {
                let text = format!("{host} responded with more than {max_bytes} bytes");
                return Err(ClientError::new(ClientErrorKind::ContentType, text));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The error for a request without a response.
    pub(super) fn send_error(&self, error: reqwest::Error, host: &str, waited: Duration) -> ClientError {
        let cause = root_cause(&error);
        let (kind, message) = if error.is_connect() {
            let proxy = if has_proxy_variable() { " (the environment names a proxy)" } else { "" };
            (ClientErrorKind::Connect, format!("cannot connect to {host}{proxy}: {cause}"))
        } else if error.is_timeout() {
            // The HTTP client may have a timeout of its own.
            let limit = if waited < self.read_timeout {
                "the timeout of the HTTP client".to_owned()
            } else {
                format!("{} s", self.read_timeout.as_secs_f64())
            };
            (ClientErrorKind::Timeout, format!("no response from {host} within {limit}"))
        } else if error.is_builder() {
            (ClientErrorKind::Configuration, format!("cannot build the request to {host}: {cause}"))
        } else {
            (ClientErrorKind::Transport, format!("the connection to {host} broke before a response: {cause}"))
        };
        // Without a connection nothing was sent. Later, the model may already have been running.
        let is_retryable = kind == ClientErrorKind::Connect;
        ClientError::new(kind, message).with_source(error.without_url()).retryable(is_retryable)
    }
}

/// Whether requests may go through a proxy, which the error does not name.
fn has_proxy_variable() -> bool {
    ["http_proxy", "https_proxy", "all_proxy"].iter().any(|name| {
        [name.to_string(), name.to_uppercase()]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|proxy| !proxy.is_empty()))
    })
}

impl fmt::Debug for LlmClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmClient")
            .field("provider", &self.0.provider)
            .field("host", &endpoint::authority(&self.0.base_url))
            .finish_non_exhaustive()
    }
}
