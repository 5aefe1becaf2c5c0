//! Requests of clients: ids, keys and bodies.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokenline::LlmClient;
use tokenline::json::{Parser, Value};
use tokenline::llm::Provider;
use tokio::time::timeout;

use super::Gateway;
use super::fault::Fault;
use crate::headers::has_content_type;

/// The most bytes of a request's body.
pub(super) const MAX_BODY: usize = 16 << 20;
/// The time for a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
const KEY: &str = "x-api-key";
/// OpenAI's libraries read the first, Anthropic's the second.
const IDS: [HeaderName; 2] = [HeaderName::from_static("x-request-id"), HeaderName::from_static("request-id")];
/// The place of the request in a trace, which goes on.
pub(super) const TRACE: [HeaderName; 3] = [
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("baggage"),
];

/// A text that no other request has.
pub(super) fn new_id() -> String {
    // Each state has keys of its own.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u128(UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_nanos()));
    let first = hasher.finish();
    format!("{first:016x}{:08x}", RandomState::new().hash_one(first) as u32)
}

/// The time in seconds since 1970.
pub(super) fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// Adds the id of a request to its response.
pub(super) fn with_id(mut response: Response, id: &str) -> Response {
    for name in IDS {
        if let Ok(value) = HeaderValue::from_str(id) {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
    response
}

/// The key of a request, in any of the forms of the clients' libraries.
pub(super) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let bearer = text(AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| text(KEY)).filter(|key| !key.is_empty())
}

impl Gateway {
    /// The upstream as this request reaches it: with its key, unless the upstream has one, and its trace.
    pub(super) fn upstream_for(&self, headers: &HeaderMap) -> Result<LlmClient, Fault> {
        let mut upstream = self.upstream.clone();
        if !upstream.has_key()
            && self.token.is_none()
            && let Some(key) = key(headers)
        {
            upstream =
                upstream.with_api_key(key).map_err(|error| Fault::new(StatusCode::UNAUTHORIZED, error))?;
        }
        for name in TRACE {
            if let Some(value) = headers.get(&name) {
                upstream = upstream.with_header(name, value.clone());
            }
        }
        Ok(upstream)
    }
}

/// Reads the body of a request, which must be declared as JSON.
pub(super) async fn json_body(headers: &HeaderMap, body: Body) -> Result<Bytes, Fault> {
    if headers.get_all(CONTENT_TYPE).iter().count() != 1 || !has_content_type(headers, &["application/json"])
    {
        let message = "the header content-type must be application/json";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        let message = "the body is compressed; send it without content-encoding";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let too_large = || {
        let message = format!("the body is larger than {} MiB", MAX_BODY >> 20);
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let read = timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await.map_err(|_| {
        let message = format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs());
        Fault::new(StatusCode::REQUEST_TIMEOUT, message)
    })?;
    let body = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => too_large(),
        None => Fault::new(StatusCode::BAD_REQUEST, "the body broke off"),
    })?;
    Ok(body.to_bytes())
}

/// Checks that a body is a JSON object; a body that is translated is read anyway. Returns whether it asks for a stream.
pub(super) fn check_json(body: &[u8]) -> Result<bool, Fault> {
    let bad = |message: String| Fault::new(StatusCode::BAD_REQUEST, message);
    let text = std::str::from_utf8(body).map_err(|_| bad("the body is not UTF-8".to_owned()))?;
    match Parser::new().parse(text) {
        Ok(value) if value.as_object().is_some() => {
            Ok(value.get("stream").and_then(Value::as_bool) == Some(true))
        }
        Ok(_) => Err(bad("the body must be a JSON object".to_owned())),
        Err(error) => Err(bad(format!("the body is not JSON: {error}"))),
    }
}

/// Whether the response may have parts that only this API has, and that would be lost if it were written anew: those of the
/// provider's own tools, citations, log probabilities, and sound.
pub(super) fn wants_own_parts(client: Provider, body: &[u8]) -> bool {
    let mut json = Parser::new();
    let Some(body) = std::str::from_utf8(body).ok().and_then(|text| json.parse(text).ok()) else {
        return false;
    };
    let list = |name: &str| body.get(name).and_then(Value::as_array).into_iter().flatten();
    let kind = |tool: Value<'_>| tool.get("type").and_then(Value::as_str).unwrap_or_default().into_owned();
    let has = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
    match client {
        Provider::Anthropic => {
            list("tools").any(|tool| !matches!(&*kind(tool), "" | "custom"))
                || has("mcp_servers")
                || list("messages").any(|message| {
                    let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
                    blocks.into_iter().any(|block| {
                        block.pointer("/citations/enabled").and_then(Value::as_bool) == Some(true)
                    })
                })
        }
        Provider::OpenAiResponses => {
            list("tools").any(|tool| kind(tool) != "function")
                || list("include").any(|name| name.as_str().is_some_and(|name| name.ends_with("logprobs")))
        }
        _ => {
            list("tools").any(|tool| kind(tool) != "function")
                || body.get("logprobs").and_then(Value::as_bool) == Some(true)
                || has("web_search_options")
                || list("modalities").any(|name| name.as_str().as_deref() == Some("audio"))
        }
    }
}

/// The state of all handlers.
pub(super) type Shared = Arc<Gateway>;
