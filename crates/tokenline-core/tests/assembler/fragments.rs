//! The fragments of one call: its header and its arguments, split anywhere.

use tokenline_core::{
    CallDelta, Code, CompletedBy, Limits, Options, PartialArgument, PartialValue, ToolCallAssembler,
};

use crate::{Abort, Finish, FinishItem, at, check, more, of, part, run};

#[test]
fn fragments_of_one_call() {
    let wire =
        [at(0, "c1", "search", ""), at(0, "", "", r#"{"que"#), at(0, "", "", r#"ry":"fj"#), more(r#"ord"}"#)];
    check(&wire, &[]);
    check(&[&wire[..], &[Finish]].concat(), &[r#"c1:search {"query":"fjord"} finish_reason"#]);
    check(&[at(0, "", "f", " \n{ \"a\" : 1e999 }\r\n "), Finish], &[r#"f { "a" : 1e999 } finish_reason"#]);
    check(&[at(0, "", "f", r#"{"ab":"\u00e9"}"#), Finish], &[r#"f {"ab":"\u00e9"} finish_reason"#]);
}

#[test]
fn a_header_may_come_in_parts_or_again() {
    let call = &[r#"c1:f {"a":1} finish_reason"#];
    check(&[at(0, "c1", "", ""), at(0, "", "f", ""), at(0, "", "", r#"{"a":1}"#), Finish], call);
    check(&[at(0, "", "f", ""), at(0, "c1", "", ""), at(0, "", "", r#"{"a":1}"#), Finish], call);
    check(&[at(0, "", "f", ""), at(0, "c1", "f", r#"{"a":1}"#), Finish], call);
    check(&[at(0, "c1", "f", r#"{"a""#), at(0, "c1", "f", ":1}"), at(0, "c1", "f", ""), Finish], call);
    check(&[of("", "f", ""), of("c1", "", r#"{"a":1}"#), Finish], call);
    check(&[of("c1", "f", r#"{"a""#), of("c1", "", ":1"), of("", "f", "}"), Finish], call);
    // A synthetic id for every fragment, as vLLM once did.
    check(
        &[at(0, "c1", "f", ""), at(0, "x", "", r#"{"a":"#), at(0, "y", "", "1}"), at(0, "z", "", ""), Finish],
        call,
    );
}

#[test]
fn the_split_of_arguments_makes_no_difference() {
    for arguments in [
        " {\"query\": \"fj\u{f8}rd {}\", \"a\": [1, -0.5e3, true, {\"\\u00e9\\ud83d\\ude00\": null}]} \n",
        r#"{"query":"test"} , "limit": 10}"#,
        r#"{"a":NaN} {"#,
        "[{}] {",
    ] {
        let whole = run(&[at(0, "", "f", arguments), Finish]);
        assert_eq!(whole.len(), 1);
        for cut in (0..arguments.len()).filter(|&cut| arguments.is_char_boundary(cut)) {
            let (left, right) = arguments.split_at(cut);
            check(&[at(0, "", "f", left), at(0, "", "", right), Finish], &[&whole[0]]);
        }
        let pieces = arguments.split_inclusive(|_: char| true).map(|piece| at(0, "", "", piece));
        let wire: Vec<_> = [at(0, "", "f", "")].into_iter().chain(pieces).chain([Finish]).collect();
        check(&wire, &[&whole[0]]);
    }
}

#[test]
fn arguments_may_come_as_values() {
    let open = at(1, "", "f", "");
    let values = [open, part(1, "$.a[0].b", "x\"…"), part(1, "$.a[0].b", "y"), part(1, "$.n", "#1.0")];
    check(&[&values[..], &[FinishItem(1)]].concat(), &[r#"f {"a":[{"b":"x\"y"}],"n":1.0} item_stop"#]);
    check(&[&values[..], &[Finish]].concat(), &[r#"f {"a":[{"b":"x\"y"}],"n":1.0} finish_reason"#]);
    check(
        &[&values[..], &[Abort]].concat(),
        &["1:1: truncated: call 1 (`f`): the arguments should continue, but the response ended"],
    );
    check(
        &[open, part(1, "$.a", "x…"), FinishItem(1), Finish],
        &["1:1: truncated: call 1 (`f`): the arguments should continue, but the response ended"],
    );
    for (second, message) in [
        (part(1, "$.a", "y"), "malformed_json: call 1 (`f`): two arguments have the same path"),
        (
            part(1, "$.b[1]", "y"),
            "malformed_json: call 1 (`f`): an argument's path skips an element of an array",
        ),
        (at(1, "", "", "{}"), "trailing_data: call 1 (`f`): the arguments come as values, and then as text"),
    ] {
        let seen = run(&[open, part(1, "$.a", "x"), second, Finish]);
        assert_eq!(seen, [format!("1:1: {message}")]);
    }
    check(
        &[at(1, "", "f", "{\"x\""), part(1, "$.a", "x"), Finish],
        &["1:5: trailing_data: call 1 (`f`): the arguments come as text, and then as values"],
    );
    // Too large a value is rejected, and all memory is released.
    let mut calls =
        ToolCallAssembler::new(Options::default().limits(Limits { line_bytes: 1000, ..Limits::default() }));
    for _ in 0..3 {
        calls.push(CallDelta { index: Some(1), name: Some("f"), ..CallDelta::default() });
        for path in ["$.a", "$.b", "$.c", "$.d"] {
            let value = PartialValue::Text("0123456789");
            calls.push_partial(Some(1), PartialArgument { path, value, has_more: false }, false);
        }
        calls.finish_item(1, CompletedBy::ItemStop);
        assert!(calls.next_event().unwrap().is_ok());
        calls.push(CallDelta { index: Some(2), name: Some("g"), ..CallDelta::default() });
        let long = "x".repeat(1001);
        let value = PartialValue::Text(&long);
        calls.push_partial(Some(2), PartialArgument { path: "$.a", value, has_more: false }, false);
        assert_eq!(calls.next_event().unwrap().unwrap_err().diagnostic.code, Code::RecordTooLarge);
        calls.reset();
    }
}
