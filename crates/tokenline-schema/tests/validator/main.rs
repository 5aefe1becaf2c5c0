//! The validator: verdicts, reports, and hostile input.

mod arriving;
#[cfg(feature = "jsonschema")]
mod cost;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod hostile;
mod numbers;
#[cfg(feature = "jsonschema")]
mod patterns;
mod plans;
mod reports;
mod schemas;
#[cfg(not(feature = "jsonschema"))]
mod small_patterns;
mod support;
mod tools;
mod typed_calls;
mod unions;
#[cfg(not(feature = "jsonschema"))]
mod unsupported;
mod verdicts;
mod violations;
