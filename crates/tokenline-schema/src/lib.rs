//! JSON Schema over the tape of `tokenline-core`: records are judged where they lie, and what is
//! wrong with them is reported by the one rule that they break.
//!
//! [`SchemaValidator`] judges records, [`ToolSet`] tool calls. They implement the core's
//! [`Validate`](tokenline_core::Validate) and [`ValidateCall`](tokenline_core::ValidateCall).
//!
//! ```
//! use serde_json::json;
//! use tokenline_core::{Validate, json::Parser};
//! use tokenline_schema::SchemaValidator;
//!
//! let validator = SchemaValidator::new(&json!({"oneOf": [
//!     {"properties": {"type": {"const": "definition"}, "entity": {"type": "string"}}, "required": ["type", "entity"]},
//!     {"properties": {"type": {"const": "relation"}, "subject": {"type": "string"}}, "required": ["type", "subject"]},
//! ]}))?;
//!
//! let mut parser = Parser::new();
//! assert!(validator.validate(parser.parse(r#"{"type":"definition","entity":"DNA"}"#)?).is_ok());
//!
//! let violation = validator.validate(parser.parse(r#"{"type":"relation","subject":7}"#)?).unwrap_err();
//! assert_eq!(violation.instance_path, "/subject");
//! assert_eq!(violation.schema_path, "/oneOf/1/properties/subject/type");
//! assert_eq!(violation.message, "expected type string, found a number");
//! assert_eq!(violation.offset, 29);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What holds
//!
//! - **The verdict is jsonschema's.** Every record has the verdict that the `jsonschema` crate
//!   gives the same text read by serde_json. Numbers that serde_json cannot read, because they are
//!   beyond the range of `f64`, are judged as infinities; they count as whole.
//! - **Two members of one name** make a record invalid before any rule is looked at, unless
//!   [allowed](SchemaOptions::allow_duplicate_keys): readers disagree on which of them counts.
//! - **One violation for each record**, the first that is found on the way down. Of alternatives
//!   that a constant tells apart (`oneOf` and `anyOf`, as serde's tagged enums have them), it is that of the
//!   alternative that was meant.
//! - **Private.** Messages name rules, kinds and what the schema says, never a value of the record. A path has `*` for
//!   each member that the schema does not name, unless [`show_names`](SchemaValidator::show_names) is on.
//! - **Bounded.** A verdict builds no `serde_json::Value`; a reason is looked for within a budget in
//!   proportion to the record. Recursive alternatives cost no exponential time, patterns are
//!   matched in linear time. A schema whose references and combinators multiply, so that one value could be judged
//!   in more ways than [`SchemaOptions::max_paths`], is refused when it is compiled.
//! - **Offline.** A reference out of the schema is an error, not a request.
//!
//! # What this is not
//!
//! A list of everything that is wrong with a document, annotations, or the standard's output
//! formats: use `jsonschema` itself for these.
#![forbid(unsafe_code)]

mod coerce;
mod compare;
mod cost;
mod error;
mod explain;
mod gemini;
mod names;
mod number;
mod place;
mod pointer;
mod refusal;
mod tape;
mod text;
mod tools;
mod validator;

pub use error::{SchemaError, SchemaErrorKind};
pub use tools::ToolSet;
pub use validator::{AsSchema, SchemaOptions, SchemaValidator};
