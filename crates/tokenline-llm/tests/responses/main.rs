//! The events of responses: ends, errors, unreadable and unknown parts.

mod after_end;
mod batches;
mod bounds;
mod calls;
#[path = "../common/mod.rs"]
mod common;
mod conserved;
mod diagnostics;
mod ends;
mod errors;
mod markup;
mod options;
mod own_rules;
mod partials;
#[path = "../../../tokenline-core/tests/common/random.rs"]
mod random;
mod random_calls;
mod records_and_calls;
mod repetition;
mod rules;
mod shapes;
mod text_calls;
mod unreadable;
mod whole;
mod wires;

use common::{Seen, at_every_cut, parser};
use tokenline_core::{Code, Severity, json};
use tokenline_llm::{ResponseEvent, TextMode};

const DONE: &str = "data: [DONE]\n\n";

fn seen_as(text_as: TextMode, wire: &[String]) -> Seen {
    at_every_cut(parser(text_as), wire.concat().as_bytes())
}

/// One line per event, without text events.
fn lines(text_as: TextMode, wire: &[String]) -> Vec<String> {
    let mut lines = seen_as(text_as, wire).summary();
    lines.retain(|line| !line.starts_with("text "));
    lines
}

fn codes(seen: &Seen) -> Vec<Code> {
    let code = |event: &ResponseEvent<json::Raw>| {
        let diagnostic = event.diagnostic()?;
        (diagnostic.severity() != Severity::Info).then_some(diagnostic.code)
    };
    seen.events.iter().filter_map(code).collect()
}
