//! The crate over real sockets.

mod common;
mod records;
mod sse;
