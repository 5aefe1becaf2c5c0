//! Selects the recording for a request.

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::body::{Body, full};
use super::recording::{ContentType, Recording};
use super::whole::whole_body;
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

/// The provider with this path, and whether the path asks for a whole body.
fn route(path: &str) -> Option<(Provider, Match<'_>, bool)> {
    Provider::ALL.iter().find_map(|provider| {
        let whole = || matches(whole_body_path(*provider)?, path);
        let matched = matches(provider.path(), path).map(|matched| (matched, false));
        let (matched, is_whole) = matched.or_else(|| Some((whole()?, true)))?;
        Some((*provider, matched, is_whole))
    })
}

/// The path of requests for whole bodies, of providers where it differs from that of streams.
fn whole_body_path(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Gemini => Some("/v1beta/models/*:generateContent"),
        Provider::Bedrock => Some("/model/*/converse"),
        _ => None,
    }
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

/// The path of the list of models, of OpenAI's and Anthropic's APIs.
const MODELS_PATH: &str = "/v1/models";

/// The response to a request.
pub(super) enum Selected {
    /// A recording, and the content type to send it with.
    Recording(Box<Recording>, ContentType),
    /// The list of models.
    Models(Response<Body>),
}

/// Selects the response to a request.
pub(super) async fn select(
    recordings: &[Recording],
    request: Request<Incoming>,
) -> Result<Selected, ErrorResponse> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if path == MODELS_PATH && head.method == Method::GET {
        return Ok(Selected::Models(json_response(StatusCode::OK, &models(recordings))));
    }
    let (provider, matched, is_whole) = route(path).ok_or_else(|| ErrorResponse::unknown_path(path))?;
    let selected = async {
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
        sent(recording, provider, !is_whole && wants_stream(provider, &body))
    };
    let (recording, content_type) = selected.await.map_err(|error| error.of(provider))?;
    Ok(Selected::Recording(Box::new(recording), content_type))
}

/// The recording as the request asks for it: as it is, or the whole body of a stream.
fn sent(
    recording: &Recording,
    provider: Provider,
    wants_stream: bool,
) -> Result<(Recording, ContentType), ErrorResponse> {
    let content_type = recording.content_type_at(default_content_type(provider));
    if recording.status != StatusCode::OK {
        return Ok((recording.clone(), content_type));
    }
    if let Some(other) = Provider::detect(recording.bytes()).filter(|other| *other != provider) {
        return Err(ErrorResponse::other_provider(recording, other));
    }
    if content_type != ContentType::Json
        && !wants_stream
        && let Some(whole) = whole_body(provider, recording.bytes())
    {
        return Ok((recording.with_bytes(whole), ContentType::Json));
    }
    Ok((recording.clone(), content_type))
}

/// Whether a request asks for a stream.
fn wants_stream(provider: Provider, body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let stream = body.get("stream").and_then(Value::as_bool);
    match provider {
        // Its path says so.
        Provider::Gemini | Provider::Bedrock => true,
        // It streams unless told otherwise.
        Provider::Ollama => stream.unwrap_or(true),
        _ => stream.unwrap_or_default(),
    }
}

/// The list of models, in the form of both APIs.
fn models(recordings: &[Recording]) -> Value {
    let model = |recording: &Recording| {
        let name = recording.name();
        json!({
            "id": name, "object": "model", "created": 0, "owned_by": "tokenline",
            "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z",
        })
    };
    let (first, last) = (recordings.first().map(Recording::name), recordings.last().map(Recording::name));
    let models: Vec<Value> = recordings.iter().map(model).collect();
    json!({"object": "list", "data": models, "has_more": false, "first_id": first, "last_id": last})
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(full(body.to_string().into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(ContentType::Json.as_str()));
    response
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
    /// The provider whose errors look like this; OpenAI's if the path is unknown.
    provider: Provider,
    status: StatusCode,
    code: Option<&'static str>,
    message: String,
}

impl ErrorResponse {
    fn new(status: StatusCode, code: Option<&'static str>, message: String) -> Self {
        Self { provider: Provider::OpenAiChat, status, code, message }
    }

    /// The same in the form of a provider's errors.
    fn of(self, provider: Provider) -> Self {
        Self { provider, ..self }
    }

    fn other_provider(recording: &Recording, provider: Provider) -> Self {
        let path = provider.path().replace('*', recording.name());
        let message = format!(
            "the recording {:?} is a response of {}; request it at {path}",
            recording.name(),
            provider.as_str()
        );
        Self::new(StatusCode::BAD_REQUEST, None, message)
    }

    fn unknown_path(path: &str) -> Self {
        let known: Vec<_> = Provider::ALL.iter().map(|provider| provider.path()).collect();
        let message = format!("unknown path {path:?}; use one of {}", known.join(", "));
        Self::new(StatusCode::NOT_FOUND, Some("unknown_url"), message)
    }

    fn unknown_model(recordings: &[Recording], model: &str) -> Self {
        let known: Vec<_> = recordings.iter().map(Recording::name).collect();
        let message = format!("unknown recording {model:?}; use one of {}", known.join(", "));
        Self::new(StatusCode::NOT_FOUND, Some("model_not_found"), message)
    }

    pub(super) fn other_host() -> Self {
        Self::new(StatusCode::FORBIDDEN, None, "the header Host names another server".to_owned())
    }

    fn method(method: &Method, path: &str) -> Self {
        let message = format!("{method} is not supported at {path}; use POST");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, None, message)
    }

    fn too_large() -> Self {
        let message = format!("the body of the request exceeds {MAX_REQUEST_BYTES} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, None, message)
    }

    fn bad_request(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, None, message)
    }

    /// The response, in the form of the provider's errors.
    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = json_response(self.status, &self.body());
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        }
        if self.provider == Provider::Bedrock {
            response
                .headers_mut()
                .insert("x-amzn-errortype", HeaderValue::from_static("ValidationException"));
        }
        response
    }

    fn body(&self) -> Value {
        let Self { provider, status, code, message } = self;
        match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => json!({
                "error": {"message": message, "type": "invalid_request_error", "param": null, "code": code},
            }),
            Provider::Anthropic => {
                let kind = match *status {
                    StatusCode::NOT_FOUND => "not_found_error",
                    StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
                    _ => "invalid_request_error",
                };
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Provider::Gemini | Provider::GeminiInteractions => {
                let name = if *status == StatusCode::NOT_FOUND { "NOT_FOUND" } else { "INVALID_ARGUMENT" };
                json!({"error": {"code": status.as_u16(), "message": message, "status": name}})
            }
            Provider::Cohere | Provider::Bedrock => json!({"message": message}),
            Provider::Ollama => json!({"error": message}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(path: &str) -> Option<(&'static str, Match<'_>)> {
        let (provider, matched, is_whole) = super::route(path)?;
        let content_type = if is_whole { ContentType::Json } else { default_content_type(provider) };
        Some((content_type.as_str(), matched))
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
        for path in ["/v1beta/models/m:generateContent", "/model/m/converse"] {
            assert_eq!(route(path), Some(("application/json", Match::InPath("m"))), "{path}");
        }
    }

    #[test]
    fn other_paths_have_no_provider() {
        for path in [
            "/",
            "/v1/chat/completions/",
            "/v1/chat",
            "/v1beta/models/:streamGenerateContent",
            "/v1beta/models/a/b:streamGenerateContent",
            "/v1beta/models/:generateContent",
            "/model//converse",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }
}
