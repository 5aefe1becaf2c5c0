//! A model's answer over HTTP: typed records, each as soon as it is complete.
//!
//! `cargo run -p tokenline-examples --example openai_chat [BASE_URL MODEL]` asks a server that
//! speaks OpenAI's chat completions; without arguments it replays a recorded answer.

use std::error::Error;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::llm::replay::{self, ReplayServer};
use tokenline::llm::{AnswerParser, AnswerStream, Provider};
use tokenline::{Options, Validated};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Fact {
    Definition { entity: String, definition: String },
    Relationship { subject: String, predicate: String, object: String },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), replay::builtin()).await?;
    let base_url = args.next().unwrap_or_else(|| server.url());
    let model = args.next().unwrap_or_else(|| "fenced-mixed".to_owned());

    let request = format!(
        r#"{{"model":"{model}","stream":true,"messages":[{{"role":"user","content":"Definitions and relationships of the cell, as JSON Lines."}}]}}"#
    );
    let response = reqwest::Client::new()
        .post(format!("{base_url}/v1/chat/completions"))
        .header("content-type", "application/json")
        .body(request)
        .send()
        .await?
        .error_for_status()?;

    let parser = AnswerParser::<Fact>::new(Provider::OpenAiChat, Options::lenient()).validated()?;
    // Dropping `records` closes the connection.
    let mut records = AnswerStream::new(response.bytes_stream(), parser).records();
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
