//! The benches of tokenline: deterministic corpora, the contenders (tokenline and its peers), and two ways to run them.
//!
//! - `scripts/measure` prints Markdown tables of medians over interleaved rounds in one process, so that ratios hold on a
//!   machine of varying speed; and of memory. With `--write`, it writes them into the repository's files and draws the plots.
//! - `cargo bench -p tokenline-benches --features peers` runs the same contenders with criterion.
//!
//! Not published; only for the benches of this workspace. Empty without the feature `peers`.

#![cfg(feature = "peers")]

pub mod contenders;
pub mod criterion_group;
mod plots;
pub mod published;
pub mod rounds;
pub mod tables;

pub use tokenline_corpora as corpora;
