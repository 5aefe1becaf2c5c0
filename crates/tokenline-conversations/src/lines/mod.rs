//! Checks lines against a contract: splits a source into blocks, checks these on one or more threads, and counts the
//! results in the order of the lines.

mod blocks;
mod buffer;
mod check;
mod engine;
mod methods;
mod results;
mod single;
mod tally;
mod workers;

pub(crate) use check::{Contract, Fault};
pub(crate) use engine::Engine;
pub use engine::InvalidLine;
pub(crate) use methods::shared_methods;
pub(crate) use single::SingleLines;
pub(crate) use tally::Count;
