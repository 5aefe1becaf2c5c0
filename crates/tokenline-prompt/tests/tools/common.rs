//! Tools, and the helper behind every text: lines, complete texts and streams yield the same.

use std::convert::Infallible;

use futures_util::FutureExt;
use tokenline_core::json::Raw;
use tokenline_core::{ToolCall, ToolDefinition};
use tokenline_prompt::tools::{ParsedCalls, ToolCallParser, ToolCalling, ToolPrompter};

/// `weather` has a `city` and an optional `days`, `now` accepts anything.
pub(crate) fn tools() -> Vec<ToolDefinition> {
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}"#;
    vec![
        ToolDefinition::new("weather")
            .with_description("The weather of a city.")
            .with_parameters(Raw::new(schema).unwrap()),
        ToolDefinition::new("now"),
    ]
}

pub(crate) fn parser(calling: &str) -> ToolCallParser {
    let calling = ToolCalling::from_name(calling).unwrap();
    ToolPrompter::new().parser(&calling, &tools()).unwrap()
}

/// Calls and rejects as text.
pub(crate) fn described(parsed: &ParsedCalls) -> (Vec<String>, Vec<String>) {
    let calls = parsed.calls.iter().map(|call| serde_json::to_string(call).unwrap()).collect();
    (calls, parsed.rejected.iter().map(ToString::to_string).collect())
}

/// Reads a text at once, as a stream split at every byte and into chunks of several sizes, and line by line; all
/// results must agree.
pub(crate) fn every_way(parser: &ToolCallParser, text: &str) -> ParsedCalls {
    let whole = streamed_alike(parser, text);
    let mut calls = Vec::new();
    let mut rejected = Vec::new();
    for line in text.split_inclusive('\n') {
        match parser.parse_line(line) {
            None => {}
            Some(Ok(call)) => calls.push(serde_json::to_string(&call).unwrap()),
            Some(Err(call)) => rejected.push((call.name, call.received, call.diagnostic.message)),
        }
    }
    assert_eq!(calls, described(&whole).0, "line by line: {text}");
    let of_whole = whole.rejected.iter();
    let of_whole =
        of_whole.map(|call| (call.name.clone(), call.received.clone(), call.diagnostic.message.clone()));
    assert_eq!(rejected, of_whole.collect::<Vec<_>>(), "line by line: {text}");
    whole
}

/// Like [`every_way`], for a text with calls on several lines, or several calls on one line.
pub(crate) fn streamed_alike(parser: &ToolCallParser, text: &str) -> ParsedCalls {
    let whole = parser.parse(text);
    let bytes = text.as_bytes();
    for at in 0..=bytes.len() {
        stream(parser, &[&bytes[..at], &bytes[at..]], &whole);
    }
    for size in [1, 2, 3, 7, 16] {
        stream(parser, &bytes.chunks(size).collect::<Vec<_>>(), &whole);
    }
    whole
}

fn stream(parser: &ToolCallParser, pieces: &[&[u8]], whole: &ParsedCalls) {
    let source = futures_util::stream::iter(pieces.iter().copied().map(Ok::<_, Infallible>));
    let mut stream = parser.parse_stream(source);
    let shown = || pieces.iter().map(|piece| String::from_utf8_lossy(piece)).collect::<Vec<_>>();
    let mut calls = Vec::<ToolCall>::new();
    while let Some(call) = stream.next().now_or_never().expect("the pieces are ready") {
        calls.push(call.unwrap());
    }
    assert_eq!(calls, whole.calls, "{:?}", shown());
    assert_eq!(*stream.report(), whole.report, "{:?}", shown());
}
