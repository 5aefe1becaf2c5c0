//! The evidence that confirms a call, and the outcomes without it.

use tokenline_core::{Options, Release, ToolCallAssembler};

use crate::{Abort, AbortItem, Finish, FinishItem, at, check, check_at_finish, more, run, run_with};

#[test]
fn a_parsable_prefix_is_not_a_call() {
    let conflict = "1:17: trailing_data: call 1 (`search`): the arguments are balanced, but go on with `,`";
    let first = at(0, "c1", "search", r#"{"query":"test"}"#);
    check(&[first, at(0, "", "", r#", "limit": 10}"#), Finish], &[conflict]);
    check(&[first, more(" \n"), more(r#", "limit": 10}"#), Finish], &[conflict]);
    check(&[at(0, "c1", "search", r#"{"query":"test"}, "limit": 10}"#), Finish], &[conflict]);
    // The calls around it are not affected.
    let next = at(1, "c2", "f", "{}");
    check(&[first, more(","), next, Finish], &[conflict, "c2:f {} finish_reason"]);
    // A call with another index confirms it, unless fragments may be interleaved.
    let rest = [at(0, "", "", r#", "limit": 10}"#), at(0, "", "", "}"), Finish];
    let late =
        "1:1: late_fragment: call 1 (`search`): the call was released, but its arguments go on with `,`";
    let wire = [&[first, next][..], &rest].concat();
    check(&wire, &[r#"c1:search {"query":"test"} next_item"#, late, "c2:f {} finish_reason"]);
    check_at_finish(&wire, &[conflict, "c2:f {} finish_reason"]);
    // White space and a repeated header are not arguments.
    let blank = [first, next, at(0, "c1", "search", ""), at(0, "", "", " \n"), Finish];
    check(&blank, &[r#"c1:search {"query":"test"} next_item"#, "c2:f {} finish_reason"]);
    // Too late to withhold: it was released at the end.
    check(&[&[first, Finish][..], &rest].concat(), &[r#"c1:search {"query":"test"} finish_reason"#, late]);
}

#[test]
fn a_truncated_call_is_never_a_call() {
    let text = r#"{"path":"a.md","lines":[1,2,{"n":null}],"text":"\u00e9 {}"}"#;
    for end in [Finish, Abort] {
        for cut in 1..text.len() {
            let seen = run(&[at(0, "c1", "write", &text[..cut]), end]);
            assert_eq!(seen.len(), 1);
            assert!(seen[0].contains(": truncated: call 1 (`write`): expected "), "{seen:?}");
            assert!(seen[0].ends_with(", found the end of the input"), "{seen:?}");
        }
    }
    check(
        &[at(0, "c1", "write", text), Abort],
        &[
            "1:1: unsealed: call 1 (`write`): the arguments are balanced, but the response ended without evidence that they are complete",
        ],
    );
    // A call that another one confirmed stays released; what follows is not.
    let calls =
        [at(0, "a", "f", r#"{"x":1}"#), at(0, "b", "g", r#"{"a"#), Abort, at(0, "", "", r#"":1}"#), Finish];
    check(
        &calls,
        &[
            r#"a:f {"x":1} next_item"#,
            "1:4: truncated: call 2 (`g`): expected the rest of the string, found the end of the input",
        ],
    );
}

#[test]
fn missing_arguments() {
    let ended = ": truncated: call 1 (`now`): the response ended before the arguments began";
    for arguments in ["", " ", "\n"] {
        check(&[at(0, "c1", "now", ""), at(0, "", "", arguments), Finish], &["c1:now {} finish_reason"]);
        let seen = run(&[at(0, "c1", "now", ""), at(0, "", "", arguments), Abort]);
        assert!(seen[0].ends_with(ended), "{seen:?}");
    }
    // The next call does not confirm it, the clean end does.
    check(
        &[at(0, "a", "now", ""), at(1, "b", "f", "{}"), Finish],
        &["a:now {} finish_reason", "b:f {} finish_reason"],
    );
    // A call that is truncated by a limit does not affect the one before.
    check(
        &[at(0, "a", "f", "{\"y\":1}"), at(1, "b", "g", "{\"x"), Abort],
        &[
            r#"a:f {"y":1} next_item"#,
            "1:4: truncated: call 2 (`g`): expected the rest of the string, found the end of the input",
        ],
    );
    // Some servers send `null` for a tool without parameters.
    for arguments in [&["null"][..], &["nu", "ll"], &["", "null", " "]] {
        let mut wire = vec![at(0, "c1", "now", "")];
        wire.extend(arguments.iter().map(|arguments| at(0, "", "", arguments)));
        check(&[&wire[..], &[Finish]].concat(), &["c1:now {} finish_reason"]);
        check(&[&wire[..], &[FinishItem(0), Abort]].concat(), &["c1:now {} item_stop"]);
    }
    let seen = run(&[at(0, "a", "now", ""), at(1, "b", "f", "{}"), Abort]);
    assert!(seen[0].contains("truncated") && seen[1].contains("unsealed"), "{seen:?}");
}

#[test]
fn on_balance_calls_are_released_at_the_last_brace() {
    let on_balance = || ToolCallAssembler::new(&Options::default().release(Release::OnBalance));
    let mut calls = on_balance();
    assert_eq!(run_with(&mut calls, &[at(0, "a", "f", r#"{"x":1"#)]), [""; 0]);
    assert_eq!(run_with(&mut calls, &[more("}")]), [r#"a:f {"x":1} balanced"#]);
    assert_eq!(run_with(&mut calls, &[Finish, Abort]), [""; 0]);
    assert_eq!(
        run_with(&mut on_balance(), &[at(0, "a", "f", r#"{"x":1}, "y":2}"#), Finish]),
        [
            r#"a:f {"x":1} balanced"#,
            "1:1: late_fragment: call 1 (`f`): the call was released, but its arguments go on with `,`"
        ]
    );
}

#[test]
fn the_end_may_come_twice_and_early() {
    let call = "c1:f {} finish_reason";
    check(&[at(0, "c1", "f", "{}"), Finish, Finish], &[call]);
    check(&[at(0, "c1", "f", "{}"), Finish, Abort], &[call]);
    check(
        &[at(0, "c1", "f", "{}"), Finish, at(0, "", "", " "), at(1, "c2", "g", "{}"), Finish],
        &[call, "c2:g {} finish_reason"],
    );
    let seen = run(&[at(0, "c1", "f", "{}"), Finish, at(1, "c2", "g", "{}"), Abort]);
    assert!(seen[1].starts_with("1:1: unsealed: call 2 (`g`)"), "{seen:?}");
}

#[test]
fn an_item_that_has_stopped_is_released() {
    let wire = [
        at(0, "a", "f", "{\"x\":"),
        at(1, "b", "g", "{}"),
        FinishItem(1),
        at(0, "", "", "1}"),
        FinishItem(0),
    ];
    check(&wire, &["b:g {} item_stop", "a:f {\"x\":1} item_stop"]);
    // The end of the response does not release it again.
    check(
        &[&wire[..], &[Finish, FinishItem(0), Abort]].concat(),
        &run(&wire).iter().map(|line| &**line).collect::<Vec<_>>(),
    );
    // Unbalanced arguments are truncated, even if the item ended.
    check(
        &[at(0, "a", "f", "{\"x\":48151"), FinishItem(0), Finish],
        &["1:11: truncated: call 1 (`f`): expected `,` or `}`, found the end of the input"],
    );
    check(
        &[at(0, "a", "f", "{}"), AbortItem(0), Finish],
        &[
            "1:1: unsealed: call 1 (`f`): the arguments are balanced, but the response ended without evidence that they are complete",
        ],
    );
    // Missing arguments are decided at the end of the response.
    let never = [at(0, "a", "f", ""), FinishItem(0)];
    check(&never, &[]);
    check(&[&never[..], &[Finish]].concat(), &["a:f {} finish_reason"]);
    check(
        &[&never[..], &[Abort]].concat(),
        &["1:1: truncated: call 1 (`f`): the response ended before the arguments began"],
    );
}
