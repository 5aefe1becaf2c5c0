//! JSON Lines: the valid objects, and what became of the rest.

use std::fmt;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Event, JsonlParser, Options, Record, Report, Severity};
use tokenline_schema::SchemaValidator;

/// The valid objects of a response in JSON Lines, in its order.
///
/// A slice of them by `Deref`; [`records`](Self::records) tells their places. What was not valid is in the
/// [`warnings`](Self::warnings). A response without a single valid object is an empty list.
///
/// Models' habits are understood: fences, prose around the objects, an array of them, objects over
/// several lines or several on one. A bad line, or a tail that was cut off, harms only itself.
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
    /// Of each value, everything but itself.
    places: Vec<Record<()>>,
    report: Report,
    misfits: Vec<Diagnostic>,
}

impl Objects {
    pub(crate) fn read(response: String, validator: Option<&SchemaValidator>) -> Self {
        let options = Options::lenient();
        let report = Report::new(&options.limits);
        let mut objects = Self::empty(report);
        let mut parser = JsonlParser::new(options);
        parser.push(response);
        parser.finish();
        while let Some(event) = parser.next_event() {
            match event {
                Event::Record(record) => match validator.map_or(Ok(()), |rules| record.validate(rules)) {
                    Ok(()) => {
                        objects.report.count_record();
                        objects.push(record.map(Raw::from));
                    }
                    Err(diagnostic) => objects.report.add(*diagnostic),
                },
                Event::Rejected(diagnostic) | Event::Note(diagnostic) => objects.report.add(diagnostic),
                other => unreachable!("no partials were asked for: {other:?}"),
            }
        }
        objects.report.set_complete();
        objects
    }

    /// The objects read into a type. One that does not fit becomes a [warning](Self::warnings), after
    /// those that there are.
    #[must_use]
    pub fn typed<T: DeserializeOwned>(self) -> Objects<T> {
        let mut typed = Objects::empty(self.report);
        typed.misfits = self.misfits;
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
    fn empty(report: Report) -> Self {
        Self { values: Vec::new(), places: Vec::new(), report, misfits: Vec::new() }
    }

    fn push(&mut self, record: Record<T>) {
        let mut value = None;
        self.places.push(record.map(|own| value = Some(own)));
        self.values.extend(value);
    }

    /// The objects with their places.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<&T>> + Clone {
        self.values.iter().zip(&self.places).map(|(value, place)| place.map(|()| value))
    }

    /// The objects.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }

    /// What is amiss: each line or value that was not delivered with its place and reason, and that
    /// nothing was. Lines of prose are among them, because one may have been meant to be an
    /// object; [`is_note`](ObjectsWarning::is_note) tells them apart.
    pub fn warnings(&self) -> impl Iterator<Item = ObjectsWarning<'_>> {
        let findings = self.report.diagnostics();
        let unkept = self.report.rejected() + self.report.notes() - findings.len() as u64;
        let rejects = findings.iter().chain(&self.misfits).map(ObjectsWarning::Rejected);
        let unkept = (unkept > 0).then_some(ObjectsWarning::NotKept(unkept));
        let nothing = self.values.is_empty().then_some(ObjectsWarning::NoObjects);
        rejects.chain(unkept).chain(nothing)
    }

    /// What was decoded and held against the schema, in counts, with the first findings.
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

/// What is amiss with a response in JSON Lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectsWarning<'a> {
    /// Something was not delivered: where, and why.
    Rejected(&'a Diagnostic),
    /// So many more, beyond those that a report [keeps](tokenline_core::Limits::diagnostics).
    NotKept(u64),
    /// There is no valid object.
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
            Self::NotKept(1) => f.write_str("one more was not delivered"),
            Self::NotKept(count) => write!(f, "{count} more were not delivered"),
            Self::NoObjects => f.write_str("the response has no valid object"),
        }
    }
}
