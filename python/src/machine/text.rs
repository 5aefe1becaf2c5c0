//! Records from text.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{CountAs, SourceEnd, Tally};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Diagnostic, Event, Limits, Record};
use tokenline_schema::SchemaValidator;

use super::{Emit, Machine, diagnostic};
use crate::events;
use crate::model::Model;
use crate::reader::Reader;
use crate::schema::detached;
use crate::settings::Settings;
use crate::shared::Traverse;
use crate::value::{BuildError, Builder};

/// What records must pass, and what they become.
pub(crate) struct Rules {
    pub(crate) schema: Option<SchemaValidator>,
    pub(crate) model: Option<Model>,
    pub(crate) builder: Builder,
}

impl Rules {
    /// The Python value of a record, or the reason why it is rejected.
    pub(crate) fn read<'py>(
        &mut self,
        py: Python<'py>,
        record: &Record<Value<'_>>,
    ) -> PyResult<Result<Bound<'py, PyAny>, Box<Diagnostic>>> {
        if let Some(rejected) = self.validate(py, record) {
            return Ok(Err(rejected));
        }
        self.build(py, record)
    }

    /// Like [`read`](Self::read). Keeps the record if the user interrupts code of the model's, so that it is not lost.
    pub(crate) fn read_or_keep<'py>(
        &mut self,
        py: Python<'py>,
        record: &Record<Value<'_>>,
        kept: &mut Option<Record<Raw>>,
    ) -> PyResult<Result<Bound<'py, PyAny>, Box<Diagnostic>>> {
        self.read(py, record).inspect_err(|error| {
            if !error.is_instance_of::<PyException>(py) {
                *kept = Some(record.map(Raw::from));
            }
        })
    }

    pub(crate) fn validate(&self, py: Python<'_>, record: &Record<Value<'_>>) -> Option<Box<Diagnostic>> {
        let schema = self.schema.as_ref()?;
        detached(py, record.span.len() as usize, || record.validate(schema)).err()
    }

    pub(crate) fn build<'py>(
        &mut self,
        py: Python<'py>,
        record: &Record<Value<'_>>,
    ) -> PyResult<Result<Bound<'py, PyAny>, Box<Diagnostic>>> {
        let built = match &self.model {
            Some(model) => model.build(py, record.value),
            None => self.builder.build(py, record.value),
        };
        match built {
            Ok(value) => Ok(Ok(value)),
            Err(BuildError::Violation(violation)) => Ok(Err(Box::new(record.diagnose(*violation)))),
            Err(BuildError::Python(error)) => Err(error),
        }
    }
}

impl Traverse for Rules {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.model.as_ref().map(|model| &model.validate_json))
    }
}

/// Records from text: a `JsonlParser`, its rules and its counts.
pub(crate) struct TextMachine {
    reader: Reader,
    rules: Rules,
    emit: Emit,
    tally: Tally,
    limits: Limits,
    /// The record that was being built when the user interrupted it.
    interrupted: Option<Record<Raw>>,
}

impl TextMachine {
    pub(crate) fn new(settings: Settings, emit: Emit) -> Self {
        let Settings { options, schema, model, .. } = settings;
        let limits = options.limits;
        Self {
            reader: Reader::new(options),
            rules: Rules { schema, model, builder: Builder::default() },
            emit,
            tally: Tally::new(&limits),
            limits,
            interrupted: None,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.reader.reset();
        self.interrupted = None;
        self.tally.reset(&self.limits);
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

/// What became of an event.
enum Outcome {
    Record(Py<PyAny>),
    Found(Diagnostic),
    Nothing,
}

impl Machine for TextMachine {
    fn push(&mut self, _: Python<'_>, chunk: &[u8]) {
        self.reader.push(chunk);
    }

    fn finish(&mut self, end: SourceEnd) {
        self.reader.finish();
        if end == SourceEnd::Clean {
            self.tally.report_mut().set_complete();
        }
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Self { reader, rules, emit, tally, interrupted, .. } = self;
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
            let Some(outcome) = outcome.transpose()? else { return Ok(None) };
            match outcome {
                Outcome::Record(object) => return Ok(Some(object)),
                Outcome::Found(found) => {
                    tally.count(CountAs::Diagnostic(&found));
                    if let Some(event) = diagnostic(py, *emit, found.into())? {
                        return Ok(Some(event));
                    }
                }
                Outcome::Nothing => {}
            }
        }
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}
