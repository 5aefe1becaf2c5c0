//! Inputs, and the helper that splits them.
#![allow(dead_code, unreachable_pub, reason = "a module shared by several test programs")]

use tokenline_core::json::Raw;
use tokenline_core::{Event, LentEvent, Options, RecordDecoder};

/// Typical model output, and typical faults.
pub const INPUTS: &[&[u8]] = &[
    b"",
    b"\n\r\n \n",
    b"\xEF\xBB\xBF{\"a\":1}\n\n  {\"b\":[{}]} \r\n\t\r\n{\"c\":\"\xC3\xA9\xF0\x9F\xA6\x80\"}",
    b"Sure, here you are:\n```json\n{\"a\":1},\n{\"b\":2}\n```\nDone.",
    b"{\"a\":1} {\"b\":2}, {\"c\":3}\n{\"query\":\"x\"},\"limit\":10}\n{\"d\":4}",
    b"I use {x}: {\"a\":1}\n{\"a\":NaN,\"b\":{\"c\":1}}\n[1,2]\nnull\n{\"e\":0.90}\n",
    b"{\"a\":\"\xFF\"}\n\xC3\n{\"b\":\"\xE2\x82\"}\n{\"c\":1}\n\xE2\x82",
    b"{\"a\":{\"b\":[1,2,{\"c\":\"\\u00e9\\\\\\\"}{\"}]}}\n{\"cut\":\"tail",
    b"{\"name\":\"f\",\"parameters\":{\"x\":1}}\n{\"name\":\"g\",\"parameters\":{}}",
    b"{\"a\":1}\r{\"b\":1}\r\n{\"c\":\"\xE2\x80\xA8\"}\r\r\n{\"d\":1}}\n{\"e\":tru",
];

/// The events of an input, as decoded by the core.
pub fn expected(options: Options, input: &[u8]) -> Vec<Event<Raw>> {
    let mut decoder = RecordDecoder::new(options);
    let mut events = Vec::new();
    let mut rest = input;
    loop {
        let decoded = decoder.decode(rest);
        rest = &rest[decoded.consumed..];
        match decoded.event {
            Some(event) => events.push(owned(event)),
            None => break,
        }
    }
    while let Some(event) = decoder.finish() {
        events.push(owned(event));
    }
    events
}

fn owned(event: LentEvent<'_>) -> Event<Raw> {
    match event {
        Event::Record(record) => Event::Record(record.map(Raw::from)),
        Event::Rejected(diagnostic) | Event::Note(diagnostic) => Event::from_diagnostic(diagnostic),
        other => panic!("an event that the tests do not know: {other:?}"),
    }
}

/// Each input at once, byte by byte, in chunks of several sizes, with empty chunks, and in two chunks split
/// at every position.
pub fn chunkings(input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut all = vec![vec![input.to_vec()]];
    for size in [1, 2, 3, 7, 16] {
        all.push(input.chunks(size).map(<[u8]>::to_vec).collect());
    }
    all.push(input.iter().flat_map(|byte| [vec![], vec![*byte], vec![]]).collect());
    for at in 0..=input.len() {
        all.push(vec![input[..at].to_vec(), input[at..].to_vec()]);
    }
    all
}

/// An event as a line, for comparison.
pub fn summary<T: std::fmt::Display + std::fmt::Debug>(event: &Event<T>) -> String {
    match event {
        Event::Record(record) => format!("{} {}", record.completion.as_str(), record.value),
        Event::Rejected(diagnostic) => diagnostic.code.to_string(),
        Event::Note(diagnostic) => format!("({})", diagnostic.code),
        other => panic!("an event that the tests do not know: {other:?}"),
    }
}
