//! JSON Schema for parsed records: validates them without copying, and reports the one rule that an invalid record
//! breaks.
//!
//! [`SchemaValidator`] validates records, [`ToolSet`] tool calls. They implement the core's
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
//! With [`OpenValidation`](tokenline_core::adapter::OpenValidation), records are validated while they arrive: the last byte of a
//! long record leaves little to validate, and a record that cannot become valid is known before it ends.
//!
//! ```
//! use tokenline_core::adapter::OpenValidation;
//! use tokenline_core::{Options, RecordDecoder};
//! use tokenline_schema::SchemaValidator;
//!
//! let validator: SchemaValidator = r#"{"properties":{"items":{"items":{"required":["price"]}}}}"#.parse()?;
//! let mut validation = OpenValidation::new(validator).at_once();
//! let mut decoder = RecordDecoder::new(Options::lenient());
//!
//! decoder.decode(br#"{"items":[{"price":7},{"#);
//! assert!(validation.read_on(&mut decoder).is_none());
//! decoder.decode(br#""name":"tea"},"#);
//! let violation = validation.read_on(&mut decoder).unwrap();
//! assert_eq!(violation.to_string(), "1:23: schema_violation: missing required member `price` (at /items/1)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - **The verdict is jsonschema's.** Every record has the verdict that the `jsonschema` crate gives for the
//!   same text read by serde_json, if that keeps its numbers.
//! - **Numbers are exact.** They are compared, and tested for `multipleOf` and `type: integer`, by the decimal value that
//!   is written, of any size and precision, in the record and in the schema. Only `multipleOf` with an exponent beyond
//!   ±400 cannot be told, and rejects. In a schema that is a `serde_json::Value`, a number is what it prints.
//!   In draft 4, an integer is what is written as one, such as `-0`.
//! - **Compiled.** A schema that uses only common keywords is compiled to a plan, which validates several times as fast
//!   as jsonschema. [`SchemaValidator::plan`] reports whether a schema was compiled.
//! - **Once.** With a plan, each complete value in an open record is validated once, in the order of arrival. An
//!   alternative is chosen as soon as the member that tells the alternatives apart has arrived. Rules that need the whole
//!   value, such as `not`, `uniqueItems` and `required`, are checked when the value is complete. Without a plan, a record
//!   is validated when it is complete.
//! - **Two members of the same name** make a record invalid before any rule is checked, unless
//!   [allowed](SchemaOptions::allow_duplicate_keys): readers disagree on which of them counts.
//! - **One violation per record**, the first one found. For alternatives that a constant tells apart (`oneOf`
//!   and `anyOf`, as in serde's tagged enums), it is a violation of the intended alternative.
//! - **Private.** Messages name rules, kinds and parts of the schema, never a value of the record. A path has
//!   `*` for each member that the schema does not name, unless [`show_names`](SchemaValidator::show_names) is
//!   on.
//! - **Bounded.** A verdict builds no `serde_json::Value`; the search for a reason has a budget proportional
//!   to the record. Recursive alternatives take no exponential time. Patterns are matched in linear time, those with
//!   look-around or back-references in at most [`Limits::pattern_steps`](tokenline_core::Limits::pattern_steps) steps:
//!   a text that needs more makes its record a reject, and so do texts that together need 16 times as many. All patterns of a schema take at most 64 MiB. A
//!   schema whose references and combinators multiply, so that one value could be validated on more than
//!   [`SchemaOptions::max_paths`] paths, is rejected when it is compiled.
//! - **Offline.** A reference out of the schema is an error, not a request.
//!
//! # Without the feature `jsonschema`
//!
//! The feature is on by default. Without it, the crate is small enough for WebAssembly, and validates with plans only: the
//! verdicts and messages of a schema that has one stay the same. These keywords are then
//! [unsupported](SchemaErrorKind::Unsupported), and the error of a schema names the [keyword](SchemaError::keyword) and its
//! [place](SchemaError::path):
//!
//! - what [no plan](SchemaValidator::plan) covers, such as `unevaluatedProperties`,
//! - a `format` other than `date`, `time`, `date-time`, `ipv4` and `uuid`, unless formats are not
//!   [asserted](SchemaOptions::assert_formats),
//! - a `pattern` with look-around, a back-reference, `\b`, or a property of Unicode such as `\p{L}`,
//! - `contentEncoding` and `contentMediaType`, where they are asserted.
//!
//! [`SchemaOptions::ignore_unsupported`] leaves them out instead.
//!
//! ```
//! # #[cfg(not(feature = "jsonschema"))] {
//! use tokenline_schema::SchemaValidator;
//!
//! let error = r#"{"properties":{"a":{"unevaluatedProperties":false}}}"#.parse::<SchemaValidator>().unwrap_err();
//! assert_eq!((error.keyword(), error.path()), (Some("unevaluatedProperties"), "/properties/a/unevaluatedProperties"));
//! # }
//! ```
//!
//! # Non-goals
//!
//! A list of everything that is wrong with a document, annotations, and the standard's output formats: use
//! `jsonschema` itself for these.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod coerce;
mod compare;
mod draft;
mod error;
mod explain;
mod fallback;
mod gemini;
mod ignored;
mod literals;
mod messages;
mod names;
mod number;
mod open;
mod order;
mod patterns;
mod place;
mod plan;
mod pointer;
mod rules;
mod tape;
mod text;
mod tools;
mod tree;
mod types;
mod unknown_keywords;
mod validator;

pub use error::{SchemaError, SchemaErrorKind};
pub use ignored::IgnoredKeyword;
pub use plan::ValidationPlan;
pub use tools::ToolSet;
pub use unknown_keywords::UnknownKeyword;
pub use validator::{AsSchema, SchemaOptions, SchemaValidator};
