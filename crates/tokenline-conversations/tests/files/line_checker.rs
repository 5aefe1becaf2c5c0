//! Each line gives what the validator reports of a file with this line only.

use tokenline_conversations::{ConversationValidator, ErrorCode, LineChecker, Profile};

const VALID: [&str; 3] = [
    r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[]}"#,
    r#"  {"metadata":{},"user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"tool","content":"é"}],"conversation_id":"\u0063\u0031"}  "#,
    r#"{"conversation_id":"c2","user_id":"u2","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":""}],"x":1}"#,
];

fn invalid() -> Vec<Vec<u8>> {
    let examples = ErrorCode::ALL.iter().flat_map(|code| code.example().lines().map(str::as_bytes));
    let others: [&[u8]; 6] =
        [b"{\"a\":1}{}", b"\xff", b"\xef\xbb\xbf{}", b"{\"a\":1,\"a\":2}", b"  [1]\r", b"{\"user_id\":7}"];
    let long = format!("\"{}\"", "x".repeat(9 << 20)).into_bytes();
    examples.chain(others).map(<[u8]>::to_vec).chain([long]).collect()
}

#[test]
fn a_line_has_the_error_of_a_file_with_this_line() {
    for profile in [Profile::Open, Profile::Strict] {
        let mut checker = LineChecker::new(profile, 1);
        for line in invalid().iter().map(Vec::as_slice).chain(VALID.map(str::as_bytes)) {
            // A file may start with a byte order mark, a line may not.
            let mut validator = ConversationValidator::new(profile);
            validator.push(b"\n");
            validator.push(line);
            let report = validator.finish().unwrap();
            let checked = checker.check(line).unwrap();
            assert_eq!(checked.is_ok(), report.errors.is_empty(), "{report:?}");
            match checked {
                Ok(facts) => {
                    assert_eq!(facts.message_count, report.summary.message_count);
                    assert_eq!(facts.unusual_role_count, report.advice.unusual_role_count);
                    assert_eq!(u64::from(!facts.has_metadata), report.advice.missing_metadata_count);
                }
                Err(mut error) => {
                    error.line_number += 1;
                    error.byte_offset += 1;
                    assert_eq!(error, report.errors[0]);
                }
            }
        }
    }
}

#[test]
fn ids_are_equal_if_their_text_is_and_duplicates_have_the_column_of_the_validator() {
    let mut checker = LineChecker::new(Profile::Open, 7);
    let facts = VALID.map(|line| checker.check(line.as_bytes()).unwrap().unwrap());
    assert_eq!(facts[0].conversation_id, facts[1].conversation_id);
    assert_eq!(facts[0].user_id, facts[1].user_id);
    assert_ne!(facts[0].conversation_id, facts[2].conversation_id);
    assert_ne!(facts[0].conversation_id, facts[0].user_id);

    let mut validator = ConversationValidator::new(Profile::Open);
    validator.push(VALID.join("\n"));
    let report = validator.finish().unwrap();
    assert_eq!(report.errors.len(), 1);
    assert_eq!((report.errors[0].line_number, report.errors[0].column), (2, facts[1].conversation_id_column));

    let other = LineChecker::new(Profile::Open, 8).check(VALID[0].as_bytes()).unwrap().unwrap();
    assert_ne!(other.conversation_id, facts[0].conversation_id);
}

#[test]
fn blank_lines_have_no_result() {
    let mut checker = LineChecker::new(Profile::Open, 0);
    for line in ["", " ", "\r", " \t\r"] {
        assert_eq!(checker.check(line.as_bytes()), None);
    }
}
