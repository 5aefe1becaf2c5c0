//! The kernel against the machines that it drives.

mod inputs;
mod limits;
mod responses;
mod rows;
mod text;
mod typed;
mod types;

#[path = "../../../tokenline-core/tests/common/mod.rs"]
mod common;
#[path = "../../../tokenline-core/tests/common/random.rs"]
mod random;
