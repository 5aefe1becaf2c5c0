//! Every input of `fixtures/records`, at every cut, against the events that stand beside it. The folder
//! `invalid` needs a schema: `tokenline-schema` has it.

mod common;

use common::cases::{Case, check};
use common::{Seen, at_every_cut, decode, text_at_every_cut};
use tokenline_core::{Code, Mode, Options};

fn events(case: &Case) -> Vec<Seen> {
    let seen = at_every_cut(&case.options, &case.input);
    text_at_every_cut(&case.options, &case.input, &seen);
    seen
}

fn is_rejected(event: &Seen) -> bool {
    matches!(event, Seen::Rejected(_))
}

#[test]
fn valid() {
    check("valid", events, |case, seen| {
        // What is JSON Lines to begin with is read alike in both modes.
        let mut strict = case.options.clone();
        strict.mode = Mode::Strict;
        seen == decode(&strict, [&case.input[..]])
    });
}

#[test]
fn recovered() {
    check("recovered", events, |_, seen| {
        seen.iter().any(|event| matches!(event, Seen::Record { .. })) && !seen.iter().any(is_rejected)
    });
}

#[test]
fn malformed() {
    check("malformed", events, |_, seen| seen.iter().any(is_rejected));
}

#[test]
fn truncated() {
    let is_truncated = |event: &Seen| matches!(event, Seen::Rejected(found) if found.code == Code::Truncated);
    check("truncated", events, |_, seen| seen.iter().any(is_truncated));
}

#[test]
fn whole() {
    check("whole", events, |case, _| case.options != Options::lenient());
}
