//! How a partial struct stores its fields.

use std::mem;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// How much of a field there is: the type of a field with `#[partial(state)]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FieldState<P> {
    /// Nothing yet.
    #[default]
    Pending,
    /// More may come.
    Growing(P),
    /// The value is complete.
    Complete(P),
}

impl<P> FieldState<P> {
    /// The value as far as it has arrived.
    #[must_use]
    pub fn value(&self) -> Option<&P> {
        match self {
            Self::Pending => None,
            Self::Growing(value) | Self::Complete(value) => Some(value),
        }
    }

    /// Whether the value is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Complete(_))
    }

    /// The state alone: `pending`, `growing` or `complete`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Growing(_) => "growing",
            Self::Complete(_) => "complete",
        }
    }
}

/// Written as `{"state":"growing","value":"So"}`; a value that is pending is `null`.
impl<P: Serialize> Serialize for FieldState<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("FieldState", 2)?;
        fields.serialize_field("state", self.as_str())?;
        fields.serialize_field("value", &self.value())?;
        fields.end()
    }
}

/// A field of a partial struct: `Option`, a list or map, or [`FieldState`].
pub trait PartialField<P>: Default {
    /// Whether the field records that its value is complete.
    const HAS_STATE: bool = false;

    /// Takes the value out, to change it.
    fn take(&mut self) -> Option<P>;

    /// Puts the value back.
    fn put(&mut self, value: Option<P>, is_complete: bool);
}

impl<P> PartialField<P> for Option<P> {
    fn take(&mut self) -> Option<P> {
        Option::take(self)
    }

    fn put(&mut self, value: Option<P>, _: bool) {
        *self = value;
    }
}

/// A field that may be `null`, which reads like a field that is not there.
impl<P> PartialField<Option<P>> for Option<P> {
    fn take(&mut self) -> Option<Option<P>> {
        Option::take(self).map(Some)
    }

    fn put(&mut self, value: Option<Option<P>>, _: bool) {
        *self = value.flatten();
    }
}

impl<P> PartialField<P> for FieldState<P> {
    const HAS_STATE: bool = true;

    fn take(&mut self) -> Option<P> {
        match mem::take(self) {
            Self::Pending => None,
            Self::Growing(value) | Self::Complete(value) => Some(value),
        }
    }

    fn put(&mut self, value: Option<P>, is_complete: bool) {
        *self = match value {
            None => Self::Pending,
            Some(value) if is_complete => Self::Complete(value),
            Some(value) => Self::Growing(value),
        };
    }
}

/// A list: empty until it begins.
impl<P> PartialField<Self> for Vec<P> {
    fn take(&mut self) -> Option<Self> {
        Some(mem::take(self))
    }

    fn put(&mut self, value: Option<Self>, _: bool) {
        *self = value.unwrap_or_default();
    }
}
