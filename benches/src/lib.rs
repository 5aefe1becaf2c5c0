//! The benches of tokenline: deterministic corpora, the contenders (tokenline and its peers), and two ways to run them.
//!
//! - `cargo run --profile dist -p tokenline-benches --bin table` prints Markdown tables of medians over interleaved rounds in
//!   one process, so that ratios hold on a machine of varying speed.
//! - `cargo bench -p tokenline-benches` runs the same contenders with criterion; its `streams` bench measures memory instead
//!   of time.
//!
//! Not published; only for the benches of this workspace.

pub mod contenders;
pub mod criterion_group;
pub mod rounds;

pub use tokenline_corpora as corpora;
