//! The validator: its verdicts, its reports, and what is made to break it.

mod cost;
mod hostile;
mod reports;
mod schemas;
mod support;
mod tools;
mod unions;
mod verdicts;
mod violations;
