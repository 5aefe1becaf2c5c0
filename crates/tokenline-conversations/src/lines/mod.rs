//! Lines held against a contract: a source cut into blocks, the blocks checked by one thread or several, and what
//! came of them counted in the order of the lines.

mod blocks;
mod buffer;
mod check;
mod engine;
mod methods;
mod results;
mod tally;
mod workers;

pub(crate) use check::{Contract, Fault};
pub(crate) use engine::Engine;
pub use engine::InvalidLine;
pub(crate) use methods::shared_methods;
pub(crate) use tally::Count;
