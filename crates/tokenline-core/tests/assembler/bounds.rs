//! Memory is bounded, and released.

use tokenline_core::adapter::{PartialArgument, PartialValue};
use tokenline_core::json::Value;
use tokenline_core::{
    CallDelta, Code, CompletedBy, Limits, Options, ToolCallAssembler, ValidateCall, Violation,
};

use crate::drain;

/// Tools whose names are letters.
struct Letters;

impl ValidateCall for Letters {
    fn validate_call(&self, name: &str, _: Value<'_>) -> Result<(), Box<Violation>> {
        match name.len() {
            1 => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, 0, "no such tool"))),
        }
    }
}

#[test]
fn memory_is_bounded() {
    let limits = Limits { line_bytes: 1000, ..Limits::default() };
    let mut calls = ToolCallAssembler::new(&Options::default().limits(limits));
    let push = |calls: &mut ToolCallAssembler, index, name, arguments: &str| {
        calls.push(CallDelta { index: Some(index), name: Some(name), arguments, ..CallDelta::default() });
    };
    // One call beyond the limit, in fragments and at once.
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
    // The calls around it are delivered.
    push(&mut calls, 2, "h", "{}");
    calls.finish(CompletedBy::FinishReason);
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
fn a_name_in_pieces_is_bounded() {
    let limits = Limits { line_bytes: 1000, ..Limits::default() };
    let calls = || ToolCallAssembler::new(&Options::default().limits(limits)).with_tools(Letters);
    let push = |calls: &mut ToolCallAssembler, id, name, arguments: &str| {
        calls.push(CallDelta { index: Some(0), id, name: Some(name), arguments, ..CallDelta::default() });
    };
    let mut named = calls();
    for name in ["f", "g"].iter().cycle().take(66) {
        push(&mut named, None, name, "");
    }
    named.finish(CompletedBy::FinishReason);
    let seen = drain(&mut named);
    assert!(seen[0].contains("the name comes in more than 64 pieces"), "{seen:?}");
    // What is held for the calls that the pieces are.
    let id = "c".repeat(400);
    for (count, expected) in [(2, 2), (3, 1), (9, 1)] {
        let mut named = calls();
        for name in ["f", "g"].iter().cycle().take(count) {
            push(&mut named, Some(&id), name, "");
        }
        named.finish(CompletedBy::FinishReason);
        assert_eq!(drain(&mut named).len(), expected);
        assert!(named.held_bytes() <= 1000);
    }
}

#[test]
fn many_calls_are_not_remembered_for_ever() {
    let mut calls = ToolCallAssembler::new(&Options::default());
    for index in 0..10_000 {
        calls.push(CallDelta {
            index: Some(0),
            name: Some("f"),
            arguments: "{\"a\":1}",
            ..CallDelta::default()
        });
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
fn memory_is_released() {
    let mut calls = ToolCallAssembler::new(&Options::default());
    // White space, and then values, the last of which is truncated.
    let blank = " ".repeat(50);
    calls.push(CallDelta { index: Some(1), name: Some("f"), arguments: &blank, ..CallDelta::default() });
    let part = PartialArgument { path: "$.a", value: PartialValue::Text("x"), has_more: true };
    calls.push_partial(Some(1), part, false);
    calls.abort_item(1);
    assert_eq!(calls.next_event().unwrap().unwrap_err().received, r#"{"a":"x"}"#);
    calls.push(CallDelta { index: Some(2), name: Some("g"), arguments: "{}", ..CallDelta::default() });
    calls.finish_item(2, CompletedBy::ItemStop);
    assert!(calls.next_event().unwrap().is_ok());
    // Values take more memory than their text, and count accordingly.
    let mut paths = (0..200_000).map(|name| format!("$.x{name}.a.a.a.a.a.a.a.a.a.a"));
    calls.push(CallDelta { index: Some(3), name: Some("h"), ..CallDelta::default() });
    let taken = paths.position(|path| {
        let part = PartialArgument { path: &path, value: PartialValue::Literal("1"), has_more: false };
        calls.push_partial(Some(3), part, false);
        calls.next_event().is_some_and(|outcome| outcome.is_err())
    });
    assert!(taken.is_some_and(|taken| taken < 8 * 1024 * 1024 / (11 * 192)), "{taken:?}");
}
