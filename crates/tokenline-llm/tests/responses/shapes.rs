//! Alternative shapes, and unknown members.

use tokenline_llm::TextMode;

use crate::common::{chunk, decode, parser, text};
use crate::{DONE, lines, seen_as};

#[test]
fn unknown_members_are_counted_and_not_an_error() {
    let wire = [
        "event: ping\ndata: {}\n\n".to_owned(),
        "data: \n\n".to_owned(),
        "data: keep-alive\n\ndata: null\n\ndata: [1]\n\n".to_owned(),
        "data: {\"choices\":{},\"new\":1,\"message\":\"hm\"}\n\n".to_owned(),
        "data: {\"choices\":[[],{\"new\":2,\"delta\":[]}]}\n\n".to_owned(),
        chunk(r#"{"audio":{"data":"x"},"content":false,"refusal":7,"tool_calls":"","reasoning":[]}"#, ""),
        chunk(
            r#"{"content":[{"type":"image"}],"tool_calls":[null,[],{"index":0,"custom":{"name":"x"}}]}"#,
            "",
        ),
        chunk(
            r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}","new":1}}],"audio":1}"#,
            "stop",
        ),
        DONE.to_owned(),
        text("after the end"),
        "data: {\"error\":\"after the end\"}\n\n".to_owned(),
    ];
    let seen = seen_as(TextMode::Records, &wire);
    assert_eq!(seen.summary(), ["call finish_reason f {} synthetic synthetic_1", "finish stop"]);
    assert!(seen.is_complete);
    assert_eq!(
        seen.unknown,
        "event: ping (1), data: text (1), data: null (1), data: array (1), new (1), choices: object (1), \
         message: string (1), choices[]: array (1), choices[].new (1), choices[].delta: array (1), \
         choices[].delta.audio (2), choices[].delta.reasoning: array (1), choices[].delta.content: boolean (1), choices[].delta.refusal: number (1), \
         choices[].delta.tool_calls: string (1), choices[].delta.content[].image (1), \
         choices[].delta.tool_calls[]: array (1), choices[].delta.tool_calls[].custom (1), \
         choices[].delta.tool_calls[].function.new (1), data: after the end (2)"
    );
    // Invented names fill neither memory nor time.
    let members = (0..200_000).map(|name| format!("\"{name}\":1,")).collect::<String>();
    let one = format!("data: {{{members}\"a\":1}}\n\n");
    let many = decode(&mut parser(TextMode::Records), [one.as_bytes()]);
    assert!(many.unknown.ends_with(", and others (199937)"));
    let made_up: String =
        (0..100).map(|name| format!("data: {{\"{name}{}\":1}}\n\n", "x".repeat(200))).collect();
    let seen = seen_as(TextMode::Records, &[made_up, DONE.to_owned()]);
    assert!(seen.unknown.ends_with(", and others (36)") && seen.unknown.len() < 64 * 80, "{}", seen.unknown);
}

#[test]
fn alternative_shapes_of_calls_and_texts() {
    let finish = chunk("{}", "tool_calls");
    let call = |delta: &str| lines(TextMode::Records, &[delta.to_owned(), finish.clone()]).remove(0);
    // Arguments as an object; a number as the id; the old single call; no stream at all.
    for (delta, expected) in [
        (chunk(r#"{"tool_calls":[{"id":7,"function":{"name":"f","arguments":{"a":1.0}}}]}"#, ""), r#"call finish_reason f {"a":1.0} 7"#),
        (chunk(r#"{"tool_calls":[{"function":{"name":"f","arguments":null}}]}"#, ""), "call finish_reason f {} synthetic synthetic_1"),
        (chunk(r#"{"function_call":{"name":"f","arguments":"{\"a\":1}"}}"#, ""), r#"call finish_reason f {"a":1} synthetic synthetic_1"#),
        (
            "data: {\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n".to_owned(),
            "call finish_reason f {} c",
        ),
    ] {
        assert_eq!(call(&delta), expected);
    }
    // Beside a delta, the message is the text so far (Perplexity).
    let both =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{}\\n\"},\"message\":{\"content\":\"{}\\n\"}}]}\n\n";
    assert_eq!(lines(TextMode::Records, &[both.to_owned(), finish.clone()])[0], "newline {}");
    // Reasoning under both names; thinking as plain text.
    let both = chunk(r#"{"reasoning":"hm","reasoning_content":"hm"}"#, "");
    let part = chunk(r#"{"content":[{"type":"thinking","thinking":"m"},{"type":"text","text":"{}"}]}"#, "");
    assert_eq!(
        lines(TextMode::Records, &[both, part, finish]),
        ["finish_reason {}", "finish tool_calls", "note calls_missing", "reasoning hmm"]
    );
    // Choices without an index are counted.
    let unnumbered =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{}\"}},{\"delta\":{\"content\":\"{}\"}}]}\n\n";
    assert_eq!(
        lines(TextMode::Records, &[unnumbered.to_owned(), DONE.to_owned()]),
        ["terminator {}", "1: terminator {}"]
    );
}
