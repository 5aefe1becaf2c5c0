//! Measures one worker: records per second from the first chunk read to the last end stored.
//!
//! ```console
//! $ nats-server -js &
//! $ cargo run --release --example throughput -- nats://127.0.0.1:4222 200000 8 4096
//! ```
//!
//! The arguments are the server, the records of all sources together, the sources, and the bytes of a chunk. Deletes
//! the streams `chunks`, `records` and `rejects` of the server.

use std::time::Instant;

use tokenline::SchemaValidator;
use tokenline_nats::async_nats::jetstream::{self, stream::Config};
use tokenline_nats::{Worker, WorkerOptions, async_nats};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const SCHEMA: &str = r#"{"type":"object","properties":{"type":{"const":"definition"},"entity":{"type":"string"},
    "confidence":{"type":"number"}},"required":["type","entity","confidence"]}"#;

#[tokio::main]
async fn main() -> Result {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "nats://127.0.0.1:4222".to_owned());
    let mut number = |default: usize| args.next().map_or(Ok(default), |text| text.parse());
    let (records, sources, chunk_bytes) = (number(200_000)?, number(8)?, number(4_096)?);

    let client = async_nats::connect(&url).await?;
    let context = jetstream::new(client.clone());
    for name in ["chunks", "records", "rejects"] {
        _ = context.delete_stream(name).await;
        let subjects = vec![format!("{name}.>")];
        context.create_stream(Config { name: name.to_owned(), subjects, ..Config::default() }).await?;
    }
    let text: String = (0..records / sources)
        .map(|n| {
            format!("{{\"type\":\"definition\",\"entity\":\"entity {n}\",\"confidence\":0.{n},\"text\":\"What it means\"}}\n")
        })
        .collect();
    let mut chunks: Vec<_> = text.as_bytes().chunks(chunk_bytes).collect();
    chunks.push(b"");
    for chunk in &chunks {
        let mut acks = Vec::new();
        for source in 0..sources {
            acks.push(context.publish(format!("chunks.{source}"), chunk.to_vec().into()).await?);
        }
        for ack in acks {
            ack.await?;
        }
    }

    let schema: SchemaValidator = SCHEMA.parse()?;
    let worker = Worker::new(client, WorkerOptions::new("throughput").schema(schema)).await?;
    let expected = (records / sources * sources + sources) as u64;
    let start = Instant::now();
    let worker = tokio::spawn(worker.run());
    let mut stream = context.get_stream("records").await?;
    while stream.info().await?.state.messages < expected {
        assert!(!worker.is_finished(), "the worker ended: {:?}", worker.await);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{expected} messages of {sources} sources, {} chunks of {chunk_bytes} bytes, in {seconds:.2} s: {:.0} a second",
        chunks.len() * sources,
        expected as f64 / seconds
    );
    Ok(())
}
