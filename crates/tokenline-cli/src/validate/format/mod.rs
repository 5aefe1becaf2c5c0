//! The formats of the errors on standard output: a module each, and a row in the list.

mod github;
mod json;
mod jsonl;
mod list;
mod sarif;
mod text;

pub(super) use list::{Format, Writes, format};
