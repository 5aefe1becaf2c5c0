//! A model's responses through JetStream: a producer publishes their chunks as they come over HTTP, a worker stores the
//! records, a reader prints them. Ends when both responses are read.
//!
//! ```console
//! $ nats-server -js &
//! $ cargo run --example worker            # or `-- nats://HOST:PORT`
//! ```
//!
//! The model is a server that replays recordings. The three parts share nothing but the streams: run them where you
//! like, and as many workers as you like.

use futures_util::{StreamExt as _, future};
use tokenline::Provider;
use tokenline::llm::replay::{self, Pace, ReplayServer};
use tokenline_nats::async_nats::jetstream::consumer::{DeliverPolicy, pull};
use tokenline_nats::async_nats::jetstream::{self, stream::Config};
use tokenline_nats::async_nats::{self, HeaderMap, HeaderValue};
use tokenline_nats::{Format, Worker, WorkerOptions, headers};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Result {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let url = std::env::args().nth(1).unwrap_or_else(|| "nats://127.0.0.1:4222".to_owned());
    let client = async_nats::connect(&url).await.map_err(|error| format!("{url}: {error}"))?;
    let context = jetstream::new(client.clone());
    for name in ["chunks", "records", "rejects"] {
        let subjects = vec![format!("{name}.>")];
        context.get_or_create_stream(Config { name: name.to_owned(), subjects, ..Config::default() }).await?;
    }
    // A source is read once: another start of this program gets sources and a run of its own.
    let run = std::process::id();
    let sources = ["definitions", "truncated"].map(|model| (model, format!("{model}.{run}")));

    let options = WorkerOptions::new(format!("example-{run}")).format(Format::Provider(Provider::OpenAiChat));
    let worker = Worker::new(client, options).await?;

    let recordings = replay::builtin().into_iter().map(|recording| recording.pace(Pace::events()));
    let model = ReplayServer::bind("127.0.0.1:0".parse()?, recordings).await?;
    let model_url = format!("{}/v1/chat/completions", model.url());
    let producers = sources.iter().map(|(model, source)| produce(&context, &model_url, model, source));
    let readers = sources.iter().map(|(_, source)| read(&context, source));
    tokio::select! {
        done = future::try_join(future::try_join_all(producers), future::try_join_all(readers)) => {
            done?;
            Ok(())
        }
        error = worker.run() => Err(error.expect_err("nothing stops it").into()),
    }
}

/// Publishes a response's chunks, and its end.
async fn produce(context: &jetstream::Context, url: &str, model: &str, source: &str) -> Result {
    let body = format!(r#"{{"model":"{model}","stream":true}}"#);
    let response = reqwest::Client::new().post(url).body(body).send().await?.error_for_status()?;
    let mut chunks = response.bytes_stream();
    let subject = format!("chunks.{source}");
    let mut end = headers::COMPLETE;
    while let Some(chunk) = chunks.next().await {
        match chunk {
            // An empty message would be the end.
            Ok(chunk) if chunk.is_empty() => {}
            Ok(chunk) => {
                context.publish(subject.clone(), chunk).await?.await?;
            }
            Err(error) => {
                eprintln!("{source}: the response broke off: {error}");
                end = headers::INCOMPLETE;
                break;
            }
        }
    }
    let mut last = HeaderMap::new();
    last.insert(headers::END, end);
    context.publish_with_headers(subject, last, "".into()).await?.await?;
    Ok(())
}

/// Prints the records of a source.
async fn read(context: &jetstream::Context, source: &str) -> Result {
    let config = pull::Config {
        filter_subject: format!("records.{source}"),
        deliver_policy: DeliverPolicy::All,
        ..pull::Config::default()
    };
    let consumer = context.get_stream("records").await?.create_consumer(config).await?;
    let mut messages = consumer.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        message.ack().await?;
        let header = |name| message.headers.as_ref()?.get(name).map(HeaderValue::as_str);
        match header(headers::END) {
            None => println!("{source} {}", String::from_utf8_lossy(&message.payload)),
            Some(end) => {
                let rejects = header(headers::REJECTS).unwrap_or_default();
                println!("{source} has ended: {end}, {rejects} rejects");
                return Ok(());
            }
        }
    }
    Err("the server ended the subscription".into())
}
