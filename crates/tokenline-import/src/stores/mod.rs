//! Stores.

#[cfg(feature = "opensearch")]
pub(crate) mod opensearch;
#[cfg(any(feature = "mongodb", feature = "opensearch"))]
mod tls;
