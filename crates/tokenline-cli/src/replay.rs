//! `tokenline replay`: recorded streams over real HTTP.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::time::Duration;

use tokenline::llm::replay::{self, Cut, Pace, Recording, ReplayServer};

use crate::args::ReplayArgs;
use crate::failure::{Failure, Verdict};

pub(crate) async fn run(args: ReplayArgs) -> Result<Verdict, Failure> {
    let pace = pace(args.delay_ms, args.chunk_size);
    let mut recordings = Vec::new();
    for path in &args.files {
        let recording = Recording::from_file(path).map_err(|error| Failure::unreadable(path, &error))?;
        recordings.push(recording.pace(pace));
    }
    if recordings.is_empty() {
        recordings.extend(replay::builtin().into_iter().map(|recording| recording.pace(pace)));
    }
    let names: Vec<String> = recordings.iter().map(|recording| recording.name().to_owned()).collect();

    let server = match args.public {
        false => ReplayServer::bind(args.listen, recordings).await,
        true => ReplayServer::bind_public(args.listen, recordings).await,
    };
    let server = server.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        _ => Failure::io(format_args!("cannot listen on {}", args.listen), &error),
    })?;
    writeln!(std::io::stdout(), "{}", server.url()).map_err(Failure::output)?;
    eprintln!("serving {} at {}; stop with Ctrl-C", names.join(", "), server.url());
    eprintln!(
        "  curl -sN {}/v1/chat/completions -d '{{\"model\":\"{}\"}}' | tokenline parse --from openai-chat",
        server.url(),
        names[0]
    );
    tokio::signal::ctrl_c().await.map_err(|error| Failure::io("cannot wait for Ctrl-C", &error))?;
    server.shutdown().await;
    Ok(Verdict::Good)
}

/// How to cut the streams, and how long to wait between the pieces.
pub(crate) fn pace(delay_ms: u64, chunk_size: Option<NonZeroUsize>) -> Pace {
    let cut = chunk_size.map_or(Cut::Events, Cut::Bytes);
    Pace::from(cut).delay(Duration::from_millis(delay_ms))
}
