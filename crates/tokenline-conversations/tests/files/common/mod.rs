//! Validates in every way; all results must agree.
#![allow(dead_code, reason = "each test binary uses some of this")]

use std::collections::HashSet;
use std::io::{self, Read};

use serde_json::{Value, json};
use tokenline_conversations::{ConversationValidator, LineChecker, LineError, Profile, ValidationReport};
use tokenline_core::Limits;

/// A source that yields this many bytes per read.
pub(crate) struct Slow<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(self.0.len()).min(buffer.len());
        let (now, later) = self.0.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

/// All results for an input, however it arrives: at once, in chunks, pushed, and on several threads.
pub(crate) fn validate(
    input: &[u8],
    profile: Profile,
    limits: Limits,
) -> (ValidationReport, Vec<(LineError, Vec<u8>)>) {
    let read = |jobs: usize, piece: usize| {
        let mut told = Vec::new();
        let mut validator =
            ConversationValidator::new(profile).limits(limits).jobs(jobs).on_invalid(|invalid| {
                told.push((invalid.error.clone(), invalid.line.to_vec()));
                Ok(())
            });
        match piece {
            0 => validator.read("in", Slow(input, usize::MAX)).expect("it is read"),
            _ => validator.read("in", Slow(input, piece)).expect("it is read"),
        }
        let report = validator.finish().expect("it is told");
        (report, told)
    };
    let push = |piece: usize| {
        let mut told = Vec::new();
        let mut validator = ConversationValidator::new(profile).limits(limits).on_invalid(|invalid| {
            told.push((invalid.error.clone(), invalid.line.to_vec()));
            Ok(())
        });
        validator.begin("in");
        input.chunks(piece).for_each(|piece| validator.push(piece));
        let report = validator.finish().expect("it is told");
        (report, told)
    };
    let expected = read(1, 0);
    for (jobs, piece) in [(1, 1), (1, 7), (2, 0), (2, 3), (4, 0), (4, 1), (3, 100)] {
        assert!(read(jobs, piece) == expected, "{jobs} jobs, {piece} bytes at a time");
    }
    for piece in [1, 2, 13, input.len().max(1)] {
        assert!(push(piece) == expected, "pushed, {piece} bytes at a time");
    }
    let errors: Vec<_> = expected.1.iter().map(|(error, _)| error.clone()).collect();
    assert_eq!(line_by_line(input, profile, limits), errors);
    expected
}

/// The errors as an engine finds them that distributes the lines and groups by id.
fn line_by_line(input: &[u8], profile: Profile, limits: Limits) -> Vec<LineError> {
    let mut checker = LineChecker::with_limits(profile, 7, limits);
    let (mut errors, mut ids) = (Vec::new(), HashSet::new());
    let mut start = 0;
    for (index, line) in input.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let checked = checker.check(line, index == 0).map(|checked| {
            checked.and_then(|facts| {
                if ids.insert(facts.conversation_id) {
                    Ok(())
                } else {
                    Err(Box::new(LineError::duplicate_id(facts.id_column)))
                }
            })
        });
        if let Some(Err(mut error)) = checked {
            error.line_number = index as u64 + 1;
            error.byte_offset += start;
            error.input_path = "in".to_owned();
            errors.push(*error);
        }
        start += line.len() as u64;
    }
    errors
}

pub(crate) fn report(input: impl AsRef<[u8]>) -> ValidationReport {
    validate(input.as_ref(), Profile::Open, Limits::default()).0
}

/// The codes of the errors, and their lines.
pub(crate) fn errors(report: &ValidationReport) -> Vec<(u64, &'static str)> {
    report.errors.iter().map(|error| (error.line_number, error.code.as_str())).collect()
}

pub(crate) fn conversation(id: &str) -> Value {
    json!({
        "conversation_id": id,
        "user_id": "u1",
        "timestamp": "2026-02-10T12:34:56Z",
        "messages": [
            {"role": "user", "content": "How do I cancel?"},
            {"role": "assistant", "content": "Like this."}
        ],
        "metadata": {"source": "postgres"}
    })
}

/// The conversation with a member changed, or removed if null.
pub(crate) fn with(id: &str, member: &str, value: Value) -> Value {
    let mut changed = conversation(id);
    let members = changed.as_object_mut().expect("an object");
    members.insert(member.to_owned(), value);
    changed
}

pub(crate) fn without(id: &str, member: &str) -> Value {
    let mut changed = conversation(id);
    changed.as_object_mut().expect("an object").remove(member);
    changed
}

pub(crate) fn lines<T: ToString>(lines: impl IntoIterator<Item = T>) -> String {
    lines.into_iter().map(|line| line.to_string() + "\n").collect()
}
