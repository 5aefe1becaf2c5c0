//! A server that the page names, if it may.

use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;

use super::app::{self, App};

/// A server and an API key that the page names. Both are empty unless the program was started with `--allow-base-url`.
pub(super) struct ServerChoice {
    base_url: String,
    api_key: String,
}

impl ServerChoice {
    pub(super) fn new(base_url: Option<String>, api_key: Option<String>) -> Self {
        let trimmed = |text: Option<String>| text.unwrap_or_default().trim().to_owned();
        Self { base_url: trimmed(base_url), api_key: trimmed(api_key) }
    }

    /// The client of the server that the page names, or else of the provider's.
    pub(super) fn client(&self, provider: Provider, app: &App) -> Result<LlmClient, String> {
        if self.base_url.is_empty() && self.api_key.is_empty() {
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
        let builder = if self.api_key.is_empty() {
            builder.without_api_key()
        } else {
            builder.api_key(self.api_key.as_str())
        };
        builder.build().map_err(|error| error.to_string())
    }

    /// The base URL of the page, or else of the command line.
    pub(super) fn base_url(&self, provider: Provider, app: &App) -> Option<String> {
        if self.base_url.is_empty() {
            app.base_url(provider).map(str::to_owned)
        } else {
            Some(self.base_url.clone())
        }
    }
}
