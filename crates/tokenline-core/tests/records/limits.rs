//! Lines and values beyond a limit.

use super::*;

/// Inputs that a generator found, grouped by what they have in common.
#[test]
fn values_over_the_limit_or_not_utf8_are_rejected_completely() {
    let limited = |line_bytes| Options::lenient().limits(Limits { line_bytes, ..Limits::default() });
    let input = "  {\n    \"items\": 1\n  }\n{\"a\":1}\n";
    assert_eq!(summaries(limited(19), input), ["record_too_large", "newline {\"a\":1}"]);
    at_every_split(limited(21), b"  {\n    \"items\": 1\n  }\n{");
    assert_eq!(
        summaries(limited(14), "[{\"a\":1},{\"b\":\"123456\"},{\"c\":1}]\n{\"d\":1}\n"),
        ["array_element {\"a\":1}", "record_too_large", "array_element {\"c\":1}", "newline {\"d\":1}"]
    );
    assert_eq!(lenient(b"[{\"\":\"\xFF\",\"\":{}}\n"), ["invalid_utf8"]);
    at_every_split(Options::lenient(), b"<think></th\xE2ink>\n{\"a\":1}\n");
}

#[test]
fn lines_beyond_the_limit_are_one_diagnostic_each() {
    let limits = Limits { line_bytes: 20, ..Limits::default() };
    let twenty = "{\"a\":\"0123456789ab\"}";
    assert_eq!(twenty.len(), 20);
    for options in [Options::strict().limits(limits), Options::lenient().limits(limits)] {
        for end in ["\n", "\r\n"] {
            let input = format!("{twenty}{end}{twenty} {end}{{\"b\":1}}{end}");
            assert_eq!(
                summaries(&options, input),
                [&format!("newline {twenty}"), "line_too_long", "newline {\"b\":1}"]
            );
        }
        assert_eq!(summaries(&options, twenty), [format!("end_of_input {twenty}")]);
        assert_eq!(summaries(&options, format!("{twenty}\r")), [format!("end_of_input {twenty}")]);
        assert_eq!(summaries(&options, format!("{twenty} ")), ["line_too_long"]);
        assert_eq!(summaries(&options, format!("{{\"b\":1}}{}\n", " ".repeat(30))), ["line_too_long"]);
        assert_eq!(summaries(&options, format!("{{\"b\":\"{}é", "é".repeat(30))), ["line_too_long"]);
        let blank = format!("{}\n{{\"b\":1}}\n", " ".repeat(50));
        assert_eq!(summaries(&options, blank), ["line_too_long", "newline {\"b\":1}"]);
        let d = only_diagnostic(&options, format!("{{\"b\":1}}\n{{\"a\":\"{}\"}}\r\n", "x".repeat(100)));
        assert_eq!((d.line, d.span.start, d.span.end, d.column), (2, 8, 116, 21));
        assert_eq!(d.message, "the line is longer than 20 bytes (108 bytes)");
    }
    let options = Options::lenient().limits(limits);
    let input = "{\"b\":1} {\"c\":1} {\"d\":1} {\"e\":1}\n{\"f\":1}\n";
    assert_eq!(
        summaries(&options, input),
        ["next_item {\"b\":1}", "next_item {\"c\":1}", "line_too_long", "newline {\"f\":1}"]
    );
}

#[test]
fn hostile_lines_are_one_diagnostic_each() {
    let deep = format!("{{\"a\":1}}\n{}\n{{\"b\":1}}\n", "[".repeat(100_000));
    let braces = format!("{{\"a\":1}}\n{}\n{{\"b\":1}}\n", "{x".repeat(50_000));
    let objects = format!("{{\"a\":1}}\n{}\n{{\"b\":1}}\n", "{\"a\":".repeat(50_000));
    let long = format!("{{\"a\":1}}\n{{\"a\":\"{}\"}}\n{{\"b\":1}}\n", "x".repeat(64 << 20));
    for (input, code, lenient) in [
        (&deep, "too_deep", "too_deep"),
        (&objects, "too_deep", "too_deep"),
        (&braces, "malformed_json", "(prose)"),
        (&long, "line_too_long", "line_too_long"),
    ] {
        for (options, code) in [(Options::strict(), code), (Options::lenient(), lenient)] {
            let expected = ["newline {\"a\":1}", code, "newline {\"b\":1}"];
            for size in [4096, 65_536, usize::MAX] {
                let seen = decode(&options, input.as_bytes().chunks(size.min(input.len())));
                assert_eq!(seen.iter().map(Seen::summary).collect::<Vec<_>>(), expected);
            }
        }
    }
    // Prose full of braces: still one pass.
    let line = "{a} [b] {\"c\" ".repeat(20_000);
    let seen = decode(Options::lenient(), format!("{line}\n{{\"b\":1}}\n").as_bytes().chunks(1000));
    assert_eq!(seen.len(), 2);
}
