//! The crate over real sockets.

mod common;
mod sse;
