//! The open record as one Python object that grows in place.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{CountAs, Tally};
use tokenline_core::json::{Change, Key, Kind, Raw, Value, ValueDelta};
use tokenline_core::{Diagnostic, Event, LentEvent, Record};

use crate::bytes::bytes_of;
use crate::events::{self, finding};
use crate::machine::{Rules, with_value};
use crate::raw::append;
use crate::reader::Reader;
use crate::report::Report;
use crate::settings::{self, Settings};
use crate::shared::{Shared, Traverse};
use crate::value::{BuildError, Builder};

/// A container that is open.
enum Container {
    Dict(Py<PyDict>),
    List(Py<PyList>),
}

/// The place of a value in its container.
enum Slot {
    Name(Py<PyString>),
    Index(usize),
}

/// A string that is open. It is in its container up to `pending`.
struct OpenString {
    slot: Slot,
    /// `None` only while it is appended to.
    text: Option<Py<PyString>>,
    pending: String,
}

/// The open record, as its deltas build it.
#[derive(Default)]
struct Open {
    /// Where it starts in the text.
    start: Option<u64>,
    /// From the root inwards.
    containers: Vec<Container>,
    string: Option<OpenString>,
    /// The record, also once its root is closed.
    root: Option<Py<PyDict>>,
}

impl Container {
    /// Puts a value in its slot. The user may have changed the container.
    fn put(&self, py: Python<'_>, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match (self, slot) {
            (Self::Dict(dict), Slot::Name(name)) => dict.bind(py).set_item(name, value),
            (Self::List(list), Slot::Index(index)) => {
                let list = list.bind(py);
                if *index < list.len() { list.set_item(*index, value) } else { list.append(value) }
            }
            _ => unreachable!("members of objects have names, and elements of arrays indices"),
        }
    }
}

impl Open {
    fn apply(
        &mut self,
        py: Python<'_>,
        delta: &ValueDelta<'_>,
        builder: &mut Builder,
    ) -> Result<(), BuildError> {
        match delta.change {
            Change::Append(text) => {
                if let Some(string) = &mut self.string {
                    string.pending.push_str(text);
                }
            }
            Change::Close => {
                if self.string.is_some() {
                    self.flush(py)?;
                    self.string = None;
                } else {
                    self.containers.truncate(delta.depth);
                }
            }
            Change::Set(value) => {
                let value = builder.build(py, value)?;
                self.put(py, delta, &value, builder)?;
            }
            Change::Open(Kind::Object) => {
                let dict = PyDict::new(py);
                if delta.depth == 0 {
                    self.root = Some(dict.clone().unbind());
                } else {
                    self.put(py, delta, &dict, builder)?;
                }
                self.containers.push(Container::Dict(dict.unbind()));
            }
            Change::Open(Kind::Array) => {
                let list = PyList::empty(py);
                self.put(py, delta, &list, builder)?;
                self.containers.push(Container::List(list.unbind()));
            }
            Change::Open(_) => {
                let text = PyString::new(py, "");
                let slot = self.put(py, delta, &text, builder)?;
                let text = Some(text.unbind());
                self.string = slot.map(|slot| OpenString { slot, text, pending: String::new() });
            }
        }
        Ok(())
    }

    /// Puts the value of a delta in the innermost container.
    fn put(
        &self,
        py: Python<'_>,
        delta: &ValueDelta<'_>,
        value: &Bound<'_, PyAny>,
        builder: &mut Builder,
    ) -> PyResult<Option<Slot>> {
        let (Some(container), Some(key)) = (self.containers.last(), delta.key) else { return Ok(None) };
        let slot = match key {
            Key::Name(name) => Slot::Name(builder.name(py, name).unbind()),
            Key::Index(index) => Slot::Index(index),
        };
        container.put(py, &slot, value)?;
        Ok(Some(slot))
    }

    /// Appends what has arrived to the open string.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let (Some(string), Some(container)) = (&mut self.string, self.containers.last()) else {
            return Ok(());
        };
        if string.pending.is_empty() {
            return Ok(());
        }
        let more = PyString::new(py, &string.pending);
        string.pending.clear();
        // Without a second reference it grows in place.
        container.put(py, &string.slot, py.None().bind(py))?;
        let text = match string.text.take() {
            Some(text) => append(text.into_bound(py), &more)?,
            None => more,
        };
        container.put(py, &string.slot, &text)?;
        string.text = Some(text.unbind());
        Ok(())
    }
}

struct State {
    reader: Reader,
    building: Building,
    is_finished: bool,
}

/// Builds Python objects from the events.
struct Building {
    rules: Rules,
    tally: Tally,
    open: Open,
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
            *open = Open::default();
        }
        open.flush(py)
    }
}

impl Traverse for State {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Building { rules, open, events, .. } = &self.building;
        rules.traverse(visit)?;
        visit.call(&open.root)?;
        for container in &open.containers {
            match container {
                Container::Dict(dict) => visit.call(dict)?,
                Container::List(list) => visit.call(list)?,
            }
        }
        events.iter().try_for_each(|event| visit.call(event))
    }
}

impl Building {
    fn record(&mut self, py: Python<'_>, record: &Record<Value<'_>>) -> PyResult<()> {
        let Self { rules, tally, open, events, interrupted } = self;
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
            *open = Open::default();
        }
        tally.count(CountAs::Diagnostic(&rejected));
        events.push_back(finding(py, rejected.into())?);
        Ok(())
    }

    fn apply(&mut self, py: Python<'_>, event: LentEvent<'_>) -> PyResult<()> {
        match event {
            Event::Partial(partial) => {
                let Self { rules, open, .. } = self;
                if open.start != Some(partial.start) {
                    *open = Open { start: Some(partial.start), ..Open::default() };
                }
                match open.apply(py, &partial.value, &mut rules.builder) {
                    // It is a fault of the record, which is found again when it is complete.
                    Ok(()) | Err(BuildError::Violation(_)) => Ok(()),
                    Err(BuildError::Python(error)) => Err(error),
                }
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
    open: Open,
    record: &Record<Value<'_>>,
    interrupted: &mut Option<Record<Raw>>,
) -> PyResult<Result<Bound<'py, PyAny>, Box<Diagnostic>>> {
    let is_built = open.start == Some(record.span.start) && open.containers.is_empty() && !rules.has_model();
    match open.root.filter(|_| is_built) {
        Some(root) => rules.read_built(record, root.bind(py)),
        None => rules.read_or_keep(py, record, interrupted),
    }
}

/// Parses records, and shows the open one as it grows.
#[pyclass(frozen, module = "tokenline", generic)]
pub(crate) struct Live(Shared<State>);

#[pymethods]
impl Live {
    #[new]
    #[pyo3(signature = (**settings))]
    #[pyo3(
        text_signature = "(*, mode='lenient', schema=None, model=None, items=None, release='confirmed', line_bytes=8388608, depth=127, pattern_steps=1000000, diagnostics=1000)"
    )]
    fn py_new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let settings = Settings::new("Live", settings, &[settings::PARSER, settings::RECORDS])?;
        let Settings { options, schema, model, .. } = settings;
        let tally = Tally::new(&options.limits);
        Ok(Self(Shared::new(State {
            reader: Reader::new(options.clone().partials(true)),
            building: Building {
                rules: Rules::new(schema, model, &options.limits),
                tally,
                open: Open::default(),
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
    fn value(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        Ok(self.0.lock(py)?.building.open.root.as_ref().map(|root| root.clone_ref(py)))
    }

    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        Ok(Report(self.0.lock(py)?.building.tally.report().clone()))
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
