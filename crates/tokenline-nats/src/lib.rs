//! A stream worker.
#![forbid(unsafe_code)]

mod chunks;
mod continuity;
mod decoder;
mod error;
pub mod headers;
mod holder;
mod lane;
mod options;
mod setup;
mod shared;
mod source;
mod worker;

pub use async_nats;
pub use error::Error;
pub use options::{Format, WorkerOptions};
pub use worker::{Counts, Worker};
