//! Records of several types in one stream: a union discriminated by the member `type`.
//!
//! Start `tokenline replay`, then: `cargo run -p tokenline-examples --example union [BASE_URL MODEL]`

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::{ChatRequest, LlmClient, Provider, Validated};

#[derive(Deserialize, JsonSchema)]
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
    let base_url = args.next().unwrap_or("http://127.0.0.1:8080".to_owned());
    let model = args.next().unwrap_or("fenced-mixed".to_owned());

    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let request = ChatRequest::new(model).system(SYSTEM).user("What is in a cell?");
    let mut facts = client.stream(&request)?.typed::<Fact>().validated()?.send().await?.records();
    while let Some(fact) = facts.next().await {
        match fact?.value {
            Fact::Definition { entity, definition } => println!("{entity}: {definition}"),
            Fact::Relationship { subject, predicate, object } => println!("{subject} {predicate} {object}"),
        }
    }
    let report = facts.report();
    println!("{} facts, {} rejected", report.records(), report.rejected());
    Ok(())
}
