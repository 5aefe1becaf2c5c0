//! Successful responses.

use futures_util::StreamExt;
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::replay::{ContentType, Pace, Recording, ReplayServer};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{Provider, ResponseParser};

use crate::common::{decode, fixture, fixtures};
use crate::server::{ScriptedServer, Step, chunk, end, events, head, response};
use crate::{client, request, send, settle, soon};

/// The bodies of `{"a":1}` and `{"a":2}`, and of a call after some text.
const BODIES: [(Provider, &str, &str); 5] = [
    (
        Provider::OpenAiChat,
        "openai-chat/quirks/finish-reason-without-done.sse",
        "openai-chat/quirks/text-then-call.sse",
    ),
    (Provider::OpenAiResponses, "openai-responses/text.sse", "openai-responses/text-then-call.sse"),
    (Provider::Anthropic, "anthropic/text.sse", "anthropic/text-then-tool.sse"),
    (Provider::Gemini, "gemini/text.sse", "gemini/text-then-call.sse"),
    (Provider::Ollama, "ollama/text.ndjson", "ollama/text-then-call.ndjson"),
];

#[derive(Debug, PartialEq, serde::Deserialize)]
struct A {
    a: u64,
}

#[tokio::test]
async fn records_and_calls_come_from_every_provider() {
    for (provider, records, calls) in BODIES {
        let recordings = [("records", records), ("calls", calls)];
        let recordings =
            recordings.map(|(name, path)| Recording::new(name, fixture(path)).pace(Pace::events()));
        let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await.expect("a server");
        let client = client(provider, &server.url()).build().expect("a client");

        let request = client.stream(&ChatRequest::new("records").user("?")).expect("a request").typed::<A>();
        let mut records = soon(request.send()).await.expect("a response").records();
        let mut seen = Vec::new();
        while let Some(record) = soon(records.next()).await {
            seen.push(record.expect("a record").value);
        }
        assert_eq!(seen, [A { a: 1 }, A { a: 2 }], "{provider:?}");
        assert!(records.report().is_complete());
        settle().await;

        let request = client.stream(&ChatRequest::new("calls").user("?")).expect("a request");
        let mut calls = soon(request.send()).await.expect("a response").tool_calls();
        let call = soon(calls.next()).await.expect("a call").expect("a call");
        let parameters = call.parameters.to_value().expect("parameters");
        assert_eq!((&*call.name, parameters), ("search", serde_json::json!({"query": "fjord"})));
        assert!(soon(calls.next()).await.is_none(), "{provider:?}");
        assert!(calls.report().is_complete());

        let traffic = server.traffic();
        assert_eq!((traffic.requests, traffic.bodies_finished, traffic.bodies_dropped), (2, 2, 0));
        assert_eq!(traffic.open_connections, 1, "the second request took the connection of the first");
    }
}

#[tokio::test]
async fn every_fixture_is_the_same_over_http() {
    for provider in Provider::ALL {
        let name = |at: usize| format!("fixture-{at}");
        let paths = fixtures(*provider);
        let recordings = paths.iter().enumerate().map(|(at, path)| {
            let bytes = std::fs::read(path).expect("it can be read");
            let recording = Recording::new(name(at), bytes).pace(Pace::events());
            match path.extension() {
                Some(extension) if extension == "json" => recording.content_type(ContentType::Json),
                _ => recording,
            }
        });
        let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await.expect("a server");
        let client = client(*provider, &server.url()).build().expect("a client");
        for (at, path) in paths.iter().enumerate() {
            let request = client.stream(&ChatRequest::new(name(at)).user("?")).expect("a request");
            let reply = soon(request.send()).await.expect("a response");
            let events: Vec<_> = soon(reply.map(|event| event.expect("an event")).collect()).await;
            let mut parser = ResponseParser::<Raw>::new(*provider, Options::lenient());
            let expected = decode(&mut parser, [&*std::fs::read(path).expect("it can be read")]).events;
            assert_eq!(events, expected, "{}", path.display());
        }
        assert_eq!(server.traffic().requests, paths.len() as u64);
    }
}

/// The content types that are accepted as streams.
#[tokio::test]
async fn streams_have_many_content_types() {
    let array = "gemini/array-pretty.json";
    for (provider, path, content_type) in [
        (Provider::OpenAiChat, BODIES[0].1, "content-type: text/event-stream; charset=utf-8\r\n"),
        (Provider::OpenAiChat, BODIES[0].1, "Content-Type: TEXT/Event-Stream\r\n"),
        (Provider::OpenAiChat, BODIES[0].1, "content-type: text/plain\r\n"),
        (Provider::OpenAiChat, BODIES[0].1, "content-type: application/octet-stream\r\n"),
        (Provider::Anthropic, BODIES[2].1, ""),
        (Provider::Gemini, BODIES[3].1, "content-type: text/event-stream\r\n"),
        (Provider::Gemini, array, "content-type: application/json; charset=UTF-8\r\n"),
        (Provider::Ollama, BODIES[4].1, "content-type: application/x-ndjson\r\n"),
        (Provider::Ollama, BODIES[4].1, "content-type: application/json\r\n"),
    ] {
        let server = ScriptedServer::always(move || {
            let head = format!("HTTP/1.1 200 OK\r\n{content_type}transfer-encoding: chunked\r\n\r\n");
            vec![Step::Write(head.into_bytes()), chunk(fixture(path)), end()]
        })
        .await;
        let mut records = send(client(provider, &server.url())).await.expect(content_type).records();
        while let Some(record) = soon(records.next()).await {
            record.expect(content_type);
        }
        assert!(
            records.report().records() > 0 && records.report().is_complete(),
            "{provider:?} {content_type}"
        );
    }
}

#[tokio::test]
async fn a_response_of_known_length_leaves_its_connection_to_the_next() {
    let body = || String::from_utf8(fixture(BODIES[0].1)).expect("text");
    let server = ScriptedServer::always(move || {
        vec![response(200, &[("content-type", "text/event-stream")], &body())]
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    for _ in 0..3 {
        let reply = soon(client.clone().stream(&request()).expect("a request").send()).await;
        assert_eq!(soon(reply.expect("a response").records().count()).await, 2);
        settle().await;
    }
    assert_eq!((server.requests(), server.log().connections), (3, 1));
}

#[tokio::test]
async fn parallel_responses_do_not_mix() {
    // Each response names its request.
    let server = ScriptedServer::new(|_, request| {
        let n = request.json()["n"].clone();
        let text = crate::common::text(&format!("{{\"n\":{n}}}\n")).repeat(20);
        let mut steps = vec![head("text/event-stream")];
        steps.extend(text.split_inclusive("\n\n").map(chunk));
        steps.extend([chunk("data: [DONE]\n\n"), end()]);
        steps
    })
    .await;
    let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
    let replies = (0..20_u64).map(|n| {
        let request = client.stream(&request().extra("n", n)).expect("a request");
        async move {
            let records = request.send().await.expect("a response").records();
            let values: Vec<_> =
                records.map(|record| record.expect("a record").value.to_string()).collect().await;
            assert_eq!(values, vec![format!("{{\"n\":{n}}}"); 20]);
        }
    });
    soon(futures_util::future::join_all(replies)).await;
    assert_eq!(server.requests(), 20);
}

#[tokio::test]
async fn an_empty_response_is_incomplete() {
    let server = ScriptedServer::always(|| events("")).await;
    let mut records = send(client(Provider::OpenAiChat, &server.url())).await.expect("a response").records();
    let error = soon(records.next()).await.expect("an error").expect_err("an error");
    let expected = "the response is incomplete: the stream ended without a finish reason or `[DONE]`";
    assert_eq!(error.to_string(), expected);
}
