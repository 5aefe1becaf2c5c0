//! Files.

mod csv;
pub(crate) mod json;
mod kind;
#[cfg(feature = "parquet")]
mod parquet;
mod read;

pub use kind::FileKind;
