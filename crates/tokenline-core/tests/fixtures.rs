//! Every input of `fixtures/records`, split at every position, compared with the events next to it. The
//! folder `invalid` needs a schema, so `tokenline-schema` tests it.

mod common;

use common::cases::{Case, all, check};
use common::{Seen, at_every_split, decode, text_at_every_split};
use tokenline_core::{Code, Decoded, Mode, Options, RecordDecoder};

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

#[test]
fn strict_lines_are_the_same_alone() {
    for mut case in all() {
        case.options.mode = Mode::Strict;
        let mut decoder = RecordDecoder::new(case.options.clone());
        let (mut seen, mut offset) = (Vec::new(), 0);
        for (number, line) in (1..).zip(case.input.split_inclusive(|byte| *byte == b'\n')) {
            decoder.reset_at(number, offset);
            let mut rest = line;
            while let Decoded { consumed, event: Some(event), .. } = decoder.decode(rest) {
                seen.push(Seen::new(event));
                rest = &rest[consumed..];
            }
            while let Some(event) = decoder.finish() {
                seen.push(Seen::new(event));
            }
            offset += line.len() as u64;
            assert_eq!(decoder.position(), offset, "{}", case.name);
        }
        assert_eq!(seen, decode(&case.options, [&case.input[..]]), "{}", case.name);
    }
}
