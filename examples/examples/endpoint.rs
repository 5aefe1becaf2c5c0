//! An HTTP endpoint that forwards validated records while the model is writing: `/definitions` as NDJSON, `/definitions/events`
//! as server-sent events. When the browser leaves, the connection to the model is closed.
//!
//! Start `tokenline replay`, then: `cargo run -p tokenline-examples --example endpoint [BASE_URL MODEL]`

use std::convert::Infallible;
use std::error::Error;

use async_stream::stream;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Sse, sse::Event};
use axum::{Router, routing::get};
use futures_util::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokenline::{ChatRequest, LlmClient, Provider, Validated};

#[derive(Deserialize, JsonSchema, Serialize)]
struct Definition {
    entity: String,
    definition: String,
}

#[derive(Clone)]
struct Model(LlmClient, ChatRequest);

/// Each valid record as JSON; an error ends the stream. Dropping it drops the response, which stops the model.
fn definitions(Model(client, request): Model) -> impl Stream<Item = String> {
    let open = async move {
        let request = client.stream(&request)?.typed::<Definition>().validated()?;
        Ok::<_, Box<dyn Error + Send + Sync>>(request.send().await?.records())
    };
    stream! {
        let mut records = match open.await {
            Ok(records) => records,
            Err(error) => return eprintln!("{error}"),
        };
        while let Some(Ok(record)) = records.next().await {
            yield serde_json::json!(record.value).to_string();
        }
    }
}

async fn ndjson(State(model): State<Model>) -> impl IntoResponse {
    let lines = definitions(model).map(|json| Ok::<_, Infallible>(json + "\n"));
    ([("content-type", "application/x-ndjson")], Body::from_stream(lines))
}

async fn events(State(model): State<Model>) -> impl IntoResponse {
    Sse::new(definitions(model).map(|json| Ok::<_, Infallible>(Event::default().data(json))))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let client =
        LlmClient::new(Provider::OpenAiChat, args.next().unwrap_or("http://127.0.0.1:8080".to_owned()))?;
    let request =
        ChatRequest::new(args.next().unwrap_or("definitions".to_owned())).user("What is in a cell?");
    let router = Router::new().route("/definitions", get(ndjson)).route("/definitions/events", get(events));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/definitions", listener.local_addr()?);
    Ok(axum::serve(listener, router.with_state(Model(client, request))).await?)
}
