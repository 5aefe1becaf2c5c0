//! Native tool calls assembled from their fragments.

#[path = "../common/random.rs"]
mod random;

mod again;
mod bounds;
mod certain;
mod fragments;
mod parallel;
mod rejected;
mod release;
mod syntax;
mod updates;

use tokenline_core::adapter::{PartialArgument, PartialValue};

use tokenline_core::{CallDelta, CompletedBy, Options, RejectedCall, Release, ToolCall, ToolCallAssembler};

/// An event from a provider.
#[derive(Clone, Copy)]
enum Wire {
    Delta(CallDelta<'static>),
    Partial(u64, PartialArgument<'static>),
    FinishItem(u64),
    AbortItem(u64),
    Finish,
    Abort,
}
use Wire::{Abort, AbortItem, Finish, FinishItem};

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

/// The complete arguments of the call with this index.
fn whole(index: u64, id: &'static str, name: &'static str, arguments: &'static str) -> Wire {
    let (index, id, name) = (Some(index), Some(id), Some(name));
    Wire::Delta(CallDelta { index, id, name, arguments, is_whole: true, lossy: false })
}

/// A text in the arguments, which continues if it ends with `…`, or a literal after `#`.
fn part(index: u64, path: &'static str, value: &'static str) -> Wire {
    let text = value.strip_suffix('…');
    let has_more = text.is_some();
    let value = match value.strip_prefix('#') {
        Some(literal) => PartialValue::Literal(literal),
        None => PartialValue::Text(text.unwrap_or(value)),
    };
    Wire::Partial(index, PartialArgument { path, value, has_more })
}

fn line(outcome: Result<ToolCall, Box<RejectedCall>>) -> String {
    match outcome {
        Ok(call) => {
            let id = call.call_id.filter(|_| !call.is_synthetic_id);
            let id = id.map_or_else(String::new, |id| format!("{id}:"));
            format!("{id}{} {} {}", call.name, call.parameters, call.completion.as_str())
        }
        Err(call) => call.to_string().replacen(" of the arguments", "", 1),
    }
}

fn drain(calls: &mut ToolCallAssembler) -> Vec<String> {
    std::iter::from_fn(|| calls.next_event()).map(line).collect()
}

/// The calls and rejects. Checks that each byte of the arguments is examined once.
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
                // Values are assembled to a text, which is parsed at the end.
                bytes += 2 * (part.path.len() as u64 + 8);
                calls.push_partial(Some(index), part, false);
            }
            FinishItem(index) => calls.finish_item(index, CompletedBy::ItemStop),
            AbortItem(index) => calls.abort_item(index),
            Finish => calls.finish(CompletedBy::FinishReason),
            Abort => calls.abort(),
        }
    }
    // Missing arguments are parsed as `{}`.
    let has_name = |wire: &&Wire| matches!(wire, Wire::Delta(delta) if delta.name.is_some());
    let named = wire.iter().filter(has_name).count().max(1) as u64;
    assert!(calls.examined() - before <= bytes + 2 * named);
    drain(calls)
}

fn run(wire: &[Wire]) -> Vec<String> {
    run_with(&mut ToolCallAssembler::new(&Options::default()), wire)
}

#[track_caller]
fn check(wire: &[Wire], expected: &[&str]) {
    assert_eq!(run(wire), expected);
}

/// Checks an assembler with `Release::AtFinish`.
#[track_caller]
fn check_at_finish(wire: &[Wire], expected: &[&str]) {
    let options = Options::default().release(Release::AtFinish);
    assert_eq!(run_with(&mut ToolCallAssembler::new(&options), wire), expected);
}
