//! The client.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, Url};
use tokenline_codec::observe::ModelRequest;

use super::builder::LlmClientBuilder;
use super::error::root_cause;
use super::retry::Retries;
use super::{ClientError, ClientErrorKind, ContinuedRequest, StreamRequest, endpoint, refusal};
use crate::request::ChatRequest;
use crate::secrets::Secrets;
use crate::{ContinuationOptions, Provider};

/// Asks a provider, or a server that speaks as it does, for streamed answers.
///
/// Cheap to clone; clones share their connections. See [the module](super).
#[derive(Clone)]
pub struct LlmClient(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) http: reqwest::Client,
    pub(super) provider: Provider,
    pub(super) base_url: Url,
    pub(super) headers: HeaderMap,
    /// Whether anything in the requests says who asks.
    pub(super) has_key: bool,
    pub(super) secrets: Secrets,
    pub(super) read_timeout: Duration,
    pub(super) retries: Retries,
}

impl LlmClient {
    /// A client that is set up step by step.
    pub fn builder(provider: Provider) -> LlmClientBuilder {
        LlmClientBuilder::new(provider)
    }

    /// A client with the base URL and the key that the environment gives, or else the provider's own address.
    ///
    /// # Errors
    ///
    /// As [`LlmClientBuilder::build`].
    pub fn from_env(provider: Provider) -> Result<Self, ClientError> {
        Self::builder(provider).build()
    }

    /// A client for the provider, or a server that implements its API, at this base URL, with the key of the
    /// environment if there is one.
    ///
    /// # Errors
    ///
    /// As [`LlmClientBuilder::build`].
    pub fn new(provider: Provider, base_url: impl Into<String>) -> Result<Self, ClientError> {
        Self::builder(provider).base_url(base_url).build()
    }

    /// Whom it asks.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    /// Prepares a request: what can be wrong with it is found before anything is sent.
    ///
    /// # Errors
    ///
    /// [`Request`](ClientErrorKind::Request) if the provider cannot be asked that.
    pub fn stream(&self, request: &ChatRequest) -> Result<StreamRequest, ClientError> {
        let provider = self.provider();
        if !request.stream {
            let message = "the request cannot be sent: the client reads streams, and `stream` is off";
            return Err(ClientError::new(ClientErrorKind::Request, message));
        }
        let mut body = request.to_object(provider).map_err(|error| {
            ClientError::new(ClientErrorKind::Request, format!("the request cannot be sent: {error}"))
                .with_source(error)
        })?;
        let url = endpoint::url(provider, &self.0.base_url, &request.model);
        provider.api().adapt_to_host(&mut body, url.host_str().unwrap_or_default());
        let options = request.reading_options().map_err(|error| {
            ClientError::new(ClientErrorKind::Request, format!("the request cannot be sent: {error}"))
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
        Ok(StreamRequest::new(self.clone(), url, body.to_string().into(), options, model))
    }

    /// Prepares a request whose answer is continued when it is cut off, by as many further requests as that takes and
    /// the settings allow: see [`ContinuedRecords`](super::ContinuedRecords).
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream).
    pub fn continued(
        &self,
        request: &ChatRequest,
        continuation: ContinuationOptions,
    ) -> Result<ContinuedRequest, ClientError> {
        let _checked = self.stream(request)?;
        Ok(ContinuedRequest::new(self.clone(), request.clone(), continuation))
    }

    /// Sends a body until there is an answer, or a reason that there is none, and says how often.
    pub(super) async fn send(&self, url: &Url, body: &Bytes) -> Result<(Response, u32), ClientError> {
        self.0.retries.run(|| self.0.attempt(url.clone(), body.clone())).await
    }
}

impl Inner {
    async fn attempt(&self, url: Url, body: Bytes) -> Result<Response, ClientError> {
        let host = endpoint::shown(&url);
        let accept = self.provider.info().framing.media_type();
        let request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .headers(self.headers.clone())
            .body(body);
        let started = Instant::now();
        match request.send().await {
            Ok(response) => refusal::check(self, response).await,
            Err(error) => Err(self.unsent(error, &host, started.elapsed())),
        }
    }

    /// Why there is no response.
    fn unsent(&self, error: reqwest::Error, host: &str, waited: Duration) -> ClientError {
        let cause = root_cause(&error);
        let (kind, message) = if error.is_connect() {
            let proxy = if names_a_proxy() { " (the environment names a proxy)" } else { "" };
            (ClientErrorKind::Connect, format!("cannot connect to {host}{proxy}: {cause}"))
        } else if error.is_timeout() {
            // Whoever sets up the HTTP client may have set a limit of its own.
            let limit = match waited < self.read_timeout {
                true => "the time that the HTTP client was given".to_owned(),
                false => format!("{} s", self.read_timeout.as_secs_f64()),
            };
            (ClientErrorKind::Timeout, format!("no answer from {host} within {limit}"))
        } else if error.is_builder() {
            (ClientErrorKind::Configuration, format!("the request to {host} cannot be made: {cause}"))
        } else {
            (ClientErrorKind::Transport, format!("the connection to {host} broke before an answer: {cause}"))
        };
        // Without a connection nothing was sent. Afterwards nobody knows what the model did.
        let is_retryable = kind == ClientErrorKind::Connect;
        ClientError::new(kind, message).with_source(error.without_url()).retryable(is_retryable)
    }
}

/// Whether requests may go by way of somebody whom the error does not name.
fn names_a_proxy() -> bool {
    ["http_proxy", "https_proxy", "all_proxy"].iter().any(|name| {
        [name.to_string(), name.to_uppercase()]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|its| !its.is_empty()))
    })
}

impl fmt::Debug for LlmClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmClient")
            .field("provider", &self.0.provider)
            .field("host", &endpoint::shown(&self.0.base_url))
            .finish_non_exhaustive()
    }
}
