//! The open record as one Python object that grows in place.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{CountAs, Tally};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{Diagnostic, Event, LentEvent, Record};

use crate::bytes::bytes_of;
use crate::events::{self, finding};
use crate::growing::GrowingValue;
use crate::machine::{Rules, with_value};
use crate::partial::Plan;
use crate::reader::Reader;
use crate::report::Report;
use crate::settings::{self, Settings};
use crate::shared::{Shared, Traverse};

struct State {
    reader: Reader,
    building: Building,
    is_finished: bool,
}

/// Builds Python objects from the events.
struct Building {
    rules: Rules,
    /// How the open record becomes a partial instance of the model.
    plan: Option<Py<Plan>>,
    tally: Tally,
    open: GrowingValue,
    events: VecDeque<Py<PyAny>>,
    /// The record that was being built when the user interrupted it.
    interrupted: Option<Record<Raw>>,
}

impl State {
    /// Reads what was pushed.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let Self { reader, building, .. } = self;
        if let Some(record) = building.interrupted.take() {
            with_value(record, |record| building.record(py, record))?;
        }
        while let Some(outcome) = reader.next(py, |event| building.apply(py, event)) {
            outcome?;
        }
        building.rules.read_on(reader);
        // What looked like a record may have turned out to be prose.
        let open = &mut building.open;
        if open.start.is_some() && (self.is_finished || reader.open_value() != open.start) {
            *open = GrowingValue::default();
        }
        open.flush(py)
    }
}

impl Traverse for State {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Building { rules, plan, open, events, .. } = &self.building;
        rules.traverse(visit)?;
        visit.call(plan)?;
        open.traverse(visit)?;
        events.iter().try_for_each(|event| visit.call(event))
    }
}

impl Building {
    fn record(&mut self, py: Python<'_>, record: &Record<Value<'_>>) -> PyResult<()> {
        let Self { rules, tally, open, events, interrupted, .. } = self;
        match read(py, rules, std::mem::take(open), record, interrupted)? {
            Ok(value) => {
                tally.count(CountAs::Record(record.recovered));
                let record = events::Record::new(record, value.unbind());
                events.push_back(record.into_pyobject(py)?.into_any().unbind());
            }
            Err(rejected) => self.reject(py, *rejected)?,
        }
        Ok(())
    }

    fn reject(&mut self, py: Python<'_>, rejected: Diagnostic) -> PyResult<()> {
        let Self { tally, open, events, .. } = self;
        if open.start.is_some_and(|start| rejected.span.start <= start && start < rejected.span.end) {
            *open = GrowingValue::default();
        }
        tally.count(CountAs::Diagnostic(&rejected));
        events.push_back(finding(py, rejected.into())?);
        Ok(())
    }

    fn apply(&mut self, py: Python<'_>, event: LentEvent<'_>) -> PyResult<()> {
        match event {
            Event::Partial(partial) => {
                let Self { rules, plan, open, .. } = self;
                open.grow(py, &partial, &mut rules.builder, plan.as_ref().map(Py::get))
            }
            Event::Record(record) => self.record(py, &record),
            Event::Rejected(rejected) | Event::Note(rejected) => self.reject(py, rejected),
            _ => Ok(()),
        }
    }
}

/// The value of a complete record: the object that has grown.
fn read<'py>(
    py: Python<'py>,
    rules: &mut Rules,
    open: GrowingValue,
    record: &Record<Value<'_>>,
    interrupted: &mut Option<Record<Raw>>,
) -> PyResult<Result<Bound<'py, PyAny>, Box<Diagnostic>>> {
    let is_built = open.start == Some(record.span.start) && !rules.has_model();
    match open.complete(py).filter(|_| is_built) {
        Some(root) => rules.read_built(record, &root),
        None => rules.read_or_keep(py, record, interrupted),
    }
}

/// How records become partial instances of the model among these arguments.
fn plan(given: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Py<Plan>>> {
    let Some(given) = given else { return Ok(None) };
    let Some(model) = given.get_item("model")? else { return Ok(None) };
    let plan = given.py().import("tokenline._partial")?.call_method1("plan_of", (model,))?;
    plan.extract::<Option<Py<Plan>>>().map_err(PyErr::from)
}

/// Parses records, and shows the open one as it grows.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct Live(Shared<State>);

#[pymethods]
impl Live {
    #[new]
    #[pyo3(signature = (**settings))]
    #[pyo3(
        text_signature = "(*, mode='lenient', schema=None, model=None, items=None, release='confirmed', in_reasoning=False, all_violations=False, show_names=False, line_bytes=8388608, depth=127, pattern_steps=1000000, diagnostics=1000)"
    )]
    fn py_new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = settings;
        let settings = Settings::new("Live", given, &[settings::PARSER, settings::RECORDS])?;
        let Settings { options, schema, model, .. } = settings;
        let plan = match &model {
            Some(_) => plan(given)?,
            None => None,
        };
        let tally = Tally::new(&options.limits);
        Ok(Self(Shared::new(State {
            reader: Reader::new(options.clone().partials(true)),
            building: Building {
                rules: Rules::new(schema, model, &options.limits),
                plan,
                tally,
                open: GrowingValue::default(),
                events: VecDeque::new(),
                interrupted: None,
            },
            is_finished: false,
        })))
    }

    fn push(&self, py: Python<'_>, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut state = self.0.lock(py)?;
        if state.is_finished {
            return Ok(());
        }
        bytes_of("chunk", chunk, |bytes| state.reader.push(bytes))?;
        state.read(py)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let mut state = self.0.lock(py)?;
        if !state.is_finished {
            state.is_finished = true;
            state.building.tally.report_mut().set_complete();
            state.reader.finish();
        }
        state.read(py)
    }

    /// The open record. The same object while it grows.
    #[getter]
    fn value(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.0.lock(py)?.building.open.root(py).map(Bound::unbind))
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(Report::from(self.0.lock(py)?.building.tally.report().clone()))
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        crate::report::html(slf.as_any(), "live")
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.0.lock(py)?.building.events.pop_front())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}
