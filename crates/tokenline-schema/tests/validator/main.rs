//! The validator: verdicts, reports, and hostile input.

mod arriving;
mod cost;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod hostile;
mod numbers;
mod patterns;
mod plans;
mod reports;
mod schemas;
mod support;
mod tools;
mod typed_calls;
mod unions;
mod verdicts;
mod violations;
