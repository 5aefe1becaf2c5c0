//! The validator: verdicts, reports, and hostile input.

mod cost;
mod hostile;
mod reports;
mod schemas;
mod support;
mod tools;
mod unions;
mod verdicts;
mod violations;
