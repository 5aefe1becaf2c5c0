//! Values as lines of JSON.

use std::any::Any;

use serde::Serialize;
use tokenline::json::Raw;

/// A value as JSON on one line.
pub(crate) fn json_line<T: Serialize + 'static>(value: &T) -> Result<String, serde_json::Error> {
    if let Some(raw) = (value as &dyn Any).downcast_ref::<Raw>() {
        // Serializing it would write 0.90 as 0.9, and fail for 1e400.
        return Ok(raw.to_single_line().into_owned());
    }
    let json = serde_json::to_string(value)?;
    // JSON has line breaks between tokens only. `serde_json::value::RawValue` keeps those it was read with.
    match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
        None => Ok(json),
        Some(_) => Ok(json.replace(['\n', '\r'], " ")),
    }
}
