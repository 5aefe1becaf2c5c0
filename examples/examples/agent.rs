//! An agent: text is shown as it comes, tools run the moment each call is whole, their results go back in order.
//!
//! `cargo run -p tokenline-examples --example agent [PROVIDER BASE_URL MODEL]` asks a provider by its name, such as
//! `openai-chat` or `anthropic`, with the key of the environment; without arguments it replays recorded responses.

use std::error::Error;
use std::io::Write as _;

use futures_util::{StreamExt, future::try_join_all};
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::llm::client::LlmClient;
use tokenline::llm::replay::{Recording, ReplayServer};
use tokenline::llm::request::{ChatRequest, Message};
use tokenline::llm::{Provider, ResponseEvent, TextMode};
use tokenline::{ToolCall, ToolDefinition, schema::ToolSet};

const FIRST: &str = include_str!("../../crates/tokenline-llm/fixtures/anthropic/text-then-tool.sse");
const SECOND: &str =
    r#"{"type":"message","content":[{"type":"text","text":"Nothing."}],"stop_reason":"end_turn"}"#;

#[derive(Deserialize, JsonSchema)]
struct Search {
    query: String,
}

async fn search(call: ToolCall) -> Message {
    let Ok(Search { query }) = call.parse_parameters() else { return Message::tool_error(&call, "no query") };
    Message::tool_result(&call, format!("nothing found for {query}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let recordings = [("1", FIRST), ("2", SECOND)].map(|(name, body)| Recording::new(name, body));
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (client, models) = match &args[..] {
        [provider, base_url, model] => {
            let provider = Provider::from_name(provider).ok_or("no such provider")?;
            (LlmClient::builder(provider).base_url(base_url).build()?, [model.as_str(); 8].to_vec())
        }
        // The server replays the response that is named like the model.
        _ => (LlmClient::new(Provider::Anthropic, server.url())?, vec!["1", "2"]),
    };
    let tools = ToolSet::new(&[ToolDefinition::of::<Search>("search", "Searches the web.")])?;
    let mut request = ChatRequest::new("").user("What do you know of fjords?").tools(tools.definitions());
    for model in models {
        request.model = model.to_owned();
        let asked = client.stream(&request)?.with_tools(tools.clone()).with_message();
        let mut response = asked
            .map_parser(|parser| parser.text_as(TextMode::Text).with_text_and_reasoning())
            .send()
            .await?;
        let mut results = Vec::new();
        while let Some(event) = response.next().await {
            match event? {
                ResponseEvent::Text { text, .. } => print!("{text}"),
                ResponseEvent::ToolCall { call, .. } => results.push(tokio::spawn(search(call))),
                // Tell the model why, so that it can try again.
                ResponseEvent::RejectedCall { call, .. } => {
                    results.extend(Message::rejected(&call).map(|(_, why)| tokio::spawn(async { why })));
                }
                event => event.diagnostic().into_iter().for_each(|diagnostic| eprintln!("{diagnostic}")),
            }
            std::io::stdout().flush()?;
        }
        // With the signatures of its reasoning, which the provider wants back.
        request.messages.extend(response.into_message());
        if results.is_empty() {
            break;
        }
        request.messages.extend(try_join_all(results).await?);
    }
    Ok(())
}
