//! Asks the model again for each record that breaks a rule, while the other records are already used.
//!
//! `cargo run -p tokenline-examples --example reask BASE_URL MODEL`

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::{ChatRequest, LlmClient, Provider, ReaskOptions, Validated, extract};

#[derive(Deserialize, JsonSchema)]
struct Invoice {
    number: String,
    net: u64,
    total: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [base_url, model] = &args[..] else { return Err("usage: reask BASE_URL MODEL".into()) };
    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let request = ChatRequest::new(model).user("The invoices as JSON Lines: {\"number\",\"net\",\"total\"}.");
    let mut invoices = extract::<Invoice>(&client, request)
        .validated()?
        .validated_with(|its| if its.net <= its.total { Ok(()) } else { Err("net exceeds total".into()) })
        .reask(ReaskOptions::new(2).max_requests(20))
        .send()
        .await?
        .records();
    while let Some(invoice) = invoices.next().await {
        let invoice = invoice?;
        println!("{}: {} ({})", invoice.value.number, invoice.value.total, invoice.recovered.attempts());
    }
    let report = invoices.report();
    println!("further requests: {}, rejected: {}", report.reasks().requests, report.rejected());
    Ok(())
}
