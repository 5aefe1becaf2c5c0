//! The arguments of `tokenline serve`.

use tokenline::llm::Provider;

use crate::args::provider_url;

/// Serve a page on which records and tool calls appear while the model is writing them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline serve
  tokenline serve --listen 127.0.0.1:0 --base-url ollama=http://127.0.0.1:11434

See `tokenline serve --help` for the API of the page.")]
#[command(after_long_help = include_str!("help.txt"))]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 picks a free port. The first line of standard output is the page's URL.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8000")]
    pub(super) listen: String,
    /// Allow listening on an address that other machines can reach. Anyone who can reach it can use your API keys.
    #[arg(long)]
    pub(super) public: bool,
    /// Name by which browsers may reach the page, in addition to localhost and addresses. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub(super) host_name: Vec<String>,
    /// Base URL of a provider's server, such as `openai-chat=http://127.0.0.1:8080`. Default: the provider's environment
    /// variable, such as OPENAI_BASE_URL or OLLAMA_HOST, else its public address. API keys are always read from the
    /// environment. Repeatable.
    #[arg(long, value_name = "PROVIDER=URL", value_parser = provider_url)]
    pub(super) base_url: Vec<(Provider, String)>,
    /// Allow the page to name the server of a request and its API key, which the page keeps until it is reloaded. The keys of
    /// the environment are not sent to that server. For a page that only you can reach.
    #[arg(long, conflicts_with = "public")]
    pub(super) allow_base_url: bool,
    /// Open the page in the default browser.
    #[arg(long)]
    pub(super) open: bool,
}
