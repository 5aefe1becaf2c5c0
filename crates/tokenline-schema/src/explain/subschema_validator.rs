//! Verdicts on all parts of a schema, and on each of their rules alone.
//!
//! The rules have plans, and the parts as well if the schema has one. Otherwise the [`fallback`](crate::fallback) judges
//! of the parts.

use std::sync::Arc;

use tokenline_core::json::Value;

use crate::fallback;
use crate::patterns::{Patterns, Undecided};
use crate::place::{Document, Place};
use crate::plan::{Parts, compile_parts};

pub(crate) struct SubschemaValidator {
    parts: Parts,
    /// If the parts have no plans.
    fallback: Option<fallback::Parts>,
    patterns: Arc<Patterns>,
}

impl SubschemaValidator {
    /// Compiles every part of a schema that has already been compiled as a whole. `None` if that fails
    /// unexpectedly.
    pub(crate) fn new(document: &Document, has_plan: bool, assert_formats: bool) -> Option<Self> {
        let parts = compile_parts(document, has_plan, assert_formats).ok()?;
        let fallback = if has_plan { None } else { Some(fallback::Parts::new(document, assert_formats)?) };
        Some(Self { parts, fallback, patterns: Arc::clone(&document.patterns) })
    }

    /// Whether a value fits the schema at a place.
    pub(super) fn fits(&self, place: &Place<'_>, value: Value<'_>) -> Result<bool, Box<Undecided>> {
        if let Some(verdict) = self.parts.fits(&place.pointer, value) {
            return verdict;
        }
        self.fallback.as_ref().map_or(Ok(true), |parts| parts.fits(&place.pointer, value))
    }

    /// Whether a value keeps one rule of the schema at a place.
    pub(super) fn keeps(
        &self,
        place: &Place<'_>,
        keyword: &str,
        value: Value<'_>,
    ) -> Result<bool, Box<Undecided>> {
        self.parts.keeps(&place.pointer, keyword, value)
    }

    /// Whether a member's name matches a pattern of `patternProperties`.
    pub(super) fn matches(&self, regex: &str, name: &str) -> Result<bool, Box<Undecided>> {
        self.patterns.get(regex).map_or(Ok(false), |pattern| pattern.matches(name))
    }
}
