//! Parallel calls: which call a fragment belongs to.

use tokenline_core::{CompletedBy, Options, Release, ToolCallAssembler};

use crate::{Finish, Wire, at, check, check_at_finish, more, of};

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
    // Without a name it is unknown which call the arguments belong to.
    let nameless = "1:1: missing_field: call 2: arguments follow without the name of a tool";
    let more_at = |arguments| at(0, "", "", arguments);
    same(first, &[more_at(r#"{"x":2}"#), more_at("{}")], &[r#"f {"x":1} next_item"#, nameless]);
    same(first, &[more(r#"{"x":2}"#), more("{}")], &[r#"f {"x":1} next_item"#, nameless]);
    same(at(0, "", "f", "{}{}{}{}"), &[], &["f {} next_item", nameless]);
    // A nameless or malformed call does not hide the next one.
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
fn every_call_has_an_id() {
    let mut calls = ToolCallAssembler::new(Options::default().release(Release::AtFinish));
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
