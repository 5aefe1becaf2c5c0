//! Headers of requests, and of responses that stream.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};

/// Forbids caches to store the response, and proxies to change it: what a model wrote for one reader is for no other.
pub(crate) const NO_STORE: &str = "no-store, no-transform";

/// Asks nginx to pass the response on as it arrives.
pub(crate) const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// Whether the body is of one of these media types.
pub(crate) fn has_content_type(headers: &HeaderMap, accepted: &[&str]) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    accepted.iter().any(|accepted| accepted.eq_ignore_ascii_case(essence))
}
