//! Ollama: what fixtures cannot show.

use tokenline_core::json::Kind;
use tokenline_core::{CompletedBy, Limits};
use tokenline_llm::providers::EventDecoder;
use tokenline_llm::{Delta, Provider};

/// The deltas of these lines.
fn deltas(lines: &[&str]) -> Vec<String> {
    let mut decoder = EventDecoder::new(Provider::Ollama, &Limits::default());
    let mut log = Vec::new();
    for line in lines {
        decoder.decode("message", line, |delta| log.push(format!("{delta:?}"))).expect("it is JSON");
    }
    log
}

#[test]
fn calls_are_numbered_from_1_so_that_their_ends_are_not_the_texts() {
    let line = r#"{"message":{"tool_calls":[{"function":{"name":"ls","index":0}},{"function":{"name":"ls","index":0}}]}}"#;
    let log = deltas(&[line, line]);
    let stop = |block| {
        let completion = Some(CompletedBy::ItemStop);
        format!("{:?}", Delta::BlockStop { choice: 0, block, completion })
    };
    let stops: Vec<_> = log.iter().filter(|delta| delta.starts_with("BlockStop")).cloned().collect();
    assert_eq!(stops, [stop(1), stop(2), stop(3), stop(4)]);

    let mut decoder = EventDecoder::new(Provider::Ollama, &Limits::default());
    for _ in 0..2 {
        let mut blocks = Vec::new();
        let sink = |delta: Delta<'_>| {
            if let Delta::BlockStop { block, .. } = delta {
                blocks.push(block);
            }
        };
        decoder.decode("message", line, sink).expect("it is JSON");
        assert_eq!(blocks, [1, 2]);
        decoder.reset();
    }
}

#[test]
fn members_of_other_types_are_counted_or_told() {
    let unknown = |parent: &'static str, name: &'static str| {
        format!("{:?}", Delta::Unknown { parent, name: name.into() })
    };
    let unreadable = |parent: &'static str, name: &'static str, kind: Kind| {
        format!("{:?}", Delta::Unreadable { parent, name: name.into(), kind })
    };
    let start = format!("{:?}", Delta::Start { choice: 0 });
    for (line, expected) in [
        ("[1]", vec![unknown("data", "array")]),
        (r#"{"message":"a"}"#, vec![start.clone(), unreadable("", "message", Kind::String)]),
        (r#"{"message":null}"#, vec![start.clone()]),
        (r#"{"done":"yes"}"#, vec![start.clone(), unknown("", "done: string")]),
        (r#"{"response":1}"#, vec![start.clone(), unreadable("", "response", Kind::Number)]),
        (
            r#"{"message":{"content":null,"thinking":7}}"#,
            vec![start.clone(), unknown("message", "thinking: number")],
        ),
        (r#"{"message":{"tool_calls":{}}}"#, vec![start.clone(), unknown("message", "tool_calls: object")]),
        (
            r#"{"message":{"tool_calls":[1]}}"#,
            vec![start.clone(), unreadable("message", "tool_calls[]", Kind::Number)],
        ),
        (
            r#"{"message":{"tool_calls":[{"function":"ls"}]}}"#,
            vec![start.clone(), unreadable("message.tool_calls[]", "function", Kind::String)],
        ),
        (
            r#"{"message":{"tool_calls":[{}]}}"#,
            vec![start.clone(), unknown("message.tool_calls[]", "no function")],
        ),
    ] {
        assert_eq!(deltas(&[line]), expected, "{line}");
    }
}
