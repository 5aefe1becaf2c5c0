//! A server that the page names, if it may.

use serde::Deserialize;
use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;

use super::app::{self, App};

/// A server and an API key that the page names. Both are empty unless the program was started with `--allow-base-url`.
#[derive(Default, Deserialize)]
pub(super) struct ServerChoice {
    #[serde(default)]
    base_url: String,
    #[serde(default)]
    api_key: String,
}

impl ServerChoice {
    /// The client of the server that the page names, or else of the provider's.
    pub(super) fn client(&self, provider: Provider, app: &App) -> Result<LlmClient, String> {
        let (base_url, api_key) = (self.base_url.trim(), self.api_key.trim());
        if base_url.is_empty() && api_key.is_empty() {
            let client = app.clients.iter().find(|(configured, _)| *configured == provider);
            let (_, client) = client.ok_or("provider: not configured")?;
            return client.clone();
        }
        if !app.allows_base_url {
            return Err("base_url, api_key: the server was started without --allow-base-url".to_owned());
        }
        let builder = app::builder(provider);
        let builder = match self.base_url(provider, app) {
            Some(url) => builder.base_url(url),
            None => builder,
        };
        // A key of the environment belongs to another server.
        let builder = if api_key.is_empty() { builder.without_api_key() } else { builder.api_key(api_key) };
        builder.build().map_err(|error| error.to_string())
    }

    /// The base URL of the page, or else of the command line.
    pub(super) fn base_url(&self, provider: Provider, app: &App) -> Option<String> {
        let own = self.base_url.trim();
        if own.is_empty() { app.base_url(provider).map(str::to_owned) } else { Some(own.to_owned()) }
    }
}
