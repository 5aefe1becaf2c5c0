//! The crate over real sockets.

mod common;
mod json_lines;
mod records;
mod sse;
