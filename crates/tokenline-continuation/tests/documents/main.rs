//! Documents that are cut anywhere, and how they go on.

mod common;
mod contexts;
mod cuts;
mod disturbed;
mod found;
mod iteration;
