//! HTTP clients of other crates in the same program. A program of its own: the clients come before anything of ours.

use tokenline_llm::Provider;
use tokenline_llm::client::{LlmClient, rustls::crypto::CryptoProvider};
use tokenline_llm::replay::{self, ReplayServer};
use tokenline_llm::request::ChatRequest;

/// The recorded response that such clients receive.
macro_rules! received {
    ($client:expr, $url:expr) => {{
        let response = $client
            .post($url)
            .body(r#"{"model":"definitions","stream":true}"#)
            .send()
            .await
            .expect("a response");
        response.text().await.expect("a body")
    }};
}

#[tokio::test]
async fn foreign_clients_work_and_the_process_gets_no_provider() {
    // Both ask for no feature, so that TLS is what our dependencies make of it.
    let new = reqwest_0_13::Client::new();
    let old = reqwest::Client::new();
    let server =
        ReplayServer::bind("127.0.0.1:0".parse().unwrap(), replay::builtin()).await.expect("a server");
    let url = format!("{}/v1/chat/completions", server.url());
    let expected = received!(new, &url);
    assert!(expected.ends_with("data: [DONE]\n\n"), "{expected}");
    assert_eq!(received!(old, &url), expected);

    // With TLS, and, to read from the server, without.
    LlmClient::new(Provider::Anthropic, "https://localhost:1").expect("a client");
    let client = LlmClient::new(Provider::OpenAiChat, server.url()).expect("a client");
    let request = ChatRequest::new("definitions").user("What is in a cell?");
    let mut records = client.stream(&request).expect("a request").send().await.expect("a response").records();
    while let Some(record) = records.next().await {
        record.expect("a record");
    }
    assert!(records.report().records() > 0 && records.report().is_complete());

    assert!(CryptoProvider::get_default().is_none(), "a provider was installed for the process");
    assert_eq!(received!(reqwest_0_13::Client::new(), &url), expected);
}
