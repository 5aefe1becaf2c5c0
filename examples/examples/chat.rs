//! The server behind a page with the AI SDK: `/api/chat` for `useChat`, an agent whose tool really runs, and `/api/object` for
//! `useObject`, a list that shows validated records only. When the user presses Stop, the connection to the model is closed.
//!
//! `cargo run -p tokenline-examples --example chat [BASE_URL MODEL [PROVIDER]]`, with the API key in the environment

use std::error::Error;

use axum::{Json, Router, extract::State, http::StatusCode, response::IntoResponse, routing::post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenline::{ChatRequest, LlmClient, Provider, ToolDefinition, ToolSet, Validated};
use tokenline_axum::ai_sdk::{ChatStream, InvalidMessage, JsonArray, UseChatRequest, chat_options};

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
struct Model(LlmClient, String, ToolSet);

async fn chat(State(model): State<Model>, posted: UseChatRequest) -> Result<ChatStream, InvalidMessage> {
    let Model(client, name, tools) = model;
    let mut request = ChatRequest::new(name).tools(&tools).messages(posted.to_messages()?);
    Ok(ChatStream::new(|chat| async move {
        for _ in 0..8 {
            let response = client.stream(&request)?.with_options(chat_options);
            // Text, reasoning and growing calls go to the page.
            let mut step = chat.step(response.send().await?);
            let mut results = Vec::new();
            while let Some(call) = step.next_call().await? {
                results.push(match call.parse_parameters() {
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
    })
    .on_error(log))
}

/// The reason is for the operator, and not for the page.
fn log(error: &(dyn Error + 'static)) -> String {
    eprintln!("{error}");
    "An error occurred.".to_owned()
}

/// `Json` demands the content type of JSON, which no page of another origin can post without being allowed to.
async fn object(State(model): State<Model>, topic: Json<Value>) -> Result<impl IntoResponse, StatusCode> {
    let topic = topic.as_str().map_or_else(|| topic.to_string(), str::to_owned);
    let open = async {
        let request = ChatRequest::new(model.1).system("Write JSON Lines: {entity, definition}.").user(topic);
        let request = model.0.stream(&request)?.typed::<Definition>().validated()?;
        Ok::<_, Box<dyn Error>>(request.send().await?.records())
    };
    let records = open.await.inspect_err(|error| _ = log(&**error)).map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(JsonArray::new(records).on_error(|error| _ = log(error)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let defaults = ["http://127.0.0.1:8080", "definitions", "openai-chat"];
    let [url, name, provider] =
        [0, 1, 2].map(|at| std::env::args().nth(at + 1).unwrap_or(defaults[at].to_owned()));
    let client = LlmClient::new(Provider::from_name(&provider).ok_or("an unknown provider")?, url)?;
    let tools = ToolSet::new(&[ToolDefinition::of::<Count>("count", "Counts a letter in a text.")])?;
    let router = Router::new().route("/api/chat", post(chat)).route("/api/object", post(object));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, router.with_state(Model(client, name, tools))).await?)
}
