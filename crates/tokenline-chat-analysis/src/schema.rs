//! The schema of a response.

use std::sync::LazyLock;

use tokenline_schema::SchemaValidator;

/// The JSON Schema (draft 7) of a response, on several lines. Lengths count characters.
pub const RESPONSE_SCHEMA: &str = include_str!("response.schema.json");

/// The schema and types of a response in TypeScript: a module that exports `LLM_RESPONSE_SCHEMA` and the interfaces
/// `LLMResponse`, `LLMAnalysis`, `LLMSubject` and `LLMKeyword`.
pub const RESPONSE_SCHEMA_TYPESCRIPT: &str = include_str!("response.schema.ts");

/// The compiled [schema](RESPONSE_SCHEMA).
///
/// ```
/// use tokenline_chat_analysis::validator;
/// use tokenline_core::{Validate, json::Parser};
///
/// let mut parser = Parser::new();
/// let violation = validator().validate(parser.parse(r#"{"response":"Hello!"}"#)?).unwrap_err();
/// assert_eq!(violation.message, "missing required member `analysis`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn validator() -> &'static SchemaValidator {
    static VALIDATOR: LazyLock<SchemaValidator> = LazyLock::new(|| match RESPONSE_SCHEMA.parse() {
        Ok(validator) => validator,
        Err(error) => unreachable!("the schema is built in: {error}"),
    });
    &VALIDATOR
}
