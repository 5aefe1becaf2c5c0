//! Responses that are no stream: what they say.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode, Url};

use super::llm_client::Inner;
use super::{ClientError, ClientErrorKind, endpoint, retry};
use crate::Provider;
use crate::providers::error_of_body;

/// Bytes of an error's body that are read: no provider's message is longer.
const MAX_BODY: usize = 64 * 1024;
/// How long its body may take: a server that fails may fail at that, too.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Characters of a provider's message that are shown.
const MAX_MESSAGE: usize = 500;
/// Characters of an id that are shown.
const MAX_ID: usize = 100;

/// The response, if it is a stream of the provider's.
pub(super) async fn check(client: &Inner, response: Response) -> Result<Response, ClientError> {
    let provider = client.provider;
    let (status, path) = (response.status(), response.url().path().to_owned());
    let request_id = ["x-request-id", "request-id"].iter().find_map(|name| header(response.headers(), name));
    let request_id = request_id.map(|id| client.secrets.shown(&id, MAX_ID));
    if !status.is_success() {
        let headers = response.headers().clone();
        let from = response.url().clone();
        let body = body(response).await;
        let message = message(client, &body);
        let told = match redirect(status, &headers, &from) {
            Some(redirect) => redirect,
            None => message.map_or(String::new(), |message| format!(": {message}")),
        };
        let text = format!("{} answered {status} at {path}{told}", provider.as_str());
        return Err(ClientError::new(ClientErrorKind::Status, text)
            .with_status(status.as_u16())
            .with_retry_after(retry::retry_after(&headers, SystemTime::now()))
            .with_request_id(request_id)
            .retryable(retry::may_pass(status, &headers, &body)));
    }
    let content_type = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let error = |kind, text| {
        ClientError::new(kind, text).with_status(status.as_u16()).with_request_id(request_id.clone())
    };
    match kind(provider, &essence) {
        Kind::Stream => Ok(response),
        Kind::Document => {
            let body = body(response).await;
            Err(match message(client, &body) {
                Some(message) => error(
                    ClientErrorKind::Status,
                    format!("{} answered with an error: {message}", provider.as_str()),
                ),
                None => error(
                    ClientErrorKind::ContentType,
                    format!(
                        "{} answered at {path} with a JSON document, not with a stream",
                        provider.as_str()
                    ),
                ),
            })
        }
        Kind::Other => Err(error(
            ClientErrorKind::ContentType,
            format!(
                "{} answered at {path} with {}, not with a stream: is the base URL right?",
                provider.as_str(),
                client.secrets.shown(&essence, MAX_ID)
            ),
        )),
    }
}

/// What a response's content type says that it is.
enum Kind {
    Stream,
    /// JSON where events are expected: an error, or a server that does not stream.
    Document,
    /// A page of a proxy's, say.
    Other,
}

fn kind(provider: Provider, content_type: &str) -> Kind {
    // Gemini's answers may come as a JSON array, and some servers call Ollama's lines JSON.
    let may_be_json = matches!(provider, Provider::Gemini | Provider::Ollama);
    match content_type {
        "application/json" if !may_be_json => Kind::Document,
        "text/html" | "text/xml" | "application/xml" | "application/xhtml+xml" => Kind::Other,
        // What servers of one's own call their streams, if anything, is not worth an error.
        _ => Kind::Stream,
    }
}

/// What can be read of a body within limits.
async fn body(mut response: Response) -> String {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk[..chunk.len().min(MAX_BODY - body.len())]);
            if body.len() == MAX_BODY {
                break;
            }
        }
    };
    // What came in time may say enough.
    let _ = tokio::time::timeout(BODY_TIMEOUT, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// The provider's own words. A body that is plain text is taken for them, a page is not.
fn message(client: &Inner, body: &str) -> Option<String> {
    let text = error_of_body(body).or_else(|| {
        let text = body.trim();
        (!text.is_empty() && !text.starts_with(['<', '{', '['])).then(|| text.to_owned())
    })?;
    Some(client.secrets.shown(&text, MAX_MESSAGE))
}

/// Where a redirect that is not followed leads; of its query nothing is said.
fn redirect(status: StatusCode, headers: &HeaderMap, from: &Url) -> Option<String> {
    let location = status.is_redirection().then(|| header(headers, LOCATION.as_str())).flatten()?;
    let to = from.join(&location).ok()?;
    Some(format!(
        ": it redirects to {}://{}, where requests are not sent on their own; set the base URL if that is the right place",
        to.scheme(),
        endpoint::shown(&to)
    ))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}
