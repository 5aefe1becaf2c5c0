//! `tokenline demo`: streams recorded responses over HTTP, and prints records and tool calls as they complete.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use tokenline::llm::client::{ClientError, LlmClient, reqwest};
use tokenline::llm::replay::{self, ReplayServer};
use tokenline::llm::request::ChatRequest;
use tokenline::llm::{Provider, ResponseError, ResponseEvent, TextMode};

use crate::args::EmitKind;
use crate::emit::Emitter;
use crate::failure::{Failure, Verdict};
use crate::log::log;
use crate::{in_runtime, replay as serve, response};

/// Stream recorded responses from a local server; print records and tool calls as they complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline demo
  tokenline demo --delay-ms 20 --chunk-size 500")]
pub(crate) struct DemoArgs {
    /// Delay between chunks, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "5")]
    delay_ms: u64,
    /// Chunk size in bytes. Default: one event per chunk.
    #[arg(long, value_name = "BYTES")]
    chunk_size: Option<NonZeroUsize>,
}

/// The requested recordings, and how to parse the text of each.
const REQUESTS: [(Provider, &str, TextMode); 6] = [
    (Provider::OpenAiChat, "definitions", TextMode::Records),
    (Provider::OpenAiChat, "fenced-mixed", TextMode::Records),
    (Provider::OpenAiChat, "tool-calls-in-text", TextMode::ToolCalls),
    (Provider::OpenAiResponses, "local-tool-calls", TextMode::ToolCalls),
    (Provider::Anthropic, "local-tool-use", TextMode::ToolCalls),
    (Provider::OpenAiChat, "truncated", TextMode::Records),
];

pub(crate) fn run(args: &DemoArgs) -> Result<Verdict, Failure> {
    in_runtime(show(args))
}

async fn show(args: &DemoArgs) -> Result<Verdict, Failure> {
    let pace = serve::pace(Duration::from_millis(args.delay_ms), args.chunk_size);
    let recordings = replay::builtin().into_iter().map(|recording| recording.pace(pace));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = ReplayServer::bind(address, recordings).await;
    let server = server.map_err(|error| Failure::io("cannot start the demo server", &error))?;
    let url = server.url();

    for (provider, model, text_as) in REQUESTS {
        let client = LlmClient::builder(provider).base_url(&url).without_api_key();
        let client = client.http(reqwest::ClientBuilder::no_proxy).build().map_err(|error| failed(&error))?;
        log("");
        log(format_args!("POST {url}{} {{\"model\":\"{model}\",\"stream\":true}}", provider.path()));
        request(&client, model, text_as).await?;
    }
    server.shutdown().await;
    Ok(Verdict::Success)
}

async fn request(client: &LlmClient, model: &str, text_as: TextMode) -> Result<(), Failure> {
    let request = ChatRequest::new(model).user("What is in a cell?");
    let request = client.stream(&request).map_err(|error| failed(&error))?;
    let response = request.with_options(|options| options.text_as(text_as)).send().await;
    let mut response = response.map_err(|error| failed(&error))?;
    let first_byte = Instant::now();
    let emit = if text_as == TextMode::ToolCalls { EmitKind::ToolCalls } else { EmitKind::Records };
    let mut emitter = Emitter::new(emit, model);
    while let Some(event) = response.next().await {
        let event = event.map_err(|error| match error {
            ResponseError::Source(error) => failed(&error),
            error => Failure::Source(error.to_string()),
        })?;
        if let ResponseEvent::Record { .. } | ResponseEvent::ToolCall { .. } = &event {
            // On a terminal this shares a line with the record on standard output.
            let _ = write!(std::io::stderr(), "{:>8.1} ms  ", first_byte.elapsed().as_secs_f64() * 1e3);
        }
        response::handle(&event, &mut emitter)?;
        emitter.flush()?;
    }
    let (report, tokens) =
        (response.report(), response.parser().usage().and_then(|usage| usage.output_tokens));
    let tokens = tokens.map_or(String::new(), |tokens| format!(" from {tokens} tokens"));
    log(format_args!(
        "{model}: {} records, {} tool calls{tokens}, {} rejected",
        report.records(),
        report.tool_calls(),
        report.rejected()
    ));
    Ok(())
}

fn failed(error: &ClientError) -> Failure {
    Failure::Source(error.to_string())
}
