//! A source that lost data never yields a complete response, whatever the kind of response.

use std::error::Error;
use std::sync::mpsc;

use axum::body::to_bytes;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, TryStreamExt as _, stream};
use tokenline::json::Raw;
use tokenline::{JsonlStreamParser, Limits, Options, Provider, ResponseParser, ResponseStream};
use tokenline_axum::ai_sdk::{ChatStream, JsonArray, TextResponse, chat_options};
use tokenline_axum::{DataLoss, IntoEntry, RecordsFormat, RecordsResponse};

const RECORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":1}\\n\"}}]}\n\n";
const PROSE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"So:\\n\"}}]}\n\n";
const INVALID: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":NaN}\\n\"}}]}\n\n";
const OPEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"a\\\":\"}}]}\n\n";
const UNREADABLE: &str = "data: {\"choices\":[{\"delta\"\n\n";
const ERROR: &str = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const LENGTH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Complete,
    Truncated,
    Failed,
}
use End::{Complete, Failed, Truncated};

/// The events of a response, and how a response with its records, and one with its text, must end.
const CASES: [(&[&str], End, End); 9] = [
    (&[RECORD, STOP, DONE], Complete, Complete),
    (&[RECORD, INVALID, RECORD, STOP, DONE], Complete, Complete),
    // After the last record, so that no line is cut off.
    (&[RECORD, LENGTH, DONE], Truncated, Truncated),
    (&[RECORD, OPEN, LENGTH, DONE], Truncated, Truncated),
    // The text is as the model wrote it.
    (&[RECORD, OPEN, STOP, DONE], Truncated, Complete),
    (&[RECORD, UNREADABLE, RECORD, STOP, DONE], Failed, Failed),
    (&[RECORD, UNREADABLE, RECORD, LENGTH, DONE], Failed, Failed),
    (&[RECORD, ERROR], Failed, Failed),
    (&[RECORD], Failed, Failed),
];

type Source = ResponseStream<stream::Iter<std::vec::IntoIter<Result<&'static str, std::io::Error>>>, Raw>;

fn response(events: &[&'static str]) -> Source {
    let events: Vec<_> = events.iter().map(|event| Ok(*event)).collect();
    let parser = ResponseParser::new(Provider::OpenAiChat, chat_options(Options::lenient().into()));
    ResponseStream::new(
        stream::iter(events),
        parser.with_options(|options| options.text_as(tokenline::llm::TextMode::Records)),
    )
}

/// The body, if it does not break off.
async fn body(response: impl IntoResponse) -> Option<String> {
    let response: Response = response.into_response();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.ok()?;
    Some(String::from_utf8(bytes.to_vec()).expect("UTF-8"))
}

/// How a response with records ends in both formats.
async fn records<S, E>(respond: impl Fn(RecordsFormat) -> RecordsResponse<S>) -> End
where
    S: Stream<Item = Result<E, S::Error>> + futures_util::TryStream<Ok = E> + Send + 'static,
    E: IntoEntry,
    S::Error: Into<axum::BoxError>,
{
    let lines = body(respond(RecordsFormat::Ndjson)).await;
    let events = body(respond(RecordsFormat::Sse)).await.expect("it ends with an event");
    let (_, last) = events.trim_end().rsplit_once("\n\n").expect("several events");
    let end = match last {
        last if last.contains("event: error\n") => Failed,
        last if last.contains("event: done\n") && last.ends_with(",\"truncated\":true}") => Truncated,
        last if last.contains("event: done\n") => Complete,
        last => panic!("{last}"),
    };
    assert_eq!(lines.is_some(), end == Complete, "{events}");
    end
}

#[tokio::test]
async fn a_loss_does_not_end_as_success() {
    for (events, of_records, of_text) in CASES {
        let new = |format| RecordsResponse::new(format, response(events).records());
        assert_eq!(records(new).await, of_records, "records of {events:?}");
        let new = |format| RecordsResponse::new(format, response(events));
        assert_eq!(records(new).await, of_records, "events of {events:?}");
        let new = |format| RecordsResponse::from_entries(format, response(events).map_ok(|event| event));
        assert_eq!(records(new).await, of_records, "entries of {events:?}");

        let array = body(JsonArray::new(response(events).records())).await;
        assert_eq!(array.is_some(), of_records == Complete, "array of {events:?}");
        assert!(array.is_none_or(|array| array.ends_with(']')));
        let text = body(TextResponse::new(response(events).text())).await;
        assert_eq!(text.is_some(), of_text == Complete, "text of {events:?}");
        let chat = body(ChatStream::of(response(events))).await.expect("it ends with an event");
        assert_eq!(chat.contains("\"type\":\"error\""), of_text == Failed, "{events:?}: {chat}");
        assert_eq!(chat.contains("\"finishReason\":\"length\""), of_text == Truncated, "{events:?}: {chat}");
    }
}

/// More prose than the report keeps diagnostics.
#[tokio::test]
async fn a_loss_counts_that_the_report_does_not_keep() {
    for (event, end) in [(UNREADABLE, Failed), (OPEN, Truncated)] {
        let new = |format| {
            let limits = Limits { diagnostics: 1, ..Limits::default() };
            let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient().limits(limits));
            let events = [PROSE, PROSE, RECORD, event, STOP, DONE].map(Ok::<_, std::io::Error>);
            RecordsResponse::new(format, ResponseStream::new(stream::iter(events), parser).records())
        };
        assert_eq!(records(new).await, end);
    }
}

#[tokio::test]
async fn the_operator_learns_why_a_response_broke_off() {
    let (sender, reasons) = mpsc::channel();
    let log = |sender: &mpsc::Sender<String>| {
        let sender = sender.clone();
        move |error: &(dyn Error + Send + Sync + 'static)| {
            sender.send(error.to_string()).expect("the test waits");
        }
    };
    let cases: [(&[&str], &str); 4] = [
        (&[RECORD, STOP, DONE], ""),
        (&[RECORD, ERROR], "the provider failed: overloaded"),
        (&[RECORD, LENGTH, DONE], "the response "),
        (&[RECORD, UNREADABLE, STOP, DONE], ": "),
    ];
    for (events, reason) in cases {
        body(JsonArray::new(response(events).records()).on_error(log(&sender))).await;
        body(TextResponse::new(response(events).text()).on_error(log(&sender))).await;
        let log = log(&sender);
        let lines = RecordsResponse::new(RecordsFormat::Ndjson, response(events).records());
        body(lines.on_error(move |error| {
            // An error of the provider is one of the stream.
            assert_eq!(error.is::<DataLoss>(), !error.to_string().contains("overloaded"));
            log(error);
            String::new()
        }))
        .await;
        let seen: Vec<String> = reasons.try_iter().collect();
        assert_eq!(seen.len(), if reason.is_empty() { 0 } else { 3 }, "{seen:?}");
        assert!(seen.iter().all(|seen| seen.contains(reason)), "{seen:?}");
    }
}

/// A rejected line of an upload does not make the response fail.
#[tokio::test]
async fn a_bad_line_is_no_loss() {
    let new = |format| {
        let lines = ["{\"a\":1}\n{\"a\":NaN}\n7\n", "{\"a\":2}\n"].map(Ok::<_, std::io::Error>);
        let parser = JsonlStreamParser::<_, Raw>::new(stream::iter(lines)).with_options(Options::strict());
        RecordsResponse::new(format, parser)
    };
    assert_eq!(records(new).await, Complete);
}
