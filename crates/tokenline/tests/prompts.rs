//! Prompts sent to a model over real HTTP, with replayed streams of a real model.
#![cfg(all(feature = "client", feature = "prompt", feature = "replay"))]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::as_ollama;
use serde_json::Value;
use tokenline::json::Raw;
use tokenline::llm::client::LlmClient;
use tokenline::llm::replay::{Gate, Pace, Recording, ReplayServer};
use tokenline::llm::request::ChatRequest;
use tokenline::llm::{Provider, ResponseError};
use tokenline::prompt::tools::{ToolCallParser, ToolCalling, ToolPrompter};
use tokenline::prompt::{
    Definition, InvokeError, Objects, Prompt, PromptError, PromptManager, Response, ResponseType,
};
use tokenline::schema::ToolSet;
use tokenline::{Ask, Code};

/// A recorded OpenAI stream.
fn recorded(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-llm/fixtures/openai-chat").join(file);
    std::fs::read_to_string(path).expect("a fixture")
}

/// The same response as Ollama sends it: one line per piece of text, and the finish reason.
fn recorded_as_ollama(stream: &str) -> String {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: {"));
    let events = events.map(|event| serde_json::from_str::<Value>(&format!("{{{event}")).expect("an event"));
    let choices: Vec<Value> = events.map(|event| event["choices"][0].clone()).collect();
    let texts = choices.iter().filter_map(|choice| Some(choice["delta"]["content"].as_str()?.to_owned()));
    as_ollama(texts, choices.iter().find_map(|choice| choice["finish_reason"].as_str()))
}

async fn serve(recording: Recording) -> ReplayServer {
    ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording]).await.expect("a free port")
}

fn client(provider: Provider, server: &ReplayServer) -> LlmClient {
    LlmClient::builder(provider)
        .base_url(server.url())
        .without_api_key()
        .retries(0)
        .build()
        .expect("a client")
}

fn text() -> BTreeMap<&'static str, &'static str> {
    [("text", "A cell has mitochondria.")].into()
}

const SHAPES: [Provider; 2] = [Provider::OpenAiChat, Provider::Ollama];

fn body_of(provider: Provider, file: &str) -> String {
    match provider {
        Provider::Ollama => recorded_as_ollama(&recorded(file)),
        _ => recorded(file),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_arrive_before_the_stream_ends() {
    let prompts = PromptManager::built_in();
    let request = ChatRequest::new("recorded").temperature(0.0);
    for provider in SHAPES {
        let gate = Gate::new();
        let recording = Recording::new("recorded", body_of(provider, "definitions.sse"));
        let server = serve(recording.pace(Pace::events()).gate(&gate)).await;
        // More than one object, less than all.
        gate.release(100);
        let client = client(provider, &server);
        let response =
            prompts.ask_stream::<Definition>("extract-definitions", text(), &client, &request).await;
        let mut records = response.expect("a response").records();
        let first = records.next().await.expect("a record").expect("an item").value;
        assert_eq!(first.entity, "photosynthesis");
        assert_eq!(server.traffic().bodies_finished, 0, "{provider:?}");

        gate.open();
        let mut streamed = vec![first];
        while let Some(record) = records.next().await {
            streamed.push(record.expect("an item").value);
        }
        assert_eq!((streamed.len(), records.report().rejected()), (8, 0), "{provider:?}");

        // The complete response has the same objects.
        let response =
            prompts.ask("extract-definitions", text(), &client, &request).await.expect("a response");
        let whole: Objects<Definition> = response.into_objects().expect("objects");
        assert_eq!(whole.into_vec(), streamed, "{provider:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_limit_costs_only_the_open_line() {
    let prompts = PromptManager::new()
        .with_prompt("lines", Prompt::jsonl("{{ text }}"))
        .and_then(|prompts| prompts.with_prompt("chat", Prompt::text("{{ text }}")))
        .and_then(|prompts| prompts.with_prompt("value", Prompt::json("{{ text }}")))
        .expect("prompts");
    let request = ChatRequest::new("recorded");
    for provider in SHAPES {
        let server = serve(Recording::new("recorded", body_of(provider, "truncated.sse"))).await;
        let client = client(provider, &server);
        let whole = prompts.ask("lines", text(), &client, &request).await.expect("a response");
        let Response::Jsonl(whole) = whole else { panic!("{whole:?}") };
        assert!(!whole.is_empty());
        let rejects: Vec<_> = whole.report().rejects().map(|reject| reject.code).collect();
        assert_eq!(rejects, [Code::Truncated], "{provider:?}");

        let response =
            prompts.ask_stream::<Raw>("lines", text(), &client, &request).await.expect("a response");
        let mut records = response.records();
        let mut streamed = Vec::new();
        while let Some(record) = records.next().await {
            streamed.push(record.expect("an item").value);
        }
        assert_eq!(*whole, *streamed, "{provider:?}");

        // A text does not show that it was cut off.
        let cut = prompts.ask("chat", text(), &client, &request).await;
        assert!(matches!(cut, Err(InvokeError::Llm(ResponseError::Truncated(_)))), "{cut:?}");
        let streamed = prompts.ask_stream::<Raw>("value", text(), &client, &request).await.map(drop);
        let expected = |error: &_| {
            matches!(
                error,
                InvokeError::Prompt(PromptError::NotStreamed { response_type: ResponseType::Json, .. })
            )
        };
        assert!(streamed.as_ref().is_err_and(expected), "{streamed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_function_calling_is_asked_for_json_lines() {
    let tools = ToolSet::from_json_str(
        r#"[{"name":"search_documents","parameters":{"type":"object"}},{"name":"weather","parameters":{"type":"object"}}]"#,
    )
    .expect("tools");
    let prompter = ToolPrompter::new();
    let calling = prompter.tool_calling_support("gemma-3-270m", &|| false);
    assert_eq!(calling, ToolCalling::from_name("jsonl").expect("a format"));
    let prompt = prompter.prompt(&calling, tools.definitions()).expect("a prompt");
    let prompt = prompt.text().expect("in words");
    assert!(prompt.contains("- search_documents"), "{prompt}");
    for provider in SHAPES {
        let server = serve(Recording::new("recorded", body_of(provider, "tool-calls-in-text.sse"))).await;
        let client = client(provider, &server);
        let request = ChatRequest::new("recorded").system(prompt).user("Find what you can.");
        let response = client.stream(&request).expect("a request").send().await.expect("a response");
        let mut calls = ToolCallParser::new(calling.clone()).parse_stream(response.text());
        let mut names = Vec::new();
        while let Some(call) = calls.next().await {
            names.push(call.expect("an item").name);
        }
        assert_eq!(names.len(), 4, "{provider:?}: {names:?}");
    }
}

#[test]
fn described_tools_match_those_of_a_request() {
    let tools = ToolSet::from_json_str(
        r#"[{"name":"weather","description":"Of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}}}},{"name":"now"}]"#,
    )
    .expect("tools");
    for provider in Provider::ALL {
        let request =
            ChatRequest::new("m").user("Hello").max_tokens(10).tools(tools.definitions().iter().cloned());
        let body: Value = serde_json::from_str(&request.to_body(*provider).expect("a body")).expect("JSON");
        let described: Value =
            serde_json::from_str(&ChatRequest::tools_to_json(*provider, tools.definitions())).expect("JSON");
        // Bedrock nests them in `toolConfig`.
        let tools = body.get("tools").unwrap_or(&body["toolConfig"]["tools"]);
        assert_eq!(*tools, described, "{provider:?}");
    }
}

#[tokio::test]
async fn an_endless_text_is_incomplete() {
    // Pieces of 1 MiB, one more than the limit.
    let pieces = (0..=64).map(|_| "a".repeat(1 << 20));
    let server = serve(Recording::new("endless", as_ollama(pieces, Some("stop")))).await;
    let prompts = PromptManager::new().with_prompt("say", Prompt::text("Say a.")).expect("a prompt");
    let result =
        prompts.ask("say", text(), &client(Provider::Ollama, &server), &ChatRequest::new("endless")).await;
    let Err(InvokeError::Llm(ResponseError::Incomplete(diagnostic))) = result else {
        panic!("more than the limit")
    };
    assert_eq!(diagnostic.message, "its text has more than 64 MiB, the limit");
}
