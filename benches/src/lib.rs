//! What tokenline is measured on and against: deterministic corpora, the contenders (tokenline and
//! its peers), and the two ways of running them.
//!
//! - `cargo run --profile dist -p tokenline-benches --bin table` prints Markdown tables of medians:
//!   interleaved rounds in one process, so that ratios hold on a machine whose clock wanders.
//! - `cargo bench -p tokenline-benches` runs the same contenders under criterion; its `streams`
//!   bench counts memory instead of time.
//!
//! Not published, and not a library for anything else.

pub mod contenders;
pub mod corpora;
pub mod criterion_group;
pub mod rounds;
