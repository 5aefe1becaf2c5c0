//! `const` and `enum`.

use serde_json::Value as Expected;
use tokenline_core::Limits;
use tokenline_core::json::{Kind, Parser, Value};

use super::names::Names;
use crate::compare;
use crate::literals::Literals;

/// The values that are allowed.
pub(crate) struct Constants {
    strings: Names<()>,
    /// The JSON array of the others.
    others: String,
    /// A parser that has parsed it.
    parser: Parser,
}

impl Constants {
    pub(crate) fn new<'s>(
        values: impl IntoIterator<Item = &'s Expected> + Clone,
        literals: &Literals,
    ) -> Self {
        let strings = values.clone().into_iter().filter_map(Expected::as_str);
        let strings = Names::new(strings.map(|string| (string, ())));
        // Deeper than a record can be, so that a constant fits in its list.
        let mut parser = Parser::new().with_limits(&Limits { depth: Limits::MAX_DEPTH, ..Limits::DEFAULT });
        let values = values.into_iter().filter(|value| !value.is_string());
        let mut others: Vec<_> = values.map(|value| literals.json(value)).collect();
        // No record is as deep as what does not parse.
        others.retain(|json| parser.parse(&format!("[{json}]")).is_ok());
        let others = format!("[{}]", others.join(","));
        if let Err(error) = parser.parse(&others) {
            unreachable!("a list of JSON is JSON: {error}");
        }
        Self { strings, others, parser }
    }

    /// The strings among them.
    pub(super) fn strings(&self) -> impl Iterator<Item = &str> {
        self.strings.entries().iter().map(|string| string.name.as_str())
    }

    #[inline]
    pub(crate) fn fits(&self, value: Value<'_>) -> bool {
        if value.kind() == Kind::String {
            return self.strings.find_value(value).is_some();
        }
        let others = self.parser.value(&self.others).as_array();
        others.into_iter().flatten().any(|expected| compare::same(value, expected))
    }

    #[inline]
    pub(super) fn fits_text(&self, text: &str) -> bool {
        self.strings.get(text.as_bytes()).is_some()
    }
}
