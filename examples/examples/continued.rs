//! Continues a response that a token limit cuts off: requests the rest, and yields each record once.
//!
//! `cargo run -p tokenline-examples --example continued BASE_URL MODEL`

use std::error::Error;

use serde::Deserialize;
use tokenline::llm::ContinuationOptions;
use tokenline::{ChatRequest, LlmClient, Provider};

#[derive(Deserialize)]
struct River {
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [base_url, model] = &args[..] else { return Err("usage: continued BASE_URL MODEL".into()) };

    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let request = ChatRequest::new(model).user("List the rivers of Europe as JSON Lines: {\"name\"}.");
    let options = ContinuationOptions::new().max_requests(20);
    let mut rivers = client.continued(&request, options)?.typed::<River>().records();
    while let Some(river) = rivers.next().await {
        println!("{}", river?.value.name);
    }
    let report = rivers.report();
    println!("{} rivers in {} requests", report.records(), report.requests());
    Ok(())
}
