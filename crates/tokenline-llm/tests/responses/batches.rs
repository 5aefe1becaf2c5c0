//! Batch result files: formats, and the reader of their responses.

use tokenline_core::Options;
use tokenline_core::json::{Parser, Raw};
use tokenline_llm::batch::{BatchFormat, BatchOutcome, BatchReader};
use tokenline_llm::{ResponseEvent, ResponseParser};

/// A file of each format: a response, a failure, and what a reader has to say of them.
const FILES: [(BatchFormat, [&str; 3]); 4] = [
    (
        BatchFormat::OpenAi,
        [
            r#"{"id":"b1","custom_id":"one","response":{"status_code":200,"body":{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"{\"a\":1}\n{\"a\":"},"finish_reason":"length"}]}},"error":null}"#,
            r#"{"id":"b2","custom_id":"two","response":{"status_code":429,"body":{"error":{"message":"slow down","type":"rate_limit"}}},"error":null}"#,
            r#"{"id":"b3","custom_id":"three","response":{"status_code":200,"body":{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{\"a\":2}"}]}]}}}"#,
        ],
    ),
    (
        BatchFormat::Anthropic,
        [
            r#"{"custom_id":"one","result":{"type":"succeeded","message":{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":1}\n{\"a\":"}],"stop_reason":"max_tokens"}}}"#,
            r#"{"custom_id":"two","result":{"type":"errored","error":{"type":"error","error":{"type":"rate_limit","message":"slow down"}}}}"#,
            r#"{"custom_id":"three","result":{"type":"succeeded","message":{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":2}"}],"stop_reason":"end_turn"}}}"#,
        ],
    ),
    (
        BatchFormat::Bedrock,
        [
            r#"{"recordId":"one","modelInput":{},"modelOutput":{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":1}\n{\"a\":"}],"stop_reason":"max_tokens"}}"#,
            r#"{"recordId":"two","modelInput":{},"error":{"errorCode":429,"errorMessage":"slow down"}}"#,
            r#"{"recordId":"three","modelInput":{},"modelOutput":{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":2}"}],"stop_reason":"end_turn"}}"#,
        ],
    ),
    (
        BatchFormat::Gemini,
        [
            r#"{"key":"one","response":{"candidates":[{"content":{"role":"model","parts":[{"text":"{\"a\":1}\n{\"a\":"}]},"finishReason":"MAX_TOKENS"}]}}"#,
            r#"{"key":"two","error":{"code":429,"message":"slow down"}}"#,
            r#"{"metadata":{"key":"three"},"response":{"candidates":[{"content":{"role":"model","parts":[{"text":"{\"a\":2}"}]},"finishReason":"STOP"}]}}"#,
        ],
    ),
];

/// The records and the codes of rejects.
fn summary(event: ResponseEvent<Raw>) -> Option<String> {
    match event {
        ResponseEvent::Record { record, .. } => Some(record.value.to_string()),
        ResponseEvent::Rejected { diagnostic, .. } => Some(diagnostic.code.as_str().to_owned()),
        _ => None,
    }
}

#[test]
fn each_line_is_a_response_or_an_error() {
    for (format, lines) in FILES {
        let mut parser = Parser::new();
        let new_parser = |provider| ResponseParser::<Raw>::new(provider, Options::lenient());
        let mut reader = BatchReader::new(format, new_parser);
        let mut seen = Vec::new();
        // Twice: a response leaves nothing behind for the next one.
        for line in lines.into_iter().chain(lines) {
            let line = parser.parse(line).expect("JSON");
            assert_eq!(BatchFormat::detect(line), Some(format));
            let mut result = reader.read(line);
            let id = result.custom_id.take().expect("an id");
            seen.push(format!("{id} {}", result.error.take().unwrap_or_default()));
            seen.extend(std::iter::from_fn(|| result.next_event()).filter_map(summary));
        }
        let expected = ["one ", r#"{"a":1}"#, "truncated", "two slow down", "three ", r#"{"a":2}"#];
        assert_eq!(seen, [expected, expected].concat(), "{format:?}");
    }
}

#[test]
fn the_reader_and_a_parser_of_the_owned_body_agree() {
    for (format, lines) in FILES {
        let new_parser = |provider| ResponseParser::<Raw>::new(provider, Options::lenient());
        let mut reader = BatchReader::new(format, new_parser);
        for line in lines {
            let mut parser = Parser::new();
            let mut read = reader.read(parser.parse(line).expect("JSON"));
            let owned = format.parse(line).expect("JSON");
            assert_eq!((&read.custom_id, read.status), (&owned.custom_id, owned.status));
            let expected = match owned.outcome {
                BatchOutcome::Response { provider, body } => {
                    let mut parser = new_parser(provider).whole_body();
                    parser.push(body.as_str());
                    parser.finish();
                    std::iter::from_fn(|| parser.next_event()).collect::<Vec<_>>()
                }
                BatchOutcome::Failed { message } => {
                    assert_eq!(read.error, Some(message));
                    Vec::new()
                }
                other => panic!("{other:?}"),
            };
            let events: Vec<_> = std::iter::from_fn(|| read.next_event()).collect();
            assert_eq!(format!("{events:?}"), format!("{expected:?}"));
        }
    }
}

#[test]
fn other_lines_are_no_batch_results() {
    for line in ["{}", "[]", "7", r#"{"custom_id":"1"}"#, r#"{"error":{"message":"?"}}"#, r#"{"key":"1"}"#] {
        assert_eq!(BatchFormat::detect(Parser::new().parse(line).expect("JSON")), None, "{line}");
    }
}
