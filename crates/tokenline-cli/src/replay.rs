//! `tokenline replay`: serves recorded responses over HTTP.

use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::num::NonZeroUsize;
use std::time::Duration;

use tokenline::llm::Provider;
use tokenline::llm::replay::{self, Chunking, Pace, Recording, ReplayServer};

use crate::args::ReplayArgs;
use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::log::log;
use crate::output::stdout;

pub(crate) async fn run(args: ReplayArgs) -> Result<Verdict, Failure> {
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

    // Each recording is served at every path, but is in one provider's format.
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
    let server = match args.public {
        false => ReplayServer::bind_as(address, recordings, args.host_name).await,
        true => ReplayServer::bind_public_as(address, recordings, args.host_name).await,
    };
    let server = server.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        _ => Failure::io(format_args!("cannot listen on {}", args.listen), &error),
    })?;
    writeln!(stdout(), "{}", server.url()).map_err(Failure::output)?;
    log(format_args!("serving {} at {}; stop with Ctrl-C", formats.join(", "), server.url()));
    log(format_args!(
        "  curl -sN {}{path} -d '{{\"model\":\"{}\"}}' | tokenline parse --from {}",
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
