//! The contract, line by line.

use crate::common::{conversation, errors, lines, report, validate, with, without};
use serde_json::json;
use tokenline_conversations::{ConversationValidator, ErrorCode, Profile, RecordValidator, ValidationReport};
use tokenline_core::{Limits, Validate as _};
use tokenline_schema::SchemaValidator;

#[test]
fn a_valid_dataset_has_the_reports_fields_and_no_others() {
    let second = with("c2", "messages", json!([{"role": "user", "content": "Hm."}]));
    let found = report(lines([conversation("c1"), second]));
    assert!(found.is_valid);
    assert_eq!(
        serde_json::to_value(&found).expect("JSON"),
        json!({
            "schema_version": "1.0.0", "input_path": "in",
            "total_lines": 2, "non_empty_lines": 2,
            "valid_conversation_count": 2, "invalid_line_count": 0,
            "unique_conversation_id_count": 2, "duplicate_conversation_id_count": 0,
            "error_count": 0, "dropped_error_count": 0, "is_valid": true,
            "summary": {
                "conversation_count": 2, "unique_user_count": 1, "message_count": 3,
                "avg_turn_count": 1.5, "min_turn_count": 1, "max_turn_count": 2
            },
            "errors": []
        })
    );
    let back: ValidationReport =
        serde_json::from_value(serde_json::to_value(&found).expect("JSON")).expect("a report");
    assert_eq!(back, found);
}

#[test]
fn an_error_has_position_and_rule() {
    let found = report(lines([conversation("c1"), with("c2", "user_id", json!(7))]));
    let error = serde_json::to_value(&found.errors[0]).expect("JSON");
    let first = conversation("c1").to_string().len() + 1;
    let at = with("c2", "user_id", json!(7)).to_string().find("\"user_id\":").expect("there") + 10;
    assert_eq!(
        error,
        json!({
            "line_number": 2, "code": "schema_violation",
            "message": "expected type string, found a number",
            "column": at + 1, "byte_offset": first + at,
            "instance_path": "/user_id", "rule": "/properties/user_id/type", "input_path": "in"
        })
    );
}

#[test]
fn invalid_json_of_any_kind_affects_only_its_line() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let bad: Vec<Vec<u8>> = vec![
        b"{\"conversation_id\":".to_vec(),
        b"{\"a\":NaN}".to_vec(),
        b"{\"a\":Infinity}".to_vec(),
        b"{\"a\":\"\xff\"}".to_vec(),
        b"\xff".to_vec(),
        deep.into_bytes(),
        b"{\"a\":1,\"a\":1}".to_vec(),
        b"{\"metadata\":{\"b\":{\"a\":1,\"a\":1}}}".to_vec(),
        b"{} {}".to_vec(),
        b"{},".to_vec(),
        b"hello".to_vec(),
        b"{\"a\":\"\x01\"}".to_vec(),
        b"{'a':1}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{\"a\":01}".to_vec(),
    ];
    let rules = [
        "malformed_json",
        "malformed_json",
        "malformed_json",
        "invalid_utf8",
        "invalid_utf8",
        "too_deep",
        "duplicate_key",
        "duplicate_key",
        "trailing_data",
        "trailing_data",
        "malformed_json",
        "malformed_json",
        "malformed_json",
        "malformed_json",
        "malformed_json",
    ];
    let mut input = lines([conversation("c1")]).into_bytes();
    for line in &bad {
        input.extend_from_slice(line);
        input.push(b'\n');
    }
    input.extend_from_slice(lines([conversation("c2")]).as_bytes());
    let (found, told) = validate(&input, Profile::Open, Limits::default());
    assert_eq!(found.valid_conversation_count, 2);
    assert_eq!(found.invalid_line_count, bad.len() as u64);
    let expected: Vec<_> = (2..).zip(rules).collect();
    assert_eq!(errors(&found), expected);
    assert_eq!(found.errors.iter().map(|error| &*error.rule).collect::<Vec<_>>(), rules);
    assert_eq!(told.iter().map(|(_, line)| line).collect::<Vec<_>>(), bad.iter().collect::<Vec<_>>());
    for error in &found.errors {
        let place = error.byte_offset as usize;
        let line_start = input[..place].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        assert_eq!(error.column, (place - line_start) as u64 + 1, "{error}");
    }
}

#[test]
fn json_that_is_not_an_object_has_its_own_code() {
    let found = report("[]\n1\n\"x\"\nnull\ntrue\n[{\"a\":1}]\n");
    let expected: Vec<_> = (1..=6).map(|line| (line, "not_an_object")).collect();
    assert_eq!(errors(&found), expected);
    // Malformed JSON takes precedence.
    assert_eq!(errors(&report("[1,\n")), [(1, "malformed_json")]);
}

#[test]
fn only_the_first_error_of_a_line_is_reported() {
    let faults = [
        (without("c", "conversation_id"), "", "/required"),
        (without("c", "user_id"), "", "/required"),
        (without("c", "timestamp"), "", "/required"),
        (without("c", "messages"), "", "/required"),
        (with("c", "conversation_id", json!(null)), "/conversation_id", "/properties/conversation_id/type"),
        (with("c", "user_id", json!(["u"])), "/user_id", "/properties/user_id/type"),
        (with("c", "timestamp", json!(1_770_726_896)), "/timestamp", "/properties/timestamp/type"),
        (with("c", "timestamp", json!("2026-02-10")), "/timestamp", "/properties/timestamp/format"),
        (with("c", "metadata", json!([])), "/metadata", "/properties/metadata/type"),
        (with("c", "metadata", json!(null)), "/metadata", "/properties/metadata/type"),
        (with("c", "messages", json!({})), "/messages", "/properties/messages/type"),
        (with("c", "messages", json!(["a"])), "/messages/0", "/properties/messages/items/type"),
        (
            with("c", "messages", json!([{"role": "user", "content": "a"}, {"role": "user"}])),
            "/messages/1",
            "/properties/messages/items/required",
        ),
        (
            with("c", "messages", json!([{"content": "a"}])),
            "/messages/0",
            "/properties/messages/items/required",
        ),
        (
            with("c", "messages", json!([{"role": 1, "content": "a"}])),
            "/messages/0/role",
            "/properties/messages/items/properties/role/type",
        ),
        (
            with("c", "messages", json!([{"role": "user", "content": null}])),
            "/messages/0/content",
            "/properties/messages/items/properties/content/type",
        ),
        (
            with("c", "messages", json!([{"role": "user", "content": "a", "name": "b"}])),
            "/messages/0",
            "/properties/messages/items/additionalProperties",
        ),
    ];
    let found = report(lines(faults.iter().map(|(line, ..)| line)));
    assert_eq!(found.error_count, faults.len() as u64);
    for (error, (line, path, rule)) in found.errors.iter().zip(&faults) {
        assert_eq!((&*error.instance_path, &*error.rule), (*path, *rule), "{line}");
    }
    // Two errors: the first one in the text.
    let both = r#"{"user_id":1,"conversation_id":2,"messages":[]}"#;
    assert_eq!(report(both).errors[0].instance_path, "/user_id");
}

#[test]
fn the_top_is_open_or_closed_and_messages_are_closed() {
    let line = lines([with("c1", "extra", json!("x"))]);
    let of = |profile| validate(line.as_bytes(), profile, Limits::default()).0;
    assert!(of(Profile::Open).is_valid);
    let strict = of(Profile::Strict);
    assert_eq!(errors(&strict), [(1, "schema_violation")]);
    assert_eq!((&*strict.errors[0].rule, &*strict.errors[0].instance_path), ("/additionalProperties", ""));
}

#[test]
fn the_check_agrees_with_the_schema() {
    let values = [
        json!("x"),
        json!(1),
        json!(null),
        json!([]),
        json!({}),
        json!({"a": [1]}),
        json!(["a"]),
        json!("2026-02-10T12:34:56Z"),
        json!([{"role": "user", "content": "x"}]),
        json!([{"role": "user"}]),
        json!([{"role": "user", "content": "x"}, {"role": "user", "content": "x", "z": 1}]),
    ];
    for profile in [Profile::Open, Profile::Strict] {
        let schema = SchemaValidator::new(&tokenline_conversations::schema(profile)).expect("a schema");
        for member in ["conversation_id", "user_id", "timestamp", "messages", "metadata", "extra"] {
            for line in
                values.iter().map(|value| with("c", member, value.clone())).chain([without("c", member)])
            {
                let text = line.to_string();
                let mut parser = tokenline_core::json::Parser::new();
                let fits = schema.validate(parser.parse(&text).expect("JSON")).is_ok();
                let is_date = line["timestamp"] == "2026-02-10T12:34:56Z";
                let found = validate(text.as_bytes(), profile, Limits::default()).0;
                assert_eq!(found.is_valid, fits && is_date, "{profile:?} {text}");
            }
        }
    }
}

#[test]
fn ids_are_unique_and_invalid_lines_reserve_none() {
    let bad = with("c1", "user_id", json!(1));
    let found =
        report(lines([bad, conversation("c1"), conversation("c2"), conversation("c1"), conversation("c1")]));
    assert_eq!(
        errors(&found),
        [(1, "schema_violation"), (4, "duplicate_conversation_id"), (5, "duplicate_conversation_id")]
    );
    assert_eq!((found.valid_conversation_count, found.unique_conversation_id_count), (2, 2));
    assert_eq!((found.duplicate_conversation_id_count, found.invalid_line_count), (2, 3));
    assert_eq!((found.summary.conversation_count, found.summary.message_count), (2, 4));
    // The same id in another spelling.
    let escaped = conversation("c1").to_string().replace("\"c1\"", "\"\\u0063\\u0031\"");
    let found = report(lines([conversation("c1").to_string(), escaped.clone()]));
    assert_eq!(errors(&found), [(2, "duplicate_conversation_id")]);
    let error = &found.errors[0];
    assert_eq!(error.instance_path, "/conversation_id");
    assert_eq!(error.column as usize, escaped.find("\"\\u0063").expect("there") + 1);
    // User ids may repeat.
    let other = with("c2", "user_id", json!("u2"));
    assert_eq!(report(lines([conversation("c1"), conversation("c3"), other])).summary.unique_user_count, 2);
}

#[test]
fn nothing_is_an_error_of_line_0() {
    for input in ["", "\n", " \t\r\n\n", "\u{feff}", "\u{feff}\n"] {
        let found = report(input);
        assert_eq!(errors(&found), [(0, "empty_dataset")], "{input:?}");
        assert_eq!((found.error_count, found.invalid_line_count, found.is_valid), (1, 0, false));
        assert_eq!((found.summary.avg_turn_count, found.summary.min_turn_count), (0.0, 0));
    }
    // Not empty, although invalid.
    let found = report("x\n");
    assert_eq!(errors(&found), [(1, "malformed_json")]);
    assert_eq!(found.summary.avg_turn_count, 0.0);
}

#[test]
fn lines_are_counted_as_editors_count_them() {
    let line = conversation("c1").to_string();
    for (input, total) in [
        (format!("{line}\n"), 1),
        (line.clone(), 1),
        (format!("\n\n{line}\r\n \n"), 4),
        (format!("\u{feff}{line}\r\n"), 1),
        (format!("\u{feff}\n{line}"), 2),
    ] {
        let found = report(&input);
        assert_eq!((found.total_lines, found.non_empty_lines, found.is_valid), (total, 1, true), "{input:?}");
    }
    let found = report("\u{feff}{\"user_id\":1}\n\n{\"a\"\n");
    let places: Vec<_> =
        found.errors.iter().map(|error| (error.line_number, error.column, error.byte_offset)).collect();
    assert_eq!(places, [(1, 12, 14), (3, 5, 22)]);
}

#[test]
fn a_long_line_affects_only_itself() {
    let good = |id: &str| conversation(id).to_string();
    let limit = good("c1").len();
    let limits = Limits { line_bytes: limit, ..Limits::default() };
    for (beyond, is_last) in [
        (1, false),
        (2, false),
        (3, false),
        (4, false),
        (1000, false),
        (500_000, false),
        (1, true),
        (3, true),
        (700_000, true),
    ] {
        let long = format!("{}{}", good("cx"), " ".repeat(beyond));
        let mut input = lines([good("c1"), long]);
        if is_last {
            input.pop();
        } else {
            input += &(good("c2") + "\r\n" + &good("c1"));
        }
        let found = validate(input.as_bytes(), Profile::Open, limits).0;
        let error = &found.errors[0];
        assert_eq!((error.line_number, &*error.rule), (2, "line_too_long"), "{beyond} {is_last}");
        assert_eq!((error.column, error.byte_offset), (1, limit as u64 + 1));
        let (valid, total) = if is_last { (1, 2) } else { (2, 4) };
        assert_eq!((found.valid_conversation_count, found.total_lines), (valid, total), "{beyond} {is_last}");
        if !is_last {
            assert_eq!(errors(&found)[1], (4, "duplicate_conversation_id"));
        }
    }
}

#[test]
fn errors_beyond_the_limit_are_counted() {
    let input = "x\n".repeat(7);
    for (most, named) in [(0, 0), (3, 3), (100, 7)] {
        let mut validator = ConversationValidator::new(Profile::Open).max_errors(most).jobs(2);
        validator.read("in", input.as_bytes()).expect("it is read");
        let found = validator.finish().expect("it is told");
        assert_eq!((found.errors.len(), found.error_count), (named, 7));
        assert_eq!(found.dropped_error_count, 7 - named as u64);
        assert!(!found.is_valid);
    }
    let found = ConversationValidator::new(Profile::Open).max_errors(0).finish().expect("it is told");
    assert_eq!((found.error_count, found.dropped_error_count, found.errors.len()), (1, 1, 0));
}

#[test]
fn warnings_are_counted_and_are_not_errors() {
    let odd =
        with("c1", "messages", json!([{"role": "system", "content": "a"}, {"role": "tool", "content": ""}]));
    let found = report(lines([odd, without("c2", "metadata")]));
    assert!(found.is_valid);
    assert_eq!((found.advice.unusual_role_count, found.advice.missing_metadata_count), (2, 1));
}

#[test]
fn several_inputs_are_one_dataset() {
    let first = format!("{}\nx", conversation("c1"));
    let second = lines([conversation("c1").to_string(), "y".to_owned(), conversation("c2").to_string()]);
    let mut validator = ConversationValidator::new(Profile::Open);
    validator.read("a.jsonl", first.as_bytes()).expect("it is read");
    validator.begin("b.jsonl");
    validator.push(second.as_bytes());
    let found = validator.finish().expect("it is told");
    assert_eq!(found.input_path, "a.jsonl b.jsonl");
    let places: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        places[1],
        "b.jsonl:1:20: duplicate_conversation_id: an earlier conversation has this id (at /conversation_id)"
    );
    assert!(
        places[0].starts_with("a.jsonl:2:1: malformed_json: ")
            && places[2].starts_with("b.jsonl:2:1: malformed_json: "),
        "{places:?}"
    );
    assert_eq!((found.total_lines, found.valid_conversation_count), (5, 2));
}

#[test]
fn records_are_validated_against_any_schema() {
    let schema = json!({"properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]});
    let mut validator = RecordValidator::new(SchemaValidator::new(&schema).expect("a schema")).jobs(2);
    validator
        .read("in", &b"{\"n\":1}\n{\"n\":0}\n{\"n\":1,\"n\":0}\nx\n{}\n[]\n\n{\"n\":3}"[..])
        .expect("it is read");
    let found = validator.finish().expect("it is told");
    assert_eq!((found.total_lines, found.non_empty_lines, found.valid_line_count), (8, 7, 2));
    let said: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    assert_eq!(said[0], "in:2:6: schema_violation: less than the minimum 1 (at /n)");
    assert_eq!(said[1], "in:3:8: duplicate_key: an object has two members of this name (at /n)");
    assert!(
        said[2].starts_with("in:4:1: malformed_json: ") && said[3].starts_with("in:5:1: schema_violation: ")
    );
    assert_eq!(said[4], "in:6:1: not_an_object: expected an object, found an array");
    assert!(
        RecordValidator::new(SchemaValidator::new(&schema).expect("a schema"))
            .finish()
            .expect("it is told")
            .is_valid
    );
}

#[test]
fn each_code_has_an_example() {
    for code in ErrorCode::ALL {
        assert_eq!(ErrorCode::from_name(code.as_str()), Some(code));
        if code.example().is_empty() && code != ErrorCode::EmptyDataset {
            continue;
        }
        let found = report(code.example());
        assert_eq!(errors(&found).iter().map(|(_, code)| *code).collect::<Vec<_>>(), [code.as_str()]);
        assert_eq!(serde_json::to_value(code).expect("JSON"), code.as_str());
        assert!(code.explanation().ends_with('.'));
    }
}
