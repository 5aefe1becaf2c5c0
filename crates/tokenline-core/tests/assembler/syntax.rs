//! Malformed arguments are repaired where their text proves how.

use serde_json::Value;
use tokenline_core::{
    CallDelta, CallUpdate, Code, CompletedBy, Options, Recovery, RejectedCall, ToolCall, ToolCallAssembler,
    ValidateCall, Violation, json,
};

use crate::random::Random;
use crate::{Abort, AbortItem, Finish, FinishItem, Wire, at, drain, more, run_with, whole};

/// A tool that takes any arguments, and is the only one.
struct AnyArguments;

impl ValidateCall for AnyArguments {
    fn validate_call(&self, name: &str, _: json::Value<'_>) -> Result<(), Box<Violation>> {
        match name {
            "f" => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, 0, "no such tool"))),
        }
    }
}

fn repairing() -> ToolCallAssembler {
    ToolCallAssembler::new(&Options::default().repair_syntax(true))
}

#[track_caller]
fn check(wire: &[Wire], expected: &[&str]) {
    assert_eq!(run_with(&mut repairing(), wire), expected);
}

/// The outcomes of a call whose arguments come in these pieces.
fn outcomes(mut calls: ToolCallAssembler, pieces: &[&str]) -> Vec<Result<ToolCall, Box<RejectedCall>>> {
    calls.push(CallDelta { index: Some(0), name: Some("f"), ..CallDelta::default() });
    for arguments in pieces {
        calls.push(CallDelta { index: Some(0), arguments, ..CallDelta::default() });
    }
    calls.finish(CompletedBy::FinishReason);
    let seen = std::iter::from_fn(|| calls.next_event()).collect();
    assert!(calls.held_bytes() <= 1, "{} bytes are held", calls.held_bytes());
    seen
}

#[test]
fn a_call_is_repaired_when_it_ends() {
    check(&[at(0, "c1", "f", r#"{"a":1,"#), more("}"), Finish], &[r#"c1:f {"a":1} finish_reason"#]);
    check(&[at(0, "", "f", r#"{"a":1,}"#), FinishItem(0)], &[r#"f {"a":1} item_stop"#]);
    // All of it again at its end, without the white space.
    check(
        &[at(0, "c1", "f", "{\"a\":1,}\n"), whole(0, "c1", "f", r#"{"a":1,}"#), Finish],
        &[r#"c1:f {"a":1} finish_reason"#],
    );
    // The next call is evidence, as for one that is right.
    check(
        &[at(0, "", "f", "{\"a\":\"1\t2\"}"), at(1, "", "g", "{}"), Finish],
        &[r#"f {"a":"1\t2"} next_item"#, "g {} finish_reason"],
    );
    let mut calls = repairing();
    calls.push(CallDelta { name: Some("f"), arguments: "{\"a\":1,}", ..CallDelta::default() });
    assert!(calls.next_event().is_none(), "more may follow");
    calls.finish(CompletedBy::FinishReason);
    let call = calls.next_event().expect("an event").expect("a call");
    assert!(call.recovered.contains(Recovery::SyntaxRepaired));
    assert_eq!(call.recovered.syntax().expect("a repair").span().start, 6);
}

#[test]
fn what_is_not_proven_stays_a_reject() {
    let fault = "1:8: malformed_json: call 1 (`f`): expected a name in double quotes, found `}`";
    // Without evidence of an end, and what is cut off in any case.
    check(&[at(0, "", "f", r#"{"a":1,}"#), Abort], &[fault]);
    check(&[at(0, "", "f", r#"{"a":1,}"#), AbortItem(0)], &[fault]);
    // Surplus closers: where each fragment names the tool, these may be the end of something else.
    for arguments in [r#"{"a":1}}"#, r#"{"a":1}]"#, "{}}"] {
        let seen = run_with(&mut repairing(), &[at(0, "", "f", arguments), Finish]);
        assert!(seen.len() == 1 && seen[0].contains("trailing_data"), "{seen:?}");
    }
    // A truncated call followed by another; neither has an index or an id.
    let header = |arguments| Wire::Delta(CallDelta { name: Some("f"), arguments, ..CallDelta::default() });
    let seen = run_with(&mut repairing(), &[header(r#"{"a":[{}"#), header(r#"{"b":1}]}"#), Finish]);
    assert!(seen.iter().all(|seen| seen.contains(": call ")), "two calls are not one: {seen:?}");
    let named = |arguments| at(0, "", "f", arguments);
    let seen =
        run_with(&mut repairing(), &[named("{\"a\":\"\n\",\"x\":"), named(" {\"b\":1}"), named("}"), Finish]);
    assert!(seen.iter().all(|seen| seen.contains(": call ")), "a part of a call is no call: {seen:?}");
    let seen = run_with(&mut repairing(), &[at(0, "", "f", r#"{"a":["x""#), Finish]);
    assert!(seen.len() == 1 && seen[0].contains("truncated"), "{seen:?}");
    let seen = run_with(&mut repairing(), &[at(0, "", "f", r#"{"a":1,,"b":["x"}"#), Finish]);
    assert!(seen.len() == 1 && seen[0].contains("malformed_json"), "{seen:?}");
    // An edit that changes a value needs a tool that accepts it.
    let single = [at(0, "", "f", "{'a':1}"), Finish];
    let seen = run_with(&mut repairing(), &single);
    assert!(seen.len() == 1 && seen[0].contains("malformed_json"), "{seen:?}");
    let with_tools = || repairing().with_tools(AnyArguments);
    assert_eq!(run_with(&mut with_tools(), &single), [r#"f {"a":1} finish_reason"#]);
    let seen = run_with(&mut with_tools(), &[at(0, "", "g", r#"{"a":1,}"#), Finish]);
    assert!(seen.len() == 1 && seen[0].contains("malformed_json"), "{seen:?}");
    // Nothing is held unless it is asked for.
    let mut calls = ToolCallAssembler::new(&Options::default());
    calls.push(CallDelta { name: Some("f"), arguments: "{\"a\":1,}", ..CallDelta::default() });
    assert_eq!(drain(&mut calls), [fault]);
}

#[test]
fn a_malformed_call_ends_where_another_begins() {
    // Without indexes, as a rejected call does.
    let header =
        |name, arguments| Wire::Delta(CallDelta { name: Some(name), arguments, ..CallDelta::default() });
    check(
        &[header("f", r#"{"a":1,}"#), header("f", r#"{"a":2}"#), Finish],
        &[r#"f {"a":1} next_item"#, r#"f {"a":2} finish_reason"#],
    );
    check(
        &[header("f", r#"{"a":1,,}"#), header("g", r#"{"a":2,}"#), Finish],
        &[
            "1:8: malformed_json: call 1 (`f`): expected a name in double quotes, found `,`",
            r#"g {"a":2} finish_reason"#,
        ],
    );
    // The header and the arguments apart.
    check(
        &[header("f", ""), more(r#"{"a":1,}"#), header("f", ""), more(r#"{"b":2}"#), Finish],
        &[r#"f {"a":1} next_item"#, r#"f {"b":2} finish_reason"#],
    );
    // A response that starts anew sends its calls again.
    let mut calls = repairing();
    calls.push(CallDelta {
        index: Some(0),
        name: Some("f"),
        arguments: "{\"a\":1,}",
        ..CallDelta::default()
    });
    calls.discard_rejected();
    assert_eq!(drain(&mut calls).len(), 1);
    calls.push(CallDelta { index: Some(0), name: Some("f"), arguments: "{\"a\":1}", ..CallDelta::default() });
    calls.finish(CompletedBy::FinishReason);
    assert_eq!(drain(&mut calls), [r#"f {"a":1} finish_reason"#]);
}

#[test]
fn a_repaired_call_grows_up_to_its_fault() {
    let mut calls = repairing().with_updates();
    for arguments in [r#"{"a":"#, "1,", "}", " "] {
        calls.push(CallDelta { index: Some(0), name: Some("f"), arguments, ..CallDelta::default() });
    }
    calls.finish(CompletedBy::FinishReason);
    let updates: Vec<CallUpdate> = std::iter::from_fn(|| calls.next_update()).collect();
    let texts: Vec<&str> = updates
        .iter()
        .filter_map(|update| match update {
            CallUpdate::Arguments { text, .. } => Some(&**text),
            _ => None,
        })
        .collect();
    assert_eq!(texts.concat(), r#"{"a":1,"#);
    let Some(CallUpdate::Ended { outcome: Ok(call), .. }) = updates.last() else { panic!("{updates:?}") };
    assert_eq!(call.parameters.as_str(), r#"{"a":1}"#);
}

/// The texts of the fixtures as the arguments of a call: the same repair, however they are cut.
#[test]
fn the_fixtures_are_repaired_at_any_cut() {
    let mut random = Random::new(54);
    let (mut repaired, mut rejected) = (0, 0);
    for line in include_str!("../../fixtures/repair/cases.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let text = case["text"].as_str().expect("a text");
        let starts_object = text.trim_start().starts_with('{');
        let calls =
            || if case["schema"] == false { repairing() } else { repairing().with_tools(AnyArguments) };
        let whole = outcomes(calls(), &[text]);
        for _ in 0..8 {
            let pieces = random_pieces(&mut random, text);
            let seen = outcomes(calls(), &pieces);
            assert_eq!(seen, whole, "{text:?} in {pieces:?}");
        }
        let result = case["result"].as_str().expect("a result");
        // Not the reasons, which may name edits.
        let is_edited = result.contains("..") && !result.contains(": ") && !result.contains(" at ");
        let is_structural = ["missing_closer", "missing_comma", "mismatched_closer"];
        let changes_structure = is_structural.iter().any(|kind| result.contains(kind));
        let calls: Vec<&ToolCall> = whole.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        if let ([call], [_]) = (&calls[..], &whole[..])
            && call.recovered.contains(Recovery::SyntaxRepaired)
        {
            let value: Value = serde_json::from_str(call.parameters.as_str()).expect("JSON");
            assert!(is_edited && !changes_structure && value == case["original"], "{text:?} became {value}");
            repaired += 1;
        } else {
            // An ambiguous or a confirmed end, what is no object, and what follows one.
            let is_trailing = |outcome: &Result<ToolCall, Box<RejectedCall>>| {
                outcome.as_ref().is_err_and(|call| call.diagnostic.code == Code::TrailingData)
            };
            let could = is_edited && !changes_structure && starts_object && !whole.iter().any(is_trailing);
            assert!(!could, "{text:?} is not repaired: {whole:?}");
            rejected += 1;
        }
    }
    assert!(repaired > 20 && rejected > 40, "{repaired} repaired, {rejected} not");
}

fn random_pieces<'a>(random: &mut Random, mut rest: &'a str) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let mut end = (1 + random.below(6)).min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
