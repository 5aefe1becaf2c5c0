//! Previews and checks before a run: the request as it is sent, the faults of a schema, the models of a server.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenline::json::Parser;
use tokenline::llm::Provider;
use tokenline::schema::{SchemaError, SchemaValidator, ToolSet, UnknownKeyword};

use super::app::App;
use super::request::ExtractRequest;
use super::routes::{failed, unreadable};
use super::rules::{MAX_TEXT, Refused};
use super::server_choice::ServerChoice;
use crate::schema::Places;

/// The request that an extraction sends. Nothing is sent.
pub(super) async fn request(
    State(app): State<Arc<App>>,
    request: Result<Json<ExtractRequest>, JsonRejection>,
) -> Result<Json<Value>, Response> {
    let Json(request) = request.map_err(unreadable)?;
    let prepared = tokio::task::block_in_place(|| request.prepare(&app)).map_err(Refused::response)?;
    let provider = prepared.client.provider();
    let preview = prepared.stream.preview();
    // Of the headers that the page's requests have, only the key's is hidden.
    let is_key = |value: &str| value.ends_with("...");
    let variable = provider.key_variables().first().copied();
    let variable = variable.filter(|_| preview.headers.iter().any(|(_, value)| is_key(value)));
    let shown = |value: &str| match variable {
        Some(variable) if is_key(value) => value.replace("...", &format!("${variable}")),
        _ => value.to_owned(),
    };
    let headers: Vec<_> = preview.headers.iter().map(|(name, value)| (name, shown(value))).collect();
    Ok(Json(json!({
        "provider": provider.as_str(),
        "model": prepared.chat.model,
        "method": "POST",
        "url": preview.url,
        "headers": headers,
        "body": preview.body,
        "base_url": prepared.has_base_url.then_some(preview.base_url),
        "hides_part_of_url": preview.hides_part_of_url,
        "key_variable": variable,
        "key_variables": provider.key_variables(),
        "system": prepared.system,
        "prompt": prepared.prompt,
        "items": prepared.items,
    })))
}

/// A schema, or tool definitions, that is being written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRequest {
    kind: CheckKind,
    text: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CheckKind {
    Schema,
    Tools,
}

/// A fault, and its place: both from 1, the column in bytes.
#[derive(Serialize)]
pub(super) struct Fault {
    line: usize,
    column: usize,
    message: String,
    severity: &'static str,
}

/// The faults of a schema or of tool definitions.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    request: Result<Json<CheckRequest>, JsonRejection>,
) -> Result<Json<Value>, Response> {
    let Json(CheckRequest { kind, text }) = request.map_err(unreadable)?;
    if text.len() > MAX_TEXT {
        let message = format!("larger than {} KiB", MAX_TEXT >> 10);
        return Err(failed(StatusCode::BAD_REQUEST, &message).into_response());
    }
    // A page that types on leaves, and compiles nothing.
    let _one = app.checks.acquire().await;
    let faults = tokio::task::block_in_place(|| match kind {
        CheckKind::Schema => schema_faults(&text),
        CheckKind::Tools => {
            ToolSet::from_json_str(&text).err().map(|error| error_fault(&error)).into_iter().collect()
        }
    });
    Ok(Json(json!({ "faults": faults })))
}

fn schema_faults(text: &str) -> Vec<Fault> {
    let validator = match text.parse::<SchemaValidator>() {
        Ok(validator) => validator,
        Err(error) => return vec![error_fault(&error)],
    };
    let mut parser = Parser::new();
    let Ok(root) = parser.parse(text) else { return Vec::new() };
    let places = Places::new(root, text);
    let fault = |keyword: &UnknownKeyword| {
        let (line, column) = places.of(&keyword.path);
        Fault { line, column, message: keyword.to_string(), severity: "warning" }
    };
    validator.unknown_keywords().iter().map(fault).take(MAX_FAULTS).collect()
}

/// The most faults that are listed.
const MAX_FAULTS: usize = 100;

fn error_fault(error: &SchemaError) -> Fault {
    let (line, column) = error.position().unwrap_or((1, 1));
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    let message = text.strip_suffix(&place).unwrap_or(&text).to_owned();
    Fault { line, column, message, severity: "error" }
}

/// The server whose models are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelsRequest {
    provider: String,
    base_url: Option<String>,
    api_key: Option<String>,
}

/// The models of a server.
pub(super) async fn models(
    State(app): State<Arc<App>>,
    request: Result<Json<ModelsRequest>, JsonRejection>,
) -> Result<Json<Value>, Response> {
    let Json(request) = request.map_err(unreadable)?;
    let refuse = |message: &str| failed(StatusCode::BAD_REQUEST, message).into_response();
    let provider = Provider::from_name(&request.provider);
    let provider = provider.ok_or_else(|| refuse("provider: there is no provider of this name"))?;
    let server = ServerChoice::new(request.base_url, request.api_key);
    let client = server.client(provider, &app).map_err(|message| refuse(&message))?;
    let failure = |message: String| failed(StatusCode::BAD_GATEWAY, &message).into_response();
    let models = tokio::time::timeout(MODELS_TIMEOUT, client.models()).await;
    let models = models.map_err(|_| failure("the server does not list its models".to_owned()))?;
    let models = models.map_err(|error| failure(error.to_string()))?;
    Ok(Json(json!({ "models": models })))
}

/// How long the page waits for a list of models.
const MODELS_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
