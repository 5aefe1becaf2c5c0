//! Sources of every kind, read by one thread and by several.

use std::io::Read;

use crate::common::{conversation, errors, lines, validate, with};
use serde_json::{Value, json};
use tokenline_conversations::{ConversationValidator, Profile};
use tokenline_core::Limits;

#[test]
fn a_failed_callback_ends_the_validation() {
    let full = || std::io::Error::other("the disk is full");
    for jobs in [1, 2] {
        let mut validator =
            ConversationValidator::new(Profile::Open).jobs(jobs).on_invalid(move |_| Err(full()));
        let error = validator.read("in", "x\n".repeat(100_000).as_bytes()).expect_err("it fails");
        assert_eq!(error.to_string(), "the disk is full");
    }
    let mut validator = ConversationValidator::new(Profile::Open).on_invalid(move |_| Err(full()));
    validator.push(b"x\n");
    assert!(validator.finish().is_err());
}

#[test]
fn errors_at_block_boundaries_are_the_same_for_any_number_of_threads() {
    let mut input = Vec::new();
    let kinds: [&[u8]; 7] =
        [b"{\"a\"", b"[1]", b"{\"user_id\":1}", b"\xff\xfe", b"", b"  ", b"{\"a\":1,\"a\":2}"];
    let mut number = 0_u64;
    // Lines of many lengths, so that blocks end at different places.
    while input.len() < 3_000_000 {
        number += 1;
        let id = format!("c{}", number % 900);
        let mut line = with(
            &id,
            "messages",
            json!([{"role": "user", "content": "é".repeat((number * 37 % 1500) as usize)}]),
        );
        line["user_id"] = Value::from(format!("u{}", number % 50));
        input.extend_from_slice(line.to_string().as_bytes());
        input.push(b'\n');
        input.extend_from_slice(kinds[number as usize % kinds.len()]);
        input.extend_from_slice(if number.is_multiple_of(3) { b"\r\n" } else { b"\n" });
    }
    let of = |jobs, piece| {
        let mut told = Vec::new();
        let mut validator =
            ConversationValidator::new(Profile::Open).jobs(jobs).max_errors(1000).on_invalid(|invalid| {
                told.push((invalid.error.clone(), invalid.line.to_vec()));
                Ok(())
            });
        validator.read("in", crate::common::Slow(&input, piece)).expect("it is read");
        let report = validator.finish().expect("it is told");
        (report, told)
    };
    let one = of(1, usize::MAX);
    assert!(one.0.duplicate_conversation_id_count > 0 && one.0.dropped_error_count > 0);
    for (jobs, piece) in [(2, usize::MAX), (4, usize::MAX), (4, 1000), (1, 999), (2, 131_071)] {
        assert!(of(jobs, piece) == one, "{jobs} jobs, {piece} bytes at a time");
    }
}

/// The bytes of each read, and the length it reports.
struct Reads(std::vec::IntoIter<std::io::Result<(Vec<u8>, usize)>>);

impl Read for Reads {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let (bytes, claimed) = self.0.next().expect("nobody reads on")?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(claimed)
    }
}

/// The result, and the invalid lines reported before.
fn invalid_lines(
    jobs: usize,
    reads: Vec<std::io::Result<(Vec<u8>, usize)>>,
) -> (std::io::Result<()>, Vec<Vec<u8>>) {
    let mut told = Vec::new();
    let mut validator = ConversationValidator::new(Profile::Open).jobs(jobs).on_invalid(|invalid| {
        told.push(invalid.line.to_vec());
        Ok(())
    });
    let ended = validator.read("in", Reads(reads.into_iter()));
    drop(validator);
    (ended, told)
}

#[test]
fn an_ended_or_failed_source_is_not_read_again_and_earlier_lines_are_reported() {
    let line = || Ok((b"bad\n".to_vec(), 4));
    let failure = || Err(std::io::Error::other("a bad block"));
    for jobs in [1, 2, 8] {
        let (ended, lines) = invalid_lines(jobs, vec![line(), Ok((Vec::new(), 0)), failure()]);
        assert!(ended.is_ok() && lines.len() == 1, "{jobs} jobs: {lines:?}");
        for before in [0, 1, 5, 100] {
            let reads = (0..before).map(|_| line()).chain([failure(), line()]).collect();
            let (ended, lines) = invalid_lines(jobs, reads);
            assert_eq!(ended.expect_err("it fails").to_string(), "a bad block");
            assert_eq!(lines, vec![b"bad"; before], "{jobs} jobs");
        }
    }
}

#[test]
fn a_source_that_reports_too_many_bytes_exposes_no_earlier_block() {
    let block = b"secret ".repeat(128 * 1024 / 7 + 1);
    let (first, second) = (block[..128 * 1024].to_vec(), b"\n".to_vec());
    for (jobs, claim) in [(1, 128 * 1024 + 1), (1, usize::MAX), (2, 128 * 1024 + 1), (8, usize::MAX)] {
        let reads = [(first.clone(), 128 * 1024), (second.clone(), 1), (b"z\n".to_vec(), claim)];
        let (ended, lines) = invalid_lines(jobs, reads.into_iter().map(Ok).collect());
        assert!(ended.expect_err("it fails").to_string().contains("more bytes than requested"));
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [128 * 1024], "{jobs} jobs");
    }
}

#[test]
fn lines_above_a_mebibyte_are_checked_in_order() {
    let long = |id: &str, length: usize| {
        with(id, "messages", json!([{"role": "user", "content": "x".repeat(length)}])).to_string()
    };
    let input = lines([
        conversation("a").to_string(),
        long("b", 3_000_000),
        long("b", 1_100_000),
        "[".repeat(2_000_000),
        long("c", 5),
        " ".repeat(1_500_000),
        long("d", 9_000_000),
        conversation("e").to_string(),
    ]);
    let found = validate(input.as_bytes(), Profile::Open, Limits::default()).0;
    assert_eq!(errors(&found), [(3, "duplicate_conversation_id"), (4, "too_deep"), (7, "line_too_long")]);
}
