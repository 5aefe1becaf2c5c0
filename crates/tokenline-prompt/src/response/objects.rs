//! JSON Lines: the valid objects, and warnings about the rest.

use std::fmt;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Event, Limits, Options, Record, Report, Severity};
use tokenline_schema::SchemaValidator;

/// The valid objects of a response in JSON Lines, in order.
///
/// Derefs to a slice; [`records`](Self::records) adds their positions. Invalid parts are in the
/// [`warnings`](Self::warnings). A response without a valid object is an empty list.
///
/// Typical model output is understood: code fences, prose around the objects, an array of them, objects over several
/// lines or several on one. A malformed line or a truncated end affects only itself.
///
/// ```
/// use tokenline_prompt::{Prompt, PromptManager};
///
/// let manager = PromptManager::new().with_prompt("count", Prompt::jsonl("Count to three."))?;
/// let response = manager.apply("count", "```json\n{\"n\": 1}\n{\"n\": one}\n{\"n\": 1.50}\n{\"n\":")?;
/// let objects = response.into_objects::<tokenline_core::json::Raw>()?;
/// assert_eq!(objects.iter().map(ToString::to_string).collect::<Vec<_>>(), ["{\"n\": 1}", "{\"n\": 1.50}"]);
/// assert_eq!(objects.warnings().map(|warning| warning.to_string()).collect::<Vec<_>>(), [
///     "3:7: malformed_json: expected a value, found a letter",
///     "5:6: truncated: expected a value, found the end of the input",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Objects<T = Raw> {
    values: Vec<T>,
    /// The record of each value, without the value.
    places: Vec<Record<()>>,
    report: Report,
    misfits: Vec<Diagnostic>,
}

impl Objects {
    pub(crate) fn read(response: &[u8], validator: Option<&SchemaValidator>) -> Self {
        let mut driver = Driver::<Raw>::new(Options::lenient());
        if let Some(validator) = validator {
            driver = driver.with_validator(validator.clone());
        }
        let mut objects = Self::empty();
        let mut rest = response;
        loop {
            let (consumed, step) = driver.step(rest);
            rest = &rest[consumed..];
            match step {
                StreamStep::Event(Event::Record(record)) => objects.push(record),
                StreamStep::Event(_) => {}
                StreamStep::NeedInput => driver.finish(SourceEnd::Clean),
                StreamStep::Done => break,
                StreamStep::Repair(_) => unreachable!("nothing is repaired"),
            }
        }
        driver.report().clone_into(&mut objects.report);
        objects
    }

    /// Deserializes the objects. A mismatch becomes a [warning](Self::warnings), after the existing ones.
    #[must_use]
    pub fn typed<T: DeserializeOwned>(self) -> Objects<T> {
        let mut typed = Objects { report: self.report, misfits: self.misfits, ..Objects::empty() };
        for (value, place) in self.values.into_iter().zip(self.places) {
            match value.with_value(|value| place.map(|()| value).deserialize()) {
                Ok(record) => typed.push(record),
                Err(diagnostic) => typed.misfits.push(*diagnostic),
            }
        }
        typed
    }
}

impl<T> Objects<T> {
    fn empty() -> Self {
        let report = Report::new(&Limits::default());
        Self { values: Vec::new(), places: Vec::new(), report, misfits: Vec::new() }
    }

    fn push(&mut self, record: Record<T>) {
        let mut value = None;
        self.places.push(record.map(|own| value = Some(own)));
        self.values.extend(value);
    }

    /// The objects with their positions.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<&T>> + Clone {
        self.values.iter().zip(&self.places).map(|(value, place)| place.map(|()| value))
    }

    /// The objects.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }

    /// Problems: each rejected line or value with its position and reason, and a response without objects. Lines of
    /// prose are included, because one may have been meant as an object; use [`is_note`](ObjectsWarning::is_note) to
    /// tell them apart.
    pub fn warnings(&self) -> impl Iterator<Item = ObjectsWarning<'_>> {
        let findings = self.report.diagnostics();
        let unkept = self.report.rejected() + self.report.notes() - findings.len() as u64;
        let rejects = findings.iter().chain(&self.misfits).map(ObjectsWarning::Rejected);
        let unkept = (unkept > 0).then_some(ObjectsWarning::NotKept(unkept));
        let nothing = self.values.is_empty().then_some(ObjectsWarning::NoObjects);
        rejects.chain(unkept).chain(nothing)
    }

    /// Counts of decoded and validated objects, with the first diagnostics.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl<T> Deref for Objects<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> IntoIterator for Objects<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Objects<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

/// A problem in a response in JSON Lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectsWarning<'a> {
    /// A line or value was rejected, with its position and reason.
    Rejected(&'a Diagnostic),
    /// The number of further problems, beyond those that a report [keeps](tokenline_core::Limits::diagnostics).
    NotKept(u64),
    /// There are no valid objects.
    NoObjects,
}

impl ObjectsWarning<'_> {
    /// Whether it is only information: prose around the objects.
    #[must_use]
    pub fn is_note(&self) -> bool {
        matches!(self, Self::Rejected(diagnostic) if diagnostic.severity() == Severity::Info)
    }
}

impl fmt::Display for ObjectsWarning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(diagnostic) => diagnostic.fmt(f),
            Self::NotKept(1) => f.write_str("one more was rejected"),
            Self::NotKept(count) => write!(f, "{count} more were rejected"),
            Self::NoObjects => f.write_str("the response contains no valid object"),
        }
    }
}
