//! Responses that are no stream: what they say.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode, Url};

use super::llm_client::Inner;
use super::{ClientError, ClientErrorKind, endpoint, retry};
use crate::Provider;
use crate::providers::error_of_body;
use crate::retry_after::retry_after;
use crate::wire::Framing;

/// Bytes of an error's body that are read: no provider's message is longer.
const MAX_BODY: usize = 64 * 1024;
/// How long its body may take: a server that fails may fail at that, too.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Characters of a provider's message that are shown.
const MAX_MESSAGE: usize = 500;
/// Characters of a path that are shown; after a redirect it is the server's.
const MAX_PATH: usize = 200;
/// Characters of an id that are shown.
const MAX_ID: usize = 100;

/// The response, if it is a stream of the provider's.
pub(super) async fn check(client: &Inner, response: Response) -> Result<Response, ClientError> {
    let (status, from) = (response.status(), response.url().clone());
    let (host, path) = (endpoint::shown(&from), client.secrets.shown(from.path(), MAX_PATH));
    let request_id = request_id(client, response.headers());
    let error = |kind, text| {
        ClientError::new(kind, text).with_status(status.as_u16()).with_request_id(request_id.clone())
    };
    if !status.is_success() {
        let headers = response.headers().clone();
        let body = body(client, response).await;
        let told = redirect(client, status, &headers, &from).or_else(|| message(client, &body));
        let told = told.map_or(String::new(), |told| format!(": {told}"));
        let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or_default());
        let status_text = format!("{code} {reason}");
        let hint = missing_key(client, status);
        let text = format!("{host} answered {} at {path}{told}{hint}", status_text.trim_end());
        return Err(error(ClientErrorKind::Status, text)
            .with_retry_after(retry_after(|name| headers.get(name)?.to_str().ok(), SystemTime::now()))
            .retryable(retry::may_pass(status, &headers, &body.text)));
    }
    // What was asked for has been undone, and is no longer named.
    if let Some(encoding) = header(response.headers(), CONTENT_ENCODING.as_str())
        && !encoding.is_empty()
        && !encoding.eq_ignore_ascii_case("identity")
    {
        let encoding = client.secrets.shown(&encoding, MAX_ID);
        let text = format!("{host} answered with `{encoding}` content at {path}, which was not asked for");
        return Err(error(ClientErrorKind::ContentType, text));
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind(client.provider, &essence) {
        Kind::Stream => Ok(response),
        Kind::Document => Err(match error_of_body(&body(client, response).await.text) {
            Some(message) => {
                let message = client.secrets.shown(&message, MAX_MESSAGE);
                error(ClientErrorKind::Status, format!("{host} answered with an error at {path}: {message}"))
            }
            None => error(
                ClientErrorKind::ContentType,
                format!("{host} answered with a JSON document at {path}, not with a stream"),
            ),
        }),
        Kind::Other(doubt) => {
            let essence = client.secrets.shown(&essence, MAX_ID);
            let text = format!("{host} answered with {essence} at {path}, not with {doubt}");
            Err(error(ClientErrorKind::ContentType, text))
        }
    }
}

/// The provider's id of the request.
pub(super) fn request_id(client: &Inner, headers: &HeaderMap) -> Option<String> {
    let id = ["x-request-id", "request-id"].iter().find_map(|name| header(headers, name))?;
    Some(client.secrets.shown(&id, MAX_ID))
}

/// What to do about a refusal to those who did not say who they are.
fn missing_key(client: &Inner, status: StatusCode) -> String {
    if client.has_key || !matches!(status.as_u16(), 401 | 403) {
        return String::new();
    }
    let variables = client.provider.info().endpoint.key_variables.join(" or ");
    format!("; the client has no API key, which would be that of {variables}")
}

/// What a response's content type says that it is.
enum Kind {
    Stream,
    /// JSON where events are expected: an error, or a server that does not stream.
    Document,
    /// Something else, a page of a proxy's, say: what it is not, and what may be wrong.
    Other(&'static str),
}

fn kind(provider: Provider, content_type: &str) -> Kind {
    let framing = provider.info().framing;
    // A stream may be a JSON array, and some servers call lines of JSON so.
    let is_lines = framing == Framing::Lines;
    let may_be_json = is_lines || framing == Framing::EventsOrArray;
    match content_type {
        "text/event-stream" if is_lines => Kind::Other("lines of JSON: is the provider right?"),
        "application/x-ndjson" | "application/jsonl" if !is_lines => {
            Kind::Other("server-sent events: is the provider right?")
        }
        "application/json" if !may_be_json => Kind::Document,
        "text/html" | "text/xml" | "application/xml" | "application/xhtml+xml" => {
            Kind::Other("a stream: is the base URL right?")
        }
        // What servers of one's own call their streams, if anything, is not worth an error.
        _ => Kind::Stream,
    }
}

/// What could be read of a body within limits.
struct Body {
    text: String,
    /// Whether that is all of it.
    is_whole: bool,
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
    // What came in time may say enough. Whoever is less patient with answers is so with errors.
    let timeout = BODY_TIMEOUT.min(client.read_timeout);
    let is_whole = tokio::time::timeout(timeout, read).await.is_ok_and(|read| read.is_some());
    Body { text: String::from_utf8_lossy(&body).into_owned(), is_whole }
}

/// What a refusal says in the provider's own words. A body that is plain text is taken for them, a page is not.
fn message(client: &Inner, body: &Body) -> Option<String> {
    if let Some(message) = error_of_body(&body.text) {
        return Some(client.secrets.shown(&message, MAX_MESSAGE));
    }
    let text = body.text.trim();
    // What stands before the provider may have words of its own: gateways, FastAPI.
    if let Ok(body) = serde_json::from_str::<serde_json::Value>(text)
        && let Some(said) = ["message", "detail"].iter().find_map(|name| body.get(name)?.as_str())
    {
        return Some(client.secrets.shown(said, MAX_MESSAGE));
    }
    if text.is_empty() || text.starts_with(['<', '{', '[']) {
        return None;
    }
    Some(match body.is_whole {
        true => client.secrets.shown(text, MAX_MESSAGE),
        false => client.secrets.shown_of_cut(text, MAX_MESSAGE),
    })
}

/// Where a redirect that is not followed leads; of its query nothing is said.
fn redirect(client: &Inner, status: StatusCode, headers: &HeaderMap, from: &Url) -> Option<String> {
    let location = status.is_redirection().then(|| header(headers, LOCATION.as_str())).flatten()?;
    let to = from.join(&location).ok()?;
    let is_same = to.origin() == from.origin();
    if is_same && matches!(status.as_u16(), 307 | 308) {
        return Some("it redirects again and again".to_owned());
    }
    let place = match is_same {
        true => to.path().to_owned(),
        false => format!("{}://{}", to.scheme(), endpoint::shown(&to)),
    };
    Some(format!(
        "it redirects to {}, where requests are not sent on their own; set the base URL if that is the right place",
        client.secrets.shown(&place, MAX_PATH)
    ))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
