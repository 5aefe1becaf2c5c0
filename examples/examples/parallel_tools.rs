//! Parallel tools: each call runs the moment it is complete, while the model is writing the next one.
//!
//! Start `tokenline replay`, then: `cargo run -p tokenline-examples --example parallel_tools [BASE_URL MODEL]`

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::llm::TextMode;
use tokenline::{ChatRequest, LlmClient, Provider, ToolCall, ToolDefinition, ToolSet};

#[derive(Deserialize, JsonSchema)]
struct Search {
    query: String,
    limit: u32,
}

async fn search(call: ToolCall) -> Result<String, Box<dyn Error>> {
    let Search { query, limit } = call.parse_parameters()?;
    tokio::time::sleep(Duration::from_millis(20)).await; // a search engine
    Ok(format!("{query}: {limit} results"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let base_url = args.next().unwrap_or("http://127.0.0.1:8080".to_owned());
    let model = args.next().unwrap_or("tool-calls-in-text".to_owned());

    let tools = ToolSet::new(&[ToolDefinition::of::<Search>("search", "Searches the web.")])?;
    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let request = ChatRequest::new(model).user("How do plants make energy?").tools(tools);
    let response = client
        .stream(&request)?
        // This model writes its calls in the text.
        .with_options(|options| options.text_as(TextMode::ToolCalls))
        .send()
        .await?;
    // Up to eight run at once; results arrive in the order in which they finish.
    let mut results = response.tool_calls().map(|call| async { search(call?).await }).buffer_unordered(8);
    while let Some(result) = results.next().await {
        println!("{}", result?);
    }
    Ok(())
}
