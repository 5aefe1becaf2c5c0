//! The state that all requests share.

use std::sync::Arc;

use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;
use tokenline::prompt::PromptManager;

use super::ServeArgs;
use super::rules::RuleCache;
use super::runs::Runs;

/// The state that all requests share.
pub(super) struct App {
    /// A client for each provider, or why there is none.
    pub(super) clients: Vec<(Provider, Result<LlmClient, String>)>,
    pub(super) prompts: PromptManager,
    pub(super) runs: Arc<Runs>,
    pub(super) rules: RuleCache,
    /// Names by which browsers may reach this server.
    pub(super) host_names: Vec<String>,
}

impl App {
    pub(super) fn new(args: &ServeArgs) -> Self {
        Self {
            clients: Provider::ALL.iter().map(|provider| (*provider, client(*provider, args))).collect(),
            prompts: PromptManager::built_in(),
            runs: Arc::default(),
            rules: RuleCache::default(),
            host_names: args.host_name.clone(),
        }
    }
}

/// The client of a provider, or why it cannot be used.
fn client(provider: Provider, args: &ServeArgs) -> Result<LlmClient, String> {
    let mut builder = LlmClient::builder(provider)
        .http(|http| http.user_agent(concat!("tokenline/", env!("CARGO_PKG_VERSION"))));
    if let Some((_, url)) = args.base_url.iter().rev().find(|(configured, _)| *configured == provider) {
        builder = builder.base_url(url);
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    match client.missing_key() {
        Some(variable) => Err(format!("{variable} is not set in the server's environment")),
        None => Ok(client),
    }
}
