//! Results of batches: the reader gives what a parser of the response's body gives.

use std::collections::BTreeSet;
use std::iter;

use serde_json::json;
use tokenline_core::json::Raw;
use tokenline_core::{Options, Origin};
use tokenline_llm::batch::{BatchFormat, BatchOutcome, BatchReader, FailureKind};
use tokenline_llm::{LentResponseEvent, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
use tokenline_schema::SchemaValidator;

use crate::common::extent::cases;
use crate::random::{Random, VALUE_PARTS};

const CHAT: &str = r#"{"custom_id":"a","response":{"status_code":200,"body":{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"{\"n\":1}\nwell\n{\"n\":"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}},"error":null}"#;
const NO_REASON: &str = r#"{"custom_id":"b","response":{"status_code":200,"body":{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"{\"n\":2}"}}]}},"error":null}"#;
const RESPONSES: &str = r#"{"custom_id":"c","response":{"status_code":200,"body":{"object":"response","status":"completed","output":[{"type":"message","status":"completed","content":[{"type":"output_text","text":"{\"n\":4}"}]}]}},"error":null}"#;
const EXPIRED: &str =
    r#"{"custom_id":"d","response":null,"error":{"code":"batch_expired","message":"too late"}}"#;
const LIMITED: &str = r#"{"custom_id":"e","response":{"status_code":429,"body":{"error":{"message":"Rate limit reached","code":"rate_limit"}}},"error":null}"#;
const ANTHROPIC: &str = r#"{"custom_id":"one","result":{"type":"succeeded","message":{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"{\"n\":1}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}}}"#;
const BEDROCK: &str = r#"{"recordId":"one","modelInput":{},"modelOutput":{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"n\":1}"}],"stop_reason":"end_turn"}}"#;
const GEMINI: &str = r#"{"key":"one","response":{"candidates":[{"content":{"role":"model","parts":[{"text":"{\"n\":1}"}]},"finishReason":"STOP"}]}}"#;

/// The events of a body on its own.
fn events_of_body(format: BatchFormat, line: &str) -> Vec<ResponseEvent<Raw>> {
    let BatchOutcome::Response { provider, body } = format.parse(line).expect("JSON").outcome else {
        return Vec::new();
    };
    let mut parser = ResponseParser::<Raw>::new(provider, Options::lenient()).whole_body();
    parser.push(body.as_str());
    parser.finish();
    std::iter::from_fn(|| parser.next_event()).map(without_wire_place).collect()
}

/// The place on the wire is that of the line or of the body.
fn without_wire_place(mut event: ResponseEvent<Raw>) -> ResponseEvent<Raw> {
    if let ResponseEvent::Rejected { diagnostic, .. } | ResponseEvent::Note { diagnostic, .. } = &mut event
        && diagnostic.origin == Origin::Wire
    {
        (diagnostic.line, diagnostic.span) = Default::default();
    }
    event
}

#[test]
fn a_result_has_the_events_of_its_body() {
    let mut reader = BatchReader::<Raw>::new(BatchFormat::OpenAi, Options::lenient());
    // Twice: nothing of a response is left for the next.
    for line in [CHAT, NO_REASON, RESPONSES, EXPIRED, CHAT, LIMITED, NO_REASON, CHAT] {
        let expected = events_of_body(BatchFormat::OpenAi, line);
        let mut result = reader.read_line(line).expect("JSON");
        let events: Vec<_> = std::iter::from_fn(|| result.next_event()).map(without_wire_place).collect();
        assert_eq!(events, expected, "{line}");
        assert_eq!(result.failure.is_some(), expected.is_empty(), "{line}");
    }
}

/// A schema: `n` is an integer.
fn validates(options: ResponseOptions) -> ResponseOptions {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    options.validator(schema.parse::<SchemaValidator>().expect("a schema"))
}

type Settings = fn(ResponseOptions) -> ResponseOptions;

/// The settings with which records are, or are not, lent.
const SETTINGS: [(&str, Settings); 8] = [
    ("records", |options| options),
    ("validated", validates),
    ("repaired", |options| validates(options).repair(|_| Some(r#"{"n":0}"#.to_owned()))),
    ("text", ResponseOptions::text_and_reasoning),
    ("deltas", ResponseOptions::text_deltas),
    ("calls", |options| options.text_as(TextMode::RecordsAndToolCalls)),
    ("at most two", |options| options.max_records(2)),
    ("at most one reject", |options| validates(options).error_budget(1)),
];

#[test]
fn lent_events_are_the_same() {
    const LINES: [&str; 9] = [
        r#"{"n":1}"#,
        r#"{"n":"a"}"#,
        "prose",
        r#"{"n":1,}"#,
        "```json",
        r#"{"text":"\u00e9\n"} {"n":3}"#,
        "",
        r#"{"name":"ls","parameters":{}}"#,
        "[{\"n\":1},\n{\"n\":2}]",
    ];
    let mut random = Random::new(7);
    let mut lent_with = BTreeSet::new();
    for _ in 0..cases(60) {
        let lines = random.below(40);
        let mut text = String::new();
        for _ in 0..lines {
            let part = if random.once_in(4) { *random.pick(&VALUE_PARTS) } else { *random.pick(&LINES) };
            text.push_str(part);
            text.push_str(if !random.once_in(10) { "\n" } else { "" });
        }
        let text = if random.once_in(10) { text.repeat(20) } else { text };
        let reason = if !random.once_in(5) { "stop" } else { "length" };
        let message = json!({"role": "assistant", "content": text});
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        let output = json!([{"type": "message", "content": [{"type": "output_text", "text": text}]}]);
        let bodies = [
            json!({"object": "chat.completion", "choices": choices}),
            json!({"object": "response", "status": "completed", "output": output}),
        ];
        for (body, (name, settings)) in bodies.iter().flat_map(|body| SETTINGS.map(|setting| (body, setting)))
        {
            let line = json!({"custom_id": "a", "response": {"status_code": 200, "body": body}}).to_string();
            let options = settings(Options::lenient().into());
            let new = || BatchReader::<Raw>::new(BatchFormat::OpenAi, options.clone());
            let (mut pulled, mut lending) = (new(), new());
            // Twice: nothing of a response is left for the next.
            for _ in 0..2 {
                let mut result = pulled.read_line(&line).expect("JSON");
                let expected: Vec<_> = iter::from_fn(|| result.next_event()).collect();
                let mut lent = lending.read_line(&line).expect("JSON");
                let mut events = Vec::new();
                lent.lend_events(|event| {
                    events.push(match event {
                        LentResponseEvent::Record { choice, block, record } => {
                            lent_with.insert(name);
                            let record = record.deserialize().expect("any record fits");
                            ResponseEvent::Record { choice, block, record }
                        }
                        LentResponseEvent::Event(event) => event,
                        other => panic!("{other:?}"),
                    });
                });
                assert_eq!(events, expected, "{name}: {line}");
                let (lent, pulled) = (lent.response().expect("a response"), result.response().expect("one"));
                assert_eq!(lent.report(), pulled.report(), "{name}: {line}");
                assert_eq!(lent.is_complete(), pulled.is_complete(), "{name}: {line}");
            }
        }
    }
    assert_eq!(lent_with.into_iter().collect::<Vec<_>>(), ["deltas", "records", "text", "validated"]);
}

#[test]
fn failures_have_a_kind() {
    let mut reader = BatchReader::<Raw>::new(BatchFormat::OpenAi, Options::lenient());
    let result = reader.read_line(EXPIRED).expect("JSON");
    let failure = result.failure.expect("failed");
    assert_eq!((failure.kind, &*failure.message), (FailureKind::Expired, "too late"));
    let result = reader.read_line(LIMITED).expect("JSON");
    assert_eq!((result.custom_id.as_deref(), result.status), (Some("e"), Some(429)));
    let failure = result.failure.expect("failed");
    assert_eq!((failure.kind, &*failure.message), (FailureKind::Errored, "Rate limit reached"));
    let mut reader = BatchReader::<Raw>::new(BatchFormat::Anthropic, Options::lenient());
    let result = reader.read_line(r#"{"custom_id":"x","result":{"type":"canceled"}}"#).expect("JSON");
    assert_eq!(result.failure.expect("failed").kind, FailureKind::Canceled);
    assert!(reader.read_line("not json").is_err());
}

#[test]
fn a_line_in_another_format_is_named() {
    for (format, line, other) in [
        (BatchFormat::OpenAi, ANTHROPIC, "anthropic-batch"),
        (BatchFormat::OpenAi, BEDROCK, "bedrock-batch"),
        (BatchFormat::OpenAi, GEMINI, "gemini-batch"),
        (BatchFormat::Anthropic, CHAT, "openai-batch"),
        (BatchFormat::Bedrock, GEMINI, "gemini-batch"),
        (BatchFormat::Gemini, CHAT, "openai-batch"),
    ] {
        let mut reader = BatchReader::<Raw>::new(format, Options::lenient());
        let failure = reader.read_line(line).expect("JSON").failure.expect("no result of this format");
        assert_eq!(failure.message, format!("the line is in the format {other}, not {format}"));
    }
}

#[test]
fn a_response_with_an_error_status_has_failed() {
    let line = CHAT.replace("200", "502");
    let mut reader = BatchReader::<Raw>::new(BatchFormat::OpenAi, Options::lenient());
    let mut result = reader.read_line(&line).expect("JSON");
    assert_eq!(result.failure.as_ref().map(|failure| &*failure.message), Some("HTTP status 502"));
    assert!(result.next_event().is_none());
}

#[test]
fn a_line_tells_its_format() {
    for (line, format) in [
        (CHAT, BatchFormat::OpenAi),
        (EXPIRED, BatchFormat::OpenAi),
        (ANTHROPIC, BatchFormat::Anthropic),
        (BEDROCK, BatchFormat::Bedrock),
        (r#"{"recordId":"1","error":{"errorCode":400}}"#, BatchFormat::Bedrock),
        (GEMINI, BatchFormat::Gemini),
        (r#"{"metadata":{"key":"two"},"error":{"code":13}}"#, BatchFormat::Gemini),
    ] {
        assert_eq!(BatchFormat::detect(line), Some(format), "{line}");
    }
    for line in ["", "not json", "{}", r#"{"custom_id":"x"}"#, r#"{"response":{"a":1}}"#, "[1]"] {
        assert_eq!(BatchFormat::detect(line), None, "{line}");
    }
}
