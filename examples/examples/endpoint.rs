//! An HTTP endpoint that forwards validated records while the model is writing, as NDJSON or as server-sent events. When the
//! browser leaves, the connection to the model is closed.
//!
//! Start `tokenline replay`, then: `cargo run -p tokenline-examples --example endpoint [BASE_URL MODEL]`
//! Then: `curl -N URL`, or `curl -N -H 'accept: text/event-stream' URL`

use std::error::Error;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Router, routing::get};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokenline::{ChatRequest, LlmClient, Provider, Validated};
use tokenline_axum::{RecordsFormat, RecordsResponse};

#[derive(Deserialize, JsonSchema, Serialize)]
struct Definition {
    entity: String,
    definition: String,
}

#[derive(Clone)]
struct Model(LlmClient, ChatRequest);

async fn definitions(
    format: RecordsFormat, // by the `Accept` header
    State(Model(client, request)): State<Model>,
) -> Result<impl IntoResponse, StatusCode> {
    let request = client.stream(&request).map_err(bad_gateway)?.typed::<Definition>();
    let response = request.validated().map_err(bad_gateway)?.send().await.map_err(bad_gateway)?;
    Ok(RecordsResponse::new(format, response.records()))
}

/// The reason is for the log, not for the browser.
fn bad_gateway(error: impl Error) -> StatusCode {
    eprintln!("{error}");
    StatusCode::BAD_GATEWAY
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let client =
        LlmClient::new(Provider::OpenAiChat, args.next().unwrap_or("http://127.0.0.1:8080".to_owned()))?;
    let request =
        ChatRequest::new(args.next().unwrap_or("definitions".to_owned())).user("What is in a cell?");
    let router = Router::new().route("/definitions", get(definitions)).with_state(Model(client, request));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/definitions", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}
