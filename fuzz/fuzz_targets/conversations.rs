//! The report does not depend on the chunks or threads, and its counts add up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_conversations::{ConversationValidator, ErrorCode, Profile, ValidationReport};
use tokenline_core::Limits;

/// Replaces some bytes by parts of valid lines, so that there are valid lines.
fn input(data: &[u8]) -> Vec<u8> {
    let mut input = Vec::new();
    for byte in data {
        match byte {
            1..=8 => input.extend_from_slice(
                format!("{{\"conversation_id\":\"{byte}\",\"user_id\":\"u\",\"timestamp\":\"2026-02-10T12:34:56Z\",\"messages\":[{{\"role\":\"user\",\"content\":\"").as_bytes(),
            ),
            0x0e => input.extend_from_slice(b"\"}]}\n"),
            byte => input.push(*byte),
        }
    }
    input
}

fuzz_target!(|data: &[u8]| {
    let [settings, size, data @ ..] = data else { return };
    let input = input(data);
    let profile = if settings & 1 == 0 { Profile::Open } else { Profile::Strict };
    let line_bytes = if settings & 2 == 0 { 1 << 20 } else { usize::from(*size) };
    let max_errors = usize::from(settings >> 4);
    let validator = || {
        let limits = Limits { line_bytes, ..Limits::default() };
        ConversationValidator::new(profile).limits(limits).max_errors(max_errors)
    };
    let mut invalid_lines = 0;
    let mut whole = validator().on_invalid(|_| {
        invalid_lines += 1;
        Ok(())
    });
    whole.read("in", &*input).expect("readable");
    let whole = whole.finish().expect("a report");
    check_counts(&whole, invalid_lines, max_errors);

    let mut threads = validator().jobs(2);
    threads.read("in", &*input).expect("readable");
    assert_eq!(threads.finish().expect("a report"), whole);

    let mut pushed = validator();
    pushed.begin("in");
    input.chunks(usize::from(*size).max(1)).for_each(|chunk| pushed.push(chunk));
    assert_eq!(pushed.finish().expect("a report"), whole);
});

fn check_counts(report: &ValidationReport, invalid_lines: u64, max_errors: usize) {
    let is_empty = u64::from(report.non_empty_lines == 0);
    assert!(report.non_empty_lines <= report.total_lines);
    assert_eq!(report.valid_conversation_count + report.invalid_line_count, report.non_empty_lines);
    assert_eq!(report.invalid_line_count, invalid_lines);
    assert_eq!(report.error_count, invalid_lines + is_empty);
    assert_eq!(report.errors.len() as u64 + report.dropped_error_count, report.error_count);
    assert!(report.errors.len() <= max_errors);
    assert_eq!(report.is_valid, report.error_count == 0);
    assert_eq!(report.unique_conversation_id_count, report.valid_conversation_count);
    assert_eq!(report.summary.conversation_count, report.valid_conversation_count);
    assert!(report.summary.unique_user_count <= report.valid_conversation_count);
    assert!(report.errors.is_sorted_by(|one, next| one.line_number < next.line_number));
    let count = |code| report.errors.iter().filter(|error| error.code == code).count() as u64;
    assert!(count(ErrorCode::DuplicateConversationId) <= report.duplicate_conversation_id_count);
    if report.dropped_error_count == 0 {
        assert_eq!(count(ErrorCode::DuplicateConversationId), report.duplicate_conversation_id_count);
        assert_eq!(count(ErrorCode::EmptyDataset), is_empty);
    }
}
