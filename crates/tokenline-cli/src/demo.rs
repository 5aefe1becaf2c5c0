//! `tokenline demo`: a recorded model over real HTTP, its records and calls as they complete.

use std::cell::Cell;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use futures_util::{StreamExt as _, TryStreamExt as _};
use tokenline::Options;
use tokenline::json::Raw;
use tokenline::llm::replay::{self, ReplayServer};
use tokenline::llm::{AnswerEvent, AnswerParser, AnswerStream, Provider, TextAs};

use crate::args::{DemoArgs, What};
use crate::emit::Emitter;
use crate::failure::{Failure, Verdict};
use crate::say::say;
use crate::{answer, replay as serve};

/// What is asked for, and what the answer's text is read as.
const REQUESTS: [(&str, TextAs); 4] = [
    ("definitions", TextAs::Records),
    ("fenced-mixed", TextAs::Records),
    ("tool-calls-in-text", TextAs::ToolCalls),
    ("truncated", TextAs::Records),
];

pub(crate) async fn run(args: DemoArgs) -> Result<Verdict, Failure> {
    let pace = serve::pace(args.delay_ms, args.chunk_size);
    let recordings = replay::builtin().into_iter().map(|recording| recording.pace(pace));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = ReplayServer::bind(address, recordings).await;
    let server = server.map_err(|error| Failure::io("cannot start the demo's server", &error))?;
    let url = server.url() + Provider::OpenAiChat.path();

    let client = reqwest::Client::builder().no_proxy().build().map_err(|error| failed(&error))?;
    for (model, text_as) in REQUESTS {
        say("");
        say(format_args!("POST {url} {{\"model\":\"{model}\",\"stream\":true}}"));
        request(&client, &url, model, text_as).await?;
    }
    server.shutdown().await;
    Ok(Verdict::Good)
}

async fn request(client: &reqwest::Client, url: &str, model: &str, text_as: TextAs) -> Result<(), Failure> {
    let body = serde_json::json!({"model": model, "stream": true}).to_string();
    let sent = client.post(url).header("content-type", "application/json").body(body).send().await;
    let response = sent.and_then(reqwest::Response::error_for_status).map_err(|error| failed(&error))?;

    let first_byte = Cell::new(None);
    let bytes = response.bytes_stream().inspect_ok(|_| {
        first_byte.set(first_byte.get().or_else(|| Some(Instant::now())));
    });
    let what = if text_as == TextAs::ToolCalls { What::ToolCalls } else { What::Records };
    let mut emitter = Emitter::new(what, model);
    let parser = AnswerParser::<Raw>::new(Provider::OpenAiChat, Options::lenient()).text_as(text_as);
    let mut answer = AnswerStream::new(bytes, parser);
    while let Some(event) = answer.next().await {
        let event = event.map_err(|error| failed(&error))?;
        if let AnswerEvent::Record { .. } | AnswerEvent::ToolCall { .. } = &event {
            let after = first_byte.get().map_or(0.0, |first: Instant| first.elapsed().as_secs_f64());
            // On one line with what follows on standard output, where both go to one terminal.
            let _ = write!(std::io::stderr(), "{:>8.1} ms  ", after * 1e3);
        }
        answer::handle(&event, &mut emitter)?;
        emitter.flush()?;
    }
    let (report, tokens) = (answer.report(), answer.parser().usage().and_then(|usage| usage.output_tokens));
    let tokens = tokens.map_or(String::new(), |tokens| format!(" from {tokens} tokens"));
    say(format_args!(
        "{model}: {} records, {} tool calls{tokens}, {} rejected",
        report.records(),
        report.tool_calls(),
        report.rejected()
    ));
    Ok(())
}

fn failed(error: &dyn std::error::Error) -> Failure {
    // The cause says more than the outermost error.
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    Failure::Source(message)
}
