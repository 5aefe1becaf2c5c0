//! Requests that are passed on as they arrived.

use std::borrow::Cow;
use std::time::Instant;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};

use super::{ClientError, ClientErrorKind, LlmClient, ResponseBody, endpoint};

/// A request that is passed on as it arrived: for gateways.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ForwardedRequest {
    /// The resource it asks for.
    pub resource: Resource,
    /// The query of its URL, without `?`; added to that of the base URL.
    pub query: Option<String>,
    /// Its headers. Those of a connection, such as `host`, are the gateway's business.
    pub headers: HeaderMap,
    /// Its body. Without one, it is a GET request.
    pub body: Option<Bytes>,
}

/// The response to a [`ForwardedRequest`], whatever its status.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForwardedResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: ResponseBody,
}

/// A resource of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// The response of a model.
    Response,
    /// The count of a request's tokens: Anthropic's `/v1/messages/count_tokens`.
    TokenCount,
    /// The list of models.
    Models,
    /// A model, by its id.
    Model(String),
}

impl ForwardedRequest {
    /// A request for a resource.
    #[must_use]
    pub fn new(resource: Resource) -> Self {
        Self { resource, query: None, headers: HeaderMap::new(), body: None }
    }

    /// Sets the query of its URL.
    #[must_use]
    pub fn query(self, query: Option<impl Into<String>>) -> Self {
        Self { query: query.map(Into::into), ..self }
    }

    /// Sets its headers.
    #[must_use]
    pub fn headers(self, headers: HeaderMap) -> Self {
        Self { headers, ..self }
    }

    /// Sets its body.
    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..self }
    }
}

impl LlmClient {
    /// Masks the client's keys and secret headers in a text, such as the body of an error.
    #[must_use]
    pub fn mask_secrets<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.secrets().masked(text)
    }

    /// Passes a request on, and returns the response as it is, whatever its status. The body and the headers are not
    /// changed, except that the client's own key and headers, if it has any, replace those of the request, and that no
    /// compression is asked for. The request is sent once.
    ///
    /// # Errors
    ///
    /// If there is no response; [`ClientError::kind`] gives the reason.
    pub async fn forward(&self, request: ForwardedRequest) -> Result<ForwardedResponse, ClientError> {
        let ForwardedRequest { resource, query, mut headers, body } = request;
        let inner = &self.0;
        let provider = inner.provider;
        let models = || {
            endpoint::models(provider, &inner.base_url).ok_or_else(|| {
                let text = format!("{} has no list of models at this server", provider.title());
                ClientError::new(ClientErrorKind::Request, text)
            })
        };
        let (mut url, further) = match &resource {
            Resource::Response => (endpoint::url(provider, &inner.base_url, ""), None),
            Resource::TokenCount => (endpoint::url(provider, &inner.base_url, ""), Some("count_tokens")),
            Resource::Models => (models()?, None),
            Resource::Model(id) => (models()?, Some(id.as_str())),
        };
        if let (Some(further), Ok(mut path)) = (further, url.path_segments_mut()) {
            path.push(further);
        }
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            let own = url.query().map(|own| format!("{own}&")).unwrap_or_default();
            url.set_query(Some(&format!("{own}{query}")));
        }
        if inner.has_key {
            headers.remove(AUTHORIZATION);
            headers.remove(provider.info().endpoint.key_header.name());
        }
        for (name, value) in &inner.headers {
            // The client's constants, such as the version of the API, give way to what the request says.
            if value.is_sensitive() || !headers.contains_key(name) {
                headers.insert(name, value.clone());
            }
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let host = endpoint::authority(&url);
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let request = inner.http.request(method, url).headers(headers).body(body.unwrap_or_default());
        let key = match &inner.key_source {
            Some(source) => Some(inner.issued(source).await?),
            None => None,
        };
        let started = Instant::now();
        let response = inner.with_key(request, key.as_ref()).send().await;
        let response = response.map_err(|error| inner.send_error(error, &host, started.elapsed()))?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(ForwardedResponse { status, headers, body: ResponseBody::new(response, inner, 1) })
    }
}
