//! An agent: text appears as it arrives, tools run the moment each call is complete, and their results go into the
//! next turn.
//!
//! `cargo run -p tokenline-examples --example agent PROVIDER BASE_URL MODEL`, with the API key in the environment

use std::error::Error;
use std::io::Write as _;

use async_stream::try_stream;
use futures_util::{Stream, StreamExt, future::try_join_all};
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::llm::{TextMode, request::Message};
use tokenline::{ChatRequest, LlmClient, Provider, ResponseEvent, ToolCall, ToolDefinition, ToolSet};

#[derive(Deserialize, JsonSchema)]
struct Search {
    query: String,
}

async fn search(call: ToolCall) -> Message {
    let Ok(Search { query }) = call.parse_parameters() else { return Message::tool_error(&call, "no query") };
    Message::tool_result(&call, format!("nothing found for {query}"))
}

type Failure = Box<dyn Error>;

/// The text of all turns, until the model no longer calls tools.
fn agent(client: LlmClient, mut request: ChatRequest) -> impl Stream<Item = Result<String, Failure>> {
    try_stream! {
        loop {
            let turn = client.stream(&request)?;
            let turn = turn.with_options(|options| options.text_as(TextMode::Text).text_and_reasoning().keep_message());
            let mut response = turn.send().await?;
            let mut results = Vec::new();
            while let Some(event) = response.next().await {
                match event? {
                    ResponseEvent::Text { text, .. } => yield text.to_string(),
                    ResponseEvent::ToolCall { call, .. } => results.push(tokio::spawn(search(call))),
                    // Tell the model the reason, so that it can try again.
                    ResponseEvent::RejectedCall { call, .. } => {
                        results.extend(Message::rejected(&call).map(|(_, message)| tokio::spawn(async { message })));
                    }
                    _ => {}
                }
            }
            // Includes the signatures of the reasoning, which some providers expect back.
            request.messages.extend(response.into_message());
            if results.is_empty() {
                break;
            }
            request.messages.extend(try_join_all(results).await?);
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let [provider, base_url, model] = [1, 2, 3].map(|at| std::env::args().nth(at).unwrap_or_default());
    let provider = Provider::from_name(&provider).ok_or("usage: agent PROVIDER BASE_URL MODEL")?;
    let tools = ToolSet::new(&[ToolDefinition::of::<Search>("search", "Searches the web.")])?;
    let request = ChatRequest::new(model).user("What do you know of fjords?").tools(tools);
    let mut text = Box::pin(agent(LlmClient::new(provider, base_url)?, request));
    while let Some(text) = text.next().await {
        print!("{}", text?);
        std::io::stdout().flush()?;
    }
    Ok(())
}
