//! A rule for records that a program states as a closure over their type.

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::json::Value;
use crate::{Code, Validate, Violation};

/// A rule over the deserialized record: a closure that returns the reason why a record is invalid. The reason is the
/// message of the diagnostic. A record that is not of the type passes: it is rejected for that.
pub struct OwnRule<T, F> {
    rule: F,
    record: PhantomData<fn(&T)>,
}

impl<T, F: Fn(&T) -> Result<(), String>> OwnRule<T, F> {
    /// The rule of a closure.
    pub fn new(rule: F) -> Self {
        Self { rule, record: PhantomData }
    }
}

impl<T: DeserializeOwned, F: Fn(&T) -> Result<(), String>> Validate for OwnRule<T, F> {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        let Ok(record) = value.deserialize::<T>() else { return Ok(()) };
        (self.rule)(&record)
            .map_err(|reason| Box::new(Violation::new(Code::SchemaViolation, value.range().start, reason)))
    }
}

impl<T, F> fmt::Debug for OwnRule<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRule").finish_non_exhaustive()
    }
}
