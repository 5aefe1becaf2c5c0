//! Calls of undefined tools that stay text.

use tokenline_core::adapter::char_start;
use tokenline_core::call_format::CallSyntax;
use tokenline_core::json::Raw;
use tokenline_core::{CallFormat, Options, ToolDefinition};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};
use tokenline_schema::ToolSet;

use crate::common::extent::cases;
use crate::random::Random;

/// What stands between calls.
const PROSE: [&str; 10] = [
    "",
    "\n",
    "Put this into package.json:\n```json\n{\"name\":\"my-app\",\"parameters\":{\"port\":80}}\n```\nSave it.\n",
    "{\"name\": \"Bob\", \"arguments\": \"none\"}\nThis is a record.\n",
    "In Hermes one writes <tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call> as shown. ",
    "{\"a\":1}\n",
    "é ",
    "\n\n",
    "| a | b |\n",
    "`{\"name\":\"x\",\"parameters\":{}}`",
];

/// The text, the number of calls, and what was rejected.
fn read(pieces: &[&str], tool: &str) -> (String, usize, Vec<String>) {
    let options = ResponseOptions::from(Options::lenient().calls(CallFormat::Auto))
        .text_as(TextMode::ToolCalls)
        .text_and_reasoning()
        .undefined_calls_as_text()
        .tools(ToolSet::new(&[ToolDefinition::new(tool)]).expect("a tool"));
    let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, options);
    let (mut text, mut calls, mut rejected) = (String::new(), 0, Vec::new());
    let mut take = |parser: &mut ResponseParser<Raw>| {
        while let Some(event) = parser.next_event() {
            match event {
                ResponseEvent::Text { text: part, .. } => text.push_str(&part),
                ResponseEvent::ToolCall { .. } => calls += 1,
                ResponseEvent::RejectedCall { call, .. } => rejected.push(call.diagnostic.to_string()),
                ResponseEvent::Rejected { diagnostic, .. } => rejected.push(diagnostic.to_string()),
                _ => {}
            }
        }
    };
    for piece in pieces {
        parser.push(crate::common::text(piece));
        take(&mut parser);
    }
    parser.push("data: [DONE]\n\n");
    parser.finish();
    take(&mut parser);
    (text, calls, rejected)
}

/// Calls in every syntax, of a tool that is not defined: nothing of the text is lost but white space before a line's end.
#[test]
fn texts_with_calls_of_undefined_tools_stay_as_they_are() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<String>();
    let (count, mut kept) = (cases(600), 0);
    for seed in 0..count {
        let random = &mut Random::new(seed as u64);
        let parts: Vec<&str> = (0..1 + random.below(6))
            .map(|_| match random.once_in(2) {
                true => *random.pick(&PROSE),
                false => random.pick(CallSyntax::built_in()).example.as_str(),
            })
            .collect();
        let text = parts.concat();
        let (whole, calls, rejected) = read(&[&text], "none_of_them");
        assert_eq!(calls, 0, "seed {seed}: {text:?}");
        // One call may run into the next, and is malformed.
        if rejected.is_empty() {
            assert_eq!(words(&whole), words(&text), "seed {seed}");
            kept += 1;
        }
        let size = 1 + random.below(12);
        let mut pieces = Vec::new();
        let mut rest = &*text;
        while !rest.is_empty() {
            let end = char_start(rest, size.max(4).min(rest.len()));
            let (piece, behind) = rest.split_at(end);
            pieces.push(piece);
            rest = behind;
        }
        assert_eq!(read(&pieces, "none_of_them").0, whole, "seed {seed}, {size}: {text:?}");
    }
    assert!(kept * 10 > count * 9, "{kept} of {count}");
}

/// Beside them, a call of a defined tool is delivered.
#[test]
fn only_calls_of_defined_tools_are_delivered() {
    for prose in &PROSE[2..6] {
        let text = format!("{prose}\n<tool_call>{{\"name\":\"weather\",\"arguments\":{{}}}}</tool_call>");
        let (read, calls, rejected) = read(&[&text], "weather");
        assert_eq!((read.trim_end(), calls, rejected), (prose.trim_end(), 1, Vec::new()), "{text:?}");
    }
}

/// Bytes that are not UTF-8 cost no text, however many a line has.
#[test]
fn bad_bytes_in_prose_cost_nothing() {
    for text in
        ["Price: 3 \u{fffd} or 4 \u{fffd} in total.\nNext line.", "caf\u{fffd} au lait, 3 \u{fffd}uros"]
    {
        let mut wire = crate::common::text(text).into_bytes();
        while let Some(at) = wire.windows(3).position(|bytes| bytes == "\u{fffd}".as_bytes()) {
            wire.splice(at..at + 3, [0xe9]);
        }
        let mut parser =
            crate::common::parser(TextMode::ToolCalls).with_options(ResponseOptions::text_and_reasoning);
        let (mut read, mut pieces) = (String::new(), wire.chunks(5).collect::<Vec<_>>());
        pieces.push(b"data: [DONE]\n\n");
        for piece in pieces {
            parser.push(piece);
            while let Some(event) = parser.next_event() {
                if let ResponseEvent::Text { text, .. } = event {
                    read.push_str(&text);
                }
            }
        }
        parser.finish();
        while let Some(event) = parser.next_event() {
            if let ResponseEvent::Text { text, .. } = event {
                read.push_str(&text);
            }
        }
        assert_eq!(read, text);
    }
}
