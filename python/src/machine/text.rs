//! Records from text.

use pyo3::prelude::*;
use tokenline_core::adapter::{CountAs, SourceEnd, Tally};
use tokenline_core::json::Value;
use tokenline_core::{Diagnostic, Event, JsonlParser, Limits, Record};
use tokenline_schema::SchemaValidator;

use super::{Emit, Machine, diagnostic};
use crate::events;
use crate::model::Model;
use crate::schema::{DETACH_BYTES, detached};
use crate::settings::Settings;
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

/// Records from text: a `JsonlParser`, its rules and its counts.
pub(crate) struct TextMachine {
    parser: JsonlParser,
    rules: Rules,
    emit: Emit,
    tally: Tally,
    limits: Limits,
    /// The length of the last chunk.
    chunk_bytes: usize,
    /// Where the parser was when it was last asked.
    position: u64,
    is_finished: bool,
}

impl TextMachine {
    pub(crate) fn new(settings: Settings, emit: Emit) -> Self {
        let Settings { options, schema, model, .. } = settings;
        let limits = options.limits;
        Self {
            parser: JsonlParser::new(options),
            rules: Rules { schema, model, builder: Builder::default() },
            emit,
            tally: Tally::new(&limits),
            limits,
            chunk_bytes: 0,
            position: 0,
            is_finished: false,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.parser.reset();
        self.tally.reset(&self.limits);
        (self.chunk_bytes, self.position, self.is_finished) = (0, 0, false);
    }
}

impl Machine for TextMachine {
    fn push(&mut self, _: Python<'_>, chunk: &[u8]) {
        if !self.is_finished {
            self.chunk_bytes = chunk.len();
            self.parser.push(chunk);
        }
    }

    fn finish(&mut self, end: SourceEnd) {
        self.is_finished = true;
        self.parser.finish();
        if end == SourceEnd::Clean {
            self.tally.report_mut().set_complete();
        }
    }

    fn next(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let Self { parser, rules, emit, tally, position, .. } = self;
        loop {
            // Where events are far apart, most of the time goes by in the parser.
            let stride = parser.decoder().position() - *position;
            *position += stride;
            let is_long = stride >= DETACH_BYTES as u64 && self.chunk_bytes >= DETACH_BYTES;
            let event = if is_long { py.detach(|| parser.next_event()) } else { parser.next_event() };
            let rejected = match event {
                None => return Ok(None),
                Some(Event::Record(record)) => match rules.read(py, &record)? {
                    Ok(value) => {
                        tally.count(CountAs::Record(record.recovered));
                        if *emit != Emit::Events {
                            return Ok(Some(value.unbind()));
                        }
                        let record = events::Record::new(&record, value.unbind());
                        return Ok(Some(record.into_pyobject(py)?.into_any().unbind()));
                    }
                    Err(rejected) => *rejected,
                },
                Some(Event::Rejected(rejected) | Event::Note(rejected)) => rejected,
                Some(_) => continue,
            };
            tally.count(CountAs::Diagnostic(&rejected));
            if let Some(event) = diagnostic(py, *emit, rejected.into())? {
                return Ok(Some(event));
            }
        }
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}
