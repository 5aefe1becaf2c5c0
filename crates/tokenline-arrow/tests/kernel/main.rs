//! The kernel against the machines that it drives.

mod inputs;
mod limits;
mod outcomes;
mod responses;
mod rows;
mod text;
mod typed;
mod types;

#[path = "../../../tokenline-core/tests/common/mod.rs"]
mod common;
#[path = "../../../tokenline-core/tests/common/outcomes.rs"]
mod outcome_cases;
#[path = "../../../tokenline-core/tests/common/random.rs"]
mod random;
