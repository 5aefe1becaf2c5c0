//! The paths of the server.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use tokenline_axum::sse::SseResponse;

use super::app::App;
use super::request::ExtractRequest;
use super::rules::Refused;
use super::{assets, guard, inspect, options};

/// The largest body of a request, in bytes.
const MAX_BODY: usize = 8 << 20;
const TOO_MANY_RULES: &str =
    "the schemas and tools of other runs take all the memory there is: try again later";

pub(super) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(assets::index))
        .route("/assets/{name}", get(assets::asset))
        .route("/api/options", get(options::options))
        .route("/api/extract", post(extract))
        .route("/api/request", post(inspect::request))
        .route("/api/check", post(inspect::check))
        .route("/api/models", post(inspect::models))
        .route("/api/runs/{run}", axum::routing::delete(stop))
        // HEAD would take the run from its reader.
        .route("/api/runs/{run}/events", get(resume).head(not_allowed))
        .fallback(|| async { failed(StatusCode::NOT_FOUND, "there is nothing at this path") })
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}

impl Refused {
    pub(super) fn response(self) -> Response {
        match self {
            Self::Invalid(message) => failed(StatusCode::BAD_REQUEST, &message).into_response(),
            Self::Full => failed(StatusCode::SERVICE_UNAVAILABLE, TOO_MANY_RULES).into_response(),
        }
    }
}

async fn extract(
    State(app): State<Arc<App>>,
    request: Result<Json<ExtractRequest>, JsonRejection>,
) -> Result<Response, Response> {
    let Json(request) = request.map_err(unreadable)?;
    // A schema takes a while to compile.
    let model = tokio::task::block_in_place(|| request.into_model(&app));
    let model = model.map_err(Refused::response)?;
    let reader = app.runs.start(model).map_err(|_| {
        failed(StatusCode::SERVICE_UNAVAILABLE, "too many runs: try again later").into_response()
    })?;
    Ok(SseResponse::new(reader).into_response())
}

async fn resume(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let last_id = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let reader = app.runs.resume(&run, last_id.unwrap_or(0));
    Ok(SseResponse::new(reader.ok_or_else(|| unknown_run().into_response())?).into_response())
}

async fn stop(State(app): State<Arc<App>>, Path(run): Path<String>) -> Response {
    if app.runs.stop(&run) { StatusCode::NO_CONTENT.into_response() } else { unknown_run().into_response() }
}

async fn not_allowed() -> impl IntoResponse {
    failed(StatusCode::METHOD_NOT_ALLOWED, "this path does not support the method")
}

fn unknown_run() -> impl IntoResponse {
    failed(StatusCode::NOT_FOUND, "there is no such run, or its page left it")
}

/// An error as JSON.
pub(super) fn failed(status: StatusCode, message: &str) -> impl IntoResponse {
    (status, Json(serde_json::json!({ "error": message })))
}

/// The response to a body that cannot be read.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn unreadable(error: JsonRejection) -> Response {
    failed(error.status(), &error.body_text()).into_response()
}
