//! Deltas and snapshots of documents and records before they are complete.

mod apply;
mod documents;
mod properties;
mod records;
mod work;
