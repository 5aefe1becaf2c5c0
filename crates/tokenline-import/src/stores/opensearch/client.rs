//! Requests to OpenSearch and Elasticsearch, with retries.

use std::env;
use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, Url};
use tokenline_core::json::{Parser, Value};

use crate::ImportError;
use crate::stores::retry::{MAX_DELAY, delay};
use crate::stores::tls;

/// An index of a server.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    /// The address without credentials and index, without a slash at the end.
    base: String,
    /// The index as it is written in a URL.
    index: String,
    credentials: Credentials,
    pub(super) retries: u32,
}

#[derive(Clone)]
enum Credentials {
    None,
    Basic { user: String, password: String },
    ApiKey(String),
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The point in time is gone.
    LostContext,
    /// The server has no such path.
    NotFound {
        error: ImportError,
        /// Elasticsearch says so itself, also without a permission.
        is_elasticsearch: bool,
    },
    Other(ImportError),
}

impl From<Failure> for ImportError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::LostContext => Self::source("the point in time expired"),
            Failure::NotFound { error, .. } | Failure::Other(error) => error,
        }
    }
}

/// The longest response: a page of long documents is a few megabytes.
const MAX_RESPONSE: usize = 1 << 30;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Large aggregating clusters take minutes to answer.
const READ_TIMEOUT: Duration = Duration::from_secs(300);
const DEFAULT_RETRIES: u32 = 8;

impl Client {
    pub(super) fn new(url: &str) -> Result<Self, ImportError> {
        // The URL may have a password, which errors must not repeat.
        let invalid = |what: &str| ImportError::mapping(format!("the URL of the search server {what}"));
        let mut url = Url::parse(url.trim()).map_err(|error| invalid(&format!("is not valid: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid("must begin with http:// or https://"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("must end with the index"));
        }
        let credentials = Credentials::of(&url);
        let cleared = url.set_username("").and_then(|()| url.set_password(None));
        cleared.map_err(|()| invalid("cannot have credentials"))?;
        let text = url.as_str().trim_end_matches('/');
        let (base, index) = text.rsplit_once('/').unwrap_or((text, ""));
        if base.ends_with('/') || index.is_empty() {
            return Err(invalid("must end with the index, as in https://localhost:9200/messages"));
        }
        let tls = tls::config(url.scheme() == "https")
            .map_err(|error| ImportError::source(format!("cannot start the HTTP client: {error}")))?;
        let http = reqwest::Client::builder()
            .use_preconfigured_tls(tls)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| {
                ImportError::source(format!("cannot start the HTTP client: {}", chain(&error)))
            })?;
        let (base, index) = (base.to_owned(), index.to_owned());
        Ok(Self { http, base, index, credentials, retries: DEFAULT_RETRIES })
    }

    /// The address of the index, without credentials.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.base, self.index)
    }

    pub(super) fn index(&self) -> &str {
        &self.index
    }

    /// Sends a request until it succeeds or cannot, and returns the body.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&str>,
    ) -> Result<String, Failure> {
        let mut attempt = 0;
        loop {
            let (error, wait) = match self.try_send(method.clone(), path, body).await {
                Ok(body) => return Ok(body),
                Err(Attempt::Final(failure)) => return Err(failure),
                Err(Attempt::Transient(error, wait)) => (error, wait),
            };
            if attempt >= self.retries {
                return Err(Failure::Other(error));
            }
            tokio::time::sleep(wait.unwrap_or_default().max(delay(attempt)).min(MAX_DELAY)).await;
            attempt += 1;
        }
    }

    async fn try_send(&self, method: Method, path: &str, body: Option<&str>) -> Result<String, Attempt> {
        let failed = |error: &reqwest::Error| {
            let message = format!("cannot read {}: {}", self.name(), chain(error));
            Attempt::Transient(ImportError::source(message), None)
        };
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        request = match &self.credentials {
            Credentials::None => request,
            Credentials::Basic { user, password } => request.basic_auth(user, Some(password)),
            Credentials::ApiKey(key) => request.header("authorization", format!("ApiKey {key}")),
        };
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_owned());
        }
        let mut response = request.send().await.map_err(|error| failed(&error))?;
        let status = response.status();
        let wait = retry_after(&response);
        let is_elasticsearch = response.headers().contains_key("x-elastic-product");
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            if text.len() + chunk.len() > MAX_RESPONSE {
                let message = format!("{} sent a page of more than 1 GiB: lower the page size", self.name());
                return Err(Attempt::Final(Failure::Other(ImportError::source(message))));
            }
            text.extend_from_slice(&chunk);
        }
        let text = String::from_utf8(text).map_err(|_| {
            let message = format!("the response of {} is not UTF-8", self.name());
            Attempt::Final(Failure::Other(ImportError::source(message)))
        })?;
        if status.is_success() {
            return Ok(text);
        }
        if text.contains(LOST_CONTEXT) {
            return Err(Attempt::Final(Failure::LostContext));
        }
        let error = ImportError::source(self.describe(status, &text));
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Attempt::Transient(error, wait),
            status if status.is_server_error() => Attempt::Transient(error, wait),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::FORBIDDEN => {
                Attempt::Final(Failure::NotFound { error, is_elasticsearch })
            }
            _ => Attempt::Final(Failure::Other(error)),
        })
    }

    fn describe(&self, status: StatusCode, body: &str) -> String {
        let name = self.name();
        let mut message = match status {
            StatusCode::UNAUTHORIZED => format!("{name} refused the credentials (401)"),
            status => format!("{name} responded with status {}", status.as_u16()),
        };
        if let Some(reason) = Parser::new().parse(body).ok().and_then(reason) {
            let reason: String =
                reason.chars().take(MAX_REASON).filter(|character| !character.is_control()).collect();
            message.push_str(": ");
            message.push_str(&self.masked(&reason));
        }
        if body.contains("cannot load numeric doc values") {
            message.push_str(". Elasticsearch needs a numeric key to read several slices");
        } else if body.contains("_shard_doc") {
            message
                .push_str(". This server cannot sort by `_shard_doc`: give a key, a unique field to sort by");
        }
        message
    }

    /// Hides the credentials, should a proxy repeat them.
    fn masked(&self, text: &str) -> String {
        let secret = match &self.credentials {
            Credentials::None => "",
            Credentials::Basic { password, .. } => password,
            Credentials::ApiKey(key) => key,
        };
        if secret.is_empty() { text.to_owned() } else { text.replace(secret, "***") }
    }
}

const LOST_CONTEXT: &str = "search_context_missing_exception";

/// The longest part of a server's message that is shown, in characters.
const MAX_REASON: usize = 300;

enum Attempt {
    Final(Failure),
    /// The same request may succeed, after this time if the server says so.
    Transient(ImportError, Option<Duration>),
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The server's reason, of the innermost error.
fn reason(body: Value<'_>) -> Option<String> {
    let error = body.get("error")?;
    if let Some(text) = error.as_str() {
        return Some(text.into_owned());
    }
    let cause = error.pointer("/root_cause/0/reason").or_else(|| error.get("reason"));
    cause.and_then(Value::as_str).map(std::borrow::Cow::into_owned)
}

/// The error with its sources, without the URL.
fn chain(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "the server does not respond".to_owned()
    } else if error.is_connect() {
        "no connection".to_owned()
    } else {
        "the connection failed".to_owned()
    };
    let mut source = error.source();
    while let Some(error) = source {
        source = error.source();
        if source.is_none() {
            text.push_str(": ");
            text.push_str(&error.to_string());
        }
    }
    text
}

impl Credentials {
    /// Those in the URL, or else in the environment.
    fn of(url: &Url) -> Self {
        if !url.username().is_empty() || url.password().is_some() {
            let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
            let (user, password) = (decoded(url.username()), decoded(url.password().unwrap_or_default()));
            return Self::Basic { user, password };
        }
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        for name in ["ELASTICSEARCH_API_KEY", "ELASTIC_API_KEY", "ES_API_KEY"] {
            if let Some(key) = variable(name) {
                return Self::ApiKey(key.trim().to_owned());
            }
        }
        for prefix in ["OPENSEARCH", "ELASTICSEARCH"] {
            let of = |what: &str| variable(&format!("{prefix}_{what}"));
            if let (Some(user), Some(password)) = (of("USERNAME"), of("PASSWORD")) {
                return Self::Basic { user, password };
            }
        }
        Self::None
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.name()).finish()
    }
}
