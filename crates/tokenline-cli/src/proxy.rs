//! `tokenline proxy`: a gateway between the clients of OpenAI's and Anthropic's APIs and one server.

use std::env;
use std::time::Duration;

use tokenline::llm::Provider;
use tokenline::prompt::tools::ToolPrompter;
use tokenline::{CallFormat, LlmClient};
use tokenline_axum::gateway::Gateway;

use crate::args::{ConnectionArgs, ReaskArgs, RepetitionArg, call_format, origin, provider_url};
use crate::failure::{Failure, Verdict};
use crate::http_server::Server;
use crate::log::log;
use crate::model;

/// Serve OpenAI's and Anthropic's APIs in front of one model server: every client gets native, validated tool calls.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline proxy --upstream openai-chat=http://127.0.0.1:8080 --call-format auto
  tokenline proxy --upstream ollama=http://127.0.0.1:11434 --call-format auto

Clients reach it with OPENAI_BASE_URL=http://127.0.0.1:4000/v1 or
ANTHROPIC_BASE_URL=http://127.0.0.1:4000 in their environment.

See `tokenline proxy --help` for what it does with requests.")]
#[command(after_long_help = include_str!("proxy.txt"))]
pub(crate) struct ProxyArgs {
    /// Provider and base URL of the server, such as `openai-chat=http://127.0.0.1:8080`. The API's path may be missing.
    #[arg(long, value_name = "PROVIDER=URL", value_parser = provider_url)]
    upstream: (Provider, String),
    /// Address to listen on; port 0 picks a free port. The first line of standard output is the URL.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4000")]
    listen: String,
    /// Allow listening on an address that other machines can reach. Needs --token-env.
    #[arg(long, requires = "token_env")]
    public: bool,
    /// Environment variable that holds a token. Clients must send it as their API key; the server's own key must then be in
    /// the environment.
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Name by which clients may reach the proxy, in addition to localhost and addresses. Repeatable.
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Origin of a web page that may use the proxy, such as `https://app.example.com`. Repeatable. Default: none.
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    origin: Vec<String>,
    /// Also log the messages of errors, which may quote the request or the response.
    #[arg(long)]
    log_errors: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Read tool calls in the model's text, and make them native: a syntax that `tools formats` lists, a model family, a file
    /// that describes one, or auto. Default: calls in text stay text.
    #[arg(long, value_name = "FORMAT", value_parser = call_format(), hide_possible_values = true)]
    call_format: Option<CallFormat>,
    /// For a model without function calling: describe the tools in the system prompt, as the model family of --call-format
    /// expects them, and send calls and results as text. Without a family, as Hermes expects them.
    #[arg(long)]
    tools_in_prompt: bool,
    /// Send the arguments of a call as they arrive: texts piece by piece, other values once they are complete. A call that is
    /// rejected then ends the response with an error. Default: send a call once it is proved complete.
    #[arg(long, conflicts_with = "reask")]
    growing_arguments: bool,
    /// Repair malformed calls where the text proves the edit, such as a trailing comma.
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    reask: ReaskArgs,
    /// Request the rest of a response with a JSON Schema that is cut off, at most N times. A response that may call tools is not
    /// continued. N is 1 to 100000.
    #[arg(long = "continue", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    continuations: Option<u32>,
    #[command(flatten)]
    repetition: RepetitionArg,
}

/// How long responses may go on after the first signal.
const SHUTDOWN: Duration = Duration::from_secs(30);

/// Serves until Ctrl-C.
pub(crate) fn run(args: &ProxyArgs) -> Result<Verdict, Failure> {
    let server = Server { listen: &args.listen, public: args.public, grace: SHUTDOWN };
    let (provider, url) = &args.upstream;
    // The clients of the proxy retry themselves.
    let upstream = model::builder(*provider, &args.connection)?.base_url(url).retries(0).build();
    let upstream = upstream.map_err(|error| model::failure(&error))?;
    let key = match (upstream.has_key(), &args.token_env) {
        (true, _) => "the key in the environment",
        (false, Some(_)) => "no key",
        (false, None) => "each client's key",
    };
    server.run(
        || Ok(gateway(args, upstream)?.into_router()),
        |url| {
            log(format_args!(
                "OPENAI_BASE_URL={url}/v1 ANTHROPIC_BASE_URL={url}; the upstream gets {key}; stop with Ctrl-C"
            ));
        },
    )
}

fn gateway(args: &ProxyArgs, upstream: LlmClient) -> Result<Gateway, Failure> {
    let logs_errors = args.log_errors;
    let mut gateway = Gateway::new(upstream)
        .host_names(&args.host_name)
        .origins(&args.origin)
        .stop_on_repetition(args.repetition.limits())
        .on_request(move |request| match logs_errors {
            true => log(format_args!("{request:#}")),
            false => log(request),
        });
    if let Some(format) = &args.call_format {
        gateway = gateway.call_format(format.clone());
    }
    if args.tools_in_prompt {
        let format = args.call_format.clone().unwrap_or_default();
        if !ToolPrompter::new().has_template(&format) {
            let message = format!(
                "--tools-in-prompt: there is no tool prompt for {}; `tools prompt --help` lists those that there are",
                format.as_str()
            );
            return Err(Failure::Usage(message));
        }
        gateway = gateway.tools_in_prompt();
    }
    if args.growing_arguments {
        gateway = gateway.growing_arguments();
    }
    if args.repair {
        gateway = gateway.repair_syntax();
    }
    if args.reask.reask.is_some() {
        gateway = gateway.reask(args.reask.options());
    }
    if let Some(max_continuations) = args.continuations {
        gateway = gateway.max_continuations(max_continuations);
    }
    if let Some(variable) = &args.token_env {
        model::check_variable("--token-env", variable)?;
        let token = env::var(variable).ok().filter(|token| !token.trim().is_empty());
        let token = token.ok_or_else(|| {
            Failure::Usage(format!("--token-env: the environment variable {variable} is not set"))
        })?;
        gateway = gateway.token(token.trim());
    }
    Ok(gateway)
}
