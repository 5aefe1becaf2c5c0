//! Typed records from a model, each as soon as it is complete, validated against the JSON Schema of its type.
//!
//! Start `tokenline replay`, then: `cargo run -p tokenline-examples --example typed_records [BASE_URL MODEL]`

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::{ChatRequest, LlmClient, Provider, Validated};

#[derive(Deserialize, JsonSchema)]
struct Definition {
    entity: String,
    definition: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let base_url = args.next().unwrap_or("http://127.0.0.1:8080".to_owned());
    let model = args.next().unwrap_or("definitions".to_owned());

    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let request = ChatRequest::new(model)
        .system(r#"Write JSON Lines and nothing else: {"entity","definition"}."#)
        .user("What is in a cell?");
    // Dropping `records` closes the connection.
    let mut records = client.stream(&request)?.typed::<Definition>().validated()?.send().await?.records();
    while let Some(record) = records.next().await {
        let Definition { entity, definition } = record?.value;
        println!("{entity}: {definition}");
    }
    for rejected in records.report().rejects() {
        eprintln!("{rejected}");
    }
    Ok(())
}
