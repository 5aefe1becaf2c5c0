//! An agent: text is shown as it comes, calls are run as soon as each one is whole, a call that was cut
//! off or breaks its tool's schema is answered with the reason, and the results go back to the model.
//!
//! `cargo run -p tokenline-examples --example agent [PROVIDER BASE_URL MODEL]` asks a provider, of
//! `openai-chat`, `openai-responses`, `anthropic`, `gemini` or `ollama`, with the key of the environment;
//! without arguments it replays recorded answers of Anthropic's.

use std::error::Error;
use std::io::Write as _;

use futures_util::StreamExt;
use tokenline::ToolCall;
use tokenline::llm::client::LlmClient;
use tokenline::llm::replay::{Recording, ReplayServer};
use tokenline::llm::request::{ChatRequest, Message};
use tokenline::llm::{Provider, ResponseEvent, TextAs};
use tokenline::schema::ToolSet;

const TOOLS: &str = r#"[{
    "name": "search",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
}]"#;
const ANSWERS: [(&str, &str); 2] = [
    ("first", include_str!("../../crates/tokenline-llm/fixtures/anthropic/text-then-tool.sse")),
    (
        "second",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I found nothing."}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

data: {"type":"message_stop"}

"#,
    ),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let recordings = ANSWERS.map(|(name, body)| Recording::new(name, body));
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await?;
    let (client, models) = match &args[..] {
        [provider, base_url, model] => {
            let provider = Provider::from_name(provider).ok_or("no such provider")?;
            (LlmClient::builder(provider).base_url(base_url).build()?, [model.as_str(); 8].to_vec())
        }
        // The server replays the answer that is named like the model.
        _ => (LlmClient::anthropic(server.url())?, ANSWERS.map(|(name, _)| name).to_vec()),
    };

    let tools = ToolSet::from_json_str(TOOLS)?;
    let mut request = ChatRequest::new("").user("What do you know of fjords?").tools(tools.definitions());
    for model in models {
        request.model = model.to_owned();
        let said = turn(&client, &request, &tools).await?;
        if said.len() < 2 {
            break;
        }
        request = request.messages(said);
    }
    Ok(())
}

/// One answer of the model's, as the messages that are added to the conversation: what it said, and
/// the results of its calls.
async fn turn(
    client: &LlmClient,
    request: &ChatRequest,
    tools: &ToolSet,
) -> Result<Vec<Message>, Box<dyn Error>> {
    let request = client.stream(request)?.with_tools(tools.clone());
    let request = request.map_parser(|parser| parser.text_as(TextAs::ToolCalls).with_fragments());
    let (mut said, mut calls, mut results) = (String::new(), Vec::new(), Vec::new());
    // Dropping `answer` closes the connection.
    let mut answer = request.send().await?;
    while let Some(event) = answer.next().await {
        match event? {
            ResponseEvent::Text { text, .. } => {
                print!("{text}");
                std::io::stdout().flush()?;
                said.push_str(&text);
            }
            ResponseEvent::ToolCall { call, .. } => {
                println!("\n[{} {}]", call.name, call.parameters);
                results.push(Message::tool_result(&call, run(&call)?));
                calls.push(call);
            }
            // The model is told, so that it can try again.
            ResponseEvent::RejectedCall { call, .. } => {
                eprintln!("{}", call.diagnostic);
                if let Some((call, why)) = Message::rejected(&call) {
                    calls.push(call);
                    results.push(why);
                }
            }
            ResponseEvent::Refusal { text, .. } => println!("refused: {text}"),
            // Among them the provider's own errors.
            ResponseEvent::Rejected { diagnostic, .. } => eprintln!("{diagnostic}"),
            ResponseEvent::Finish { reason, .. } => println!("({reason})"),
            _ => {}
        }
    }
    if !answer.parser().is_complete() {
        return Err("the answer is incomplete".into());
    }
    // An answer cut by its token limit may have nothing in it.
    let is_empty = said.is_empty() && calls.is_empty();
    let said = (!is_empty).then(|| Message::assistant(said, calls));
    Ok(said.into_iter().chain(results).collect())
}

fn run(call: &ToolCall) -> Result<String, Box<dyn Error>> {
    #[derive(serde::Deserialize)]
    struct Search {
        query: String,
    }
    let search: Search = call.parse_parameters()?;
    Ok(format!("nothing found for {:?}", search.query))
}
