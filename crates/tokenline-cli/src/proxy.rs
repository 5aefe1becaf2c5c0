//! `tokenline proxy`: a gateway between the clients of OpenAI's and Anthropic's APIs and one server.

use std::env;
use std::io::Write as _;
use std::time::Duration;

use tokenline::CallFormat;
use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;
use tokenline::prompt::tools::ToolPrompter;
use tokenline_axum::gateway::Gateway;

use crate::args::{ConnectionArgs, ReaskArgs, RepetitionArg, call_format, provider_url};
use crate::failure::{Failure, Verdict};
use crate::http_server::{Connections, listen};
use crate::interrupt::Interrupt;
use crate::log::log;
use crate::model;
use crate::output::stdout;
use crate::replay::address;

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
    #[arg(long, value_name = "ORIGIN")]
    origin: Vec<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Read tool calls in the model's text, and make them native: a syntax that `tools formats` lists, a model family, a file
    /// that describes one, or auto. Default: calls in text stay text.
    #[arg(long, value_name = "FORMAT", value_parser = call_format(), hide_possible_values = true)]
    call_format: Option<CallFormat>,
    /// For a model without function calling: describe the tools in the system prompt, as the model family of --call-format
    /// expects them, and send calls and results as text. Without --call-format, as JSON Lines.
    #[arg(long)]
    tools_in_prompt: bool,
    /// Send the arguments of a call as they arrive. A call that is rejected then ends the response with an error. Default: send a
    /// call once it is proved complete.
    #[arg(long)]
    growing_arguments: bool,
    /// Repair malformed calls where the text proves the edit, such as a trailing comma.
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    reask: ReaskArgs,
    #[command(flatten)]
    repetition: RepetitionArg,
}

/// How long responses may go on after the first signal.
const SHUTDOWN: Duration = Duration::from_secs(30);

/// Serves until Ctrl-C, on a thread for each core.
pub(crate) fn run(args: &ProxyArgs) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot start", &error))?;
    let served = runtime.block_on(serve(args));
    runtime.shutdown_background();
    served
}

async fn serve(args: &ProxyArgs) -> Result<Verdict, Failure> {
    let (provider, url) = &args.upstream;
    // The clients of the proxy retry themselves.
    let upstream = model::builder(*provider, &args.connection)?.base_url(url).retries(0);
    let gateway = gateway(args, upstream.build().map_err(|error| model::failure(&error))?)?;
    let address = address(&args.listen, args.public)?;
    let mut interrupt = Interrupt::new();
    let listener =
        listen(address).map_err(|error| Failure::io(format_args!("cannot listen on {address}"), &error))?;
    let local = listener.local_addr().map_err(|error| Failure::io("cannot listen", &error))?;
    writeln!(stdout(), "http://{local}").map_err(Failure::output)?;
    log(format_args!(
        "OPENAI_BASE_URL=http://{local}/v1 ANTHROPIC_BASE_URL=http://{local}; stop with Ctrl-C"
    ));

    let connections = Connections::new();
    tokio::select! {
        served = connections.accept(&listener, gateway.into_router()) => {
            served.map_err(|error| Failure::io("cannot serve", &error))?;
        }
        () = interrupt.wait() => {}
    }
    // New clients are refused at once.
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN, connections.end()).await;
    Ok(Verdict::Success)
}

fn gateway(args: &ProxyArgs, upstream: LlmClient) -> Result<Gateway, Failure> {
    let mut gateway = Gateway::new(upstream)
        .host_names(&args.host_name)
        .origins(&args.origin)
        .stop_on_repetition(args.repetition.limits())
        .on_request(|request| log(request));
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
