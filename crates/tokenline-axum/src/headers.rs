//! Headers of responses that stream.

use http::HeaderName;

/// Forbids caches to store the response, and proxies to change it: what a model wrote for one reader is for no other.
pub(crate) const NO_STORE: &str = "no-store, no-transform";

/// Asks nginx to pass the response on as it arrives.
pub(crate) const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");
