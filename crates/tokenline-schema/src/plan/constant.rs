//! `const` and `enum`.

use serde_json::Value as Expected;
use tokenline_core::json::{Kind, Value};

use super::names::Names;
use crate::compare;

/// The values that are allowed.
pub(super) struct Constants {
    strings: Names<()>,
    others: Box<[Expected]>,
}

impl Constants {
    pub(super) fn new<'s>(values: impl IntoIterator<Item = &'s Expected> + Clone) -> Self {
        let strings = values.clone().into_iter().filter_map(Expected::as_str);
        let others = values.into_iter().filter(|value| !value.is_string());
        Self { strings: Names::new(strings.map(|string| (string, ()))), others: others.cloned().collect() }
    }

    /// The strings among them.
    pub(super) fn strings(&self) -> impl Iterator<Item = &str> {
        self.strings.entries().iter().map(|string| string.name.as_str())
    }

    #[inline]
    pub(super) fn fits(&self, value: Value<'_>) -> bool {
        if value.kind() == Kind::String {
            return self.strings.find_value(value).is_some();
        }
        self.others.iter().any(|expected| compare::equals(value, expected))
    }

    #[inline]
    pub(super) fn fits_text(&self, text: &str) -> bool {
        self.strings.get(text.as_bytes()).is_some()
    }
}
