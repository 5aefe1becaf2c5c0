//! A model's answer over HTTP: typed records, each as soon as it is complete.
//!
//! `cargo run -p tokenline-examples --example openai_chat [BASE_URL MODEL]` asks a server that
//! speaks OpenAI's chat completions, with the key of `OPENAI_API_KEY`; without arguments it replays a
//! recorded answer.

use std::error::Error;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::Validated;
use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;
use tokenline::llm::replay::{self, ReplayServer};
use tokenline::llm::request::ChatRequest;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Fact {
    Definition { entity: String, definition: String },
    Relationship { subject: String, predicate: String, object: String },
}

const SYSTEM: &str = r#"Write JSON Lines and nothing else: {"type":"definition","entity","definition"} or
{"type":"relationship","subject","predicate","object"}."#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), replay::builtin()).await?;
    let base_url = args.next().unwrap_or_else(|| server.url());
    let model = args.next().unwrap_or_else(|| "fenced-mixed".to_owned());

    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let request = ChatRequest::new(model).system(SYSTEM).user("What is in a cell?");
    // Dropping `records` closes the connection.
    let mut records = client.stream(&request)?.typed::<Fact>().validated()?.send().await?.records();
    while let Some(record) = records.next().await {
        match record?.value {
            Fact::Definition { entity, definition } => println!("{entity}: {definition}"),
            Fact::Relationship { subject, predicate, object } => println!("{subject} {predicate} {object}"),
        }
    }
    let report = records.report();
    println!(
        "{} records, {} rejected, complete: {}",
        report.records(),
        report.rejected(),
        report.is_complete()
    );
    Ok(())
}
