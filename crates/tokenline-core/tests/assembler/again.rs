//! Calls that come again, in the same response or in one that starts anew.

use tokenline_core::{CallDelta, CompletedBy, Options, Release, ToolCallAssembler};

use crate::{
    Abort, Finish, FinishItem, Wire, at, check, check_at_finish, drain, more, of, run, run_with, whole,
};

#[test]
fn a_call_that_comes_again_is_one_call() {
    let call = [r#"c1:f {"a":{}} finish_reason"#];
    let text = r#"{"a":{}}"#;
    for header in [at(0, "c1", "f", ""), of("c1", "f", "")] {
        let Wire::Delta(header) = header else { unreachable!() };
        let piece = |arguments| Wire::Delta(CallDelta { arguments, ..header });
        let whole = piece(text);
        check(&[whole, whole, Finish], &call);
        check(&[whole, whole, whole, piece(""), Finish, whole, Finish], &call);
        check(&[whole, Finish, whole, Finish, whole, Abort], &call);
        // In fragments, with the header on its own, across the release, with white space around it.
        for cut in 0..=text.len() {
            let (left, right) = text.split_at(cut);
            let bare = |arguments| Wire::Delta(CallDelta { id: None, name: None, arguments, ..header });
            check(&[whole, piece(left), bare(right), Finish], &call);
            check(&[whole, piece(""), bare(left), bare(right), Finish], &call);
            check(&[whole, piece(" \n"), bare(left), bare(right), bare(" "), Finish], &call);
            check(&[whole, Finish, piece(left), bare(right), Finish], &call);
            check(&[piece(left), bare(right), whole, Finish, whole, Finish], &call);
            let next = of("c2", "g", "{}");
            check(
                &[whole, piece(left), next, piece(right), Finish],
                &[&call[0].replace("finish_reason", "next_item"), "c2:g {} finish_reason"],
            );
            if header.index.is_some() {
                check_at_finish(
                    &[whole, piece(left), next, piece(right), Finish],
                    &[call[0], "c2:g {} finish_reason"],
                );
            }
        }
        // With other arguments it contradicts itself, and stays rejected.
        let conflict = "1:9: trailing_data: call 1 (`f`): the call came again with other arguments";
        for other in [r#"{"a":[]}"#, r#"{"a":{} }"#, r#"{"é":1}"#] {
            check(&[whole, piece(other), Finish], &[conflict]);
            check(&[whole, piece(other), whole, Finish, whole, Finish], &[conflict]);
            let late = "1:1: late_fragment: call 1 (`f`): the call was released, but came again with other arguments";
            check(&[whole, Finish, piece(other), Finish, whole, Finish], &[call[0], late]);
        }
        // A placeholder after the arguments says nothing.
        let bare = |arguments| Wire::Delta(CallDelta { id: None, name: None, arguments, ..header });
        for placeholder in ["{}", "{ }", "null", "{}{}"] {
            check(&[whole, piece(placeholder), whole, Finish], &call);
            check(&[whole, bare(placeholder), Finish], &call);
            check(&[whole, Finish, bare(placeholder), Finish], &call);
        }
        check(
            &[whole, piece("{"), bare(" "), bare("}"), whole, Finish, piece("{"), bare("}"), Finish],
            &call,
        );
        check(
            &[whole, piece(r#"{"a":{}}, "b":1}"#), Finish],
            &["1:9: trailing_data: call 1 (`f`): the arguments are balanced, but go on with `,`"],
        );
        // With another tool or another id, it is another call.
        let second = |id, name| CallDelta { id: Some(id), name: Some(name), arguments: "{}", ..header };
        assert_eq!(run(&[whole, Wire::Delta(second("c1", "g")), Finish]).len(), 2);
        assert_eq!(run(&[whole, Wire::Delta(second("c2", "f")), Finish, whole, Finish]).len(), 2);
    }
    // A different index also makes it another call.
    assert_eq!(run(&[at(0, "c1", "f", text), at(1, "c1", "f", text), Finish]).len(), 2);
    // On balance.
    let mut calls = ToolCallAssembler::new(&Options::default().release(Release::OnBalance));
    let wire = [at(0, "c1", "f", text), at(0, "c1", "f", ""), more(text), at(0, "c1", "f", text), Finish];
    assert_eq!(run_with(&mut calls, &wire), [r#"c1:f {"a":{}} balanced"#]);
}

#[test]
fn arguments_may_come_at_once_or_once_more() {
    let header = at(0, "a", "f", "");
    let stop = FinishItem(0);
    let once = &["a:f {\"x\":1} item_stop"];
    check(&[whole(0, "a", "f", r#"{"x":1}"#), stop], once);
    check(&[header, whole(0, "", "", r#"{"x":1}"#), whole(0, "a", "f", r#"{"x":1}"#), stop], once);
    check(&[header, at(0, "", "", r#"{"x""#), whole(0, "", "", r#"{"x":1}"#), stop], once);
    check(&[header, at(0, "", "", r#"{"x":1}"#), whole(0, "", "", "{ \"x\": 1 }"), stop], once);
    check(&[header, at(0, "", "", r#"{"x":1}"#), whole(0, "", "", ""), stop], once);
    check(
        &[header, at(0, "", "", r#"{"x":1}"#), stop, whole(0, "a", "f", r#"{"x":1} "#), stop, Finish],
        once,
    );
    // A placeholder before them, and after them. White space before a part of them. In a string, as before.
    let real = r#"{"x":1}"#;
    for placeholder in ["{}", "{ }", "null", " ", r#""""#, r#""{}""#] {
        let (before, after) = (at(0, "", "", placeholder), whole(0, "", "", placeholder));
        check(&[header, before, whole(0, "a", "f", real), stop], once);
        check(&[header, after, whole(0, "a", "f", real), stop], once);
        check(&[header, at(0, "", "", real), after, stop, after, Finish], once);
    }
    check(&[header, at(0, "", "", " {\"x\""), whole(0, "", "", real), stop], once);
    let encoded = r#""{\"x\":1}""#;
    for (before, after) in [(encoded, encoded), (encoded, real), (real, encoded)] {
        let wire = [header, at(0, "", "", before), whole(0, "", "", after), stop, whole(0, "a", "f", after)];
        check(&[&wire[..], &[stop, Finish]].concat(), once);
    }
    // The fragments joined, whatever they are.
    for parts in [&["{}", real][..], &[real, real], &[real, "null"], &["", "{}{}", real, "{}", real]] {
        let joined: &'static str = Box::leak(parts.concat().into_boxed_str());
        let fragments: Vec<Wire> = parts.iter().map(|part| at(0, "", "", part)).collect();
        let ends = [whole(0, "", "", joined), whole(0, "a", "f", joined), stop, Finish];
        check(&[&[header], &fragments[..], &ends].concat(), once);
    }
    // They end what came again in part, and come in part themselves.
    check(&[header, at(0, "", "", real), at(0, "", "", "{\"x"), whole(0, "", "", real), stop], once);
    let cut_off = run(&[header, at(0, "", "", real), whole(0, "", "", "{\"x"), stop]);
    assert_eq!(cut_off, ["1:8: trailing_data: call 1 (`f`): the call came again with other arguments"]);
    // `{ }` twice is as it is written.
    check(&[header, at(0, "", "", "{ }"), whole(0, "", "", "{ }"), stop], &["a:f { } item_stop"]);
    // The id may have changed.
    check(&[header, at(0, "", "", r#"{"x":1}"#), whole(0, "b", "f", r#"{"x":1}"#), stop, Finish], once);
    let other = "the call came again with other arguments";
    for (before, after, expected) in [
        (r#"{"x":1"#, r#"{"x":2}"#, other),
        (r#"{"x":1}"#, r#"{"x":2}"#, other),
        (r#"{"x":1}"#, r#"{"x":1},"y":2}"#, "the arguments are balanced, but go on with `,`"),
    ] {
        let differs = run(&[header, at(0, "", "", before), whole(0, "", "", after), stop, Finish]);
        assert_eq!(differs.len(), 1);
        assert!(differs[0].ends_with(&format!("trailing_data: call 1 (`f`): {expected}")), "{differs:?}");
    }
    let late = run(&[header, at(0, "", "", r#"{"x":1}"#), stop, whole(0, "", "", r#"{"x":2}"#), Finish]);
    assert_eq!(late[0], once[0]);
    assert!(late[1].ends_with("the call was released, but came again with other arguments"), "{late:?}");
}

#[test]
fn a_string_that_comes_again_is_the_same_call() {
    let encoded = r#""{\"a\":\"\\\"\\\\\"}""#;
    let call = [r#"c1:f {"a":"\"\\"} finish_reason"#];
    let first = at(0, "c1", "f", encoded);
    for cut in 0..=encoded.len() {
        let (left, right) = encoded.split_at(cut);
        for id in ["", "c1"] {
            let name = if id.is_empty() { "" } else { "f" };
            let again = [at(0, id, name, left), at(0, "", "", right), Finish];
            check(&[&[first], &again[..]].concat(), &call);
            check(&[&[first, Finish], &again[..]].concat(), &call);
            // It replaces a placeholder.
            check(&[&[at(0, "c1", "f", "{}")], &again[..]].concat(), &call);
            check(&[&[at(0, "c1", "f", r#""""#)], &again[..], &[first, Finish]].concat(), &call);
        }
        if (1..encoded.len()).contains(&cut) {
            let cut_off = run(&[first, at(0, "", "", left), Finish]);
            assert_eq!(
                cut_off,
                ["1:13: trailing_data: call 1 (`f`): the call came again with other arguments"]
            );
        }
    }
    for placeholder in [r#""""#, r#""{}""#, r#""null""#] {
        check(&[first, at(0, "c1", "f", placeholder), more(placeholder), Finish], &call);
    }
    // With the name and no id, it is another call; without, it contradicts the arguments.
    let other = r#""{\"b\":2}""#;
    check(
        &[at(0, "", "f", encoded), at(0, "", "f", other), Finish],
        &[r#"f {"a":"\"\\"} next_item"#, r#"f {"b":2} finish_reason"#],
    );
    check(
        &[at(0, "", "f", encoded), at(0, "", "", other), Finish],
        &["1:13: trailing_data: call 1 (`f`): the call came again with other arguments"],
    );
}

#[test]
fn rejected_calls_may_come_again_in_a_new_response() {
    let mut calls = ToolCallAssembler::new(&Options::default());
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
    calls.abort();
    calls.discard_rejected();
    push(&mut calls, "{\"a\":1}");
    calls.finish_item(0, CompletedBy::ItemStop);
    calls.discard_rejected();
    push(&mut calls, "{\"a\":1}");
    calls.finish(CompletedBy::FinishReason);
    assert_eq!(drain(&mut calls).len(), 2, "cut, then delivered once");
}
