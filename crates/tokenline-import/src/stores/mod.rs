//! Stores.

#[cfg(feature = "mongodb")]
pub(crate) mod mongodb;
#[cfg(feature = "opensearch")]
pub(crate) mod opensearch;
#[cfg(feature = "opensearch")]
mod tls;
#[cfg(any(feature = "mongodb", feature = "opensearch"))]
mod url;
