//! The verdict on one complete value.

use std::convert::Infallible;

use serde::de::DeserializeOwned;
use tokenline_core::Record;
use tokenline_core::adapter::{Judge, SourceEnd, Verdict};
use tokenline_core::json::{Raw, Value};

/// The value in its type, its reject, or a question about it.
pub(super) fn verdict<T: DeserializeOwned>(judge: &mut Judge, record: &Record<Raw>) -> Verdict<T> {
    let &Record { line, column, span, completion, recovered, .. } = record;
    let mut verdict = None;
    let Ok(()) = record.value.with_value(|value| {
        let record = Record { value, line, column, span, completion, recovered };
        let make = |record: &Record<Value<'_>>| Ok(record.deserialize());
        judge.judge(&record, SourceEnd::Clean, make, |found| {
            verdict = Some(found);
            Ok::<_, Infallible>(())
        })
    });
    verdict.expect("there is one verdict on a value")
}
