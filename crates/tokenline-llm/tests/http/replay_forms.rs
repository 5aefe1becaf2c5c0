//! Responses of the replay server that are not the recorded stream: a whole body, an error of an API, a list of models.

use std::path::Path;

use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::replay::{self, Pace, Recording, ReplayServer};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser};

use crate::common::event_stream;
use crate::replay::{ask, client, fixtures, message, read, serve};
use crate::soon;

/// Posts a body to the path of a provider.
async fn post(server: &ReplayServer, provider: Provider, model: &str, body: Value) -> Response {
    post_to(server, &provider.path().replace('*', model), body).await
}

async fn post_to(server: &ReplayServer, path: &str, body: Value) -> Response {
    let url = format!("{}{path}", server.url());
    soon(client().post(url).body(body.to_string()).send()).await.expect("a response")
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Records, calls and finish reasons, and whether the response is complete and well.
fn content(provider: Provider, body: &[u8]) -> (Vec<String>, bool) {
    content_of(parser(provider), body)
}

fn parser(provider: Provider) -> ResponseParser<Raw> {
    ResponseParser::new(provider, Options::lenient()).with_options(ResponseOptions::text_and_reasoning)
}

fn content_of(mut parser: ResponseParser<Raw>, body: &[u8]) -> (Vec<String>, bool) {
    parser.push(body);
    parser.finish();
    let mut content = Vec::new();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Record { record, .. } => content.push(json_of(record.value.as_str()).to_string()),
            // White space in the arguments is not kept.
            ResponseEvent::ToolCall { call, .. } => content.push(json_of(&call.to_json()).to_string()),
            ResponseEvent::Finish { reason, .. } => content.push(reason.as_str().to_owned()),
            _ => {}
        }
    }
    (content, parser.is_complete() && parser.report().rejected() == 0)
}

#[tokio::test]
async fn a_request_without_stream_gets_the_whole_body() {
    for (provider, folder, at_least) in [
        (Provider::OpenAiChat, "openai-chat", 4),
        (Provider::OpenAiChat, "openai-chat/quirks", 20),
        (Provider::OpenAiResponses, "openai-responses", 30),
        (Provider::Anthropic, "anthropic", 30),
        (Provider::Cohere, "cohere", 15),
        (Provider::GeminiInteractions, "gemini-interactions", 15),
        (Provider::Ollama, "ollama", 25),
        (Provider::Gemini, "gemini", 15),
        (Provider::Bedrock, "bedrock", 10),
    ] {
        let files = fixtures(folder);
        let recordings = files.iter().map(|file| match Recording::from_file(file).expect("a fixture") {
            // Written down as text.
            text if provider == Provider::Bedrock => {
                let lines = str::from_utf8(text.bytes()).expect("UTF-8");
                Recording::new(text.name(), event_stream::stream(lines))
            }
            recording => recording,
        });
        let recordings: Vec<_> = recordings.map(|recording| recording.pace(Pace::events())).collect();
        let server = serve(recordings.clone()).await;
        let mut whole = 0;
        for recording in &recordings {
            let (name, (streamed, is_well)) = (recording.name(), content(provider, recording.bytes()));
            let body = |stream: bool| serde_json::json!({"model": name, "stream": stream});
            let response = post(&server, provider, name, body(true)).await;
            assert_eq!(response.status(), StatusCode::OK, "{} {name}", provider.as_str());
            // Its last event does not repeat the input of the call.
            let is_partial = name == "custom-tool-call-not-repeated";
            if !is_well || is_partial {
                continue;
            }
            assert_ne!(response.headers()["content-type"], "application/json", "{name}");
            let path = match provider {
                Provider::Gemini => format!("/v1beta/models/{name}:generateContent"),
                Provider::Bedrock => format!("/model/{name}/converse"),
                _ => provider.path().to_owned(),
            };
            let response = post_to(&server, &path, body(false)).await;
            if response.headers()["content-type"] != "application/json" {
                continue;
            }
            let (pieces, _) = read(response).await;
            assert_eq!(pieces.len(), 1, "{name}");
            let (mut read, is_well) = content_of(parser(provider).whole_body(), &pieces.concat());
            let mut streamed = streamed;
            // Parts may be grouped in another order.
            read.sort();
            streamed.sort();
            assert_eq!((read, is_well), (streamed, true), "{} {name}", provider.as_str());
            whole += 1;
        }
        assert!(whole >= at_least, "{}: {whole}", provider.as_str());
    }
}

#[tokio::test]
async fn a_recording_of_another_provider_is_an_error_in_the_clients_form() {
    let server = serve(replay::builtin()).await;
    let says =
        "the recording \"definitions\" is a response of openai-chat; request it at /v1/chat/completions";
    for provider in Provider::ALL.iter().copied().filter(|provider| *provider != Provider::OpenAiChat) {
        let body = serde_json::json!({"model": "definitions", "stream": true});
        let response = post(&server, provider, "definitions", body).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{}", provider.as_str());
        let body = soon(response.bytes()).await.expect("a body");
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let pointer = match provider {
            Provider::Ollama => "/error",
            Provider::Cohere | Provider::Bedrock => "/message",
            _ => "/error/message",
        };
        assert_eq!(body.pointer(pointer), Some(&says.into()), "{}: {body}", provider.as_str());
        // Its client finds the message there.
        let client = crate::client(provider, &server.url()).retries(0).build().expect("a client");
        let request = client.stream(&ChatRequest::new("definitions").user("Hi")).expect("a request");
        let error = soon(request.send()).await.expect_err("another wire").to_string();
        assert!(error.contains(says), "{error}");
    }
    // The error of an unknown model, too.
    let response = post(&server, Provider::Anthropic, "", serde_json::json!({"model": "x"})).await;
    let body: Value = serde_json::from_slice(&soon(response.bytes()).await.expect("a body")).expect("JSON");
    assert_eq!((&body["type"], &body["error"]["type"]), (&"error".into(), &"not_found_error".into()));
}

#[tokio::test]
async fn binary_messages_are_recognized() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bedrock/records.messages");
    let text = std::fs::read_to_string(folder).expect("a fixture");
    let recording = event_stream::stream(&text);
    assert_eq!(Provider::detect(&recording), Some(Provider::Bedrock));
    let server = serve([Recording::new("records", recording.clone())]).await;
    let response = post(&server, Provider::Bedrock, "records", Value::Null).await;
    assert_eq!(response.headers()["content-type"], "application/vnd.amazon.eventstream");
    assert_eq!(read(response).await.0.concat(), recording);
    let response = ask(&server, "records").await;
    assert!(message(response).await.ends_with("request it at /model/records/converse-stream"));
}

#[tokio::test]
async fn the_recordings_are_the_models() {
    let server = serve(replay::builtin()).await;
    let response =
        soon(client().get(format!("{}/v1/models", server.url())).send()).await.expect("a response");
    assert_eq!(response.status(), StatusCode::OK);
    let body: Value = serde_json::from_slice(&soon(response.bytes()).await.expect("a body")).expect("JSON");
    let names: Vec<&str> =
        body["data"].as_array().expect("models").iter().filter_map(|model| model["id"].as_str()).collect();
    assert_eq!(names[..2], ["definitions", "fenced-mixed"]);
    assert_eq!((&body["object"], &body["data"][0]["object"]), (&"list".into(), &"model".into()));
}
