//! `tokenline serve`: a page on which an extraction appears while the model is still writing.

mod assets;
mod connections;
mod event_log;
mod events;
mod guard;
mod model;
mod options;
mod recorded;
mod request;
mod rules;
mod run;
mod runs;
mod text_tail;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;
use tokenline::prompt::PromptManager;
use tokenline_axum::sse::SseResponse;
use tokio::net::{TcpListener, TcpSocket};

use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::log::log;
use crate::output::stdout;
use crate::replay::address;
use request::ExtractRequest;
use rules::{Refused, RuleCache};
use runs::Runs;

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
    listen: String,
    /// Allow listening on an address that other machines can reach. Anyone who can reach it can use your API keys.
    #[arg(long)]
    public: bool,
    /// Name by which browsers may reach the page, in addition to localhost and addresses. Repeatable.
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Base URL of a provider's server, such as `openai-chat=http://127.0.0.1:8080`. Default: the provider's environment
    /// variable, such as OPENAI_BASE_URL or OLLAMA_HOST, else its public address. API keys are always read from the
    /// environment. Repeatable.
    #[arg(long, value_name = "PROVIDER=URL", value_parser = provider_url)]
    base_url: Vec<(Provider, String)>,
}

/// Parses a provider and a URL, `PROVIDER=URL`.
fn provider_url(value: &str) -> Result<(Provider, String), String> {
    let (name, url) = value.split_once('=').ok_or("needs PROVIDER=URL")?;
    let provider = Provider::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
        format!("the provider is one of {}", names.join(", "))
    })?;
    Ok((provider, url.to_owned()))
}

/// The name of the recorded model, in place of a provider's.
const RECORDED: &str = "recorded";
/// The largest body of a request, in bytes.
const MAX_BODY: usize = 4 << 20;

/// The system's send buffer for each connection, in bytes: smaller than the memory that a run keeps.
const SEND_BUFFER: u32 = 256 * 1024;
/// The connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// The state that all requests share.
struct App {
    /// A client for each provider, or why there is none.
    clients: Vec<(Provider, Result<LlmClient, String>)>,
    prompts: PromptManager,
    runs: Arc<Runs>,
    rules: RuleCache,
    /// Names by which browsers may reach this server.
    host_names: Vec<String>,
}

const TOO_MANY_RULES: &str =
    "the schemas and tools of other runs take all the memory there is: try again later";

/// Serves until Ctrl-C, on a thread for each core.
pub(crate) fn run(args: &ServeArgs) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("cannot start", &error))?;
    let served = runtime.block_on(serve(args));
    // Does not wait for open pages.
    runtime.shutdown_background();
    served
}

async fn serve(args: &ServeArgs) -> Result<Verdict, Failure> {
    let clients = Provider::ALL.iter().map(|provider| (*provider, client(*provider, args))).collect();
    let address = address(&args.listen, args.public)?;
    let mut interrupt = Interrupt::new();
    let listener =
        listen(address).map_err(|error| Failure::io(format_args!("cannot listen on {address}"), &error))?;
    let local = listener.local_addr().map_err(|error| Failure::io("cannot listen", &error))?;
    writeln!(stdout(), "http://{local}").map_err(Failure::output)?;
    log(format_args!("open http://{local} in a browser; stop with Ctrl-C"));

    let app = App {
        clients,
        prompts: PromptManager::built_in(),
        runs: Arc::default(),
        rules: RuleCache::default(),
        host_names: args.host_name.clone(),
    };
    tokio::select! {
        served = connections::accept(listener, router(Arc::new(app))) => {
            served.map_err(|error| Failure::io("cannot serve", &error))?;
        }
        // Only a signal ends it.
        () = interrupt.wait() => {}
    }
    Ok(Verdict::Success)
}

fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(assets::index))
        .route("/assets/{name}", get(assets::asset))
        .route("/api/options", get(options::options))
        .route("/api/extract", post(extract))
        .route("/api/runs/{run}", axum::routing::delete(stop))
        // HEAD would take the run from its reader.
        .route("/api/runs/{run}/events", get(resume).head(not_allowed))
        .fallback(|| async { failed(StatusCode::NOT_FOUND, "there is nothing at this path") })
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}

/// Listens on an address.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As the standard library does, to listen again at once after a restart.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections inherit it. By default it grows to megabytes, which a page that reloads would lose.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
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

async fn extract(
    State(app): State<Arc<App>>,
    request: Result<Json<ExtractRequest>, JsonRejection>,
) -> Result<Response, Response> {
    let Json(request) =
        request.map_err(|error| failed(error.status(), &error.body_text()).into_response())?;
    // A schema takes a while to compile.
    let model = tokio::task::block_in_place(|| request.into_model(&app));
    let model = model.map_err(|refused| match refused {
        Refused::Invalid(message) => failed(StatusCode::BAD_REQUEST, &message).into_response(),
        Refused::Full => failed(StatusCode::SERVICE_UNAVAILABLE, TOO_MANY_RULES).into_response(),
    })?;
    let reader = app.runs.start(model).map_err(|_| {
        failed(StatusCode::SERVICE_UNAVAILABLE, "too many runs: try again later").into_response()
    })?;
    Ok(SseResponse::new(reader).into_response())
}

async fn resume(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let last_id = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let reader = app.runs.resume(&run, last_id.unwrap_or(0));
    Ok(SseResponse::new(reader.ok_or_else(|| unknown_run().into_response())?).into_response())
}

async fn stop(State(app): State<Arc<App>>, Path(run): Path<String>) -> Response {
    if app.runs.stop(&run) { StatusCode::NO_CONTENT.into_response() } else { unknown_run().into_response() }
}

async fn not_allowed() -> impl IntoResponse {
    failed(StatusCode::METHOD_NOT_ALLOWED, "this path does not support the method")
}

fn unknown_run() -> impl IntoResponse {
    failed(StatusCode::NOT_FOUND, "there is no such run, or its page left it")
}

/// An error as JSON.
fn failed(status: StatusCode, message: &str) -> impl IntoResponse {
    (status, Json(serde_json::json!({ "error": message })))
}
