//! The client, the replay server and continued responses over real loopback HTTP.

mod bodies;
mod breaks;
#[path = "../common/mod.rs"]
mod common;
mod continued;
mod conversations;
mod delivery;
mod environment;
mod flow;
#[cfg(feature = "tracing")]
mod logged;
#[path = "../../../tokenline-continuation/tests/records/model.rs"]
mod model;
mod quoted;
mod reask;
mod redirects;
mod replay;
mod replay_forms;
mod requests;
mod responses;
mod secrets;
mod server;
mod statuses;
mod stream_over_http;
mod tls;
mod validators;

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use tokenline_llm::client::{ClientError, LlmClient, LlmClientBuilder, ResponseBody};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{Provider, ResponseStream};

/// Fails instead of hanging. Tests of timing check it themselves.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it never came")
}

/// A client of this server that ignores the environment.
fn client(provider: Provider, base_url: &str) -> LlmClientBuilder {
    LlmClient::builder(provider).base_url(base_url).without_api_key().http(reqwest::ClientBuilder::no_proxy)
}

/// A plain HTTP client.
fn http_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("an HTTP client")
}

/// Lets the tasks of the HTTP client notice that a connection is free or closed.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn request() -> ChatRequest {
    ChatRequest::new("some-model").user("What is in a cell?")
}

/// Sends the request.
async fn send(client: LlmClientBuilder) -> Result<ResponseStream<ResponseBody>, ClientError> {
    let client = client.build().expect("a client");
    soon(client.stream(&request()).expect("a request").send()).await
}

/// Sends a request that must fail.
async fn fail(client: LlmClientBuilder) -> ClientError {
    send(client).await.expect_err("there is no answer")
}

/// Everything an error shows, including its sources.
fn error_text(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut next) = (String::new(), Some(error));
    while let Some(error) = next {
        text += &format!("{error}\n{error:?}\n{error:#?}\n");
        next = error.source();
    }
    text
}
