//! The lines of `--emit partials` that build the open record.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use tokenline::OpenRecord;
use tokenline::json::{OwnedChange, OwnedDelta, OwnedKey};

use super::line::raw;

/// The members of a delta, in the format that `tokenline parse --help` describes.
pub(crate) struct DeltaMembers<'a>(pub(crate) &'a OpenRecord<OwnedDelta>);

impl DeltaMembers<'_> {
    /// The kind of the step.
    pub(crate) fn step(&self) -> &'static str {
        match self.0.value.change {
            OwnedChange::Open(_) => "open",
            OwnedChange::Append(_) => "append",
            OwnedChange::Set(_) => "set",
            OwnedChange::Close => "close",
        }
    }
}

impl Serialize for DeltaMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let OpenRecord { value: OwnedDelta { depth, key, change }, start, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start", start)?;
        map.serialize_entry("depth", depth)?;
        match key {
            Some(OwnedKey::Name(name)) => map.serialize_entry("key", name)?,
            Some(OwnedKey::Index(index)) => map.serialize_entry("key", index)?,
            None => {}
        }
        match change {
            OwnedChange::Open(kind) => map.serialize_entry("kind", kind.as_str())?,
            OwnedChange::Append(text) => map.serialize_entry("text", text)?,
            OwnedChange::Set(value) => map.serialize_entry("value", raw(value.as_str()))?,
            OwnedChange::Close => {}
        }
        map.end()
    }
}
