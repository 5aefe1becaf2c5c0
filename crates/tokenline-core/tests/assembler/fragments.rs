//! The fragments of one call: its header and its arguments, split anywhere.

use tokenline_core::adapter::{PartialArgument, PartialValue};
use tokenline_core::json::Value;
use tokenline_core::{
    CallDelta, Code, CompletedBy, Limits, Options, ToolCallAssembler, ValidateCall, Violation,
};

use crate::{Abort, Finish, FinishItem, Wire, at, check, more, of, part, run, run_with};

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
        ToolCallAssembler::new(&Options::default().limits(Limits { line_bytes: 1000, ..Limits::default() }));
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

/// The tools `edit_existing_file`, `f` and `g`.
struct Tools;

impl ValidateCall for Tools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        match name {
            "edit_existing_file" | "f" | "g" => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool"))),
        }
    }
}

#[test]
fn a_name_may_come_in_pieces() {
    let run = |wire: &[Wire]| {
        let calls = ToolCallAssembler::new(&Options::default());
        run_with(&mut calls.with_tools(Tools), wire)
    };
    let arguments = at(0, "", "", r#"{"path":"a"}"#);
    let whole = [r#"c1:edit_existing_file {"path":"a"} finish_reason"#];
    for id in ["", "c1"] {
        let wire = [at(0, "c1", "edit_ex", ""), at(0, id, "isting_file", ""), arguments, Finish];
        assert_eq!(run(&wire), whole);
        // With the name repeated, it is the same call.
        assert_eq!(
            run(&[at(0, "c1", "f", ""), at(0, id, "f", ""), arguments, Finish]),
            [r#"c1:f {"path":"a"} finish_reason"#]
        );
        // Two tools are two calls.
        let two = [at(0, "c1", "f", ""), at(0, id, "g", ""), arguments, Finish];
        assert_eq!(run(&two).len(), 2);
        // Neither.
        let unknown = run(&[at(0, "c1", "edit_", ""), at(0, id, "dir", ""), arguments, Finish]);
        assert_eq!(unknown.len(), 1);
        assert!(
            unknown[0].contains("unknown_tool") && unknown[0].contains("`edit_` and `dir`"),
            "{unknown:?}"
        );
    }
    let without_tools =
        crate::run(&[at(0, "c1", "edit_ex", ""), at(0, "", "isting_file", ""), arguments, Finish]);
    assert!(without_tools.len() == 1 && without_tools[0].contains("unknown_tool"), "{without_tools:?}");
    // Any number of pieces: one name, else one call each, else one reject.
    for id in ["", "c1"] {
        for latest in ["", "_file"] {
            let wire = [
                at(0, "c1", "edit", ""),
                at(0, id, "_ex", ""),
                at(0, "", "", " "),
                at(0, id, "isting", ""),
                at(0, id, "_file", ""),
                at(0, id, latest, ""),
                arguments,
                Finish,
            ];
            assert_eq!(run(&wire), whole);
        }
        let three = [at(0, "c1", "f", ""), at(0, id, "g", ""), at(0, id, "f", ""), arguments];
        let own = if id.is_empty() { "" } else { "c1:" };
        let calls = [
            "c1:f {} finish_reason".to_owned(),
            format!("{own}g {{}} finish_reason"),
            format!("{own}f {{\"path\":\"a\"}} finish_reason"),
        ];
        assert_eq!(run(&[&three[..], &[Finish]].concat()), calls);
        assert_eq!(run(&[&three[..3], &[Abort]].concat()).len(), 3);
        let other = [at(1, "c2", "g", r#"{"x":1}"#), Finish];
        let seen = run(&[&three[..], &other].concat());
        assert_eq!((seen.len(), &*seen[0]), (4, &*calls[2].replace("finish_reason", "next_item")));
        let unknown = [at(0, "c1", "f", ""), at(0, id, "g", ""), at(0, id, "h", "")];
        for rest in [&[arguments, Finish][..], &[Finish], &[Abort], &[FinishItem(0), arguments, Finish]] {
            assert_eq!(
                run(&[&unknown, rest].concat()),
                [
                    "1:1: unknown_tool: call 1 (`fgh`): several names came for the call, `f`, `g` and `h`, and no tool is known to have the whole (at /name)"
                ]
            );
        }
    }
    // The name of another call between the pieces.
    let wire = [
        at(0, "c1", "edit_ex", ""),
        at(1, "c2", "g", ""),
        at(0, "c1", "isting_file", ""),
        arguments,
        FinishItem(0),
        Finish,
    ];
    let split = [whole[0].replace("finish_reason", "item_stop"), "c2:g {} finish_reason".to_owned()];
    assert_eq!(run(&wire), split);
    // A value of the arguments ends the name too.
    let wire = [at(0, "", "f", ""), at(0, "", "g", ""), part(0, "$.x", "#1"), Finish];
    assert_eq!(run(&wire), ["f {} finish_reason", r#"g {"x":1} finish_reason"#]);
    // Arguments have begun, or the id is another: another call.
    assert_eq!(run(&[at(0, "c1", "f", "{"), at(0, "c1", "g", "{}"), Finish]).len(), 2);
    assert_eq!(run(&[at(0, "c1", "f", ""), at(0, "c2", "g", "{}"), Finish]).len(), 2);
}
