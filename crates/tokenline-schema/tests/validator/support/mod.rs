//! Helpers shared by the tests.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod guided;
pub(crate) mod near_miss;
pub(crate) mod random;

use serde_json::Value;
use tokenline_core::json::Parser;
use tokenline_core::{Code, Validate};
use tokenline_schema::SchemaValidator;

/// The reported paths and the message.
pub(crate) fn report(schema: &Value, text: &str) -> String {
    let validator = SchemaValidator::new(schema).unwrap().show_names(true);
    let mut parser = Parser::new();
    let value = parser.parse(text).unwrap();
    let Err(violation) = validator.validate(value) else { return "valid".to_owned() };
    assert_eq!(violation.code, Code::SchemaViolation);
    let place = value.pointer(&violation.instance_path).expect("the path leads to a value");
    assert_eq!(place.range().start, violation.offset, "the offset is that of the path: {violation:?}");
    format!("{} | {} | {}", violation.instance_path, violation.schema_path, violation.message)
}

/// Compares the reports of texts with the expected ones.
#[track_caller]
pub(crate) fn check(schema: &Value, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(report(schema, text), *expected, "{text} against {schema}");
    }
}
