//! Parallel calls: which call a fragment belongs to.

use tokenline_core::{CompletedBy, Options, Release, ToolCallAssembler};

use crate::{Abort, Finish, FinishItem, Wire, at, check, check_at_finish, more, of, run_with};

#[test]
fn parallel_calls() {
    let two = &[r#"a:f {"x":1} next_item"#, r#"b:g {"y":2} finish_reason"#];
    // By index, by id, by name: the next call confirms the one before.
    let by_index = [at(0, "a", "f", r#"{"x":1}"#), at(1, "b", "g", r#"{"y""#), at(1, "", "", ":2}"), Finish];
    check(&by_index, two);
    check_at_finish(&by_index, &[r#"a:f {"x":1} finish_reason"#, two[1]]);
    check(&[of("a", "f", r#"{"x":1}"#), of("b", "g", r#"{"y""#), more(":2}"), Finish], two);
    check(
        &[of("", "f", r#"{"x":1}"#), of("", "g", r#"{"y""#), more(":2}"), Finish],
        &[r#"f {"x":1} next_item"#, r#"g {"y":2} finish_reason"#],
    );
    // Interleaved: a call that is not balanced when the next begins stays open until the end.
    check(
        &[
            at(0, "a", "f", ""),
            at(1, "b", "g", ""),
            at(0, "", "", r#"{"x""#),
            at(1, "", "", r#"{"y":2}"#),
            at(0, "", "", ":1}"),
            Finish,
        ],
        &[r#"a:f {"x":1} finish_reason"#, r#"b:g {"y":2} finish_reason"#],
    );
    check(
        &[of("a", "f", r#"{"x""#), of("b", "g", r#"{"y""#), of("a", "", ":1}"), of("b", "", ":2}"), Finish],
        &[r#"a:f {"x":1} finish_reason"#, r#"b:g {"y":2} finish_reason"#],
    );
}

#[test]
fn parallel_calls_that_share_an_index() {
    let same = |first: Wire, rest: &[Wire], expected: &[&str]| {
        check(&[&[first], rest, &[Finish]].concat(), expected);
    };
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
    // Without a name, it contradicts the arguments before; it is never a call of its own.
    let changed = "1:8: trailing_data: call 1 (`f`): the call came again with other arguments";
    let more_at = |arguments| at(0, "", "", arguments);
    same(first, &[more_at(r#"{"x":2}"#), more_at("{}")], &[changed]);
    same(first, &[more(r#"{"x":2}"#), more("{}")], &[changed]);
    same(at(0, "", "f", r#"{"x":1}{"x":2}"#), &[], &[changed]);
    same(at(0, "", "f", r#"{"x":1}{"x":1}"#), &[more(r#"{"x":1}"#)], &[r#"f {"x":1} finish_reason"#]);
    same(at(0, "", "f", "{}{}{}{}"), &[], &["f {} finish_reason"]);
    // A rejected or malformed call does not hide the next one.
    same(first, &[more_at(r#"{"y"#), at(0, "", "g", ""), more("{}")], &[changed, "g {} finish_reason"]);
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
fn a_placeholder_is_replaced_by_the_arguments_that_follow() {
    let real = r#"{"city":"Oslo"}"#;
    for placeholder in ["{}", "{ }", "null", "", " {}\n", "{}{}"] {
        for cut in 0..=real.len() {
            let (left, right) = real.split_at(cut);
            let later = [more(left), more(right)];
            check(
                &[&[at(0, "a", "f", placeholder)], &later[..], &[Finish]].concat(),
                &[r#"a:f {"city":"Oslo"} finish_reason"#],
            );
            // Those of two calls, one after the other.
            let both = [at(0, "a", "f", placeholder), at(1, "b", "g", placeholder)];
            let later =
                [at(0, "", "", left), at(0, "", "", right), at(1, "", "", left), at(1, "", "", right)];
            check(
                &[&both[..], &later, &[Finish]].concat(),
                &[r#"a:f {"city":"Oslo"} finish_reason"#, r#"b:g {"city":"Oslo"} finish_reason"#],
            );
        }
        // The same id with the name again, and in one fragment.
        check(
            &[of("a", "f", placeholder), of("a", "f", real), Finish],
            &[r#"a:f {"city":"Oslo"} finish_reason"#],
        );
    }
    check(&[of("a", "f", r#"{}{"x":1}"#), Finish], &[r#"a:f {"x":1} finish_reason"#]);
    // The next call does not confirm it; its own end and that of the response do.
    check(
        &[at(0, "a", "f", "{}"), at(1, "b", "g", r#"{"x":1}"#), at(2, "c", "h", ""), Finish],
        &[r#"b:g {"x":1} next_item"#, "a:f {} finish_reason", "c:h {} finish_reason"],
    );
    check(&[at(0, "a", "f", "{}"), FinishItem(0), Abort], &["a:f {} item_stop"]);
    let mut calls = ToolCallAssembler::new(&Options::default().release(Release::OnBalance));
    let wire = [at(0, "a", "f", "{}"), more(r#"{"x":1}"#)];
    assert_eq!(run_with(&mut calls, &wire), [r#"a:f {"x":1} balanced"#]);
}

#[test]
fn every_call_has_an_id() {
    let mut calls = ToolCallAssembler::new(&Options::default().release(Release::AtFinish));
    let wire = [at(0, "", "f", "{}"), at(1, "synthetic_1", "g", "{}"), at(2, "", "h", "{"), Finish];
    for _ in 0..2 {
        for wire in wire {
            match wire {
                Wire::Delta(delta) => calls.push(delta),
                _ => calls.finish(CompletedBy::FinishReason),
            }
        }
        let ids: Vec<_> = std::iter::from_fn(|| calls.next_event())
            .map(|outcome| match outcome {
                Ok(call) => (call.call_id.unwrap(), call.is_synthetic_id),
                Err(call) => (call.call_id.unwrap(), call.is_synthetic_id),
            })
            .collect();
        let expected = [("synthetic_1_", true), ("synthetic_1", false), ("synthetic_3", true)];
        assert_eq!(ids, expected.map(|(id, is_synthetic)| (id.to_owned(), is_synthetic)));
        calls.reset();
    }
}
