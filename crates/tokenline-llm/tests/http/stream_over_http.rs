//! Responses over real loopback HTTP: reqwest, the replay server, the stream.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::common::{call, chunk, parser, text};
use crate::{http_client, soon};
use reqwest::Response;
use tokenline_core::Record;
use tokenline_core::json::Raw;
use tokenline_llm::replay::{self, Chunking, Fault, Gate, Pace, Recording, ReplayServer};
use tokenline_llm::{ResponseError, ResponseEvent, ResponseStream, TextMode};

const DONE: &str = "data: [DONE]\n\n";

async fn serve(recordings: impl IntoIterator<Item = Recording>) -> ReplayServer {
    let loopback = ([127, 0, 0, 1], 0).into();
    ReplayServer::bind(loopback, recordings).await.expect("a free port")
}

async fn ask(server: &ReplayServer, model: &str) -> Response {
    let client = http_client();
    let request = client.post(format!("{}/v1/chat/completions", server.url()));
    let body = serde_json::json!({"model": model, "stream": true, "messages": []}).to_string();
    soon(request.body(body).send()).await.expect("a response")
}

fn numbered(record: &Record<Raw>) -> u64 {
    record.value.to_value().expect("a number")["n"].as_u64().expect("a number")
}

#[tokio::test]
async fn records_and_calls_arrive_before_the_response_ends() {
    let wire = [
        text("{\"n\":0}\n"),
        text("{\"n\":"),
        text("1}\n{\"n\":2}"),
        text("\n"),
        call("a", "f", "{\"x\":1}"),
        // With the same index, so that it proves the previous call complete.
        call("b", "g", "{}"),
        chunk("{}", "tool_calls"),
        DONE.to_owned(),
    ];
    let gate = Gate::new();
    let server = serve([Recording::new("gated", wire.concat()).pace(Pace::events()).gate(&gate)]).await;
    let body = ask(&server, "gated").await.bytes_stream();
    let parser = tokenline_llm::ResponseParser::new(
        tokenline_llm::Provider::OpenAiChat,
        tokenline_core::Options::default(),
    );
    let mut events = ResponseStream::<_, Raw>::new(body, parser);

    // After this many pieces, the complete ones are there, and no more.
    for (pieces, expected) in
        [(1, &["0"][..]), (1, &[]), (1, &["1"]), (1, &["2"]), (1, &[]), (1, &["f"]), (1, &["g", "finish"])]
    {
        gate.release(pieces);
        for expected in expected {
            let seen = match soon(events.next()).await.expect("an event").expect("no error") {
                ResponseEvent::Record { record, .. } => numbered(&record).to_string(),
                ResponseEvent::ToolCall { call, .. } => call.name,
                ResponseEvent::Finish { .. } => "finish".to_owned(),
                other => panic!("{other:?}"),
            };
            assert_eq!(seen, *expected);
        }
        assert_eq!(server.traffic().bodies_finished, 0);
        assert!(tokio::time::timeout(Duration::from_millis(20), events.next()).await.is_err());
    }
    gate.open();
    assert!(soon(events.next()).await.is_none());
    assert!(events.report().is_complete());
}

#[tokio::test]
async fn dropping_the_calls_closes_the_connection() {
    let wire = (0..100)
        .map(|n| text(&format!("{{\"name\":\"f\",\"parameters\":{{\"n\":{n}}}}}\n")))
        .collect::<String>();
    let gate = Gate::new();
    let server = serve([Recording::new("gated", wire).pace(Pace::events()).gate(&gate)]).await;
    let body = ask(&server, "gated").await.bytes_stream();
    let mut calls = ResponseStream::new(body, parser(TextMode::Records)).tool_calls();
    gate.release(3);
    for _ in 0..3 {
        assert_eq!(soon(calls.next()).await.expect("a call").expect("no error").name, "f");
    }
    assert_eq!(server.traffic().open_connections, 1);
    drop(calls);
    let traffic = soon(server.wait_for(|traffic| traffic.open_connections == 0)).await;
    assert_eq!((traffic.bodies_dropped, traffic.bodies_finished), (1, 0));
}

#[tokio::test]
async fn a_consumer_that_does_not_poll_stalls_the_server() {
    let records = 200_000;
    let wire =
        (0..records).map(|n| text(&format!("{{\"n\":{n}}}\n"))).chain([DONE.to_owned()]).collect::<String>();
    let total = wire.len() as u64;
    let pace = Pace::from(Chunking::Bytes(NonZeroUsize::new(16 * 1024).expect("not zero")));
    let server = serve([Recording::new("large", wire).pace(pace)]).await;
    let body = ask(&server, "large").await.bytes_stream();
    let mut stream = ResponseStream::new(body, parser(TextMode::Records)).records();
    assert_eq!(numbered(&soon(stream.next()).await.expect("a record").expect("no error")), 0);

    // It stalls when the buffers of the sockets are full.
    let mut stalled = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = server.traffic().body_bytes;
        if now == stalled {
            break;
        }
        stalled = now;
    }
    assert!(stalled < total * 3 / 4, "{stalled} of {total} bytes sent to a client that reads nothing");

    let mut next = 1;
    while let Some(record) = soon(stream.next()).await {
        assert_eq!(numbered(&record.expect("no error")), next);
        next += 1;
    }
    assert_eq!(next, records);
    assert!(stream.report().is_complete());
    assert_eq!(soon(server.wait_for(|traffic| traffic.bodies_finished == 1)).await.body_bytes, total);
}

#[tokio::test]
async fn a_broken_connection_is_an_error_and_a_silent_close_another() {
    let wire = [text("{\"n\":0}\n"), text("{\"n\":1}\n"), call("a", "f", "{}"), DONE.to_owned()].concat();
    let place = wire.len() - DONE.len();
    for (fault, is_source) in [(Fault::BreakAfter(place), true), (Fault::EndAfter(place), false)] {
        let recording = Recording::new("faulty", wire.clone()).pace(Pace::events()).fault(fault);
        let server = serve([recording]).await;
        let body = ask(&server, "faulty").await.bytes_stream();
        let mut stream = ResponseStream::new(body, parser(TextMode::Records)).records();
        for n in 0..2 {
            assert_eq!(numbered(&soon(stream.next()).await.expect("a record").expect("no error")), n);
        }
        match soon(stream.next()).await {
            Some(Err(ResponseError::Source(_))) => assert!(is_source),
            Some(Err(ResponseError::Incomplete(_))) => assert!(!is_source),
            other => panic!("{other:?}"),
        }
        assert!(soon(stream.next()).await.is_none());
        assert!(!stream.report().is_complete());
        assert_eq!((stream.report().tool_calls(), stream.report().rejected()), (0, 2));
    }
}

#[tokio::test]
async fn the_recorded_responses_are_complete() {
    let recordings = replay::builtin().into_iter().map(|recording| recording.pace(Pace::events()));
    let server = serve(recordings).await;
    for (model, records, calls, rejected) in [
        ("definitions", 8, 0, 0),
        ("fenced-mixed", 8, 0, 0),
        ("tool-calls-in-text", 0, 4, 0),
        ("truncated", 4, 0, 1),
    ] {
        let body = ask(&server, model).await.bytes_stream();
        let stream = ResponseStream::new(body, parser(TextMode::Records));
        let report = if calls > 0 {
            let mut stream = stream.tool_calls().infallible();
            while soon(stream.next()).await.is_some() {}
            stream.report().clone()
        } else {
            let mut stream = stream.records().infallible();
            while soon(stream.next()).await.is_some() {}
            stream.report().clone()
        };
        assert!(report.is_complete(), "{model}");
        assert_eq!(
            (report.records(), report.tool_calls(), report.rejected()),
            (records, calls, rejected),
            "{model}"
        );
    }
}
