//! Which recording a request asks for.

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::body::{Body, whole};
use super::recording::{ContentType, Recording};
use crate::Provider;
use crate::wire::Framing;

/// Stops a client that never ends its request; long conversations with many tools stay well below.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// How a path matches a provider's.
#[derive(Debug, PartialEq, Eq)]
enum Match<'p> {
    /// It names no model, the request's body does.
    Plain,
    /// It names the model.
    Model(&'p str),
}

/// The provider that is asked at this path.
fn route(path: &str) -> Option<(Provider, Match<'_>)> {
    Provider::ALL.iter().find_map(|provider| Some((*provider, matches(provider.path(), path)?)))
}

fn matches<'p>(pattern: &str, path: &'p str) -> Option<Match<'p>> {
    match pattern.split_once('*') {
        None => (path == pattern).then_some(Match::Plain),
        Some((before, after)) => {
            let model = path.strip_prefix(before)?.strip_suffix(after)?;
            (!model.is_empty() && !model.contains('/')).then_some(Match::Model(model))
        }
    }
}

/// What a provider's answers are, unless a recording says otherwise.
fn usual_content_type(provider: Provider) -> ContentType {
    match provider.info().framing {
        Framing::Lines => ContentType::Ndjson,
        Framing::Messages => ContentType::AmazonEventStream,
        Framing::Events | Framing::EventsOrArray | Framing::Body => ContentType::EventStream,
    }
}

/// The recording that a request asks for, and the content type to send it with.
pub(super) async fn select(
    recordings: &[Recording],
    request: Request<Incoming>,
) -> Result<(&Recording, ContentType), Refusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let (provider, matched) = route(path).ok_or_else(|| Refusal::unknown_path(path))?;
    if head.method != Method::POST {
        return Err(Refusal::method(&head.method, path));
    }
    // Read to its end in any case: a connection that is closed with bytes unread is reset, and takes the response along.
    let body = read(body).await?;
    let recording = match (recordings, matched) {
        ([only], _) => only,
        (_, Match::Model(model)) => named(recordings, model)?,
        (_, Match::Plain) => named(recordings, &model_of(&body)?)?,
    };
    Ok((recording, recording.content_type_at(usual_content_type(provider))))
}

async fn read(body: Incoming) -> Result<Bytes, Refusal> {
    match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refusal::too_large()),
        Err(error) => Err(Refusal::bad_request(format!("the request's body cannot be read: {error}"))),
    }
}

fn model_of(body: &[u8]) -> Result<String, Refusal> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the request's body is not JSON: {error}")))?;
    match body.get("model") {
        Some(Value::String(model)) => Ok(model.clone()),
        _ => Err(Refusal::bad_request("you must provide a model parameter".into())),
    }
}

fn named<'r>(recordings: &'r [Recording], model: &str) -> Result<&'r Recording, Refusal> {
    recordings
        .iter()
        .find(|recording| recording.name == model)
        .ok_or_else(|| Refusal::unknown_model(recordings, model))
}

/// A request that is answered with an error instead of a recording.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    code: Option<&'static str>,
    message: String,
}

impl Refusal {
    fn unknown_path(path: &str) -> Self {
        let known: Vec<_> = Provider::ALL.iter().map(|provider| provider.path()).collect();
        Self {
            status: StatusCode::NOT_FOUND,
            code: Some("unknown_url"),
            message: format!("unknown path {path:?}; served are {}", known.join(", ")),
        }
    }

    fn unknown_model(recordings: &[Recording], model: &str) -> Self {
        let known: Vec<_> = recordings.iter().map(Recording::name).collect();
        Self {
            status: StatusCode::NOT_FOUND,
            code: Some("model_not_found"),
            message: format!("no recording is named {model:?}; there are {}", known.join(", ")),
        }
    }

    fn method(method: &Method, path: &str) -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            code: None,
            message: format!("{method} is not served at {path}, only POST"),
        }
    }

    fn too_large() -> Self {
        Self {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            code: None,
            message: format!("the request's body is larger than {MAX_REQUEST_BYTES} bytes"),
        }
    }

    fn bad_request(message: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: None, message }
    }

    /// The response, in the shape of OpenAI's.
    pub(super) fn into_response(self) -> Response<Body> {
        let error = json!({
            "error": {"message": self.message, "type": "invalid_request_error", "param": null, "code": self.code},
        });
        let mut response = Response::new(whole(error.to_string().into()));
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
        Some((usual_content_type(provider).as_str(), matched))
    }

    #[test]
    fn every_provider_has_its_path() {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
            assert_eq!(route(path), Some(("text/event-stream", Match::Plain)), "{path}");
        }
        assert_eq!(route("/api/chat"), Some(("application/x-ndjson", Match::Plain)));
        assert_eq!(
            route("/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
            Some(("text/event-stream", Match::Model("gemini-2.5-flash")))
        );
    }

    #[test]
    fn other_paths_have_none() {
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
