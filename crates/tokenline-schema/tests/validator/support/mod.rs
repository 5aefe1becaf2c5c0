//! Helpers shared by the tests.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod guided;
pub(crate) mod near_miss;
pub(crate) mod random;

use serde_json::Value;
use tokenline_core::json::Parser;
use tokenline_core::{Code, Validate};
use tokenline_schema::{SchemaError, SchemaErrorKind, SchemaOptions, SchemaValidator};

/// The validator of a schema that jsonschema accepts; `None` if it needs the feature `jsonschema`, which is off. What that
/// leaves then never rejects what the schema accepts; `accepted` are values that it does.
pub(crate) fn supported(schema: &Value, accepted: &[String]) -> Option<SchemaValidator> {
    let error = match SchemaValidator::new(schema) {
        Ok(validator) => return Some(validator),
        Err(error) => error,
    };
    assert!(is_unsupported(&error), "{schema}: {error}");
    let weaker = SchemaOptions::new().ignore_unsupported(true).build(schema);
    let weaker = weaker.unwrap_or_else(|error| panic!("{schema}: {error}"));
    assert!(weaker.plan().is_compiled() && !weaker.ignored_keywords().is_empty());
    for ignored in weaker.ignored_keywords() {
        let place = schema.pointer(&ignored.path);
        assert!(place.is_some() && ignored.path.ends_with(&ignored.keyword), "{ignored} in {schema}");
    }
    let mut parser = Parser::new();
    for text in accepted {
        let value = parser.parse(text).unwrap();
        let is_repeated = value.repeated_name().is_some();
        assert!(
            is_repeated || weaker.is_valid(value),
            "{text} against {schema}: {:?}",
            weaker.ignored_keywords()
        );
    }
    None
}

/// Whether a schema needs the feature `jsonschema`, which is off.
pub(crate) fn is_unsupported(error: &SchemaError) -> bool {
    let is_unsupported = error.kind() == SchemaErrorKind::Unsupported;
    assert!(!is_unsupported || cfg!(not(feature = "jsonschema")) && error.keyword().is_some(), "{error}");
    is_unsupported
}

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
