//! The facts about single lines. Their errors are compared with the validator's for every input of these tests.

use tokenline_conversations::{ConversationValidator, LineChecker, Profile};

const VALID: [&str; 3] = [
    r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[]}"#,
    r#"  {"metadata":{},"user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"tool","content":"é"}],"conversation_id":"\u0063\u0031"}  "#,
    r#"{"conversation_id":"c2","user_id":"u2","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":""}],"x":1}"#,
];

#[test]
fn facts_are_those_of_a_report_of_the_line() {
    let mut checker = LineChecker::new(Profile::Open, 1);
    for line in VALID {
        let mut validator = ConversationValidator::new(Profile::Open);
        validator.push(line);
        let report = validator.finish().unwrap();
        let facts = checker.check(line.as_bytes(), false).unwrap().unwrap();
        assert_eq!(facts.message_count, report.summary.message_count);
        assert_eq!(facts.unusual_role_count, report.advice.unusual_role_count);
        assert_eq!(u64::from(!facts.has_metadata), report.advice.missing_metadata_count);
    }
}

#[test]
fn ids_are_equal_if_their_text_is_and_duplicates_have_the_column_of_the_validator() {
    let mut checker = LineChecker::new(Profile::Open, 7);
    let facts = VALID.map(|line| checker.check(line.as_bytes(), false).unwrap().unwrap());
    assert_eq!(facts[0].conversation_id, facts[1].conversation_id);
    assert_eq!(facts[0].user_id, facts[1].user_id);
    assert_ne!(facts[0].conversation_id, facts[2].conversation_id);
    assert_ne!(facts[0].conversation_id, facts[0].user_id);

    let mut validator = ConversationValidator::new(Profile::Open);
    validator.push(VALID.join("\n"));
    let report = validator.finish().unwrap();
    assert_eq!(report.errors.len(), 1);
    assert_eq!((report.errors[0].line_number, report.errors[0].column), (2, facts[1].id_column));

    let other = LineChecker::new(Profile::Open, 8).check(VALID[0].as_bytes(), false).unwrap().unwrap();
    assert_ne!(other.conversation_id, facts[0].conversation_id);
}

#[test]
fn blank_lines_have_no_result() {
    let mut checker = LineChecker::new(Profile::Open, 0);
    for line in ["", " ", "\r", " \t\r"] {
        assert!(checker.check(line.as_bytes(), false).is_none());
    }
}
