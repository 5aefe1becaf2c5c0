//! Every input of `fixtures/records`, split at every position, compared with the events next to it. The
//! folder `invalid` needs a schema, so `tokenline-schema` tests it.

mod common;

use common::cases::{Case, check};
use common::{Seen, at_every_split, decode, text_at_every_split};
use tokenline_core::{Code, Mode, Options};

fn events(case: &Case) -> Vec<Seen> {
    let seen = at_every_split(&case.options, &case.input);
    text_at_every_split(&case.options, &case.input, &seen);
    seen
}

fn is_rejected(event: &Seen) -> bool {
    matches!(event, Seen::Rejected(_))
}

#[test]
fn valid() {
    check("valid", events, |case, seen| {
        // Both modes read plain JSON Lines alike.
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
