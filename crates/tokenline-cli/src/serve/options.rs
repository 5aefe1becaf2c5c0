//! The choices of the page: providers, models, prompts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use tokenline::prompt::PromptManager;

use super::app::App;
use super::recorded::{self, RECORDED};

pub(super) async fn options(State(app): State<Arc<App>>) -> Json<Value> {
    let recorded = json!({
        "name": RECORDED, "title": "Recorded model", "ready": true, "models": recorded::CHOICES,
    });
    let providers = app.clients.iter().map(|(provider, client)| {
        let mut members = json!({
            "name": provider.as_str(), "title": short(provider.title()), "ready": client.is_ok(), "models": [],
        });
        if let Err(reason) = client {
            members["reason"] = reason.as_str().into();
        }
        members
    });
    let providers: Vec<Value> = std::iter::once(recorded).chain(providers).collect();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"), "providers": providers, "prompts": prompts(&app.prompts),
        "allow_base_url": app.allows_base_url,
    }))
}

/// The prompts that need nothing but a text.
fn prompts(prompts: &PromptManager) -> Vec<Value> {
    let text = json!({ "text": "" });
    let usable = prompts.ids().filter(|id| prompts.render(id, &text).is_ok());
    usable
        .map(|id| {
            let schema = prompts.prompt(id).and_then(|prompt| prompt.schema());
            json!({ "id": id, "title": title(id), "schema": schema })
        })
        .collect()
}

/// A provider's title up to its first comma: the rest is for help texts.
fn short(title: &str) -> &str {
    title.split_once(',').map_or(title, |(name, _)| name)
}

/// The title of a prompt: `Extract definitions` for `extract-definitions`.
fn title(id: &str) -> String {
    if id == "agent-kg-extract" {
        return "Extract a knowledge graph".to_owned();
    }
    let words = id.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
