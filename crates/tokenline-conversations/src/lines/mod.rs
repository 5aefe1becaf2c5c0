//! Lines on several threads: splits a source into blocks, processes these, and passes on the results in the order of
//! the lines. The validators check lines against a contract, and count; [`LineMapper`] is for everything else.

mod blocks;
mod buffer;
mod check;
mod decode;
mod engine;
mod map;
mod methods;
mod results;
mod tally;
mod workers;

pub(crate) use check::{Checker, Contract, Fault, Verdict};
pub(crate) use engine::Engine;
pub use engine::InvalidLine;
pub use map::{LineMapper, LineWorker, MappedLines};
pub(crate) use methods::shared_methods;
pub(crate) use tally::Count;
