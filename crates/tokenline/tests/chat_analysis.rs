//! Chat analysis over real HTTP: requested, shown as it arrives, checked and stored; and incomplete responses.
#![cfg(all(feature = "client", feature = "chat-analysis", feature = "replay"))]

mod common;

use std::time::Duration;

use common::{as_ollama, pieces};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokenline::AskAnalysis;
use tokenline::chat_analysis::{
    AnalysisError, AnalysisEvent, AnalysisRequest, AttachmentStore, CheckError, FileStore, LlmResponse,
    RESPONSE_SCHEMA, SYSTEM_PROMPT, check,
};
use tokenline::llm::client::{ClientError, LlmClient};
use tokenline::llm::replay::{Fault, Gate, Pace, Recording, ReplayServer};
use tokenline::llm::request::ResponseFormat;
use tokenline::llm::{FinishReason, Provider, ResponseError};

const RESPONSE_JSON: &str = include_str!("../../tokenline-chat-analysis/tests/examples/college-savings.json");
const XML: &str = include_str!("../../tokenline-chat-analysis/tests/examples/college-savings.xml");

type Failure = AnalysisError<ResponseError<ClientError>>;

/// A streamed Ollama response with this number of characters per line and this finish reason.
fn streamed(text: &str, characters: usize, reason: Option<&str>) -> String {
    as_ollama(pieces(text, characters), reason)
}

async fn serve(recording: Recording) -> (ReplayServer, LlmClient) {
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port");
    let client = LlmClient::builder(Provider::Ollama).base_url(server.url()).without_api_key();
    // A retry would show in the number of requests.
    let client = client.retries(3).read_timeout(Duration::from_secs(20)).build().expect("a client");
    (server, client)
}

fn question() -> AnalysisRequest {
    AnalysisRequest::new("recorded").user("How much should I save for college?")
}

/// Returns the shown text and the result.
async fn ask(client: &LlmClient) -> (String, Result<LlmResponse, Failure>) {
    let mut response = client.ask_analysis(&question()).await.expect("a response");
    let mut shown = String::new();
    loop {
        match response.next().await.expect("an end") {
            Ok(AnalysisEvent::Text(text)) => shown.push_str(&text),
            Ok(AnalysisEvent::Response(checked)) => {
                assert!(response.next().await.is_none());
                return (shown, Ok(checked.response));
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(response.next().await.is_none());
                return (shown, Err(error));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_shown_as_it_arrives_checked_and_stored() {
    let gate = Gate::new();
    let recording = Recording::new("recorded", streamed(RESPONSE_JSON, 5, Some("stop")));
    let (server, client) = serve(recording.pace(Pace::events()).gate(&gate)).await;
    // Release the beginning of the response.
    gate.release(10);
    let mut response = client.ask_analysis(&question()).await.expect("a response");
    let mut shown = String::new();
    while shown.len() < 20 {
        match response.next().await.expect("more").expect("an event") {
            AnalysisEvent::Text(text) => shown.push_str(&text),
            other => panic!("{other:?}"),
        }
    }
    assert!("For college savings, financial advisors".starts_with(&shown), "{shown}");
    assert_eq!(server.traffic().bodies_finished, 0);

    gate.open();
    let mut whole = None;
    while let Some(event) = response.next().await {
        match event.expect("an event") {
            AnalysisEvent::Text(text) => shown.push_str(&text),
            AnalysisEvent::Response(checked) => whole = Some(checked),
            other => panic!("{other:?}"),
        }
    }
    let whole = whole.expect("a response");
    assert_eq!(whole, check(RESPONSE_JSON).expect("it passes"));
    assert_eq!(shown, whole.response.response);

    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::new(folder.path());
    let xml = whole.response.to_xml().expect("XML");
    store.store("college", "message-7", &xml).expect("stored");
    let stored = store.load("college", "message-7").expect("read").expect("there");
    assert_eq!(stored + "\n", XML);
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_limit_is_an_error_with_the_text_so_far() {
    for cut in [1, 30, 300, 700, RESPONSE_JSON.trim_end().len()] {
        let (server, client) =
            serve(Recording::new("recorded", streamed(&RESPONSE_JSON[..cut], 7, Some("length")))).await;
        let (shown, end) = ask(&client).await;
        let Err(AnalysisError::Source { error, received }) = end else { panic!("{end:?}") };
        assert!(matches!(error, ResponseError::Truncated(FinishReason::Length)), "{error:?}");
        assert_eq!(received.text, RESPONSE_JSON[..cut]);
        assert_eq!(received.response, shown);
        assert_eq!(server.traffic().requests, 1, "nothing is requested twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_connection_is_an_error_with_the_text_so_far() {
    let body = streamed(RESPONSE_JSON, 7, Some("stop"));
    for at in [body.len() / 3, body.len() * 2 / 3] {
        for fault in [Fault::BreakAfter(at), Fault::EndAfter(at)] {
            let (server, client) = serve(Recording::new("recorded", body.clone()).fault(fault)).await;
            let (shown, end) = ask(&client).await;
            let Err(AnalysisError::Source { error, received }) = end else { panic!("{end:?}") };
            match fault {
                Fault::BreakAfter(_) => assert!(matches!(error, ResponseError::Source(_)), "{error:?}"),
                Fault::EndAfter(_) => assert!(matches!(error, ResponseError::Incomplete(_)), "{error:?}"),
            }
            assert!(received.text.len() > 50 && RESPONSE_JSON.starts_with(&received.text));
            assert_eq!(received.response, shown);
            assert_eq!(server.traffic().requests, 1, "nothing is requested twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_response_is_an_error() {
    let mut unsure: Value = serde_json::from_str(RESPONSE_JSON).expect("JSON");
    // A server's grammar does not enforce this part of the schema.
    unsure["analysis"]["subjects"][0]["keywords"][1]["confidence"] = json!(1.5);
    let cut = &RESPONSE_JSON[..400];
    for (text, is_expected) in [
        (unsure.to_string(), (|error| matches!(error, CheckError::Invalid(_))) as fn(&CheckError) -> bool),
        (RESPONSE_JSON.replace("For college", "\u{1}For"), |error| matches!(error, CheckError::Malformed(_))),
        // The finish reason claims that it is complete.
        (cut.to_owned(), |error| matches!(error, CheckError::Truncated { .. })),
        (String::new(), |error| matches!(error, CheckError::NoObject(_))),
        ("I cannot help with that.".to_owned(), |error| matches!(error, CheckError::NoObject(_))),
    ] {
        let (server, client) = serve(Recording::new("recorded", streamed(&text, 11, Some("stop")))).await;
        let (_, end) = ask(&client).await;
        let Err(AnalysisError::Check(error)) = &end else { panic!("{end:?}") };
        assert!(is_expected(error), "{error:?}");
        assert_eq!(server.traffic().requests, 1, "nothing is requested twice");
        if let Some(received) = error.received() {
            assert_eq!(received.text, text);
        }
    }
}

#[test]
fn the_request_is_the_same_for_the_client() {
    let request = question().assistant("What is your timeframe?").user("Ten years.");
    let own: Value = serde_json::from_str(&request.to_body().expect("a body")).expect("JSON");
    let chat = request.to_chat_request();
    let body: Value = serde_json::from_str(&chat.to_body(Provider::Ollama).expect("a body")).expect("JSON");
    assert_eq!(own, body);
    assert_eq!(own["messages"][0], json!({"role": "system", "content": SYSTEM_PROMPT}));
    assert_eq!(own["messages"][2], json!({"role": "assistant", "content": "What is your timeframe?"}));
    assert_eq!(own["format"], serde_json::from_str::<Value>(RESPONSE_SCHEMA).expect("JSON"));
    assert_eq!((&own["stream"], &own["options"]), (&json!(true), &json!({"temperature": 0.0})));
    // Models write members in the order of the schema, and the response must come first.
    let body = request.to_body().expect("a body");
    assert!(body.find("\"maxLength\":10000").unwrap() < body.find("\"subjects\"").unwrap());
    assert!(body.contains("\"minimum\":0.0,\"maximum\":1.0"), "literals are unchanged");
    let at_once: Value =
        serde_json::from_str(&request.streamed(false).to_body().expect("a body")).expect("JSON");
    assert_eq!(at_once["stream"], false);

    let without = AnalysisRequest::new("m").system("").user("?");
    assert_eq!(without.to_chat_request().messages.len(), 1);
    let ResponseFormat::JsonSchema(format) = chat.response_format else { panic!() };
    assert_eq!(
        format.schema.as_str(),
        tokenline::json::Raw::new(RESPONSE_SCHEMA).expect("JSON").to_compact()
    );
}
