//! The list of models.

use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::{Value, json};
use tokenline::llm::Provider;
use tokenline::llm::client::Resource;

use super::Gateway;
use super::account::Account;
use super::fault::Fault;
use super::forward::forward;
use super::router::{Answer, json_response};

/// The models of the upstream, or one of them.
pub(super) async fn models(
    gateway: &Gateway,
    model: Option<String>,
    parts: &Parts,
    account: &mut Account,
) -> Result<Answer, Fault> {
    let upstream = gateway.upstream.provider();
    let is_openai = |provider| matches!(provider, Provider::OpenAiChat | Provider::OpenAiResponses);
    let client = account.summary.client;
    if client == upstream || (is_openai(client) && is_openai(upstream)) {
        let resource = model.map_or(Resource::Models, Resource::Model);
        return forward(gateway, resource, parts, None, account).await;
    }
    (account.summary.is_translated, account.summary.was_sent) = (true, true);
    let names = gateway.upstream_for(&parts.headers)?.models().await?;
    let body = match model {
        Some(model) if names.contains(&model) => entry(client, &model),
        Some(_) => return Err(Fault::new(StatusCode::NOT_FOUND, "the upstream has no model of this name")),
        None => list(client, &names),
    };
    Ok(Answer::Whole(json_response(body.to_string())))
}

fn list(client: Provider, names: &[String]) -> Value {
    let data: Vec<Value> = names.iter().map(|name| entry(client, name)).collect();
    match client {
        Provider::Anthropic => json!({
            "data": data, "has_more": false, "first_id": names.first(), "last_id": names.last(),
        }),
        _ => json!({"object": "list", "data": data}),
    }
}

/// A model. When it was created is not known.
fn entry(client: Provider, name: &str) -> Value {
    match client {
        Provider::Anthropic => json!({
            "type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z",
        }),
        _ => json!({"id": name, "object": "model", "created": 0, "owned_by": "upstream"}),
    }
}
