//! `tokenline replay`: serves recorded responses over HTTP.

use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use tokenline::llm::Provider;
use tokenline::llm::replay::{self, Chunking, Pace, Recording, ReplayServer};

use crate::failure::{Failure, Verdict};
use crate::in_runtime;
use crate::interrupt::Interrupt;
use crate::log::log;
use crate::output::stdout;

/// Serve recorded responses over HTTP, at the API paths of all providers.
///
/// A request without `"stream": true` gets the whole body that the recorded stream would have been, as JSON; for Ollama,
/// one with `"stream": false`, for Gemini and Bedrock one at `:generateContent` and `/converse`. `GET /v1/models` lists the recordings. A recording that is requested at the path of another
/// provider is an error of that provider's API.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline replay
  tokenline replay body.sse --delay-ms 20 --chunk-size 7
  tokenline extract --provider openai-chat --base-url http://127.0.0.1:8080 --model body --prompt Hi")]
pub(crate) struct ReplayArgs {
    /// Files with recorded responses, each at most 64 MiB. A request's `model` selects the file by its name without
    /// extension. Default: the built-in recordings.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Address to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// Allow listening on an address that other machines can reach.
    #[arg(long)]
    public: bool,
    /// Name by which clients may reach the server, in addition to localhost and addresses. Repeatable.
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Delay between chunks, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "0")]
    delay_ms: u64,
    /// Chunk size in bytes. Default: one event per chunk.
    #[arg(long, value_name = "BYTES")]
    chunk_size: Option<NonZeroUsize>,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<Verdict, Failure> {
    in_runtime(serve(args))
}

async fn serve(args: &ReplayArgs) -> Result<Verdict, Failure> {
    let pace = pace(Duration::from_millis(args.delay_ms), args.chunk_size);
    let mut recordings = Vec::new();
    for path in &args.files {
        let recording =
            Recording::from_file(path).map_err(|error| Failure::Source(format!("cannot read {error}")))?;
        recordings.push(recording.pace(pace));
    }
    if recordings.is_empty() {
        recordings.extend(replay::builtin().into_iter().map(|recording| recording.pace(pace)));
    }
    let names: Vec<String> = recordings.iter().map(|recording| recording.name().to_owned()).collect();

    // Each recording is in one provider's format, and served at its path.
    let formats: Vec<String> = recordings
        .iter()
        .map(|recording| match Provider::detect(recording.bytes()) {
            Some(provider) => format!("{} ({})", recording.name(), provider.as_str()),
            None => recording.name().to_owned(),
        })
        .collect();
    let provider = Provider::detect(recordings[0].bytes()).unwrap_or(Provider::OpenAiChat);
    let path = provider.path().replace('*', &names[0]);

    let address = address(&args.listen, args.public)?;
    let mut interrupt = Interrupt::new();
    let server = if args.public {
        ReplayServer::bind_public_as(address, recordings, args.host_name.clone()).await
    } else {
        ReplayServer::bind_as(address, recordings, args.host_name.clone()).await
    };
    let server = server.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        _ => Failure::io(format_args!("cannot listen on {}", args.listen), &error),
    })?;
    writeln!(stdout(), "{}", server.url()).map_err(Failure::output)?;
    log(format_args!("serving {} at {}; stop with Ctrl-C", formats.join(", "), server.url()));
    log(format_args!(
        "  curl -sN {}{path} -d '{{\"model\":\"{}\",\"stream\":true}}' | tokenline parse --from {}",
        server.url(),
        names[0],
        provider.as_str()
    ));
    // Only a signal ends it.
    interrupt.wait().await;
    server.shutdown().await;
    Ok(Verdict::Success)
}

/// Resolves an address, or a host name and port. Other machines may reach it only if it is public.
pub(crate) fn address(listen: &str, public: bool) -> Result<SocketAddr, Failure> {
    let unusable = |reason: String| Failure::Usage(format!("cannot listen on {listen}: {reason}"));
    let mut addresses = listen.to_socket_addrs().map_err(|error| unusable(error.to_string()))?;
    let address = addresses.next().ok_or_else(|| unusable("the host name has no address".to_owned()))?;
    if !public && !address.ip().is_loopback() {
        let message = format!("other machines can reach {address}: use --public to allow that");
        return Err(Failure::Usage(message));
    }
    Ok(address)
}

/// The chunk size and the delay between chunks.
pub(crate) fn pace(delay: Duration, chunk_size: Option<NonZeroUsize>) -> Pace {
    let chunking = chunk_size.map_or(Chunking::Events, Chunking::Bytes);
    Pace::from(chunking).delay(delay)
}
