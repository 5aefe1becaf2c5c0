//! The paths of the gateway.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, head, post};
use tokenline::llm::Provider;
use tokenline::llm::client::Resource;

use super::Gateway;
use super::account::Account;
use super::fault::Fault;
use super::forward::forward;
use super::guard::guard;
use super::incoming::{Shared, json_body, new_id, wants_own_parts};
use super::models::models;
use super::translate::translate;
use crate::headers::NO_STORE;

pub(super) fn of(gateway: Gateway) -> Router {
    let gateway = Arc::new(gateway);
    let mut router = Router::new()
        .route("/", head(|| async { StatusCode::OK }))
        .route("/metrics", get(|State(gateway): State<Shared>| async move { gateway.metrics.to_text() }));
    // OpenAI's libraries have the version in the base URL, which users forget.
    for version in ["/v1", ""] {
        router = router
            .route(&format!("{version}/chat/completions"), post(respond))
            .route(&format!("{version}/responses"), post(respond))
            .route(&format!("{version}/messages"), post(respond))
            .route(&format!("{version}/messages/count_tokens"), post(count_tokens))
            .route(&format!("{version}/models"), get(list_models))
            .route(&format!("{version}/models/{{*id}}"), get(one_model));
    }
    router
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(from_fn_with_state(gateway.clone(), guard))
        .with_state(gateway)
}

/// The API of a client, by the path and the headers of its request.
pub(super) fn client_of(path: &str, headers: &HeaderMap) -> Provider {
    let path = path.strip_prefix("/v1").unwrap_or(path);
    match path {
        _ if path.starts_with("/messages") => Provider::Anthropic,
        _ if path.starts_with("/responses") => Provider::OpenAiResponses,
        _ if path.starts_with("/chat/") => Provider::OpenAiChat,
        _ if headers.contains_key("anthropic-version") => Provider::Anthropic,
        _ => Provider::OpenAiChat,
    }
}

async fn respond(State(gateway): State<Shared>, request: Request) -> Response {
    answer(gateway, Resource::Response, request).await
}

async fn count_tokens(State(gateway): State<Shared>, request: Request) -> Response {
    answer(gateway, Resource::TokenCount, request).await
}

/// Forwards or translates a request with a body.
async fn answer(gateway: Shared, resource: Resource, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let client = client_of(parts.uri.path(), &parts.headers);
    let mut account = Account::new(&gateway, new_id(), client);
    let body = match json_body(&parts.headers, body).await {
        Ok(body) => body,
        Err(fault) => return conclude(Err(fault), account),
    };
    let is_same = client == gateway.upstream.provider();
    let is_changed = gateway.changes_responses()
        // A model that writes its calls as text has no parts of its own.
        && (gateway.call_format.is_some() || !wants_own_parts(client, &body));
    let answered = match resource {
        Resource::Response if !is_same || is_changed => {
            translate(&gateway, &parts.headers, &body, &mut account).await
        }
        Resource::TokenCount if !is_same => {
            // Clients estimate instead.
            Err(Fault::new(StatusCode::NOT_FOUND, "the upstream cannot count tokens"))
        }
        resource => forward(&gateway, resource, &parts, Some(body), &mut account).await,
    };
    conclude(answered, account)
}

async fn list_models(State(gateway): State<Shared>, request: Request) -> Response {
    get_models(gateway, None, request).await
}

async fn one_model(
    State(gateway): State<Shared>,
    model: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    match model {
        Ok(Path(model)) if is_in_path(&model) => get_models(gateway, Some(model), request).await,
        // A path that is not UTF-8, or that names no model.
        Ok(_) | Err(_) => not_found(State(gateway), request).await,
    }
}

/// Whether an id can be the last segment of a URL.
fn is_in_path(id: &str) -> bool {
    !matches!(id, "." | "..") && !id.contains(char::is_control)
}

async fn get_models(gateway: Shared, model: Option<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let mut account = Account::new(&gateway, new_id(), client_of(parts.uri.path(), &parts.headers));
    let answered = models(&gateway, model, &parts, &mut account).await;
    conclude(answered, account)
}

async fn not_found(State(gateway): State<Shared>, request: Request) -> Response {
    let client = client_of(request.uri().path(), request.headers());
    let mut message = format!("the gateway has no {} {}", request.method(), request.uri().path());
    if request.uri().path().matches("/v1").count() > 1 {
        message += ": the client adds `/v1` to its base URL, which has it already";
    }
    let fault = Fault::new(StatusCode::NOT_FOUND, message).with_code("unknown_url");
    conclude(Err(fault), Account::new(&gateway, new_id(), client))
}

/// The response, or the error in its place.
pub(super) fn conclude(answered: Result<Answer, Fault>, mut account: Account) -> Response {
    match answered {
        Ok(answer) => answer.into_response(account),
        Err(fault) => {
            account.summary.status = fault.failure.status;
            account.end(Some(fault.failure.clone()));
            fault.into_response(account.summary.client, &account.summary.id)
        }
    }
}

/// A response, until its account goes with its body.
pub(super) enum Answer {
    /// A response that is complete.
    Whole(Response),
    /// A response whose body is made with the account, which ends with it.
    Stream(Box<dyn FnOnce(Account) -> Response + Send>),
}

impl Answer {
    fn into_response(self, mut account: Account) -> Response {
        match self {
            Self::Whole(response) => {
                account.sent();
                account.summary.status = response.status().as_u16();
                account.end(None);
                response
            }
            Self::Stream(respond) => respond(account),
        }
    }
}

/// A body of JSON.
pub(super) fn json_response(body: String) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, NO_STORE)];
    (headers, Body::from(body)).into_response()
}
