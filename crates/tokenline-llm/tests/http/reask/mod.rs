//! Rejects are requested again while the response goes on.

mod calls;
mod continued;
mod order;
mod requests;
mod runs;

use serde::Deserialize;
use serde_json::{Value, json};
use tokenline_core::ToolDefinition;
use tokenline_core::json::Raw;
use tokenline_llm::Provider;
use tokenline_llm::client::LlmClient;
use tokenline_llm::request::ChatRequest;
use tokenline_schema::{SchemaValidator, ToolSet};

use crate::client;
use crate::server::{Request, ScriptedServer, Step, events};

#[derive(Debug, Deserialize)]
struct Item {
    id: u64,
    n: u64,
}

fn sse(delta: &Value, reason: &str) -> String {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    format!("data: {chunk}\n\ndata: {}\n\ndata: [DONE]\n\n", json!({ "choices": [], "usage": usage }))
}

/// The item that a further request is for.
fn asked(request: &Request) -> Option<u64> {
    let rest = request.body.split("item-").nth(1)?;
    rest.split('-').next()?.parse().ok()
}

fn schema() -> SchemaValidator {
    schema_text().parse().expect("a schema")
}

fn request(of_calls: bool) -> ChatRequest {
    let request = ChatRequest::new("m").system("Put all of it.").user("What is in a cell?");
    if !of_calls {
        return request;
    }
    let parameters = Raw::new(schema_text()).expect("JSON");
    request.tools(ToolSet::new(&[ToolDefinition::new("put").with_parameters(parameters)]).expect("tools"))
}

fn schema_text() -> &'static str {
    r#"{"type":"object","required":["id","n"],"properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}"#
}

/// A server whose first response is this wire, and every further one what `again` makes of the number of the request.
async fn server(first: String, again: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::new(move |number, _| if number == 0 { events(&first) } else { again(number) }).await
}

fn list(lines: &str) -> String {
    sse(&json!({ "content": lines }), "stop")
}

fn client_of(server: &ScriptedServer) -> LlmClient {
    client(Provider::OpenAiChat, &server.url()).build().expect("a client")
}

const ONE_WRONG: &str =
    "{\"id\":0,\"n\":1}\n{\"id\":1,\"n\":\"x\"}\n{\"id\":2,\"n\":3}\n{\"id\":3,\"n\":4}\n";
