//! Native tool calls put together from their fragments.

use std::sync::Arc;

use tokenline_core::{
    CallDelta, Code, Completion, Emit, Limits, Options, PartialArgument, PartialValue, RejectedCall,
    ToolCall, ToolCallAssembler, ValidateCall, Violation, json,
};

/// What a provider sends.
#[derive(Clone, Copy)]
enum Wire {
    Delta(CallDelta<'static>),
    Partial(u64, PartialArgument<'static>),
    SealItem(u64),
    CutItem(u64),
    Seal,
    Cut,
}
use Wire::{Cut, CutItem, Seal, SealItem};

/// A fragment of the call with this index.
fn at(index: u64, id: &'static str, name: &'static str, arguments: &'static str) -> Wire {
    Wire::Delta(CallDelta {
        index: Some(index),
        id: Some(id),
        name: Some(name),
        arguments,
        ..CallDelta::default()
    })
}

/// A fragment without an index.
fn of(id: &'static str, name: &'static str, arguments: &'static str) -> Wire {
    Wire::Delta(CallDelta { index: None, id: Some(id), name: Some(name), arguments, ..CallDelta::default() })
}

fn more(arguments: &'static str) -> Wire {
    Wire::Delta(CallDelta { arguments, ..CallDelta::default() })
}

/// All the arguments of the call with this index.
fn whole(index: u64, id: &'static str, name: &'static str, arguments: &'static str) -> Wire {
    let (index, id, name) = (Some(index), Some(id), Some(name));
    Wire::Delta(CallDelta { index, id, name, arguments, is_whole: true, lossy: false })
}

/// A text in the arguments, which goes on where it ends with `…`, or a literal after `#`.
fn part(index: u64, path: &'static str, value: &'static str) -> Wire {
    let text = value.strip_suffix('…');
    let goes_on = text.is_some();
    let value = match value.strip_prefix('#') {
        Some(literal) => PartialValue::Literal(literal),
        None => PartialValue::Text(text.unwrap_or(value)),
    };
    Wire::Partial(index, PartialArgument { path, value, goes_on })
}

fn line(outcome: Result<ToolCall, Box<RejectedCall>>) -> String {
    match outcome {
        Ok(call) => {
            let id = call.call_id.filter(|_| !call.has_minted_id);
            let id = id.map_or_else(String::new, |id| format!("{id}:"));
            format!("{id}{} {} {}", call.name, call.parameters, call.completion.as_str())
        }
        Err(call) => call.to_string().replacen(" of the arguments", "", 1),
    }
}

fn drain(calls: &mut ToolCallAssembler) -> Vec<String> {
    std::iter::from_fn(|| calls.next_event()).map(line).collect()
}

/// What comes of it; the arguments' bytes are looked at once.
fn run_with(calls: &mut ToolCallAssembler, wire: &[Wire]) -> Vec<String> {
    let mut bytes = 0;
    let before = calls.examined();
    for wire in wire {
        match *wire {
            Wire::Delta(delta) => {
                bytes += delta.arguments.len() as u64;
                calls.push(delta);
            }
            Wire::Partial(index, part) => {
                // The text that they are put together as is parsed in the end.
                bytes += 2 * (part.path.len() as u64 + 8);
                calls.push_partial(Some(index), part, false);
            }
            SealItem(index) => calls.seal_item(index, Completion::ItemStop),
            CutItem(index) => calls.cut_item(index),
            Seal => calls.seal(Completion::FinishReason),
            Cut => calls.cut(),
        }
    }
    // Arguments that never came are parsed as `{}`.
    assert!(calls.examined() - before <= bytes + 2);
    drain(calls)
}

fn run(wire: &[Wire]) -> Vec<String> {
    run_with(&mut ToolCallAssembler::new(Options::default()), wire)
}

#[track_caller]
fn check(wire: &[Wire], expected: &[&str]) {
    assert_eq!(run(wire), expected);
}

#[test]
fn fragments_of_one_call() {
    let wire =
        [at(0, "c1", "search", ""), at(0, "", "", r#"{"que"#), at(0, "", "", r#"ry":"fj"#), more(r#"ord"}"#)];
    check(&wire, &[]);
    check(&[&wire[..], &[Seal]].concat(), &[r#"c1:search {"query":"fjord"} finish_reason"#]);
    check(&[at(0, "", "f", " \n{ \"a\" : 1e999 }\r\n "), Seal], &[r#"f { "a" : 1e999 } finish_reason"#]);
    check(&[at(0, "", "f", r#"{"ab":"\u00e9"}"#), Seal], &[r#"f {"ab":"\u00e9"} finish_reason"#]);
}

#[test]
fn a_header_may_come_in_parts_or_again() {
    let call = &[r#"c1:f {"a":1} finish_reason"#];
    check(&[at(0, "c1", "", ""), at(0, "", "f", ""), at(0, "", "", r#"{"a":1}"#), Seal], call);
    check(&[at(0, "", "f", ""), at(0, "c1", "", ""), at(0, "", "", r#"{"a":1}"#), Seal], call);
    check(&[at(0, "", "f", ""), at(0, "c1", "f", r#"{"a":1}"#), Seal], call);
    check(&[at(0, "c1", "f", r#"{"a""#), at(0, "c1", "f", ":1}"), at(0, "c1", "f", ""), Seal], call);
    check(&[of("", "f", ""), of("c1", "", r#"{"a":1}"#), Seal], call);
    check(&[of("c1", "f", r#"{"a""#), of("c1", "", ":1"), of("", "f", "}"), Seal], call);
    // An id minted for every fragment, as vLLM once did.
    check(
        &[at(0, "c1", "f", ""), at(0, "x", "", r#"{"a":"#), at(0, "y", "", "1}"), at(0, "z", "", ""), Seal],
        call,
    );
}

#[test]
fn parallel_calls() {
    let two = &[r#"a:f {"x":1} next_item"#, r#"b:g {"y":2} finish_reason"#];
    // By index, where the next call proves nothing; by id; by name.
    check(
        &[at(0, "a", "f", r#"{"x":1}"#), at(1, "b", "g", r#"{"y""#), at(1, "", "", ":2}"), Seal],
        &[r#"a:f {"x":1} finish_reason"#, two[1]],
    );
    check(&[of("a", "f", r#"{"x":1}"#), of("b", "g", r#"{"y""#), more(":2}"), Seal], two);
    check(
        &[of("", "f", r#"{"x":1}"#), of("", "g", r#"{"y""#), more(":2}"), Seal],
        &[r#"f {"x":1} next_item"#, r#"g {"y":2} finish_reason"#],
    );
    // Interleaved: nothing proves that a call is whole while its header is not the last.
    check(
        &[
            at(0, "a", "f", ""),
            at(1, "b", "g", ""),
            at(0, "", "", r#"{"x""#),
            at(1, "", "", r#"{"y":2}"#),
            at(0, "", "", ":1}"),
            Seal,
        ],
        &[r#"a:f {"x":1} finish_reason"#, r#"b:g {"y":2} finish_reason"#],
    );
    check(
        &[of("a", "f", r#"{"x""#), of("b", "g", r#"{"y""#), of("a", "", ":1}"), of("b", "", ":2}"), Seal],
        &[r#"a:f {"x":1} finish_reason"#, r#"b:g {"y":2} finish_reason"#],
    );
}

#[test]
fn parallel_calls_that_share_an_index() {
    let same =
        |first: Wire, rest: &[Wire], expected: &[&str]| check(&[&[first], rest, &[Seal]].concat(), expected);
    let first = at(0, "a", "f", r#"{"x":1}"#);
    let second = r#"f {"x":2} finish_reason"#;
    // By id.
    same(first, &[at(0, "b", "f", r#"{"x":2}"#)], &[r#"a:f {"x":1} next_item"#, &format!("b:{second}")]);
    same(
        first,
        &[at(0, "b", "f", ""), at(0, "", "", r#"{"x":2}"#)],
        &[r#"a:f {"x":1} next_item"#, &format!("b:{second}")],
    );
    // By a balanced root and then `{`, with the name in the same fragment or in one of its own.
    let first = at(0, "", "f", r#"{"x":1}"#);
    same(first, &[at(0, "", "f", r#"{"x"#), at(0, "", "", r#"":2}"#)], &[r#"f {"x":1} next_item"#, second]);
    same(first, &[at(0, "", "f", ""), at(0, "", "", r#" {"x":2}"#)], &[r#"f {"x":1} next_item"#, second]);
    // By another name.
    same(
        first,
        &[at(0, "", "g", ""), at(0, "", "", "{}")],
        &[r#"f {"x":1} next_item"#, "g {} finish_reason"],
    );
    // Without any name it is not known whose arguments they are.
    let nameless = "1:1: missing_field: call 2: arguments follow without the name of a tool";
    let more_at = |arguments| at(0, "", "", arguments);
    same(first, &[more_at(r#"{"x":2}"#), more_at("{}")], &[r#"f {"x":1} next_item"#, nameless]);
    same(first, &[more(r#"{"x":2}"#), more("{}")], &[nameless, r#"f {"x":1} finish_reason"#]);
    same(at(0, "", "f", "{}{}{}{}"), &[], &["f {} next_item", nameless]);
    // What a nameless or a broken call leaves behind does not hide the next one.
    same(
        first,
        &[more_at("{"), at(0, "", "g", ""), more("{}")],
        &[r#"f {"x":1} next_item"#, nameless, "g {} finish_reason"],
    );
    same(
        at(0, "", "f", "{x"),
        &[at(0, "", "f", r#"{"x":2}"#)],
        &[
            "1:2: malformed_json: call 1 (`f`): expected a name in double quotes or `}`, found a letter",
            second,
        ],
    );
}

#[test]
fn a_parsable_prefix_is_not_a_call() {
    let conflict = "1:17: trailing_data: call 1 (`search`): the arguments are balanced, but go on with `,`";
    let first = at(0, "c1", "search", r#"{"query":"test"}"#);
    check(&[first, at(0, "", "", r#", "limit": 10}"#), Seal], &[conflict]);
    check(&[first, more(" \n"), more(r#", "limit": 10}"#), Seal], &[conflict]);
    check(&[at(0, "c1", "search", r#"{"query":"test"}, "limit": 10}"#), Seal], &[conflict]);
    // The calls beside it are not harmed.
    let next = at(1, "c2", "f", "{}");
    check(&[first, more(","), next, Seal], &[conflict, "c2:f {} finish_reason"]);
    // The call of another index proves nothing, because fragments may be interleaved.
    let rest = [at(0, "", "", r#", "limit": 10}"#), at(0, "", "", "}"), Seal];
    check(&[&[first, next][..], &rest].concat(), &[conflict, "c2:f {} finish_reason"]);
    // Too late to withhold: it was released at the end.
    check(
        &[&[first, Seal][..], &rest].concat(),
        &[
            r#"c1:search {"query":"test"} finish_reason"#,
            "1:1: trailing_data: call 1 (`search`): the call was released, but its arguments go on with `,`",
        ],
    );
}

#[test]
fn where_the_arguments_are_cut_makes_no_difference() {
    for arguments in [
        " {\"query\": \"fj\u{f8}rd {}\", \"a\": [1, -0.5e3, true, {\"\\u00e9\\ud83d\\ude00\": null}]} \n",
        r#"{"query":"test"} , "limit": 10}"#,
        r#"{"a":NaN} {"#,
        "[{}] {",
    ] {
        let whole = run(&[at(0, "", "f", arguments), Seal]);
        assert_eq!(whole.len(), 1);
        for cut in (0..arguments.len()).filter(|&cut| arguments.is_char_boundary(cut)) {
            let (left, right) = arguments.split_at(cut);
            check(&[at(0, "", "f", left), at(0, "", "", right), Seal], &[&whole[0]]);
        }
        let pieces = arguments.split_inclusive(|_: char| true).map(|piece| at(0, "", "", piece));
        let wire: Vec<_> = [at(0, "", "f", "")].into_iter().chain(pieces).chain([Seal]).collect();
        check(&wire, &[&whole[0]]);
    }
}

#[test]
fn a_truncated_call_is_never_a_call() {
    let text = r#"{"path":"a.md","lines":[1,2,{"n":null}],"text":"\u00e9 {}"}"#;
    for end in [Seal, Cut] {
        for cut in 1..text.len() {
            let seen = run(&[at(0, "c1", "write", &text[..cut]), end]);
            assert_eq!(seen.len(), 1);
            assert!(seen[0].contains(": truncated: call 1 (`write`): expected "), "{seen:?}");
            assert!(seen[0].ends_with(", found the end of the input"), "{seen:?}");
        }
    }
    check(
        &[at(0, "c1", "write", text), Cut],
        &[
            "1:1: unsealed: call 1 (`write`): the arguments are balanced, but the answer ended without proof that they are whole",
        ],
    );
    // What another call sealed before stays released, and what comes after is not.
    let calls = [at(0, "a", "f", "{}"), at(0, "b", "g", r#"{"a"#), Cut, at(0, "", "", r#"":1}"#), Seal];
    check(
        &calls,
        &[
            "a:f {} next_item",
            "1:4: truncated: call 2 (`g`): expected the rest of the string, found the end of the input",
        ],
    );
}

#[test]
fn arguments_that_never_came() {
    let ended = ": truncated: call 1 (`now`): the answer ended before the arguments began";
    for arguments in ["", " ", "\n"] {
        check(&[at(0, "c1", "now", ""), at(0, "", "", arguments), Seal], &["c1:now {} finish_reason"]);
        let seen = run(&[at(0, "c1", "now", ""), at(0, "", "", arguments), Cut]);
        assert!(seen[0].ends_with(ended), "{seen:?}");
    }
    // That another call begins does not prove it, the clean end does.
    check(
        &[at(0, "a", "now", ""), at(1, "b", "f", "{}"), Seal],
        &["a:now {} finish_reason", "b:f {} finish_reason"],
    );
    let seen = run(&[at(0, "a", "now", ""), at(1, "b", "f", "{}"), Cut]);
    assert!(seen[0].contains("truncated") && seen[1].contains("unsealed"), "{seen:?}");
}

#[test]
fn what_is_no_call() {
    for (arguments, expected) in [
        (r#"{"a":NaN}"#, "1:6: malformed_json: call 1 (`f`): expected a value, found a letter"),
        ("{\n \"a\":\n  01}", "3:4: malformed_json: call 1 (`f`): expected `,` or `}`, found a number"),
        ("[1]", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found array"),
        (r#""{}""#, "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found string"),
        ("null", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found null"),
        ("5", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found number"),
        ("5 ", "1:1: invalid_parameters: call 1 (`f`): the arguments must be an object, found number"),
        ("call me", "1:1: malformed_json: call 1 (`f`): expected a value, found a letter"),
    ] {
        check(&[at(0, "", "f", arguments), at(0, "", "", "more"), Seal], &[expected]);
        // This call alone.
        let seen = run(&[at(0, "", "f", arguments), at(1, "", "g", "{}"), Seal]);
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(
            seen.contains(&expected.to_owned()) && seen.contains(&"g {} finish_reason".to_owned()),
            "{seen:?}"
        );
    }
    check(&[at(0, "c1", "", r#"{"a":1}"#), Seal], &["1:1: missing_field: call 1: it does not name a tool"]);
    check(&[more(r#"{"a":1}"#), Seal], &["1:1: missing_field: call 1: it does not name a tool"]);
    // Fragments that say nothing open nothing.
    check(&[at(0, "", "", ""), more(" "), of("", "", ""), Seal], &[]);
}

#[test]
fn arguments_too_deep() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let run = |arguments: &str| {
        let mut calls = ToolCallAssembler::new(Options::default());
        calls.push(CallDelta { name: Some("f"), arguments, ..CallDelta::default() });
        calls.seal(Completion::FinishReason);
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
    check(&[at(0, "", "f", r#"{"a":"#), lossy("\"\u{fffd}\"}"), Seal], &[bad]);
    // The model may well write U+FFFD itself, and the bad byte may be elsewhere in the event.
    check(&[at(0, "", "f", r#"{"a":"#), lossy("1}"), Seal], &[r#"f {"a":1} finish_reason"#]);
    check(&[at(0, "", "f", "{\"a\":\"\u{fffd}\"}"), Seal], &["f {\"a\":\"\u{fffd}\"} finish_reason"]);
    // A name or an id that is not what was sent; whatever else comes of such a call.
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
    check(&[header("c\u{fffd}", "f", "{}"), Seal], &[bad]);
    check(&[header("c\u{fffd}", "f", ""), at(0, "", "", "{}"), more(" "), Seal], &[bad]);
    check(&[header("c1", "f\u{fffd}", "{}"), Seal], &[&bad.replace("`f`", "`f\u{fffd}`")]);
    check(&[header("c1", "f", "{}"), Seal], &["c1:f {} finish_reason"]);
    check(&[at(0, "c1", "f\u{fffd}", "{}"), Seal], &["c1:f\u{fffd} {} finish_reason"]);
    // It proves nothing about the call before it.
    check(
        &[at(0, "c1", "f", "{}"), header("c\u{fffd}", "f", "{}"), Cut],
        &[
            &bad.replace("call 1", "call 2"),
            "1:1: unsealed: call 1 (`f`): the arguments are balanced, but the answer ended without proof that they are whole",
        ],
    );
}

#[test]
fn a_call_that_comes_again_is_one_call() {
    let call = [r#"c1:f {"a":{}} finish_reason"#];
    let text = r#"{"a":{}}"#;
    for header in [at(0, "c1", "f", ""), of("c1", "f", "")] {
        let Wire::Delta(header) = header else { unreachable!() };
        let piece = |arguments| Wire::Delta(CallDelta { arguments, ..header });
        let whole = piece(text);
        check(&[whole, whole, Seal], &call);
        check(&[whole, whole, whole, piece(""), Seal, whole, Seal], &call);
        check(&[whole, Seal, whole, Seal, whole, Cut], &call);
        // In pieces, with the header for itself, across the release, with white space around it.
        for cut in 0..=text.len() {
            let (left, right) = text.split_at(cut);
            let bare = |arguments| Wire::Delta(CallDelta { id: None, name: None, arguments, ..header });
            check(&[whole, piece(left), bare(right), Seal], &call);
            check(&[whole, piece(""), bare(left), bare(right), Seal], &call);
            check(&[whole, piece(" \n"), bare(left), bare(right), bare(" "), Seal], &call);
            check(&[whole, Seal, piece(left), bare(right), Seal], &call);
            check(&[piece(left), bare(right), whole, Seal, whole, Seal], &call);
            let next = of("c2", "g", "{}");
            let expected = if header.index.is_some() { "finish_reason" } else { "next_item" };
            check(
                &[whole, piece(left), next, piece(right), Seal],
                &[&call[0].replace("finish_reason", expected), "c2:g {} finish_reason"],
            );
        }
        // With other arguments it contradicts itself, and stays rejected.
        let conflict = "1:9: trailing_data: call 1 (`f`): the call came again with other arguments";
        for other in [r#"{"a":[]}"#, "{}", r#"{"a":{} }"#, r#"{"é":1}"#] {
            check(&[whole, piece(other), Seal], &[conflict]);
            check(&[whole, piece(other), whole, Seal, whole, Seal], &[conflict]);
            let late = "1:1: trailing_data: call 1 (`f`): the call was released, but came again with other arguments";
            check(&[whole, Seal, piece(other), Seal, whole, Seal], &[call[0], late]);
        }
        check(
            &[whole, piece(r#"{"a":{}}, "b":1}"#), Seal],
            &["1:9: trailing_data: call 1 (`f`): the arguments are balanced, but go on with `,`"],
        );
        // Sent to another tool, or by another id, it is another call.
        let second = |id, name| CallDelta { id: Some(id), name: Some(name), arguments: "{}", ..header };
        assert_eq!(run(&[whole, Wire::Delta(second("c1", "g")), Seal]).len(), 2);
        assert_eq!(run(&[whole, Wire::Delta(second("c2", "f")), Seal, whole, Seal]).len(), 2);
    }
    // The index tells calls apart as well.
    assert_eq!(run(&[at(0, "c1", "f", text), at(1, "c1", "f", text), Seal]).len(), 2);
    // Eager.
    let mut calls = ToolCallAssembler::new(Options::default().emit(Emit::Eager));
    let wire = [at(0, "c1", "f", text), at(0, "c1", "f", ""), more(text), at(0, "c1", "f", text), Seal];
    assert_eq!(run_with(&mut calls, &wire), [r#"c1:f {"a":{}} balanced"#]);
}

#[test]
fn eager_calls_are_released_at_the_last_brace() {
    let eager = || ToolCallAssembler::new(Options::default().emit(Emit::Eager));
    let mut calls = eager();
    assert_eq!(run_with(&mut calls, &[at(0, "a", "f", r#"{"x":1"#)]), [""; 0]);
    assert_eq!(run_with(&mut calls, &[more("}")]), [r#"a:f {"x":1} balanced"#]);
    assert_eq!(run_with(&mut calls, &[Seal, Cut]), [""; 0]);
    assert_eq!(
        run_with(&mut eager(), &[at(0, "a", "f", r#"{"x":1}, "y":2}"#), Seal]),
        [
            r#"a:f {"x":1} balanced"#,
            "1:1: trailing_data: call 1 (`f`): the call was released, but its arguments go on with `,`"
        ]
    );
}

#[test]
fn the_end_may_come_twice_and_early() {
    let call = "c1:f {} finish_reason";
    check(&[at(0, "c1", "f", "{}"), Seal, Seal], &[call]);
    check(&[at(0, "c1", "f", "{}"), Seal, Cut], &[call]);
    check(
        &[at(0, "c1", "f", "{}"), Seal, at(0, "", "", " "), at(1, "c2", "g", "{}"), Seal],
        &[call, "c2:g {} finish_reason"],
    );
    let seen = run(&[at(0, "c1", "f", "{}"), Seal, at(1, "c2", "g", "{}"), Cut]);
    assert!(seen[1].starts_with("1:1: unsealed: call 2 (`g`)"), "{seen:?}");
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
fn calls_are_held_against_their_tools() {
    let mut calls = ToolCallAssembler::new(Options::default()).with_tools(Arc::new(Weather));
    let wire = [
        at(0, "", "weather", r#"{"city":"Oslo"}"#),
        at(1, "", "wether", r#"{"city":"Oslo"}"#),
        at(2, "", "weather", "{\"days\":3,\n \"city\":7}"),
        at(3, "", "weather", r#"{"city":"Oslo","city":"Rome"}"#),
        Seal,
    ];
    assert_eq!(
        run_with(&mut calls, &wire),
        [
            r#"weather {"city":"Oslo"} finish_reason"#,
            "1:1: unknown_tool: call 2 (`wether`): no such tool (at /name)",
            "2:9: invalid_parameters: call 3 (`weather`): no string (at /parameters/city)",
            "1:16: duplicate_key: call 4 (`weather`): an object has two members of this name (at /parameters/city)",
        ]
    );
    calls.reset();
    calls.push(CallDelta { name: Some("weather"), arguments: "{\n \"city\":7}", ..CallDelta::default() });
    calls.seal(Completion::Terminator);
    let diagnostic = calls.next_event().unwrap().unwrap_err().diagnostic;
    assert_eq!(
        (diagnostic.line, diagnostic.column, diagnostic.span.start, diagnostic.span.end),
        (2, 9, 0, 12)
    );
    assert_eq!(diagnostic.instance_path.as_deref(), Some("/parameters/city"));
    assert_eq!(diagnostic.schema_path.as_deref(), Some("/properties/city/type"));
}

#[test]
fn memory_is_bounded() {
    let limits = Limits { line_bytes: 1000, ..Limits::default() };
    let mut calls = ToolCallAssembler::new(Options::default().limits(limits));
    let push = |calls: &mut ToolCallAssembler, index, name, arguments: &str| {
        calls.push(CallDelta { index: Some(index), name: Some(name), arguments, ..CallDelta::default() });
    };
    // One call beyond the limit, in pieces and at once.
    push(&mut calls, 0, "f", "{\"a\":\"");
    for _ in 0..100 {
        push(&mut calls, 0, "", &"x".repeat(99));
    }
    let diagnostic = calls.next_event().unwrap().unwrap_err().diagnostic;
    assert_eq!(
        diagnostic.to_string(),
        "1:997 of the arguments: record_too_large: call 1 (`f`): the open calls are larger than 1000 bytes"
    );
    push(&mut calls, 1, "g", &format!("{{\"a\":\"{}\"}}", "x".repeat(1000)));
    assert_eq!(calls.next_event().unwrap().unwrap_err().diagnostic.code, Code::RecordTooLarge);
    // Those around them are delivered.
    push(&mut calls, 2, "h", "{}");
    calls.seal(Completion::FinishReason);
    assert_eq!(drain(&mut calls), ["h {} finish_reason"]);
    // Many open calls, together beyond the limit; an endless name.
    calls.reset();
    for index in 0..100 {
        push(&mut calls, index, "f", "{\"a\":\"xxxxxxxxxxxx");
    }
    assert_eq!(drain(&mut calls).len(), 100 - 1000 / 19);
    calls.reset();
    push(&mut calls, 0, &"n".repeat(1001), "{}");
    assert_eq!(drain(&mut calls).len(), 1);
}

#[test]
fn many_calls_are_not_remembered_for_ever() {
    let mut calls = ToolCallAssembler::new(Options::default());
    for index in 0..10_000 {
        calls.push(CallDelta { index: Some(0), name: Some("f"), arguments: "{}", ..CallDelta::default() });
        let seen = drain(&mut calls);
        assert_eq!(seen.len(), usize::from(index > 0), "{seen:?}");
    }
    calls.reset();
    for index in 0..1_000 {
        calls.push(CallDelta { index: Some(index), name: Some("f"), arguments: "{", ..CallDelta::default() });
    }
    let seen = drain(&mut calls);
    assert_eq!(seen.len(), 1_000 - 256);
    assert_eq!(seen[0], "1:1: record_too_large: call 1 (`f`): more than 256 calls are open at once");
}

#[test]
fn messages_do_not_repeat_endless_names() {
    let name: &'static str = Box::leak(format!("a\n{}", "n".repeat(500)).into_boxed_str());
    let seen = run(&[at(0, "", name, "{x")]);
    assert!(seen[0].contains(&format!("(`a\\n{}`)", "n".repeat(62))), "{seen:?}");
}

#[test]
fn an_item_that_has_stopped_is_released() {
    let wire =
        [at(0, "a", "f", "{\"x\":"), at(1, "b", "g", "{}"), SealItem(1), at(0, "", "", "1}"), SealItem(0)];
    check(&wire, &["b:g {} item_stop", "a:f {\"x\":1} item_stop"]);
    // Its end releases nothing twice.
    check(
        &[&wire[..], &[Seal, SealItem(0), Cut]].concat(),
        &run(&wire).iter().map(|line| &**line).collect::<Vec<_>>(),
    );
    // What was not balanced is truncated, whatever the item says.
    check(
        &[at(0, "a", "f", "{\"x\":48151"), SealItem(0), Seal],
        &["1:11: truncated: call 1 (`f`): expected `,` or `}`, found the end of the input"],
    );
    check(
        &[at(0, "a", "f", "{}"), CutItem(0), Seal],
        &[
            "1:1: unsealed: call 1 (`f`): the arguments are balanced, but the answer ended without proof that they are whole",
        ],
    );
    // Arguments that never came are left for the end of the answer to judge.
    let never = [at(0, "a", "f", ""), SealItem(0)];
    check(&never, &[]);
    check(&[&never[..], &[Seal]].concat(), &["a:f {} finish_reason"]);
    check(
        &[&never[..], &[Cut]].concat(),
        &["1:1: truncated: call 1 (`f`): the answer ended before the arguments began"],
    );
}

#[test]
fn arguments_may_come_at_once_or_once_more() {
    let header = at(0, "a", "f", "");
    let stop = SealItem(0);
    let once = &["a:f {\"x\":1} item_stop"];
    check(&[whole(0, "a", "f", r#"{"x":1}"#), stop], once);
    check(&[header, whole(0, "", "", r#"{"x":1}"#), whole(0, "a", "f", r#"{"x":1}"#), stop], once);
    check(&[header, at(0, "", "", r#"{"x""#), whole(0, "", "", r#"{"x":1}"#), stop], once);
    check(&[header, at(0, "", "", r#"{"x":1}"#), whole(0, "", "", "{ \"x\": 1 }"), stop], once);
    check(&[header, at(0, "", "", r#"{"x":1}"#), whole(0, "", "", ""), stop], once);
    check(&[header, at(0, "", "", r#"{"x":1}"#), stop, whole(0, "a", "f", r#"{"x":1} "#), stop, Seal], once);
    // The id may have changed meanwhile.
    check(&[header, at(0, "", "", r#"{"x":1}"#), whole(0, "b", "f", r#"{"x":1}"#), stop, Seal], once);
    for (before, after) in
        [(r#"{"x":1"#, r#"{"x":2}"#), (r#"{"x":1}"#, r#"{"x":2}"#), (r#"{"x":1}"#, r#"{"x":1},"y":2}"#)]
    {
        let differs = run(&[header, at(0, "", "", before), whole(0, "", "", after), stop, Seal]);
        assert_eq!(differs.len(), 1);
        assert!(
            differs[0].ends_with("trailing_data: call 1 (`f`): the call came again with other arguments"),
            "{differs:?}"
        );
    }
    let late = run(&[header, at(0, "", "", r#"{"x":1}"#), stop, whole(0, "", "", r#"{"x":2}"#), Seal]);
    assert_eq!(late[0], once[0]);
    assert!(late[1].ends_with("the call was released, but came again with other arguments"), "{late:?}");
}

#[test]
fn arguments_may_come_as_values() {
    let open = at(1, "", "f", "");
    let values = [open, part(1, "$.a[0].b", "x\"…"), part(1, "$.a[0].b", "y"), part(1, "$.n", "#1.0")];
    check(&[&values[..], &[SealItem(1)]].concat(), &[r#"f {"a":[{"b":"x\"y"}],"n":1.0} item_stop"#]);
    check(&[&values[..], &[Seal]].concat(), &[r#"f {"a":[{"b":"x\"y"}],"n":1.0} finish_reason"#]);
    check(
        &[&values[..], &[Cut]].concat(),
        &["1:1: truncated: call 1 (`f`): the arguments were to go on, found the end"],
    );
    check(
        &[open, part(1, "$.a", "x…"), SealItem(1), Seal],
        &["1:1: truncated: call 1 (`f`): the arguments were to go on, found the end"],
    );
    for (second, message) in [
        (part(1, "$.a", "y"), "malformed_json: call 1 (`f`): two arguments are at one place"),
        (
            part(1, "$.b[1]", "y"),
            "malformed_json: call 1 (`f`): an argument's path leaves out an element of an array",
        ),
        (at(1, "", "", "{}"), "trailing_data: call 1 (`f`): the arguments come as values, and then as text"),
    ] {
        let seen = run(&[open, part(1, "$.a", "x"), second, Seal]);
        assert_eq!(seen, [format!("1:1: {message}")]);
    }
    check(
        &[at(1, "", "f", "{\"x\""), part(1, "$.a", "x"), Seal],
        &["1:5: trailing_data: call 1 (`f`): the arguments come as text, and then as values"],
    );
    // What is too much is refused, and all of it is given back.
    let mut calls =
        ToolCallAssembler::new(Options::default().limits(Limits { line_bytes: 1000, ..Limits::default() }));
    for _ in 0..3 {
        calls.push(CallDelta { index: Some(1), name: Some("f"), ..CallDelta::default() });
        for path in ["$.a", "$.b", "$.c", "$.d"] {
            let value = PartialValue::Text("0123456789");
            calls.push_partial(Some(1), PartialArgument { path, value, goes_on: false }, false);
        }
        calls.seal_item(1, Completion::ItemStop);
        assert!(calls.next_event().unwrap().is_ok());
        calls.push(CallDelta { index: Some(2), name: Some("g"), ..CallDelta::default() });
        let long = "x".repeat(1001);
        let value = PartialValue::Text(&long);
        calls.push_partial(Some(2), PartialArgument { path: "$.a", value, goes_on: false }, false);
        assert_eq!(calls.next_event().unwrap().unwrap_err().diagnostic.code, Code::RecordTooLarge);
        calls.reset();
    }
}

#[test]
fn what_is_held_is_given_back() {
    let mut calls = ToolCallAssembler::new(Options::default());
    // White space, and then values, the last of which is cut.
    let blank = " ".repeat(50);
    calls.push(CallDelta { index: Some(1), name: Some("f"), arguments: &blank, ..CallDelta::default() });
    let part = PartialArgument { path: "$.a", value: PartialValue::Text("x"), goes_on: true };
    calls.push_partial(Some(1), part, false);
    calls.cut_item(1);
    assert_eq!(calls.next_event().unwrap().unwrap_err().received, r#"{"a":"x"}"#);
    calls.push(CallDelta { index: Some(2), name: Some("g"), arguments: "{}", ..CallDelta::default() });
    calls.seal_item(2, Completion::ItemStop);
    assert!(calls.next_event().unwrap().is_ok());
    // Values take more than their text: so much is counted.
    let mut paths = (0..200_000).map(|name| format!("$.x{name}.a.a.a.a.a.a.a.a.a.a"));
    calls.push(CallDelta { index: Some(3), name: Some("h"), ..CallDelta::default() });
    let taken = paths.position(|path| {
        let part = PartialArgument { path: &path, value: PartialValue::Literal("1"), goes_on: false };
        calls.push_partial(Some(3), part, false);
        calls.next_event().is_some_and(|outcome| outcome.is_err())
    });
    assert!(taken.is_some_and(|taken| taken < 8 * 1024 * 1024 / (11 * 192)), "{taken:?}");
}

#[test]
fn what_was_rejected_may_come_again_in_an_answer_that_begins_anew() {
    let mut calls = ToolCallAssembler::new(Options::default());
    let push = |calls: &mut ToolCallAssembler, arguments| {
        calls.push(CallDelta {
            index: Some(0),
            id: Some("c"),
            name: Some("f"),
            arguments,
            ..CallDelta::default()
        });
    };
    push(&mut calls, "{\"a\"");
    calls.cut();
    calls.forget_rejected();
    push(&mut calls, "{\"a\":1}");
    calls.seal_item(0, Completion::ItemStop);
    calls.forget_rejected();
    push(&mut calls, "{\"a\":1}");
    calls.seal(Completion::FinishReason);
    assert_eq!(drain(&mut calls).len(), 2, "cut, then delivered once");
}

#[test]
fn every_call_has_an_id() {
    let mut calls = ToolCallAssembler::new(Options::default());
    let wire = [at(0, "", "f", "{}"), at(1, "minted_1", "g", "{}"), at(2, "", "h", "{"), Seal];
    for _ in 0..2 {
        for wire in wire {
            match wire {
                Wire::Delta(delta) => calls.push(delta),
                _ => calls.seal(Completion::FinishReason),
            }
        }
        let ids: Vec<_> = std::iter::from_fn(|| calls.next_event())
            .map(|outcome| match outcome {
                Ok(call) => (call.call_id.unwrap(), call.has_minted_id),
                Err(call) => (call.call_id.unwrap(), call.has_minted_id),
            })
            .collect();
        let expected = [("minted_1_", true), ("minted_1", false), ("minted_3", true)];
        assert_eq!(ids, expected.map(|(id, is_minted)| (id.to_owned(), is_minted)));
        calls.reset();
    }
}

#[test]
fn a_rejected_call_has_what_was_received() {
    let mut calls = ToolCallAssembler::new(Options::default());
    calls.push(CallDelta {
        id: Some("c"),
        name: Some("f"),
        arguments: "{\"a\":\"se",
        ..CallDelta::default()
    });
    calls.cut();
    let call = calls.next_event().unwrap().unwrap_err();
    assert_eq!(
        (call.name.as_deref(), call.call_id.as_deref(), call.has_minted_id),
        (Some("f"), Some("c"), false)
    );
    assert_eq!((call.received.as_str(), call.diagnostic.code), ("{\"a\":\"se", Code::Truncated));
    assert!(!call.to_string().contains("se\"") && calls.next_event().is_none());
}
