//! Tool calls in text, in every format, through the record decoder, split at every position.

mod common;

use common::extent::cases;
use common::{Seen, at_every_split, text_at_every_split};
use proptest::prelude::*;
use tokenline_core::call_format::CallSyntax;
use tokenline_core::{CallFormat, Code, Limits, Options};

fn calls(format: CallFormat, text: &str) -> Vec<String> {
    let seen = at_every_split(Options::lenient().calls(format), text.as_bytes());
    // Other tests check the text beside the calls.
    seen.iter().map(Seen::summary).filter(|summary| summary != "(prose)").collect()
}

#[test]
fn every_format_is_found_in_text() {
    let paris = "text {\"name\":\"weather\",\"parameters\":{\"city\":\"Paris\"}}";
    for text in [
        "I look it up. [weather(city='Paris')]\n",
        "I look it up.\n[weather(city=\"Paris\")]",
        "<function=weather>{\"city\":\"Paris\"}</function>",
        "So:\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n",
        "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>\n",
        "[TOOL_CALLS]weather[ARGS]{\"city\":\"Paris\"}\n",
        "[TOOL_CALLS]weather{\"city\":\"Paris\"}\nand more",
    ] {
        assert_eq!(calls(CallFormat::Auto, text), [paris], "{text}");
    }
    let written = "text {\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}";
    for text in [
        "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>",
        "First:\n<tool_call>\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>\n",
        "[TOOL_CALLS] [{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}]\n",
    ] {
        assert_eq!(calls(CallFormat::Auto, text), [written], "{text}");
    }
    let pretty = "<tool_call>\n{\n  \"name\": \"now\",\n  \"arguments\": {}\n}\n</tool_call>\n";
    assert_eq!(calls(CallFormat::Auto, pretty), ["text {\n  \"name\": \"now\",\n  \"arguments\": {}\n}"]);
}

#[test]
fn positions_are_those_of_the_text() {
    let text = "So:\n  [a(),\n   b(x=1)] then\n{\"c\":NaN}\n";
    let seen = at_every_split(Options::lenient().calls(CallFormat::Auto), text.as_bytes());
    let places: Vec<_> = seen
        .iter()
        .map(|event| match event {
            Seen::Record { record, .. } => (record.line, record.column, record.span.start, record.span.end),
            Seen::Rejected(found) | Seen::Note(found) => {
                (found.line, found.column, found.span.start, found.span.end)
            }
        })
        .collect();
    assert_eq!(places, [(1, 1, 0, 3), (2, 4, 7, 10), (3, 4, 15, 21), (4, 6, 28, 37)]);
}

#[test]
fn the_first_call_settles_what_is_uncertain() {
    let json = "{\"name\":\"a\",\"parameters\":{}}";
    let record = format!("newline {json}");
    let in_tags = |name: &str| format!("text {{\"name\":\"{name}\",\"parameters\":{{}}}}");
    // Code in a response whose calls are JSON; tags are certain.
    let text = format!("{json}\nUse [f(x=1)] or <function=f>{{}}</function>.\n{json}\n");
    let found = calls(CallFormat::Auto, &text);
    assert_eq!(found, [record.as_str(), "(call_in_text)", &in_tags("f"), &record]);
    // JSON in a response whose calls are in tags.
    let text = format!("<function=f>{{}}</function>\n{json}\n<function=g>{{}}</function>\n");
    assert_eq!(calls(CallFormat::Auto, &text), [&in_tags("f"), "(call_in_text)", &in_tags("g")]);
    // The format that was asked for.
    assert_eq!(
        calls(CallFormat::Hermes, &format!("{json}\n<tool_call>{json}</tool_call>\n")),
        [format!("text {json}")]
    );
}

#[test]
fn a_note_before_a_carriage_return_is_the_same_in_any_chunks() {
    let text = "[f()]\n{\"name\":\"a\",\"parameters\":{}}\r\n";
    assert_eq!(calls(CallFormat::Auto, text)[1..], ["(call_in_text)"]);
}

#[test]
fn a_closing_marker_that_begins_a_line_is_not_another_call() {
    let text = "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"now\">]<]minimax[>[</invoke>\n\
                ]<]minimax[>[</tool_call>";
    let seen = at_every_split(Options::lenient().calls(CallFormat::Auto), text.as_bytes());
    let [Seen::Record { .. }] = &seen[..] else { panic!("{seen:?}") };
}

#[test]
fn markup_in_strings_is_ignored() {
    let text = "{\"name\":\"a\",\"parameters\":{\"t\":\"<tool_call>[f()]</tool_call>\"}}\n";
    assert_eq!(calls(CallFormat::Auto, text), [format!("newline {}", text.trim())]);
    let text = "<tool_call>{\"name\":\"a\",\"arguments\":{\"t\":\"</tool_call>\"}}</tool_call>\n";
    assert_eq!(
        calls(CallFormat::Auto, text),
        ["text {\"name\":\"a\",\"arguments\":{\"t\":\"</tool_call>\"}}"]
    );
}

#[test]
fn a_truncated_call_is_not_a_call() {
    for text in [
        "[a(), weather(city='Par",
        "[a()] <function=weather>{\"city\":\"Par",
        "[TOOL_CALLS]weather[ARGS]{\"city\":",
        "<tool_call>{\"name\":\"weather\",\"argu",
    ] {
        let found = calls(CallFormat::Auto, text);
        assert!(!found.iter().any(|found| found.contains("weather")), "{text}: {found:?}");
    }
    assert_eq!(calls(CallFormat::Auto, "[weather(city='Par").last().map(String::as_str), Some("truncated"));
    // The last character may begin another parameter.
    let call = "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n";
    for cut in ["<", "<p", "<parameter=da"] {
        assert_eq!(calls(CallFormat::Auto, &format!("{call}{cut}")), ["truncated"], "{cut}");
    }
}

#[test]
fn code_that_began_on_an_earlier_line_hides_no_record() {
    let text = "Use ` here:\n{\"id\":1}\nand ` there.\n";
    assert_eq!(calls(CallFormat::Auto, text), ["newline {\"id\":1}"]);
    let text = "Use ` here:\n[\n{\"id\":1},\n{\"id\":2}\n]\n";
    assert_eq!(calls(CallFormat::Auto, text), ["array_element {\"id\":1}", "newline {\"id\":2}"]);
}

#[test]
fn only_the_end_proves_a_call_after_an_open_backtick() {
    let call = "<function=weather>{}</function>";
    for (text, evidence) in [
        (format!("` {call}"), "end_of_input"),
        (format!("` {call} more"), "end_of_input"),
        (format!("` {call}\n\nmore"), "text"),
        (call.to_owned(), "text"),
    ] {
        let expected = format!("{evidence} {{\"name\":\"weather\",\"parameters\":{{}}}}");
        assert_eq!(calls(CallFormat::Auto, &text), [expected], "{text}");
    }
    assert!(calls(CallFormat::Auto, &format!("` {call}`"))[0].contains("call_in_text"));
}

#[test]
fn a_line_that_is_not_utf8_leaves_no_open_code() {
    let options = Options::lenient().calls(CallFormat::Auto);
    for wire in [&b"`{}\xff\n`{}\n"[..], b"`{\"a\":1}\xff\n`{\"a\":1}` {\"b\":2}\n", b"``{}`\xff `` \n{}\n"] {
        let seen = at_every_split(&options, wire);
        text_at_every_split(&options, wire, &seen);
    }
}

#[test]
fn a_carriage_return_after_a_truncated_call_is_not_a_long_line() {
    let limits = Limits { line_bytes: 9, ..Limits::default() };
    let options = Options::lenient().calls(CallFormat::Auto).limits(limits);
    let seen = at_every_split(options, b"\n[\re(0e\r");
    let [Seen::Rejected(cut)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((cut.code, cut.span.start, cut.span.end), (Code::InvalidParameters, 3, 8));
}

#[test]
fn an_invalid_byte_after_a_malformed_call_rejects_its_line() {
    let options = Options::lenient().calls(CallFormat::Auto);
    let seen = at_every_split(options, b"\n[\re(0e,}\xc6f\n{\"a\":1}\n");
    let codes: Vec<_> = seen.iter().map(Seen::summary).collect();
    assert_eq!(codes, ["invalid_parameters", "invalid_utf8", "newline {\"a\":1}"]);
}

#[test]
fn ordinary_text_stays_text() {
    for text in [
        "[the docs](http://x) and <b>bold</b> [1] (x)\n{\"a\":1}\n",
        "- [x] done\n<think>\n{\"no\":1}\n</think>\n{\"a\":1}\n",
        "if (a < b) print(x)\n{\"a\":1}\n",
        "[\n{\"a\":1}\n]\n",
        "[{\"a\":1}]\n",
    ] {
        let plain = at_every_split(Options::lenient(), text.as_bytes());
        assert_eq!(
            at_every_split(Options::lenient().calls(CallFormat::Auto), text.as_bytes()),
            plain,
            "{text}"
        );
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    for piece in [
        "[a(",
        "<function=",
        "<tool_call>",
        "[TOOL_CALLS]",
        "[a(b='",
        "<function=a>{",
        "[[a",
        "<tool_call>{\"a\":[",
        "`{} ",
        "``{\"name\":\"a\",\"parameters\":{}}\n",
    ] {
        let text = format!("{}\n{{\"name\":\"good\",\"parameters\":{{}}}}\n", piece.repeat(20_000));
        // Also checks the work against the input.
        common::decode(Options::lenient().calls(CallFormat::Auto), text.as_bytes().chunks(4096));
        common::decode(Options::lenient().calls(CallFormat::Auto), text.as_bytes().chunks(7));
    }
}

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"{\"name\":\"a\",\"parameters\":{}}"[..],
        b"{\"a\":1}",
        b"\n",
        b"\n",
        b"\r\n",
        b" ",
        b"  ",
        b",",
        b"[",
        b"]",
        b"{",
        b"}",
        b"(",
        b")",
        b"\"",
        b"'",
        b"=",
        b"f(x=1)",
        b"[f(",
        b"[f()",
        b"<tool_call>",
        b"</tool_call>",
        b"<function=f>",
        b"</function>",
        b"<parameter=x>",
        b"</parameter>",
        b"[TOOL_CALLS]",
        b"[ARGS]",
        b"<think>",
        b"</think>",
        b"<",
        b"```",
        b"text",
        b"\xC3\xA9",
        b"\xFF",
        b"\xE2\x82",
        b"NaN",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(800), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same(input in soup(), format in prop::sample::select(CallFormat::BUILT_IN.to_vec()), limit in prop::sample::select(vec![12usize, 40, 8 << 20])) {
        let limits = tokenline_core::Limits { line_bytes: limit, ..tokenline_core::Limits::default() };
        at_every_split(Options::lenient().calls(format).limits(limits), &input);
    }
}

/// A line that begins with a fence, which may go on with a backtick or a byte that is not UTF-8, and a fence after it.
fn fences() -> impl Strategy<Value = Vec<u8>> {
    let fence = || prop::sample::select(vec![&b"```"[..], b"````", b"~~~"]);
    let rest = prop::sample::select(vec![&b"`"[..], b"t", b"tH", b" ", b"\xF8", b"{", b"<", b"[f(", b"x='"]);
    (fence(), prop::collection::vec(rest, 0..6), fence()).prop_map(|(first, rest, second)| {
        [first, &rest.concat(), b"\n", second, b"\n{\"a\":1}\nabc\n"].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fence_with_something_after_it_does_not_depend_on_the_split(
        input in fences(),
        limit in prop_oneof![3 => Just(8_usize << 20), 2 => 5_usize..20],
    ) {
        let limits = tokenline_core::Limits { line_bytes: limit, ..tokenline_core::Limits::default() };
        at_every_split(Options::lenient().calls(CallFormat::Auto).limits(limits), &input);
    }
}

/// A line with what begins like a marker, and characters of several bytes after it.
fn marker_beginnings() -> impl Strategy<Value = String> {
    let before = prop::sample::select(vec!["", "x", "\0", "xy", "\u{e9}"]);
    let marker = prop::sample::select(vec!["<", "[", "<|"]);
    let after = prop::sample::select(vec!["\u{2019}", "\u{ff5c}", "\u{ff01}", "\u{e9}", "tool", "x"]);
    let rest = prop::sample::select(vec!["", "x", "\n", "<"]);
    (before, marker, after, rest)
        .prop_map(|(before, marker, after, rest)| [before, marker, after, rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Nor does a diagnostic about the limit.
    #[test]
    fn a_marker_that_the_limit_splits_does_not_depend_on_the_split(
        input in marker_beginnings(),
        limit in 1_usize..5,
    ) {
        let limits = tokenline_core::Limits { line_bytes: limit, ..tokenline_core::Limits::default() };
        at_every_split(Options::lenient().calls(CallFormat::Auto).limits(limits), input.as_bytes());
    }
}

/// Summaries without the messages of diagnostics, which other tests check.
fn outcomes(format: CallFormat, text: &str) -> Vec<String> {
    let marks = ['{', '('];
    calls(format, text)
        .into_iter()
        .map(|summary| if summary.contains(marks) { summary } else { "rejected".to_owned() })
        .collect()
}

#[test]
fn text_inside_a_call_yields_no_call() {
    // A parameter whose text shows how calls are written.
    for inner in
        ["<function=rm>{\"p\":1}</function>", "<function=rm>\n<parameter=p>\n1\n</parameter>\n</function>"]
    {
        let text = format!("<function=write>\n<parameter=content>\n{inner}\n</parameter>\n</function>\n");
        let seen = calls(CallFormat::Auto, &text);
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(seen[0].contains("\"name\":\"write\""), "{seen:?}");
        // The same, truncated.
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let seen = calls(CallFormat::Auto, &text[..cut]);
            assert!(!seen.iter().any(|call| call.contains("\"name\":\"rm\"")), "{seen:?}");
        }
    }
    // Malformed calls, up to their closing tags.
    let rm = "{\"name\":\"rm\",\"arguments\":{\"p\":1}}";
    for text in [
        format!(
            "<tool_call>\n{{\"name\":\"batch\",\"arguments\":{{\"calls\":[tru,\n{rm},\n]}}}}\n</tool_call>\n"
        ),
        format!("<function=batch>{{\"calls\":[tru,\n{rm},\n]}}</function>\n"),
        "<tool_call>\n{\"name\":\"batch\",\"arguments\":{\"calls\":[tru,\n[rm(p=1)],\n]}}\n</tool_call>\n"
            .to_owned(),
    ] {
        assert_eq!(outcomes(CallFormat::Auto, &text), ["rejected"], "{text}");
    }
    // Left open, it affects nothing else.
    let open = format!("<tool_call>\n{{\"name\":\"batch\",\"arguments\":tru\n{rm}\nDone.\n");
    assert_eq!(outcomes(CallFormat::Auto, &open), ["rejected".to_owned(), format!("newline {rm}")]);
}

#[test]
fn a_malformed_call_rejects_no_other() {
    let g = "text {\"name\":\"g\",\"parameters\":{\"x\":1}}";
    for text in [
        "[b(a=1)\n[g(x=1)]\n",
        "[b(a=1\n[g(x=1)]\n",
        "[TOOL_CALLS]b[ARGS]{\"a\":\n[TOOL_CALLS]g[ARGS]{\"x\":1}\n",
        "[TOOL_CALLS]b[ARGS]{\"a\":1[TOOL_CALLS]g[ARGS]{\"x\":1}\n",
        "[TOOL_CALLS]b[ARGS]{\"a\":[1,[TOOL_CALLS]g[ARGS]{\"x\":1}\n",
        "[TOOL_CALLS] [{\"name\":\"b\",\"arguments\":\n[TOOL_CALLS]g[ARGS]{\"x\":1}\n",
        "[TOOL_CALLS] [{\"name\":\"b\"}}[TOOL_CALLS]g[ARGS]{\"x\":1}\n",
    ] {
        assert_eq!(outcomes(CallFormat::Auto, text), ["rejected", g], "{text}");
    }
    let b = "text {\"name\":\"b\",\"parameters\":{\"a\":1}}";
    assert_eq!(outcomes(CallFormat::Auto, "[b(a=1),\n[g(x=1)]\n"), [b, "rejected", g]);
}

#[test]
fn a_reject_before_a_call_of_several_lines_is_not_lost() {
    let call = "-> tool/function_call\n{\"name\": \"now\", \"arguments\": {}}\n";
    for (before, rejects) in [
        ("z-> tool/function_call\n [[{\"name\":\"a\",\"arguments\":{}}]] ", 1),
        ("{\"a\":tru} ", 1),
        ("[1, 2] ", 0),
    ] {
        let text = format!("{before}{call}");
        let options = Options::lenient().calls(CallFormat::Auto);
        let seen = at_every_split(&options, text.as_bytes());
        text_at_every_split(&options, text.as_bytes(), &seen);
        let rejected = seen.iter().filter(|event| matches!(event, Seen::Rejected(_))).count();
        let records = seen.iter().filter(|event| matches!(event, Seen::Record { .. })).count();
        assert_eq!((rejected, records), (rejects, 1), "{text:?}: {seen:?}");
    }
}

#[test]
fn a_marker_may_begin_like_the_tag_of_a_parameter() {
    let row = r#"{"name": "own", "reads": ["named"], "name_end": ["<|sep|>"], "call": [["]", ""]],
        "block": [["<|open|>tools<|sep|>", "<|close|>tools<|sep|>"]],
        "parameter": {"tags": [["<|open|>key=", "<|close|>key<|sep|>"]], "key_end": ["<|sep|>"]}}"#;
    let row: CallSyntax = serde_json::from_str(row).expect("a row");
    let options = Options::lenient().calls(CallFormat::from(row));
    let text = b"<|open|>tools<|sep|>].<|sep|><|close|>tools<|sep|>";
    let seen = at_every_split(&options, text);
    text_at_every_split(&options, text, &seen);
    assert!(matches!(&seen[..], [Seen::Rejected(_)]), "{seen:?}");
}
