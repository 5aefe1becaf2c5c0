//! Error responses: HTTP errors, and responses that are not streams.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode, Url};

use super::llm_client::Inner;
use super::{ClientError, ClientErrorKind, endpoint, retry};
use crate::Provider;
use crate::providers::error_of_body;
use crate::retry_after::retry_after;
use crate::wire::Framing;

/// Bytes read of an error's body: no provider's message is longer.
const MAX_BODY: usize = 64 * 1024;
/// Timeout for the body: a failing server may stall.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Characters shown of a provider's message.
const MAX_MESSAGE: usize = 500;
/// Characters shown of a path; after a redirect it comes from the server.
const MAX_PATH: usize = 200;
/// Characters shown of an id.
const MAX_ID: usize = 100;

/// Returns the response if it is a stream.
pub(super) async fn check(client: &Inner, response: Response) -> Result<Response, ClientError> {
    let (status, from) = (response.status(), response.url().clone());
    let (host, path) = (endpoint::authority(&from), client.secrets().excerpt(from.path(), MAX_PATH));
    let request_id = request_id(client, response.headers());
    let error = |kind, text| {
        ClientError::new(kind, text).with_status(status.as_u16()).with_request_id(request_id.clone())
    };
    if !status.is_success() {
        let headers = response.headers().clone();
        let body = body(client, response).await;
        let redirect = redirect(client, status, &headers, &from).map(|to| (to, None));
        let (detail, error_code) = redirect.or_else(|| message(client, &body)).unzip();
        let detail = detail.map_or(String::new(), |detail| format!(": {detail}"));
        let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or_default());
        let status_text = format!("{code} {reason}");
        let hint = missing_key(client, status);
        let text = format!("{host} responded {} at {path}{detail}{hint}", status_text.trim_end());
        return Err(error(ClientErrorKind::Status, text)
            .with_error_code(error_code.flatten())
            .with_retry_after(retry_after(|name| headers.get(name)?.to_str().ok(), SystemTime::now()))
            .retryable(retry::is_transient(status, &headers, &body.text)));
    }
    // reqwest decodes the encodings it requests, and removes the header.
    if let Some(encoding) = header(response.headers(), CONTENT_ENCODING.as_str())
        && !encoding.is_empty()
        && !encoding.eq_ignore_ascii_case("identity")
    {
        let encoding = client.secrets().excerpt(&encoding, MAX_ID);
        let text = format!("{host} responded with `{encoding}` content at {path}, which was not requested");
        return Err(error(ClientErrorKind::ContentType, text));
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind(client.provider, &essence) {
        BodyKind::Stream => Ok(response),
        BodyKind::Document => Err(match error_of_body(&body(client, response).await.text) {
            Some((message, code)) => {
                let (message, code) = shown(client, &message, code);
                let text = format!("{host} responded with an error at {path}: {message}");
                error(ClientErrorKind::Status, text).with_error_code(code)
            }
            None => error(
                ClientErrorKind::ContentType,
                format!("{host} responded with a JSON document at {path}, not with a stream"),
            ),
        }),
        BodyKind::Other(hint) => {
            let essence = client.secrets().excerpt(&essence, MAX_ID);
            let text = format!("{host} responded with {essence} at {path}, not with {hint}");
            Err(error(ClientErrorKind::ContentType, text))
        }
    }
}

/// The provider's request id.
pub(super) fn request_id(client: &Inner, headers: &HeaderMap) -> Option<String> {
    let id = ["x-request-id", "request-id"].iter().find_map(|name| header(headers, name))?;
    Some(client.secrets().excerpt(&id, MAX_ID))
}

/// A hint for an unauthorized request without credentials.
fn missing_key(client: &Inner, status: StatusCode) -> String {
    if client.has_key || !matches!(status.as_u16(), 401 | 403) {
        return String::new();
    }
    let variables = client.provider.info().endpoint.key_variables.join(" or ");
    format!("; the client has no API key: set {variables}")
}

/// The kind of body, by its content type.
enum BodyKind {
    Stream,
    /// JSON where events are expected: an error, or a server that does not stream.
    Document,
    /// Something else, such as a proxy's error page. Contains what was expected and a hint.
    Other(&'static str),
}

fn kind(provider: Provider, content_type: &str) -> BodyKind {
    let framing = provider.info().framing;
    // A stream may be a JSON array, and some servers send JSON Lines with this type.
    let is_lines = framing == Framing::Lines;
    let may_be_json = is_lines || framing == Framing::EventsOrArray;
    match content_type {
        "text/event-stream" if is_lines => BodyKind::Other("lines of JSON: check the provider"),
        "application/x-ndjson" | "application/jsonl" if !is_lines => {
            BodyKind::Other("server-sent events: check the provider")
        }
        "application/json" if !may_be_json => BodyKind::Document,
        "text/html" | "text/xml" | "application/xml" | "application/xhtml+xml" => {
            BodyKind::Other("a stream: check the base URL")
        }
        // Self-hosted servers use any content type, or none, for streams.
        _ => BodyKind::Stream,
    }
}

/// The part of a body that was read within the limits.
struct Body {
    text: String,
    /// Whether this is the complete body.
    is_complete: bool,
}

async fn body(client: &Inner, mut response: Response) -> Body {
    let mut body = Vec::new();
    let read = async {
        while let Some(chunk) = response.chunk().await.ok()? {
            body.extend_from_slice(&chunk[..chunk.len().min(MAX_BODY - body.len())]);
            if body.len() == MAX_BODY {
                return None;
            }
        }
        Some(())
    };
    // A partial body may still explain the error. A shorter read timeout applies to errors too.
    let timeout = BODY_TIMEOUT.min(client.read_timeout);
    let is_complete = tokio::time::timeout(timeout, read).await.is_ok_and(|read| read.is_some());
    Body { text: String::from_utf8_lossy(&body).into_owned(), is_complete }
}

/// An error's message and code, without secrets.
fn shown(client: &Inner, message: &str, code: Option<String>) -> (String, Option<String>) {
    let excerpt = |text: &str, length| client.secrets().excerpt(text, length);
    (excerpt(message, MAX_MESSAGE), code.map(|code| excerpt(&code, MAX_ID)))
}

/// The provider's error message, and its code. A plain text body counts as one, an HTML page does not.
fn message(client: &Inner, body: &Body) -> Option<(String, Option<String>)> {
    if let Some((message, code)) = error_of_body(&body.text) {
        return Some(shown(client, &message, code));
    }
    let text = body.text.trim();
    // Gateways and frameworks such as FastAPI use other members.
    if let Ok(body) = serde_json::from_str::<serde_json::Value>(text)
        && let Some(message) = ["message", "detail"].iter().find_map(|name| body.get(name)?.as_str())
    {
        return Some(shown(client, message, None));
    }
    if text.is_empty() || text.starts_with(['<', '{', '[']) {
        return None;
    }
    let message = if body.is_complete {
        client.secrets().excerpt(text, MAX_MESSAGE)
    } else {
        client.secrets().excerpt_of_truncated(text, MAX_MESSAGE)
    };
    Some((message, None))
}

/// The target of a redirect that is not followed, without its query.
fn redirect(client: &Inner, status: StatusCode, headers: &HeaderMap, from: &Url) -> Option<String> {
    let location = status.is_redirection().then(|| header(headers, LOCATION.as_str())).flatten()?;
    let to = from.join(&location).ok()?;
    let is_same = to.origin() == from.origin();
    if is_same && matches!(status.as_u16(), 307 | 308) {
        return Some("too many redirects".to_owned());
    }
    let place = if is_same {
        to.path().to_owned()
    } else {
        format!("{}://{}", to.scheme(), endpoint::authority(&to))
    };
    Some(format!(
        "it redirects to {}, which is not followed; if that is correct, set it as the base URL",
        client.secrets().excerpt(&place, MAX_PATH)
    ))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
