//! The state that all requests share.

use std::sync::Arc;

use tokenline::llm::Provider;
use tokenline::llm::client::{LlmClient, LlmClientBuilder};
use tokenline::prompt::PromptManager;
use tokio::sync::Semaphore;

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
    /// Whether the page may name another server and a key.
    pub(super) allows_base_url: bool,
    base_urls: Vec<(Provider, String)>,
    /// Schemas that are being written are checked one at a time: compiling takes time and memory.
    pub(super) checks: Semaphore,
    /// The memory of saved responses that are being read, in KiB.
    pub(super) content: Arc<Semaphore>,
}

/// The saved responses that are read at one time, in KiB.
const MAX_CONTENT: usize = 256 << 10;

impl App {
    pub(super) fn new(args: &ServeArgs) -> Self {
        Self {
            clients: Provider::ALL.iter().map(|provider| (*provider, client(*provider, args))).collect(),
            prompts: PromptManager::built_in(),
            runs: Arc::default(),
            rules: RuleCache::default(),
            host_names: args.host_name.clone(),
            allows_base_url: args.allow_base_url,
            base_urls: args.base_url.clone(),
            checks: Semaphore::new(1),
            content: Arc::new(Semaphore::new(MAX_CONTENT)),
        }
    }

    /// The base URL of a provider that the command line names.
    pub(super) fn base_url(&self, provider: Provider) -> Option<&str> {
        base_url(&self.base_urls, provider)
    }
}

fn base_url(base_urls: &[(Provider, String)], provider: Provider) -> Option<&str> {
    let url = base_urls.iter().rev().find(|(configured, _)| *configured == provider);
    url.map(|(_, url)| url.as_str())
}

/// The builder of a client.
pub(super) fn builder(provider: Provider) -> LlmClientBuilder {
    LlmClient::builder(provider)
        .http(|http| http.user_agent(concat!("tokenline/", env!("CARGO_PKG_VERSION"))))
}

/// The client of a provider, or why it cannot be used.
fn client(provider: Provider, args: &ServeArgs) -> Result<LlmClient, String> {
    let mut builder = builder(provider);
    if let Some(url) = base_url(&args.base_url, provider) {
        builder = builder.base_url(url);
    }
    let client = builder.build().map_err(|error| error.to_string())?;
    match client.missing_key() {
        Some(variable) => Err(format!("{variable} is not set in the server's environment")),
        None => Ok(client),
    }
}
