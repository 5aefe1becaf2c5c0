//! The server behind a page with the AI SDK: `/api/chat` for `useChat`, an agent whose tool really runs, and `/api/object` for
//! `useObject`, a list that shows validated records only.
//!
//! `cargo run -p tokenline-examples --example chat [BASE_URL MODEL [PROVIDER]]`, with the API key in the environment

use std::error::Error;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokenline::{ChatRequest, LlmClient, Provider, ToolDefinition, ToolSet, Validated};
use tokenline_axum::ai_sdk::{ChatStream, JsonArray, UseChatRequest, chat_parser};

#[derive(Deserialize, JsonSchema)]
struct Count {
    text: String,
    letter: char,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Definition {
    entity: String,
    definition: String,
}

#[derive(Clone)]
struct Model {
    client: LlmClient,
    name: String,
    tools: ToolSet,
}

/// Requests to the model for one message of the page.
const MAX_STEPS: usize = 8;

async fn chat(State(model): State<Model>, posted: UseChatRequest) -> Response {
    let messages = match posted.to_messages() {
        Ok(messages) => messages,
        Err(invalid) => return invalid.into_response(),
    };
    let Model { client, name, tools } = model;
    let mut request = ChatRequest::new(name).tools(tools.definitions()).messages(messages);
    let message = ChatStream::new(|chat| async move {
        for _ in 0..MAX_STEPS {
            let response = client.stream(&request)?.with_tools(tools.clone()).map_parser(chat_parser);
            // Text, reasoning and growing calls go to the page. Dropping the stream closes the connection to the model.
            let mut step = chat.step(response.send().await?);
            let mut results = Vec::new();
            while let Some(call) = step.next_call().await? {
                results.push(match call.parse_parameters::<Count>() {
                    Ok(Count { text, letter }) => {
                        chat.tool_output(&call, json!({"count": text.matches(letter).count()})).await
                    }
                    Err(error) => chat.tool_error(&call, error.to_string()).await,
                });
            }
            if !step.has_calls() {
                return Ok(());
            }
            request.messages.extend(step.into_messages(results));
        }
        Err("the model calls tools without end".into())
    });
    message.into_response()
}

async fn object(State(model): State<Model>, topic: String) -> Result<impl IntoResponse, StatusCode> {
    let open = async {
        let request = ChatRequest::new(model.name)
            .system("Write definitions as JSON Lines: {\"entity\", \"definition\"}.")
            .user(topic);
        let request = model.client.stream(&request)?.typed::<Definition>().validated()?;
        Ok::<_, Box<dyn Error + Send + Sync>>(JsonArray::new(request.send().await?.records()))
    };
    open.await.map_err(|error| {
        eprintln!("{error}");
        StatusCode::BAD_GATEWAY
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or("http://127.0.0.1:8080".to_owned());
    let name = args.next().unwrap_or("definitions".to_owned());
    let provider = args.next().unwrap_or("openai-chat".to_owned());
    let client = LlmClient::new(Provider::from_name(&provider).ok_or("an unknown provider")?, url)?;
    let tools = ToolSet::new(&[ToolDefinition::of::<Count>("count", "Counts a letter in a text.")])?;
    let router = Router::new().route("/api/chat", post(chat)).route("/api/object", post(object));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, router.with_state(Model { client, name, tools })).await?)
}
