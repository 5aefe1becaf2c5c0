//! The client, the replay server and continued answers over real loopback HTTP.

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
#[path = "../continued/model.rs"]
mod model;
mod redirects;
mod replay;
mod requests;
mod responses;
mod secrets;
mod server;
mod statuses;
mod stream_over_http;
mod tls;

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use tokenline_llm::client::{
    ClientError, LlmClient, LlmClientBuilder, ResponseBody, install_crypto_provider,
};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{Provider, ResponseStream};

/// Fails instead of hanging. What depends on how long something takes says so itself.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it never came")
}

/// A client of this server that is left alone by its environment.
fn client(provider: Provider, base_url: &str) -> LlmClientBuilder {
    LlmClient::builder(provider).base_url(base_url).without_api_key().http(reqwest::ClientBuilder::no_proxy)
}

/// The HTTP client beneath, without ours around it.
fn http_client() -> reqwest::Client {
    install_crypto_provider();
    reqwest::Client::builder().no_proxy().build().expect("an HTTP client")
}

/// Lets the HTTP client's own tasks see what has happened to a connection: that it is free, or closed.
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

/// Sends the request, of which nothing is to come but an error.
async fn fail(client: LlmClientBuilder) -> ClientError {
    send(client).await.expect_err("there is no answer")
}

/// All that an error shows, to its root.
fn told(error: &(dyn Error + 'static)) -> String {
    let (mut told, mut next) = (String::new(), Some(error));
    while let Some(error) = next {
        told += &format!("{error}\n{error:?}\n{error:#?}\n");
        next = error.source();
    }
    told
}
