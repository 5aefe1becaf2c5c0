//! Updates on calls that the model writes in its text.

use tokenline_core::CallFormat;
use tokenline_core::{Options, json::Raw};
use tokenline_llm::{Provider, ResponseEvent, ResponseParser, TextMode};

use crate::common::{call, chunk, text};

fn updates() -> ResponseParser<Raw> {
    let options = Options::lenient().calls(CallFormat::Auto);
    ResponseParser::new(Provider::OpenAiChat, options)
        .with_options(|options| options.text_as(TextMode::ToolCalls).call_updates())
}

/// The call events of a response. Arguments that come one after the other are joined.
fn seen(wire: &[String]) -> Vec<String> {
    let mut parser = updates();
    let (mut lines, mut arguments): (Vec<String>, _) = (Vec::new(), None);
    for piece in wire {
        parser.push(piece.as_bytes());
        while let Some(event) = parser.next_event() {
            let line = match event {
                ResponseEvent::ToolCallArguments { number, text, .. } if arguments == Some(number) => {
                    lines.last_mut().unwrap().push_str(&text);
                    continue;
                }
                ResponseEvent::ToolCallArguments { number, text, .. } => {
                    arguments = Some(number);
                    lines.push(format!("{number} arguments {text}"));
                    continue;
                }
                ResponseEvent::ToolCallBegan { number, name, .. } => format!("{number} began {name}"),
                ResponseEvent::ToolCall { number, call, .. } => {
                    format!("{} call {} {}", number.unwrap(), call.name, call.parameters)
                }
                ResponseEvent::RejectedCall { number, call, .. } => {
                    format!("{number:?} rejected {}", call.diagnostic.code)
                }
                ResponseEvent::ToolCallDiscarded { number, .. } => format!("{number} discarded"),
                ResponseEvent::Rejected { diagnostic, .. } => format!("rejected {}", diagnostic.code),
                _ => continue,
            };
            arguments = None;
            lines.push(line);
        }
    }
    lines
}

/// A response that sends the text in pieces of so many characters.
fn in_pieces(whole: &str, len: usize) -> Vec<String> {
    let chars: Vec<char> = whole.chars().collect();
    let mut wire: Vec<_> = chars.chunks(len).map(|piece| text(&piece.iter().collect::<String>())).collect();
    wire.push(chunk("{}", "stop"));
    wire
}

#[test]
fn calls_grow_in_whichever_syntax_and_pieces_they_are_written() {
    for written in [
        "Hm.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Zürich \\\"A\\\"\",\"note\":\"a\\nb\"}}\n</tool_call>\n",
        "Hm.\n{\"name\": \"weather\", \"parameters\": {\"city\":\"Zürich \\\"A\\\"\",\"note\":\"a\\nb\"}}\n",
        "[TOOL_CALLS]weather[ARGS]{\"city\":\"Zürich \\\"A\\\"\",\"note\":\"a\\nb\"}",
        "<tool_call>\n<function=weather>\n<parameter=city>\nZürich \"A\"\n</parameter>\n<parameter=note>\na\nb\n</parameter>\n</function>\n</tool_call>",
        "[weather(city=\"Zürich \\\"A\\\"\", note='a\\nb')]",
        "<|tool_call>call:weather{city:<|\"|>Zürich \"A\"<|\"|>,note:<|\"|>a\nb<|\"|>}<tool_call|>",
        "<|channel|>commentary to=functions.weather<|message|>{\"city\":\"Zürich \\\"A\\\"\",\"note\":\"a\\nb\"}<|call|>",
    ] {
        let arguments = r#"{"city":"Zürich \"A\"","note":"a\nb"}"#;
        let expected = [
            "1 began weather".to_owned(),
            format!("1 arguments {arguments}"),
            format!("1 call weather {arguments}"),
        ];
        for len in 1..=written.chars().count() {
            assert_eq!(seen(&in_pieces(written, len)), expected, "{written:?} in pieces of {len}");
        }
    }
}

#[test]
fn arguments_are_seen_before_their_call_is_complete() {
    for written in [
        "<function=write>\n<parameter=content>\nline one\nline",
        "<tool_call>{\"name\": \"write\", \"arguments\": {\"content\":\"line one\\nline",
        "[write(content=\"line one\\nline",
        "{\"name\": \"write\", \"parameters\": {\"content\":\"line one\\nline",
    ] {
        let expected = ["1 began write", "1 arguments {\"content\":\"line one\\nline"];
        assert_eq!(seen(&[text(written)]), expected, "{written:?}");
    }
}

#[test]
fn a_call_that_fails_keeps_its_number() {
    let truncated = "<tool_call>{\"name\": \"write\", \"arguments\": {\"content\": \"line";
    assert_eq!(
        seen(&[text(truncated), chunk("{}", "length")]),
        ["1 began write", "1 arguments {\"content\": \"line", "Some(1) rejected truncated"]
    );
    let malformed = "<function=write>{\"content\":\"a\"";
    assert_eq!(
        seen(&[text(malformed), text(",b}</function>\n"), chunk("{}", "stop")]),
        ["1 began write", "1 arguments {\"content\":\"a\",", "Some(1) rejected malformed_json"]
    );
}

#[test]
fn a_rejected_call_has_its_number_and_beginning_in_any_pieces() {
    for written in [
        "Hm.\n<tool_call>{\"name\": \"write\", \"arguments\": {\"content\": \"line\", b}}</tool_call>\n",
        "<tool_call>{\"name\": \"write\", \"arguments\": {\"content\": \"line",
        "Hm.\n{\"name\": \"write\", \"parameters\": {\"content\": \"line\", b}}\n",
        "{\"name\": \"write\", \"parameters\": {\"content\": \"line",
        "<function=write>{\"content\":\"a\",b}</function>\n",
        "<function=write>\n<parameter=content>\na\n</parameter>\n<parameter=x",
        "[TOOL_CALLS]write[ARGS]{\"content\":\"a\",b}",
        "[write(content=\"line one\", b c)]\n",
        "[write(content=\"line one",
        "<|channel|>commentary to=functions.write<|message|>{\"content\":\"Zürich\",b}<|call|>",
    ] {
        let expected = seen(&in_pieces(written, usize::MAX));
        let is_numbered = |line: &String| line.starts_with("Some(1) rejected");
        assert!(
            expected[0] == "1 began write" && expected.iter().any(is_numbered),
            "{written:?}: {expected:?}"
        );
        for len in 1..=written.chars().count() {
            assert_eq!(seen(&in_pieces(written, len)), expected, "{written:?} in pieces of {len}");
        }
    }
}

#[test]
fn each_call_that_begins_ends_once() {
    let muse = "<|start|>assistant to=now<|message|><atem:function_calls>\n<atem:invoke name=\"now\">\n\
        </atem:invoke>\n</atem:function_calls><|eom|>";
    for (written, expected) in [
        (muse, &["1 began now", "1 arguments {}", "1 call now {}"][..]),
        ("[weather(), now<b>()]\n", &["1 began weather", "1 arguments {}", "1 call weather {}"]),
        (
            "<|python_tag|>{\"name\": \"a\", \"parameters\": {\"x\"\r\n: 1\n}}",
            &["1 began a", "1 arguments {\"x\"\r\n: 1\n}", "1 call a {\"x\"\r\n: 1\n}"],
        ),
        (
            "<|tools_prefix|>[{\"a\": {\"x\"\r\n: 1\n}}]<|tools_suffix|>",
            &["1 began a", "1 arguments {\"x\"  : 1 }", "1 call a {\"x\"  : 1 }"],
        ),
        (
            "[TOOL_CALLS]a[ARGS]{\"x\"\r\n: 1\n}",
            &["1 began a", "1 arguments {\"x\"  : 1 }", "1 call a {\"x\"  : 1 }"],
        ),
    ] {
        for len in 1..=written.chars().count() {
            let mut seen = seen(&in_pieces(written, len));
            seen.retain(|line| !line.starts_with("rejected"));
            assert_eq!(seen, expected, "{written:?} in pieces of {len}");
        }
    }
    // Of two names, the last counts.
    let renamed = "{\"name\":\"a\",\"name\":\"now\",\"parameters\":{\"x\":1}}\n";
    assert_eq!(
        seen(&in_pieces(renamed, 1)),
        ["1 began now", "1 arguments {\"x\":1}", "1 call now {\"x\":1}"]
    );
}

#[test]
fn calls_in_a_text_and_native_ones_have_numbers_of_their_own() {
    let wire = [
        text("{\"name\":\"a\",\"parameters\":{\"x\":1}}\n"),
        call("n1", "b", "{}"),
        text("\n<tool_call>{\"name\":\"c\",\"parameters\":{}}</tool_call>\n"),
        chunk("{}", "tool_calls"),
    ];
    let mut numbers: Vec<_> = seen(&wire).iter().filter(|line| line.contains("call")).cloned().collect();
    numbers.sort();
    assert_eq!(numbers, ["1 call a {\"x\":1}", "2 call b {}", "3 call c {}"]);
}

#[test]
fn reasoning_that_the_prompt_opened_ends_at_its_closing_tag() {
    let options = Options::lenient().in_reasoning(true);
    let parser = ResponseParser::<Raw>::new(Provider::Anthropic, options);
    let mut parser = parser.with_options(|options| options.text_as(TextMode::ToolCalls).text_and_reasoning());
    let delta = |block: u64, text: &str| {
        let delta = serde_json::json!({"type": "text_delta", "text": text});
        let event = serde_json::json!({"type": "content_block_delta", "index": block, "delta": delta});
        format!("event: content_block_delta\ndata: {event}\n\n")
    };
    let call = r#"{"name":"a","parameters":{}}"#;
    parser.push(delta(0, &format!("Perhaps {call}")).as_bytes());
    parser.push(delta(0, &format!("\n</think>\n{call}\n")).as_bytes());
    parser.push(delta(1, &format!("{call}\n")).as_bytes());
    let (mut reasoning, mut calls) = (String::new(), 0);
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Reasoning { text, .. } => reasoning.push_str(&text),
            ResponseEvent::ToolCall { .. } => calls += 1,
            _ => {}
        }
    }
    assert_eq!((reasoning, calls), (format!("Perhaps {call}\n"), 2));
}
