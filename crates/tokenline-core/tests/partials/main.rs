//! Deltas and snapshots of documents and records before they are complete.

mod apply;
mod documents;
#[path = "../common/extent.rs"]
mod extent;
mod properties;
mod records;
mod work;
