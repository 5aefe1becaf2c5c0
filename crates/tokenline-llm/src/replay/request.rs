//! Selects the recording for a request.

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::body::{Body, full};
use super::recording::{ContentType, Recording};
use crate::Provider;
use crate::wire::Framing;

/// Limits a client that never ends its request; long conversations with many tools stay well below.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// Where a request names the model.
#[derive(Debug, PartialEq, Eq)]
enum Match<'p> {
    /// In the body.
    InBody,
    /// In the path.
    InPath(&'p str),
}

/// The provider with this path.
fn route(path: &str) -> Option<(Provider, Match<'_>)> {
    Provider::ALL.iter().find_map(|provider| Some((*provider, matches(provider.path(), path)?)))
}

fn matches<'p>(pattern: &str, path: &'p str) -> Option<Match<'p>> {
    match pattern.split_once('*') {
        None => (path == pattern).then_some(Match::InBody),
        Some((before, after)) => {
            let model = path.strip_prefix(before)?.strip_suffix(after)?;
            (!model.is_empty() && !model.contains('/')).then_some(Match::InPath(model))
        }
    }
}

/// The content type of a provider's responses, unless the recording sets one.
fn default_content_type(provider: Provider) -> ContentType {
    match provider.info().framing {
        Framing::Lines => ContentType::Ndjson,
        Framing::Messages => ContentType::AmazonEventStream,
        Framing::Events | Framing::EventsOrArray | Framing::Body => ContentType::EventStream,
    }
}

/// The recording for a request, and the content type to send it with.
pub(super) async fn select(
    recordings: &[Recording],
    request: Request<Incoming>,
) -> Result<(&Recording, ContentType), ErrorResponse> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let (provider, matched) = route(path).ok_or_else(|| ErrorResponse::unknown_path(path))?;
    if head.method != Method::POST {
        return Err(ErrorResponse::method(&head.method, path));
    }
    // Always read to the end: closing a connection with unread bytes resets it, and loses the response.
    let body = read(body).await?;
    let recording = match (recordings, matched) {
        ([only], _) => only,
        (_, Match::InPath(model)) => named(recordings, model)?,
        (_, Match::InBody) => named(recordings, &model_of(&body)?)?,
    };
    Ok((recording, recording.content_type_at(default_content_type(provider))))
}

async fn read(body: Incoming) -> Result<Bytes, ErrorResponse> {
    match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ErrorResponse::too_large()),
        Err(error) => {
            Err(ErrorResponse::bad_request(format!("cannot read the body of the request: {error}")))
        }
    }
}

fn model_of(body: &[u8]) -> Result<String, ErrorResponse> {
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        ErrorResponse::bad_request(format!("the body of the request is not JSON: {error}"))
    })?;
    match body.get("model") {
        Some(Value::String(model)) => Ok(model.clone()),
        _ => Err(ErrorResponse::bad_request("you must provide a model parameter".into())),
    }
}

fn named<'r>(recordings: &'r [Recording], model: &str) -> Result<&'r Recording, ErrorResponse> {
    recordings
        .iter()
        .find(|recording| recording.name == model)
        .ok_or_else(|| ErrorResponse::unknown_model(recordings, model))
}

/// An error in place of a recording.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    status: StatusCode,
    code: Option<&'static str>,
    message: String,
}

impl ErrorResponse {
    fn unknown_path(path: &str) -> Self {
        let known: Vec<_> = Provider::ALL.iter().map(|provider| provider.path()).collect();
        Self {
            status: StatusCode::NOT_FOUND,
            code: Some("unknown_url"),
            message: format!("unknown path {path:?}; use one of {}", known.join(", ")),
        }
    }

    fn unknown_model(recordings: &[Recording], model: &str) -> Self {
        let known: Vec<_> = recordings.iter().map(Recording::name).collect();
        Self {
            status: StatusCode::NOT_FOUND,
            code: Some("model_not_found"),
            message: format!("unknown recording {model:?}; use one of {}", known.join(", ")),
        }
    }

    pub(super) fn other_host() -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            code: None,
            message: "the header Host names another server".to_owned(),
        }
    }

    fn method(method: &Method, path: &str) -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            code: None,
            message: format!("{method} is not supported at {path}; use POST"),
        }
    }

    fn too_large() -> Self {
        Self {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            code: None,
            message: format!("the body of the request exceeds {MAX_REQUEST_BYTES} bytes"),
        }
    }

    fn bad_request(message: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: None, message }
    }

    /// The response, in the format of OpenAI's errors.
    pub(super) fn into_response(self) -> Response<Body> {
        let error = json!({
            "error": {"message": self.message, "type": "invalid_request_error", "param": null, "code": self.code},
        });
        let mut response = Response::new(full(error.to_string().into()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(ContentType::Json.as_str()));
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(path: &str) -> Option<(&'static str, Match<'_>)> {
        let (provider, matched) = super::route(path)?;
        Some((default_content_type(provider).as_str(), matched))
    }

    #[test]
    fn every_provider_has_its_path() {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
            assert_eq!(route(path), Some(("text/event-stream", Match::InBody)), "{path}");
        }
        assert_eq!(route("/api/chat"), Some(("application/x-ndjson", Match::InBody)));
        assert_eq!(
            route("/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
            Some(("text/event-stream", Match::InPath("gemini-2.5-flash")))
        );
    }

    #[test]
    fn other_paths_have_no_provider() {
        for path in [
            "/",
            "/v1/chat/completions/",
            "/v1/chat",
            "/v1beta/models/:streamGenerateContent",
            "/v1beta/models/a/b:streamGenerateContent",
            "/v1beta/models/a:generateContent",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }
}
