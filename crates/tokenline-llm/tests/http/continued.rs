//! Continued answers over real loopback HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::model::{Habit, Model, Random, Style};
use crate::server::{ScriptedServer, Step, chunk, end, error_response, head};
use crate::soon;
use serde_json::{Value, json};
use tokenline_core::{EarlyEnd, Event, Options};
use tokenline_llm::client::{ContinuedError, ContinuedRecords, ContinuedRequest, LlmClient};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{Checkpoint, ContinuationError, ContinuationOptions, Provider, ResponseError};

fn client(server: &ScriptedServer) -> LlmClient {
    let client = LlmClient::builder(Provider::OpenAiChat).base_url(server.url()).without_api_key();
    client.http(tokenline_llm::client::reqwest::ClientBuilder::no_proxy).build().expect("a client")
}

fn request() -> ChatRequest {
    ChatRequest::new("some-model").system("Write JSON Lines.").user("What is in a cell?")
}

/// How a response of the server ends.
#[derive(Clone, Copy)]
enum End {
    Reason(&'static str),
    Dropped,
    Silent,
    /// It does not end: the connection closes with its reader.
    Held,
}

fn answer(text: &str, how: End) -> Vec<Step> {
    let mut steps = vec![head("text/event-stream")];
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.char_indices().map(|(at, _)| at).find(|at| *at >= 700).unwrap_or(rest.len());
        let event = json!({"choices": [{"index": 0, "delta": {"content": &rest[..at]}}]});
        steps.push(chunk(format!("data: {event}\n\n")));
        rest = &rest[at..];
    }
    match how {
        End::Reason(reason) => {
            let event = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            let usage = json!({"choices": [], "usage": {"completion_tokens": text.len() / 4}});
            steps.push(chunk(format!("data: {event}\n\ndata: {usage}\n\ndata: [DONE]\n\n")));
            steps.push(end());
        }
        End::Dropped => steps.push(Step::Close),
        End::Silent => steps.push(end()),
        End::Held => steps.push(Step::Hold),
    }
    steps
}

/// A server that gives these answers, one after the other, and the last one again.
async fn answers(answers: Vec<(String, End)>) -> ScriptedServer {
    ScriptedServer::new(move |number, _| {
        let (text, how) = &answers[number.min(answers.len() - 1)];
        answer(text, *how)
    })
    .await
}

/// The anchor that the last message quotes, if it has one.
fn anchor(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().expect("messages");
    let asked = messages.last()?["content"].as_str()?;
    Some(
        asked
            .split_once("exactly this last complete ")?
            .1
            .split_once(":\n")?
            .1
            .split('\n')
            .next()?
            .to_owned(),
    )
}

/// A model that knows only what it is told: it finds the anchor in its answer and goes on there.
fn simulated(
    model: Model,
    limit: usize,
    habits: Vec<Habit>,
    end: fn(&mut Random) -> End,
) -> impl Fn(usize, &crate::server::Request) -> Vec<Step> + Send + Sync {
    let random = Mutex::new(Random::new(11));
    move |_, request| {
        let mut random = random.lock().expect("not poisoned");
        let body = request.json();
        let said = match anchor(&body) {
            None => model.text.clone(),
            Some(anchor) => {
                let at = model.records.iter().position(|record| *record == anchor).expect("it was said");
                let quoted = body["messages"][2]["content"].as_str().expect("the model's own words");
                let open = quoted.rsplit('\n').next().filter(|last| *last != anchor).unwrap_or_default();
                let (start, _) = model.spans.get(at + 1).copied().unwrap_or((model.text.len(), 0));
                let habit = habits[random.below(habits.len())];
                model.goes_on(at + 1, start + open.len(), habit)
            }
        };
        let mut at = limit.min(said.len());
        while !said.is_char_boundary(at) {
            at -= 1;
        }
        let how = if at == said.len() { End::Reason("stop") } else { end(&mut random) };
        answer(&said[..at], how)
    }
}

fn distinct(count: usize) -> Vec<String> {
    let mut random = Random::new(12);
    (0..count).map(|number| crate::model::record(&mut random, number)).collect()
}

async fn all(records: &mut ContinuedRecords, most_held: usize) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(record) = soon(records.next()).await {
        all.push(record.expect("a record").value.as_str().to_owned());
        assert!(records.machine().held_bytes() < most_held, "{} bytes", records.machine().held_bytes());
    }
    all
}

#[tokio::test]
async fn a_megabyte_in_pieces_of_four_kilobytes_comes_whole() {
    let records = distinct(8000);
    let model = Model::new(records.clone(), Style::Lines);
    assert!(model.text.len() > 1_000_000);
    let habits = vec![
        Habit::Anchor,
        Habit::WhitespaceDiffers,
        Habit::NoOverlap,
        Habit::Several(4),
        Habit::Prose,
        Habit::Inside(0),
        Habit::Inside(12),
        Habit::FencedRestart,
    ];
    let script = simulated(model, 4096, habits, |random| match random.below(6) {
        0 => End::Dropped,
        1 => End::Silent,
        _ => End::Reason("length"),
    });
    let server = ScriptedServer::new(script).await;
    let continuation = ContinuationOptions::new().max_requests(2000).max_failures(50);
    let mut stream = client(&server).continued(&request(), continuation).expect("a request").records();
    // The records quoted, one response, and the open record: not the answer.
    let came = all(&mut stream, 32 * 1024).await;
    assert!(came == records, "{} of {}", came.len(), records.len());
    let report = stream.report();
    assert!(report.is_complete());
    assert_eq!((report.records(), report.rejected()), (8000, 0));
    assert_eq!(report.requests() as usize, server.requests());
    assert!(report.requests() > 250 && report.skipped() > 0 && report.failures() > 0);
}

#[tokio::test]
async fn an_array_and_its_items_are_continued_alike() {
    for style in [Style::Array, Style::Wrapped] {
        let records = distinct(300);
        let habits = vec![Habit::Anchor, Habit::WhitespaceDiffers, Habit::Prose];
        let script = simulated(Model::new(records.clone(), style), 3000, habits, |_| End::Reason("length"));
        let server = ScriptedServer::new(script).await;
        let options = match style {
            Style::Wrapped => Options::lenient().items("/rows").expect("a pointer"),
            _ => Options::lenient(),
        };
        let continuation = ContinuationOptions::new().max_requests(100);
        let asked = client(&server).continued(&request(), continuation).expect("a request");
        let mut stream = asked.with_options(options).records();
        assert_eq!(all(&mut stream, 32 * 1024).await, records);
        assert_eq!(stream.report().failures(), 0);
    }
}

#[tokio::test]
async fn a_connection_that_drops_within_a_record_loses_and_doubles_nothing() {
    for how in [End::Dropped, End::Silent, End::Reason("length"), End::Reason("stop")] {
        let server = answers(vec![
            ("{\"n\":1}\n{\"n\":2}\n{\"n\"".to_owned(), how),
            ("{\"n\":2}\n{\"n\":3}\n".to_owned(), End::Reason("stop")),
        ])
        .await;
        let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
        let mut stream = asked.records();
        assert_eq!(all(&mut stream, 32 * 1024).await, ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"]);
        assert_eq!((stream.report().requests(), server.requests()), (2, 2));
        let asked = server.log().requests[1].json();
        let messages = asked["messages"].as_array().expect("messages");
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[2], json!({"role": "assistant", "content": "{\"n\":1}\n{\"n\":2}\n{\"n\""}));
        assert_eq!(anchor(&asked).as_deref(), Some("{\"n\":2}"));
    }
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Row {
    n: u32,
}

#[tokio::test]
async fn records_are_typed_and_rejects_are_counted_once() {
    let server = answers(vec![
        ("{\"n\":1}\n{\"n\":\"two\"}\n{\"n\"".to_owned(), End::Reason("length")),
        ("{\"n\":\"two\"}\n{\"n\":3}\n".to_owned(), End::Reason("stop")),
    ])
    .await;
    let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
    let mut stream = asked.typed::<Row>().records();
    let mut rows = Vec::new();
    while let Some(record) = soon(stream.next()).await {
        rows.push(record.expect("a row").value);
    }
    assert_eq!(rows, [Row { n: 1 }, Row { n: 3 }]);
    let report = stream.report();
    assert_eq!((report.records(), report.rejected(), report.skipped()), (2, 1, 1));
    assert_eq!(report.output_tokens(), Some(11));
}

#[tokio::test]
async fn enough_is_enough_and_too_much_is_too_much() {
    let cut = || {
        ScriptedServer::new(|number, _| {
            if number == 0 {
                let mut steps = answer("{\"n\":1}\n{\"n\":\"two\"}\n{\"n\"", End::Reason("length"));
                // Otherwise the client keeps the connection.
                steps[0] = head("text/event-stream\r\nconnection: close");
                return steps;
            }
            answer("{\"n\":\"two\"}\n{\"n\":\"three\"}\n{\"n\":4}\n{\"n\":5}\n", End::Held)
        })
    };
    let asked = |server: &ScriptedServer| {
        let asked = client(server).continued(&request(), ContinuationOptions::new()).expect("a request");
        asked.typed::<Row>()
    };
    let server = cut().await;
    let mut stream = asked(&server).with_max_records(0).records();
    assert!(soon(stream.next()).await.is_none());
    assert_eq!((server.requests(), stream.report().is_complete()), (0, false));

    let mut stream = asked(&server).with_max_records(2).records();
    let mut rows = Vec::new();
    while let Some(record) = soon(stream.next()).await {
        rows.push(record.expect("a row").value.n);
    }
    assert_eq!((rows, stream.report().report().ended_by()), (vec![1, 4], Some(EarlyEnd::MaxRecords)));
    server.until(|log| log.open == 0).await;
    assert_eq!((stream.report().is_complete(), stream.checkpoint().records()), (false, 4));

    let server = cut().await;
    let mut stream = asked(&server).with_error_budget(1).events();
    let mut seen = Vec::new();
    let error = loop {
        match soon(stream.next()).await.expect("an error at the end") {
            Ok(Event::Record(record)) => seen.push(record.value.n),
            Ok(Event::Rejected(_)) => seen.push(0),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(seen, [1, 0, 0]);
    assert!(
        matches!(error, ContinuedError::Response(error) if matches!(*error, ResponseError::TooManyRejected(_)))
    );
    assert!(soon(stream.next()).await.is_none());
    assert_eq!(stream.report().report().ended_by(), Some(EarlyEnd::ErrorBudget));
}

/// The request with a repair hook, which may reply later.
fn repaired(
    asked: ContinuedRequest<Row>,
    is_later: bool,
    fix: fn(&str) -> Option<String>,
) -> ContinuedRequest<Row> {
    if !is_later {
        return asked.with_repair(move |rejected| fix(&rejected.text));
    }
    asked.with_async_repair(move |rejected| async move {
        tokio::task::yield_now().await;
        fix(&rejected.text)
    })
}

#[tokio::test]
async fn what_breaks_a_rule_has_a_second_chance_and_still_comes_once() {
    for is_later in [false, true] {
        let server = answers(vec![
            ("{\"n\":1}\n{\"n\":\"two\"}\n{\"n\"".to_owned(), End::Reason("length")),
            ("{\"n\":\"two\"}\n{\"n\":3}\n{\"n\":\"four\"}\n".to_owned(), End::Reason("stop")),
        ])
        .await;
        let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
        let asked = repaired(asked.typed::<Row>(), is_later, |text| match text {
            "{\"n\":\"two\"}" => Some("{\"n\":2}".to_owned()),
            _ => Some("{\"n\":\"no\"}".to_owned()),
        });
        let mut stream = asked.records();
        let mut rows = Vec::new();
        while let Some(record) = soon(stream.next()).await {
            let record = record.expect("a row");
            rows.push((record.value.n, record.recovered.is_empty()));
        }
        assert_eq!(rows, [(1, true), (2, false), (3, true)]);
        let report = stream.report();
        assert_eq!((report.records(), report.rejected(), report.report().repaired()), (3, 1, 1));
    }
}

#[tokio::test]
async fn a_checkpoint_does_not_have_a_record_that_is_being_repaired() {
    let server = answers(vec![("{\"n\":1}\n{\"n\":\"two\"}\n".to_owned(), End::Reason("stop"))]).await;
    let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
    let (reply, replies) = tokio::sync::mpsc::unbounded_channel();
    let replies = Arc::new(tokio::sync::Mutex::new(replies));
    let mut stream = asked
        .typed::<Row>()
        .with_async_repair(move |_| {
            let replies = Arc::clone(&replies);
            async move { replies.lock().await.recv().await }
        })
        .records();
    assert_eq!(soon(stream.next()).await.expect("a record").expect("a row").value.n, 1);
    let waits = tokio::time::timeout(Duration::from_millis(200), stream.next()).await;
    assert!(waits.is_err(), "the hook has not replied");
    assert_eq!(stream.checkpoint().records(), 1);
    reply.send("{\"n\":2}".to_owned()).expect("it waits");
    assert_eq!(soon(stream.next()).await.expect("a record").expect("a row").value.n, 2);
    assert_eq!(stream.checkpoint().records(), 2);
}

#[tokio::test]
async fn a_malformed_line_has_a_second_chance_as_well() {
    for is_later in [false, true] {
        let server = answers(vec![
            ("{\"n\":1}\n{\"n\":NaN}\n{\"n\"".to_owned(), End::Reason("length")),
            ("{\"n\":1}\n{\"n\":NaN}\n{\"n\":\"x\"}\n{\"n\":4}\n".to_owned(), End::Reason("stop")),
        ])
        .await;
        let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
        let asked = repaired(asked.typed::<Row>(), is_later, |text| match text {
            "{\"n\":NaN}" => Some("{\"n\":2}".to_owned()),
            "{\"n\":\"x\"}" => Some("{\"n\":3}".to_owned()),
            text => panic!("{text} is not for repair"),
        });
        let mut stream = asked.records();
        let mut rows = Vec::new();
        while let Some(record) = soon(stream.next()).await {
            rows.push(record.expect("a row").value.n);
        }
        assert_eq!(rows, [1, 2, 3, 4]);
        let report = stream.report();
        assert_eq!((report.records(), report.rejected(), report.report().repaired()), (4, 0, 2));
        assert_eq!((report.skipped(), report.failures()), (2, 0));
        assert_eq!(anchor(&server.log().requests[1].json()).as_deref(), Some("{\"n\":2}"));
    }
}

#[tokio::test]
async fn a_checkpoint_goes_on_in_another_client() {
    let records = distinct(100);
    let script = || {
        simulated(Model::new(distinct(100), Style::Lines), 2000, vec![Habit::Anchor], |_| {
            End::Reason("length")
        })
    };
    let first = ScriptedServer::new(script()).await;
    let continuation = ContinuationOptions::new().max_requests(50);
    let mut stream = client(&first).continued(&request(), continuation).expect("a request").records();
    let mut came = Vec::new();
    for _ in 0..42 {
        came.push(soon(stream.next()).await.expect("a record").expect("a record").value.as_str().to_owned());
    }
    let saved = serde_json::to_string(&stream.checkpoint()).expect("it can be saved");
    drop(stream);
    let checkpoint: Checkpoint = serde_json::from_str(&saved).expect("it was saved");
    assert_eq!(checkpoint.records(), 42);
    let second = ScriptedServer::new(script()).await;
    let continuation = ContinuationOptions::resume(checkpoint).max_requests(50);
    let mut stream = client(&second).continued(&request(), continuation).expect("a request").records();
    came.extend(all(&mut stream, 32 * 1024).await);
    assert_eq!(came, records);
    let asked = second.log().requests[0].json();
    assert_eq!(anchor(&asked), Some(records[41].clone()), "the first request is a continuation");
    let requests = first.requests() + second.requests();
    assert_eq!(stream.report().requests() as usize, requests);
}

#[tokio::test]
async fn limits_and_failures_are_typed() {
    let cut = || ("{\"n\":1}\n{\"n\"".to_owned(), End::Reason("length"));
    let same = answers(vec![cut(), ("{\"n\":1}\n{\"n\"".to_owned(), End::Reason("length"))]).await;
    let mut stream =
        client(&same).continued(&request(), ContinuationOptions::new()).expect("a request").records();
    soon(stream.next()).await.expect("a record").expect("a record");
    let error = soon(stream.next()).await.expect("an error").expect_err("an error");
    assert!(matches!(error, ContinuedError::Continuation(ContinuationError::NoProgress { failures: 3, .. })));
    assert!(soon(stream.next()).await.is_none());
    assert_eq!((same.requests(), stream.report().is_complete()), (4, false));

    let server = answers(vec![cut()]).await;
    let continuation = ContinuationOptions::new().max_requests(1);
    let mut stream = client(&server).continued(&request(), continuation).expect("a request").records();
    soon(stream.next()).await.expect("a record").expect("a record");
    let error = soon(stream.next()).await.expect("an error").expect_err("an error");
    let too_many = ContinuationError::TooManyRequests { requests: 1 };
    assert!(matches!(error, ContinuedError::Continuation(error) if error == too_many));

    // What was delivered is not lost with a error_response; the checkpoint has it, and the refused request is not counted.
    let server = ScriptedServer::new(|number, _| match number {
        0 => answer("{\"n\":1}\n{\"n\"", End::Reason("length")),
        _ => vec![error_response(400, &[], &json!({"error": {"message": "no"}}))],
    })
    .await;
    let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
    let mut stream = asked.records();
    soon(stream.next()).await.expect("a record").expect("a record");
    let error = soon(stream.next()).await.expect("an error").expect_err("an error");
    assert!(matches!(error, ContinuedError::Client(error) if error.status() == Some(400)));
    assert_eq!((stream.checkpoint().records(), stream.checkpoint().requests()), (1, 1));
}

#[tokio::test]
async fn what_the_provider_refuses_is_not_asked_again() {
    let server = answers(vec![("{\"n\":1}\n{\"n\"".to_owned(), End::Reason("content_filter"))]).await;
    let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
    let mut stream = asked.records();
    soon(stream.next()).await.expect("a record").expect("a record");
    let error = soon(stream.next()).await.expect("an error").expect_err("an error");
    assert!(
        matches!(error, ContinuedError::Response(error) if matches!(*error, ResponseError::Truncated(_)))
    );
    assert_eq!(server.requests(), 1);

    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"n\\\":1}\\n{\"}}]}\n\ndata: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let server = ScriptedServer::always(move || crate::server::events(body)).await;
    let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
    let mut stream = asked.records();
    soon(stream.next()).await.expect("a record").expect("a record");
    let error = soon(stream.next()).await.expect("an error").expect_err("an error");
    assert!(matches!(error, ContinuedError::Response(error) if matches!(*error, ResponseError::Provider(_))));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn dropping_the_records_closes_the_connection() {
    let server = Arc::new(
        ScriptedServer::always(|| {
            let mut steps = answer("{\"n\":1}\n{\"n\":2}\n{", End::Silent);
            steps.pop();
            steps.push(Step::Hold);
            steps
        })
        .await,
    );
    let asked = client(&server).continued(&request(), ContinuationOptions::new()).expect("a request");
    let mut stream = asked.records();
    soon(stream.next()).await.expect("a record").expect("a record");
    // A wait that is given up loses nothing.
    soon(stream.next()).await.expect("a record").expect("a record");
    assert!(tokio::time::timeout(Duration::from_millis(50), stream.next()).await.is_err());
    assert_eq!(stream.checkpoint().records(), 2);
    drop(stream);
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 1);
}
