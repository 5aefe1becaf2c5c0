//! JSON inside serialized values.

use serde::ser::{Serialize as _, Serializer};
use serde_json::value::RawValue;
use tokenline::json::Raw;

/// Writes the JSON as it is: serde's numbers would lose digits, or fail beyond the range of `f64`.
pub(crate) fn verbatim<S: Serializer>(raw: &Raw, serializer: S) -> Result<S::Ok, S::Error> {
    let text = raw.to_single_line().into_owned();
    RawValue::from_string(text).map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// The same for a value that may be missing.
#[expect(clippy::ref_option, reason = "serde passes the field")]
pub(crate) fn verbatim_if_some<S: Serializer>(raw: &Option<Raw>, serializer: S) -> Result<S::Ok, S::Error> {
    match raw {
        Some(raw) => verbatim(raw, serializer),
        None => serializer.serialize_none(),
    }
}
