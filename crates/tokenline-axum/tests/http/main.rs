//! The crate over real sockets.

mod common;
mod data_loss;
mod json_lines;
mod records;
mod sse;
