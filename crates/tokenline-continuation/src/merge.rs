//! Joining a fragment to the document that it continues.

mod base;
mod check;
mod compact;
mod find;
mod join;
mod noise;
mod result;
mod seam;
mod weigh;

pub use join::{merge, merge_with};
pub use result::{Confidence, Join, Merge, MergeFailure, MergeOptions, MergeReport, TrailingContent};
