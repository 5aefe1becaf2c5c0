//! Rejected calls, and their messages.

use tokenline_core::{
    CallDelta, Code, CompletedBy, Options, ToolCallAssembler, ValidateCall, Violation, json,
};

use crate::{Abort, Finish, Wire, at, check, drain, more, of, run, run_with};

#[test]
fn text_that_is_not_a_call() {
    for (arguments, expected) in [
        (r#"{"a":NaN}"#, "1:6: malformed_json: call 1 (`f`): expected a value, found a letter"),
        ("{\n \"a\":\n  01}", "3:4: malformed_json: call 1 (`f`): expected `,` or `}`, found a number"),
        ("[1]", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found array"),
        (
            r#""x""#,
            "1:1: invalid_parameters: call 1 (`f`): the arguments are a string that does not hold an object",
        ),
        (
            r#""[{}]""#,
            "1:1: invalid_parameters: call 1 (`f`): the arguments are a string that does not hold an object",
        ),
        ("true", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found boolean"),
        ("5", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found number"),
        ("5 ", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found number"),
        ("call me", "1:1: malformed_json: call 1 (`f`): expected a value, found a letter"),
    ] {
        check(&[at(0, "", "f", arguments), at(0, "", "", "more"), Finish], &[expected]);
        // Only this call.
        let seen = run(&[at(0, "", "f", arguments), at(1, "", "g", "{}"), Finish]);
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(
            seen.contains(&expected.to_owned()) && seen.contains(&"g {} finish_reason".to_owned()),
            "{seen:?}"
        );
    }
    check(
        &[at(0, "c1", "", r#"{"a":1}"#), Finish],
        &["1:1: missing_field: call 1: the name of the tool is missing"],
    );
    check(&[more(r#"{"a":1}"#), Finish], &["1:1: missing_field: call 1: the name of the tool is missing"]);
    // Empty fragments open nothing.
    check(&[at(0, "", "", ""), more(" "), of("", "", ""), Finish], &[]);
}

#[test]
fn a_call_is_rejected_once() {
    let mut calls = ToolCallAssembler::new(&Options::default()).with_tools(Weather);
    for pending in ["{\"", "{ ", "nu", "\"{"] {
        let wire = [
            at(0, "a", "wether", r#"{"x":1}"#),
            at(0, "", "", pending),
            at(1, "b", "weather", "{}"),
            at(0, "", "", "x\"}"),
            Finish,
        ];
        let seen = run_with(&mut calls, &wire);
        assert!(seen.len() == 2 && seen[0].contains("unknown_tool"), "{pending}: {seen:?}");
        calls.reset();
    }
}

#[test]
fn arguments_that_are_encoded_twice_are_decoded() {
    for (arguments, decoded) in
        [(r#""{\"a\":\"é\"}""#, r#"{"a":"é"}"#), (r#""{}""#, "{}"), (r#""""#, "{}"), (r#"" null ""#, "{}")]
    {
        for cut in (0..=arguments.len()).filter(|at| arguments.is_char_boundary(*at)) {
            let (left, right) = arguments.split_at(cut);
            let mut calls = ToolCallAssembler::new(&Options::default()).with_updates();
            for arguments in [left, right] {
                calls.push(CallDelta { index: Some(0), name: Some("f"), arguments, ..CallDelta::default() });
            }
            calls.finish(CompletedBy::FinishReason);
            assert_eq!(drain(&mut calls), [format!("f {decoded} finish_reason")], "{arguments} cut at {cut}");
            assert_eq!(calls.held_bytes(), 1);
        }
    }
}

#[test]
fn arguments_too_deep() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let run = |arguments: &str| {
        let mut calls = ToolCallAssembler::new(&Options::default());
        calls.push(CallDelta { name: Some("f"), arguments, ..CallDelta::default() });
        calls.finish(CompletedBy::FinishReason);
        drain(&mut calls).join("")
    };
    assert!(run(&format!("{{\"a\":{}}}", deep(127))).starts_with("f {"));
    assert!(
        run(&format!("{{\"a\":{}}}", deep(128))).contains("too_deep: call 1 (`f`): expected less nesting")
    );
}

#[test]
fn bytes_that_were_not_utf8() {
    let lossy =
        |arguments| Wire::Delta(CallDelta { index: Some(0), arguments, lossy: true, ..CallDelta::default() });
    let bad = "1:6: invalid_utf8: call 1 (`f`): the arguments are not UTF-8";
    check(&[at(0, "", "f", r#"{"a":"#), lossy("\"\u{fffd}\"}"), Finish], &[bad]);
    // The model may write U+FFFD itself, and the invalid byte may be elsewhere in the event.
    check(&[at(0, "", "f", r#"{"a":"#), lossy("1}"), Finish], &[r#"f {"a":1} finish_reason"#]);
    check(&[at(0, "", "f", "{\"a\":\"\u{fffd}\"}"), Finish], &["f {\"a\":\"\u{fffd}\"} finish_reason"]);
    // A corrupted name or id rejects the call, whatever follows.
    let header = |id, name, arguments| {
        Wire::Delta(CallDelta {
            index: Some(0),
            id: Some(id),
            name: Some(name),
            arguments,
            lossy: true,
            is_whole: false,
        })
    };
    let bad = "1:1: invalid_utf8: call 1 (`f`): the name or the id is not UTF-8";
    check(&[header("c\u{fffd}", "f", "{}"), Finish], &[bad]);
    check(&[header("c\u{fffd}", "f", ""), at(0, "", "", "{}"), more(" "), Finish], &[bad]);
    check(&[header("c1", "f\u{fffd}", "{}"), Finish], &[&bad.replace("`f`", "`f\u{fffd}`")]);
    check(&[header("c1", "f", "{}"), Finish], &["c1:f {} finish_reason"]);
    check(&[at(0, "c1", "f\u{fffd}", "{}"), Finish], &["c1:f\u{fffd} {} finish_reason"]);
    // It does not confirm the call before it.
    check(
        &[at(0, "c1", "f", "{}"), header("c\u{fffd}", "f", "{}"), Abort],
        &[
            &bad.replace("call 1", "call 2"),
            "1:1: unsealed: call 1 (`f`): the arguments are balanced, but the response ended without evidence that they are complete",
        ],
    );
}

/// Knows one tool, which takes a `city`.
struct Weather;

impl ValidateCall for Weather {
    fn validate_call(&self, name: &str, parameters: json::Value<'_>) -> Result<(), Box<Violation>> {
        if name != "weather" {
            return Err(Box::new(Violation::new(Code::UnknownTool, 0, "no such tool")));
        }
        if let Some(violation) = Violation::duplicate_key(parameters) {
            return Err(violation);
        }
        match parameters.get("city") {
            Some(city) if city.as_str().is_none() => {
                let violation = Violation::new(Code::InvalidParameters, city.range().start, "no string");
                Err(Box::new(violation.with_instance_path("/city").with_schema_path("/properties/city/type")))
            }
            _ => Ok(()),
        }
    }
}

#[test]
fn calls_are_validated() {
    let mut calls = ToolCallAssembler::new(&Options::default()).with_tools(Weather);
    let wire = [
        at(0, "", "weather", r#"{"city":"Oslo"}"#),
        at(1, "", "wether", r#"{"city":"Oslo"}"#),
        at(2, "", "weather", "{\"days\":3,\n \"city\":7}"),
        at(3, "", "weather", r#"{"city":"Oslo","city":"Rome"}"#),
        Finish,
    ];
    assert_eq!(
        run_with(&mut calls, &wire),
        [
            r#"weather {"city":"Oslo"} next_item"#,
            "1:1: unknown_tool: call 2 (`wether`): no such tool (at /name)",
            "2:9: invalid_parameters: call 3 (`weather`): no string (at /parameters/city)",
            "1:16: duplicate_key: call 4 (`weather`): an object has two members of this name (at /parameters/city)",
        ]
    );
    calls.reset();
    calls.push(CallDelta { name: Some("weather"), arguments: "{\n \"city\":7}", ..CallDelta::default() });
    calls.finish(CompletedBy::Terminator);
    let diagnostic = calls.next_event().unwrap().unwrap_err().diagnostic;
    assert_eq!(
        (diagnostic.line, diagnostic.column, diagnostic.span.start, diagnostic.span.end),
        (2, 9, 0, 12)
    );
    assert_eq!(diagnostic.instance_path.as_deref(), Some("/parameters/city"));
    assert_eq!(diagnostic.schema_path.as_deref(), Some("/properties/city/type"));
}

#[test]
fn a_rejected_call_has_what_was_received() {
    let mut calls = ToolCallAssembler::new(&Options::default());
    calls.push(CallDelta {
        id: Some("c"),
        name: Some("f"),
        arguments: "{\"a\":\"se",
        ..CallDelta::default()
    });
    calls.abort();
    let call = calls.next_event().unwrap().unwrap_err();
    assert_eq!(
        (call.name.as_deref(), call.call_id.as_deref(), call.is_synthetic_id),
        (Some("f"), Some("c"), false)
    );
    assert_eq!((call.received.as_str(), call.diagnostic.code), ("{\"a\":\"se", Code::Truncated));
    assert!(!call.to_string().contains("se\"") && calls.next_event().is_none());
}

#[test]
fn messages_do_not_repeat_endless_names() {
    let name: &'static str = Box::leak(format!("a\n{}", "n".repeat(500)).into_boxed_str());
    let seen = run(&[at(0, "", name, "{x")]);
    assert!(seen[0].contains(&format!("(`a\\n{}`)", "n".repeat(62))), "{seen:?}");
}
