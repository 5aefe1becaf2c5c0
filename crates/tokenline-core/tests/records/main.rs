//! Records in the strict and the lenient mode: events, positions and messages, split at every position.

mod any_cut;
mod arrays;
#[path = "../common/mod.rs"]
mod common;
mod limits;
#[path = "../common/random.rs"]
#[allow(dead_code, reason = "a part is enough here")]
mod random;
mod restart;
mod tokens;

use std::borrow::Borrow;

use common::{Seen, at_every_split, decode, text_at_every_split};
use tokenline_core::{Code, Diagnostic, Limits, Options, Release};

fn summaries(options: impl Borrow<Options>, input: impl AsRef<[u8]>) -> Vec<String> {
    let options = options.borrow();
    let seen = at_every_split(options, input.as_ref());
    text_at_every_split(options, input.as_ref(), &seen);
    seen.iter().map(Seen::summary).collect()
}

fn lenient(input: impl AsRef<[u8]>) -> Vec<String> {
    summaries(Options::lenient(), input)
}

fn strict(input: impl AsRef<[u8]>) -> Vec<String> {
    summaries(Options::strict(), input)
}

fn only_diagnostic(options: impl Borrow<Options>, input: impl AsRef<[u8]>) -> Diagnostic {
    let mut found = at_every_split(options, input.as_ref()).into_iter().filter_map(|event| match event {
        Seen::Rejected(diagnostic) | Seen::Note(diagnostic) => Some(diagnostic),
        Seen::Record { .. } => None,
    });
    let first = found.next().expect("a diagnostic");
    assert_eq!(found.next(), None, "only one");
    first
}

#[test]
fn plain_json_lines() {
    let input = "{\"a\":1}\n\n  {\"b\":[{}]} \r\n\t\r\n{\"c\":\"é\"}";
    let expected = ["newline {\"a\":1}", "newline {\"b\":[{}]}", "end_of_input {\"c\":\"é\"}"];
    assert_eq!(strict(input), expected);
    assert_eq!(lenient(input), expected);
    assert!(lenient("").is_empty());
    assert!(strict("\n\r\n \n").is_empty());
}

#[test]
fn places_are_exact() {
    let seen = at_every_split(Options::strict(), b"\xEF\xBB\xBF{\"a\":1}\n\n  {\"b\":2}\n");
    let places: Vec<_> = seen
        .iter()
        .map(|event| match event {
            Seen::Record { record, .. } => (record.line, record.column, record.span.start, record.span.end),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(places, [(1, 1, 3, 10), (3, 3, 14, 21)]);

    let d = only_diagnostic(Options::lenient(), "{\"a\":1}\n {\"a\":NaN} \r\n");
    assert_eq!((d.line, d.column, d.span.start, d.span.end), (2, 7, 9, 18));
    let d = only_diagnostic(Options::strict(), "{\"a\":1}\n {\"a\":NaN} \r\n");
    assert_eq!((d.line, d.column, d.span.start, d.span.end), (2, 7, 9, 19));
    let d = only_diagnostic(Options::lenient(), "{\"a\":1}\n  {\"a\":\"cut");
    assert_eq!((d.code, d.line, d.column, d.span.start, d.span.end), (Code::Truncated, 2, 12, 10, 19));
    let d = only_diagnostic(Options::lenient(), "\n  Some text. \n{\"a\":1}");
    assert_eq!((d.code, d.line, d.column, d.span.start, d.span.end), (Code::Prose, 2, 3, 3, 14));
}

#[test]
fn only_newlines_split() {
    let input = "{\"a\":\"x\u{2028}\u{2029}\u{85}y\"}\r\n{\"b\":1}";
    assert_eq!(strict(input), ["newline {\"a\":\"x\u{2028}\u{2029}\u{85}y\"}", "end_of_input {\"b\":1}"]);
    assert_eq!(strict("{\"a\":1}\r{\"b\":1}\n"), ["trailing_data"]);
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_start_only() {
    assert_eq!(strict("\u{feff}{\"a\":1}\n"), ["newline {\"a\":1}"]);
    assert_eq!(strict("\u{feff}"), Vec::<String>::new());
    assert_eq!(strict("{\"a\":1}\n\u{feff}{\"b\":1}\n"), ["newline {\"a\":1}", "malformed_json"]);
    assert_eq!(strict("\u{feff}\u{feff}{\"b\":1}\n"), ["malformed_json"]);
    let d = only_diagnostic(Options::lenient(), b"abc\xE2\x82");
    assert_eq!((d.span.start, d.span.end, d.column), (0, 5, 4));
    // Other characters that begin with the same bytes.
    assert_eq!(lenient("\u{ff46}ine\n"), ["(prose)"]);
    assert_eq!(strict(b"\xEF\xBB"), ["invalid_utf8"]);
}

#[test]
fn strict_takes_one_object_a_line_and_nothing_else() {
    for (line, code) in [
        ("{\"a\":1},", "trailing_data"),
        ("{\"a\":1} {\"b\":2}", "trailing_data"),
        ("{\"a\":1} text", "trailing_data"),
        ("{\"a\":1}}", "trailing_data"),
        ("```json", "malformed_json"),
        ("text", "malformed_json"),
        ("5", "not_an_object"),
        ("null", "not_an_object"),
        ("[\"a\"]", "not_an_object"),
        ("[{\"a\":1}]", "not_an_object"),
        ("\"a\"", "not_an_object"),
        ("5 x", "malformed_json"),
        ("nul", "malformed_json"),
        ("{\"a\":", "malformed_json"),
        ("{\"a\":\"x", "malformed_json"),
        ("{'a':1}", "malformed_json"),
    ] {
        let input = format!("{{\"before\":1}}\n{line}\n{{\"after\":1}}\n");
        assert_eq!(strict(&input), ["newline {\"before\":1}", code, "newline {\"after\":1}"], "{line}");
    }
}

#[test]
fn lenient_recovers_what_models_write() {
    let records =
        |input: &str| lenient(input).into_iter().filter(|event| !event.starts_with('(')).collect::<Vec<_>>();
    let ab = ["newline {\"a\":1}", "newline {\"b\":2}"];
    for input in [
        "```json\n{\"a\":1}\n{\"b\":2}\n```\n",
        "```jsonl\n{\"a\":1}\n\n{\"b\":2}\n",
        "```\n{\"a\":1}\n{\"b\":2}\n```",
        "~~~JSON\n{\"a\":1}\n{\"b\":2}\n~~~\n",
        "```{.json}\n{\"a\":1}\n{\"b\":2}\n",
        "```json {title=\"x\"}\n{\"a\":1}\n{\"b\":2}\n```\n",
        "~~~ json {title: x, #id .class}\n{\"a\":1}\n{\"b\":2}\n~~~\n",
        "```{.json .numberLines startFrom=\"3\"}\n{\"a\":1}\n{\"b\":2}\n```\n",
        "Sure, here you are:\n\n{\"a\":1}\nand\n{\"b\":2}\nDone.",
        "{\"a\":1},\n{\"b\":2} ,\n",
        "- {\"a\":1}\n* {\"b\":2}\n",
        "1. {\"a\":1}\n2) {\"b\":2}\n",
        "I use {x}: {\"a\":1}\n[see 1] {\"b\":2}\n",
        "[1] {\"a\":1}\n{\"b\":2}\n",
    ] {
        assert_eq!(records(input), ab, "{input}");
    }
    assert_eq!(lenient("```json {\"a\":1}\n{\"b\":2}```\n"), ["newline {\"a\":1}", "text {\"b\":2}"]);
    assert_eq!(lenient("```json {\"a\":x}\n{\"b\":2}\n```\n"), ["malformed_json", "newline {\"b\":2}"]);
    assert_eq!(
        lenient("{\"a\":1} {\"b\":2}, {\"c\":3} and text\n"),
        ["next_item {\"a\":1}", "next_item {\"b\":2}", "text {\"c\":3}"]
    );
    assert_eq!(lenient("{\"a\":1}, "), ["end_of_input {\"a\":1}"]);
    assert_eq!(lenient("```json\n```\n"), Vec::<String>::new());
    assert_eq!(lenient("``not a fence\n"), ["(prose)"]);
}

#[test]
fn a_line_without_a_record_is_one_diagnostic() {
    assert_eq!(lenient("just text\n"), ["(prose)"]);
    assert_eq!(lenient("5\nnull\n\"a\"\n"), ["(prose)", "(prose)", "(prose)"]);
    assert_eq!(lenient("[\"a\"]\n"), ["not_an_object"]);
    assert_eq!(lenient("[1] and [2] and {x}\n"), ["(prose)"]);
    assert_eq!(lenient("I use {x} and {y} and {\"z\n"), ["(prose)"]);
    assert_eq!(lenient("{\"a\":1 {\"b\":2}\n"), ["malformed_json"]);
}

#[test]
fn each_rejected_value_is_reported_before_what_follows() {
    assert_eq!(lenient("{\"a\":NaN} {\"b\":2}\n"), ["malformed_json", "newline {\"b\":2}"]);
    assert_eq!(
        lenient("{\"e\":NaN},{\"e\":2},{\"e\":NaN} and {x},{\"e\":\"cut"),
        ["malformed_json", "next_item {\"e\":2}", "malformed_json", "truncated"]
    );
    assert_eq!(
        lenient("[{\"e\":1},{\"e\":NaN},{\"e\":NaN},7,{\"e\":2},{\"e\":\"cut"),
        [
            "array_element {\"e\":1}",
            "malformed_json",
            "malformed_json",
            "not_an_object",
            "array_element {\"e\":2}",
            "truncated"
        ]
    );
    // In the order of the text, with one diagnostic for the truncation.
    assert_eq!(
        lenient("[{\"e\":1},\n {\"e\":2},\n {\"e\":\"cut\n"),
        ["array_element {\"e\":1}", "array_element {\"e\":2}", "malformed_json", "truncated"]
    );
    assert_eq!(lenient("[{\"e\":1},\n {\"e\":2,\n"), ["array_element {\"e\":1}", "truncated"]);
}

#[test]
fn inner_objects_of_a_malformed_line_are_not_records() {
    for line in [
        "{\"a\":NaN,\"b\":{\"c\":1}}",
        "{\"a\":{\"b\":tru,\"x\":{\"c\":1}}}",
        "{\"a\":\"\\x\",\"b\":{\"c\":1}}",
        "{\"a\":\"x\ty}\",\"b\":{\"c\":1}}",
        "{\"a\":\"unclosed, {\"c\":1}",
        "{\"a\":1},\"b\":{\"c\":1}}",
        "{\"a\":1}: {\"c\":1}",
        "{\"a\":1}} {\"c\":1}",
        "{\"a\":1}] {\"c\":1}",
    ] {
        let seen = lenient(format!("{line}\n{{\"good\":1}}\n"));
        assert_eq!(seen.len(), 2, "{line}: {seen:?}");
        assert!(!seen[0].contains('{'), "{line}: {seen:?}");
        assert_eq!(seen[1], "newline {\"good\":1}", "{line}");
    }
}

#[test]
fn lines_of_a_value_left_open_are_not_records() {
    let seen = lenient("{\n \"id\":1,\n \"address\": {\"street\":\"x\"},\n \"n\": NaN\n}\n{\"good\":1}\n");
    assert_eq!(seen, ["malformed_json", "newline {\"good\":1}"]);
    let seen = lenient("  {\"a\":NaN,\n    \"b\":\n    {\"c\":1}\n\n      {\"d\":1}\n  }\n  {\"good\":1}\n");
    assert_eq!(seen, ["malformed_json", "newline {\"good\":1}"]);
    // It ends at the first line that is not indented deeper.
    assert_eq!(lenient("{\"a\":1\n{\"b\":2}\n"), ["malformed_json", "newline {\"b\":2}"]);
    assert_eq!(lenient("text {\"a\":\n {\"b\":2}\n"), ["truncated"]);
    // An unclosed string hides no line of text, unless its value has several lines.
    assert_eq!(lenient("I use {\"z\nHere: {\"a\":1}\n"), ["(prose)", "newline {\"a\":1}"]);
    let seen = lenient("{\n  \"a\": \"first\nsecond\",\n  \"b\": {\"c\": 1}\n}\n{\"good\":1}\n");
    assert_eq!(seen, ["malformed_json", "newline {\"good\":1}"]);
    // The same without indentation.
    let flat = "{\n\"a\": NaN,\n\"b\": {\"c\":1},\n\"d\": [\n{\"e\":1}\n]\n}\n{\"good\":1}\n";
    assert_eq!(
        lenient(flat),
        ["malformed_json", "newline {\"e\":1}", "(prose)", "(prose)", "newline {\"good\":1}"]
    );
    // Braces in prose open nothing.
    assert_eq!(lenient("as in [the list:\n  {\"b\":2}\n"), ["(prose)", "newline {\"b\":2}"]);
}

#[test]
fn surplus_brackets_of_rejects_release_nothing() {
    for input in [
        &b"{\n \"x\": []],\n \"y\": {\"inner\":1}\n}\n"[..],
        b"{\n  \xFFa\": {\n    \"a\": 1\n  },\n  \"e\": {\"\": 1}\n}\n",
    ] {
        let seen = lenient([input, b"{\"good\":1}\n"].concat());
        let records: Vec<_> = seen.iter().filter(|event| event.contains('{')).collect();
        assert_eq!(records, ["newline {\"good\":1}"], "{seen:?}");
    }
}

#[test]
fn a_balanced_brace_is_not_evidence() {
    let input = "{\"query\":\"test\"}, \"limit\": 10}\n{\"a\":1}\n";
    assert_eq!(lenient(input), ["trailing_data", "newline {\"a\":1}"]);
    assert_eq!(strict(input), ["trailing_data", "newline {\"a\":1}"]);
    let on_balance = Options::lenient().release(Release::OnBalance);
    assert_eq!(
        summaries(on_balance, input),
        ["balanced {\"query\":\"test\"}", "trailing_data", "balanced {\"a\":1}"]
    );
    let on_balance = Options::strict().release(Release::OnBalance);
    assert_eq!(
        summaries(on_balance, "{\"a\":1} x\n5\n"),
        ["balanced {\"a\":1}", "trailing_data", "not_an_object"]
    );
    // Nothing is released before there is evidence.
    let mut decoder = tokenline_core::RecordDecoder::new(Options::lenient());
    assert!(decoder.decode(b"{\"query\":\"test\"}").event.is_none());
    assert!(decoder.decode(b" ,").event.is_none());
    assert!(decoder.decode(b" ").event.is_none());
    assert!(decoder.decode(b"\n").event.is_some());
}

#[test]
fn a_truncated_tail_is_reported_and_not_completed() {
    for tail in ["{\"a\":1", "{\"a\":tr", "{\"a\":\"x\\", "{\"a\":\"\\ud83d", "{", "{\"a\":-", "{\"a\":[1,2]"]
    {
        let input = format!("{{\"good\":1}}\n{tail}");
        assert_eq!(lenient(&input), ["newline {\"good\":1}", "truncated"], "{tail}");
        assert_eq!(strict(&input), ["newline {\"good\":1}", "truncated"], "{tail}");
    }
    assert_eq!(strict(b"{\"a\":\"\xE2\x82"), ["truncated"]);
    assert_eq!(lenient(b"{\"a\":\"\xE2\x82"), ["truncated"]);
    assert_eq!(strict("12"), ["not_an_object"]);
}

#[test]
fn an_invalid_byte_rejects_its_line_only() {
    for line in [
        &b"{\"a\":\"\xFF\"}"[..],
        b"{\"a\":\"\xE2\x82\"}",
        b"{\"a\":\"\xC0\x80\"}",
        b"{\"a\":\"\xED\xA0\x80\"}",
        b"\xFF{\"a\":1}",
        b"{\"a\":1}\xFF",
        b"{\"a\":1} \xFF {\"b\":1}",
        b"{\"\xFF\":1}",
        b"{\xFF}",
        b"{\"a\":1,\xE2}",
    ] {
        let input = [b"{\"before\":1}\n", line, b"\n{\"after\":1}\n"].concat();
        let expected = ["newline {\"before\":1}", "invalid_utf8", "newline {\"after\":1}"];
        assert_eq!(strict(&input), expected, "{line:?}");
        assert_eq!(lenient(&input), expected, "{line:?}");
    }
    assert_eq!(lenient(b"text \xE2\x82\n{\"a\":1}\n"), ["invalid_utf8", "newline {\"a\":1}"]);
    assert_eq!(lenient(b"{x \xFF} {\"a\":1}\n"), ["invalid_utf8"]);
    // The first fault is reported.
    assert_eq!(lenient(b"{\"a\":NaN,\"b\":\"\xFF\"}\n"), ["malformed_json"]);
}

#[test]
fn positions_continue_after_a_finish_with_several_events() {
    assert_eq!(lenient("{\"a\":1} {\"b\":"), ["next_item {\"a\":1}", "truncated"]);
    assert_eq!(lenient("{x} {\"b\":1}, \"c\":"), ["trailing_data"]);
}

#[test]
fn input_after_the_end_is_dropped() {
    for before in [&b"{\"a\":1}"[..], b"{\"a\":1}\n\xE2"] {
        let mut decoder = tokenline_core::RecordDecoder::new(Options::lenient());
        assert!(decoder.decode(before).event.is_some() || decoder.finish().is_some());
        while decoder.finish().is_some() {}
        for after in [&b"\xE2\x82"[..], b"{\"a\":2}\n\xE2", b"\xAC{\"a\":2}\n", b"\xFF\n"] {
            let decoded = decoder.decode(after);
            assert_eq!((decoded.consumed, decoded.event.is_none()), (after.len(), true));
            assert!(decoder.finish().is_none());
        }
    }
}
