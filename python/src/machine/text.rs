//! Records from text.

use std::sync::Arc;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{self, CountAs, Judge, Made, SourceEnd, Tally, Verdict};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Diagnostic, Event, Limits, Record, Validate, ValidateOpen, Violation};
use tokenline_schema::SchemaValidator;

use super::{Emit, Machine, diagnostic};
use crate::events;
use crate::model::Model;
use crate::reader::{Reader, idle};
use crate::schema::{DETACH_BYTES, detached};
use crate::settings::Settings;
use crate::shared::Traverse;
use crate::value::{BuildError, Builder};

/// Judges records, and builds their Python values.
pub(crate) struct Rules {
    judge: Judge,
    model: Option<Model>,
    pub(crate) builder: Builder,
}

type Read<'py> = Result<Bound<'py, PyAny>, Box<Diagnostic>>;

impl Rules {
    pub(crate) fn new(schema: Option<SchemaValidator>, model: Option<Model>, limits: &Limits) -> Self {
        let mut rules = adapter::Rules::default();
        if let Some(schema) = schema {
            rules.add_validator(Arc::new(Detached(schema)));
        }
        Self { judge: Judge::new(Arc::new(rules), limits), model, builder: Builder::default() }
    }

    pub(crate) fn has_model(&self) -> bool {
        self.model.is_some()
    }

    pub(crate) fn reset(&mut self) {
        self.judge.reset();
    }

    /// Validates what is new in the open record.
    pub(crate) fn read_on(&mut self, reader: &mut Reader) {
        self.judge.arriving(reader.decoder_mut());
    }

    /// The Python value of a record, or the reason why it is rejected. Keeps the record if the user interrupts code of the
    /// model's, so that it is not lost.
    pub(crate) fn read_or_keep<'py>(
        &mut self,
        py: Python<'py>,
        record: &Record<Value<'_>>,
        kept: &mut Option<Record<Raw>>,
    ) -> PyResult<Read<'py>> {
        let Self { judge, model, builder } = self;
        judged(judge, record, |record| {
            let built = match model {
                Some(model) => model.build(py, record.value),
                None => builder.build(py, record.value),
            };
            match built {
                Ok(value) => Ok(Ok(record.map(|_| value))),
                Err(BuildError::Violation(violation)) => Ok(Err(Box::new(record.diagnose(*violation)))),
                Err(BuildError::Python(error)) => {
                    if !error.is_instance_of::<PyException>(py) {
                        *kept = Some(record.map(Raw::from));
                    }
                    Err(error)
                }
            }
        })
    }

    /// The same for a record that is built already.
    pub(crate) fn read_built<'py>(
        &mut self,
        record: &Record<Value<'_>>,
        built: &Bound<'py, PyAny>,
    ) -> PyResult<Read<'py>> {
        judged(&mut self.judge, record, |record| Ok(Ok(record.map(|_| built.clone()))))
    }
}

fn judged<'py>(
    judge: &mut Judge,
    record: &Record<Value<'_>>,
    make: impl FnMut(&Record<Value<'_>>) -> PyResult<Made<Bound<'py, PyAny>>>,
) -> PyResult<Read<'py>> {
    let mut read = None;
    judge.judge(record, SourceEnd::Clean, make, |verdict| {
        read = Some(match verdict {
            Verdict::Record(record) => Ok(record.value),
            Verdict::Rejected(diagnostic) => Err(Box::new(diagnostic)),
            other => unreachable!("records are not read as calls: {:?}", other.diagnostic()),
        });
        Ok(())
    })?;
    Ok(read.expect("a record has a verdict"))
}

/// A schema that frees the GIL while it validates long records.
struct Detached(SchemaValidator);

impl Validate for Detached {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        // Most records are short.
        if value.raw().len() < DETACH_BYTES {
            return self.0.validate(value);
        }
        Python::attach(|py| detached(py, value.raw().len(), || self.0.validate(value)))
    }

    fn open(&self) -> Option<Box<dyn ValidateOpen + Send + Sync>> {
        Some(Box::new(DetachedOpen(self.0.open()?)))
    }
}

struct DetachedOpen(Box<dyn ValidateOpen + Send + Sync>);

impl ValidateOpen for DetachedOpen {
    fn advance(&mut self, snapshot: Value<'_>) -> Result<(), Box<Violation>> {
        Python::attach(|py| detached(py, snapshot.raw().len(), || self.0.advance(snapshot)))
    }

    fn finish(&mut self, record: Value<'_>) -> Result<(), Box<Violation>> {
        Python::attach(|py| detached(py, record.raw().len(), || self.0.finish(record)))
    }
}

impl Traverse for Rules {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.model.as_ref().map(|model| &model.validate_json))
    }
}

/// Records from text: a `JsonlParser`, its rules and its counts.
pub(crate) struct TextMachine {
    /// `None` only while it is dropped.
    reader: Option<Box<Reader>>,
    rules: Rules,
    emit: Emit,
    tally: Tally,
    /// Those that are not yet in the tally: most reports are never read, and short texts have as many notes as records.
    uncounted: Vec<Uncounted>,
    limits: Limits,
    /// The record that was being built when the user interrupted it.
    interrupted: Option<Record<Raw>>,
}

/// A reject or a note that is to be counted.
enum Uncounted {
    Found(Diagnostic),
    /// The event that was made of it, which refers to no other object.
    Event(Py<PyAny>),
}

/// The most that is counted later.
const MAX_UNCOUNTED: usize = 16;

impl TextMachine {
    pub(crate) fn new(settings: Settings, emit: Emit) -> Self {
        let Settings { options, schema, model, .. } = settings;
        let limits = options.limits;
        let mut rules = Rules::new(schema, model, &limits);
        let (reader, builder) = idle::take(&options).unzip();
        rules.builder = builder.unwrap_or_default();
        Self {
            reader: Some(reader.unwrap_or_else(|| Box::new(Reader::new(options)))),
            rules,
            emit,
            tally: Tally::new(&limits),
            uncounted: Vec::new(),
            limits,
            interrupted: None,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.reader().reset();
        self.rules.reset();
        self.interrupted = None;
        self.uncounted.clear();
        self.tally.reset(&self.limits);
    }

    fn reader(&mut self) -> &mut Reader {
        self.reader.as_mut().expect("present until dropped")
    }
}

impl Drop for TextMachine {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            idle::put(reader, std::mem::take(&mut self.rules.builder));
        }
    }
}

/// Adds the rejects and notes to the counts.
fn count(py: Python<'_>, tally: &mut Tally, uncounted: &mut Vec<Uncounted>) {
    for found in uncounted.drain(..) {
        match found {
            Uncounted::Found(found) => tally.report_mut().add(found),
            Uncounted::Event(event) => {
                if let Some(found) = events::finding_of(event.bind(py)) {
                    tally.count(CountAs::Diagnostic(&found.diagnostic));
                }
            }
        }
    }
}

impl Traverse for TextMachine {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.rules.traverse(visit)
    }
}

/// Passes a record on as it was when it was parsed.
pub(crate) fn with_value<R>(record: Record<Raw>, f: impl FnOnce(&Record<Value<'_>>) -> R) -> R {
    let mut raw = None;
    let place = record.map(|value| raw = Some(value));
    raw.expect("a record has a value").with_value(|value| f(&place.map(|()| value)))
}

/// The outcome of an event.
enum Outcome {
    Record(Py<PyAny>),
    Found(Diagnostic),
    Nothing,
}

impl Machine for TextMachine {
    fn push(&mut self, _: Python<'_>, chunk: &[u8]) {
        self.reader().push(chunk);
    }

    fn finish(&mut self, end: SourceEnd) {
        self.reader().finish();
        if end == SourceEnd::Clean {
            self.tally.report_mut().set_complete();
        }
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Self { reader, rules, emit, tally, uncounted, interrupted, .. } = self;
        let reader = reader.as_mut().expect("present until dropped");
        loop {
            let again = interrupted.take();
            let mut build = |record: &Record<Value<'_>>| match rules.read_or_keep(py, record, interrupted)? {
                Ok(value) => {
                    tally.count(CountAs::Record(record.recovered));
                    if *emit != Emit::Events {
                        return Ok(Outcome::Record(value.unbind()));
                    }
                    let record = events::Record::new(record, value.unbind());
                    Ok(Outcome::Record(record.into_pyobject(py)?.into_any().unbind()))
                }
                Err(rejected) => Ok(Outcome::Found(*rejected)),
            };
            let outcome = match again {
                Some(record) => Some(with_value(record, build)),
                None => reader.next(py, |event| match event {
                    Event::Record(record) => build(&record),
                    Event::Rejected(found) | Event::Note(found) => Ok(Outcome::Found(found)),
                    _ => PyResult::Ok(Outcome::Nothing),
                }),
            };
            let Some(outcome) = outcome.transpose()? else {
                rules.read_on(reader);
                return Ok(None);
            };
            match outcome {
                Outcome::Record(object) => return Ok(Some(object)),
                Outcome::Found(found) => {
                    if uncounted.len() == MAX_UNCOUNTED {
                        count(py, tally, uncounted);
                    }
                    match emit {
                        Emit::Events => {
                            let event = events::finding(py, found.into())?;
                            uncounted.push(Uncounted::Event(event.clone_ref(py)));
                            return Ok(Some(event));
                        }
                        Emit::Values => uncounted.push(Uncounted::Found(found)),
                        Emit::Strict => {
                            uncounted.push(Uncounted::Found(found.clone()));
                            diagnostic(py, *emit, found.into())?;
                        }
                    }
                }
                Outcome::Nothing => {}
            }
        }
    }

    fn tally(&mut self, py: Python<'_>) -> &Tally {
        count(py, &mut self.tally, &mut self.uncounted);
        &self.tally
    }
}
