//! What an agent does with an answer: text is shown as it comes, calls are run as soon as each one is
//! whole, and a call that was cut off or breaks its tool's schema is answered with the reason.
//!
//! `cargo run -p tokenline-examples --example agent [PROVIDER FILE]` reads a recorded body, of
//! `openai-chat`, `openai-responses`, `anthropic`, `gemini` or `ollama`; without arguments an answer of
//! Anthropic's. It goes over HTTP, from a server on this machine.

use std::error::Error;
use std::io::Write as _;

use futures_util::StreamExt;
use tokenline::json::Raw;
use tokenline::llm::replay::{Recording, ReplayServer};
use tokenline::llm::{AnswerEvent, AnswerParser, AnswerStream, Provider, TextAs};
use tokenline::schema::ToolSet;
use tokenline::{Options, ToolCall};

const TOOLS: &str = r#"[{
    "name": "search",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
}]"#;
const ANSWER: &str = include_str!("../../crates/tokenline-llm/fixtures/anthropic/text-then-tool.sse");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (provider, body) = match (args.next(), args.next()) {
        (Some(name), Some(file)) => {
            (Provider::from_name(&name).ok_or("no such provider")?, std::fs::read(file)?)
        }
        _ => (Provider::Anthropic, ANSWER.into()),
    };
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), [Recording::new("recorded", body)]).await?;
    let path = provider.path().replace('*', "recorded");
    let response = reqwest::Client::new().post(server.url() + &path).body("{}").send().await?;

    let parser = AnswerParser::<Raw>::new(provider, Options::lenient())
        .with_tools(ToolSet::from_json_str(TOOLS)?)
        .text_as(TextAs::ToolCalls)
        .with_fragments();
    // Dropping `answer` closes the connection.
    let mut answer = AnswerStream::new(response.bytes_stream(), parser);
    while let Some(event) = answer.next().await {
        match event? {
            AnswerEvent::Text { text, .. } => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            AnswerEvent::ToolCall { call, .. } => println!("\n{}", run(&call)?),
            // The model is told, so that it can try again.
            AnswerEvent::RejectedCall { call, .. } => {
                println!("\n{}: error: {}", call.call_id.unwrap_or_default(), call.diagnostic.message);
            }
            AnswerEvent::Refusal { text, .. } => println!("refused: {text}"),
            // Among them the provider's own errors.
            AnswerEvent::Rejected { diagnostic, .. } => eprintln!("{diagnostic}"),
            AnswerEvent::Finish { reason, .. } => println!("({reason})"),
            _ => {}
        }
    }
    println!("complete: {}", answer.parser().is_complete());
    Ok(())
}

fn run(call: &ToolCall) -> Result<String, Box<dyn Error>> {
    #[derive(serde::Deserialize)]
    struct Search {
        query: String,
    }
    let search: Search = call.parse_parameters()?;
    let id = call.call_id.as_deref().unwrap_or("?");
    Ok(format!("{id}: nothing found for {:?}", search.query))
}
