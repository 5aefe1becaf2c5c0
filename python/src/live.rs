//! The open record as one Python object that grows in place.

use std::collections::VecDeque;

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::adapter::{CountAs, Tally};
use tokenline_core::json::{Change, Key, Kind, Raw, Value, ValueDelta};
use tokenline_core::{Diagnostic, Event, LentEvent, OpenRecord, Options, Record};

use crate::bytes::bytes_of;
use crate::events::{self, finding};
use crate::machine::{Rules, with_value};
use crate::partial::{Made, Members, Node, NodeId, Plan};
use crate::raw::append;
use crate::reader::Reader;
use crate::report::Report;
use crate::settings::{self, Settings};
use crate::shared::{Shared, Traverse};
use crate::value::{BuildError, Builder};

/// A container that is open.
struct Container {
    value: Growing,
    /// What its elements or members become.
    node: NodeId,
    /// Of a value that is converted as a whole: the function, and the place where the result belongs.
    whole: Option<(Py<PyAny>, Slot)>,
}

/// The Python object of an open container.
enum Growing {
    Members(Members),
    List(Py<PyList>),
    /// What does not fit its type, and is not shown.
    Skipped,
}

/// The place of a value in its container.
enum Slot {
    /// An attribute, or a name in a dict.
    Name(Py<PyString>),
    /// A name beside those of the type.
    Extra(Py<PyString>),
    Index(usize),
    Nowhere,
}

/// A string that is open. It is in its container up to `pending`.
struct OpenString {
    slot: Slot,
    /// `None` only while it is appended to.
    text: Option<Py<PyString>>,
    pending: String,
    /// Converts it once it is complete. Until then it is not shown.
    whole: Option<Py<PyAny>>,
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
    root: Option<Py<PyAny>>,
}

impl Growing {
    fn dict(dict: Bound<'_, PyDict>) -> Self {
        Self::Members(Members { dict: dict.unbind(), set: None, extra: None })
    }

    /// Puts a value in its slot. The user may have changed the container.
    fn put(&self, py: Python<'_>, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match (self, slot) {
            (Self::Members(members), Slot::Name(name)) => {
                members.dict.bind(py).set_item(name, value)?;
                members.set.as_ref().map_or(Ok(()), |set| set.bind(py).add(name))
            }
            (Self::Members(Members { extra: Some(extra), .. }), Slot::Extra(name)) => {
                extra.bind(py).set_item(name, value)
            }
            (Self::List(list), Slot::Index(index)) => {
                let list = list.bind(py);
                if *index < list.len() { list.set_item(*index, value) } else { list.append(value) }
            }
            _ => Ok(()),
        }
    }

    fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Self::Members(members) => Some(members.dict.bind(py).clone().into_any()),
            Self::List(list) => Some(list.bind(py).clone().into_any()),
            Self::Skipped => None,
        }
    }
}

/// The node of a value outside the plan, or without one.
const ANY_ID: NodeId = NodeId::MAX;

impl Open {
    /// Applies a step by which a record grows, or the first of another one.
    fn grow(
        &mut self,
        py: Python<'_>,
        partial: &OpenRecord<ValueDelta<'_>>,
        builder: &mut Builder,
        plan: Option<&Plan>,
    ) -> PyResult<()> {
        if self.start != Some(partial.start) {
            *self = Self { start: Some(partial.start), ..Self::default() };
        }
        match self.apply(py, &partial.value, builder, plan) {
            // It is a fault of the record, which is found again when it is complete.
            Ok(()) | Err(BuildError::Violation(_)) => Ok(()),
            Err(BuildError::Python(error)) => Err(error),
        }
    }

    fn apply(
        &mut self,
        py: Python<'_>,
        delta: &ValueDelta<'_>,
        builder: &mut Builder,
        plan: Option<&Plan>,
    ) -> Result<(), BuildError> {
        match delta.change {
            Change::Append(text) => {
                if let Some(string) = &mut self.string {
                    string.pending.push_str(text);
                }
                return Ok(());
            }
            Change::Close if self.string.is_some() => {
                self.flush(py)?;
                return self.close_string(py);
            }
            Change::Close => return self.close(py, delta.depth),
            Change::Set(_) | Change::Open(_) => {}
        }
        let (slot, id) = self.place(py, delta, builder, plan);
        let Some(id) = id else {
            self.skip(delta);
            return Ok(());
        };
        let node = plan.filter(|_| id != ANY_ID).map_or(&Node::Any, |plan| plan.node(id));
        match (delta.change, node) {
            (Change::Set(value), Node::Whole(convert)) => {
                let json = PyBytes::new(py, value.raw().as_bytes());
                if let Some(value) = converted(convert.bind(py), &json)? {
                    self.put(py, &slot, &value)?;
                }
            }
            // A type that grows has no other scalar than null, which it may be if the record is valid.
            (Change::Set(value), node) if matches!(node, Node::Any) || value.kind() == Kind::Null => {
                let value = builder.build(py, value)?;
                self.put(py, &slot, &value)?;
            }
            (Change::Open(Kind::Object), Node::Object(object)) => {
                match object.make(py) {
                    Ok(Made { instance, members }) => {
                        self.open(py, slot, instance.bind(py), Growing::Members(members), id)?;
                    }
                    // Its members follow all the same.
                    Err(error) => {
                        self.skip(delta);
                        if !error.is_instance_of::<PyException>(py) {
                            return Err(error.into());
                        }
                    }
                }
            }
            (Change::Open(Kind::Object), Node::Any | Node::Map(_)) => {
                let dict = PyDict::new(py);
                self.open(py, slot, &dict.clone().into_any(), Growing::dict(dict), id)?;
            }
            (Change::Open(Kind::Array), Node::Any | Node::List(_)) => {
                let list = PyList::empty(py);
                let growing = Growing::List(list.clone().unbind());
                self.open(py, slot, &list.into_any(), growing, id)?;
            }
            (Change::Open(Kind::Object | Kind::Array), Node::Whole(convert)) => {
                let value = match delta.change {
                    Change::Open(Kind::Object) => Growing::dict(PyDict::new(py)),
                    _ => Growing::List(PyList::empty(py).unbind()),
                };
                let whole = Some((convert.clone_ref(py), slot));
                self.containers.push(Container { value, node: ANY_ID, whole });
            }
            (Change::Open(Kind::String), Node::Any | Node::Text) => {
                let text = PyString::new(py, "");
                self.put(py, &slot, &text)?;
                let text = Some(text.unbind());
                self.string = Some(OpenString { slot, text, pending: String::new(), whole: None });
            }
            (Change::Open(Kind::String), Node::Whole(convert)) => {
                let whole = Some(convert.clone_ref(py));
                self.string = Some(OpenString { slot, text: None, pending: String::new(), whole });
            }
            _ => self.skip(delta),
        }
        Ok(())
    }

    /// The place of a new value, and what it becomes. `None` if it is not shown.
    fn place(
        &self,
        py: Python<'_>,
        delta: &ValueDelta<'_>,
        builder: &mut Builder,
        plan: Option<&Plan>,
    ) -> (Slot, Option<NodeId>) {
        let (Some(container), Some(key)) = (self.containers.last(), delta.key) else {
            return (Slot::Nowhere, Some(0));
        };
        if matches!(container.value, Growing::Skipped) {
            return (Slot::Nowhere, None);
        }
        let node = if container.node == ANY_ID { None } else { plan.map(|plan| plan.node(container.node)) };
        match (node, key) {
            (Some(Node::Object(object)), Key::Name(name)) => match object.member(name) {
                Some((attribute, id)) => (Slot::Name(attribute.clone_ref(py)), Some(id)),
                None => {
                    let has_extra =
                        matches!(&container.value, Growing::Members(members) if members.extra.is_some());
                    (Slot::Extra(builder.name(py, name).unbind()), has_extra.then_some(ANY_ID))
                }
            },
            (node, Key::Name(name)) => {
                let id = if let Some(Node::Map(id)) = node { *id } else { ANY_ID };
                (Slot::Name(builder.name(py, name).unbind()), Some(id))
            }
            (node, Key::Index(index)) => {
                let id = if let Some(Node::List(id)) = node { *id } else { ANY_ID };
                (Slot::Index(index), Some(id))
            }
        }
    }

    /// Passes over a value.
    fn skip(&mut self, delta: &ValueDelta<'_>) {
        if let Change::Open(Kind::Object | Kind::Array) = delta.change {
            self.containers.push(Container { value: Growing::Skipped, node: ANY_ID, whole: None });
        }
    }

    /// Puts a value in the innermost container, if there is one.
    fn put(&self, py: Python<'_>, slot: &Slot, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.containers.last().map_or(Ok(()), |container| container.value.put(py, slot, value))
    }

    /// Opens a container: the root, or one that is put in its place.
    fn open(
        &mut self,
        py: Python<'_>,
        slot: Slot,
        object: &Bound<'_, PyAny>,
        value: Growing,
        node: NodeId,
    ) -> PyResult<()> {
        if self.containers.is_empty() {
            self.root = Some(object.clone().unbind());
        } else {
            self.put(py, &slot, object)?;
        }
        self.containers.push(Container { value, node, whole: None });
        Ok(())
    }

    /// Closes the innermost container.
    fn close(&mut self, py: Python<'_>, depth: usize) -> Result<(), BuildError> {
        let closed = self.containers.drain(depth.min(self.containers.len())..).next();
        if let Some(Container { value, whole: Some((convert, slot)), .. }) = closed
            && let Some(object) = value.object(py)
        {
            let json = py.import(intern!(py, "json"))?.call_method1(intern!(py, "dumps"), (object,))?;
            if let Some(value) = converted(convert.bind(py), &json)? {
                self.put(py, &slot, &value)?;
            }
        }
        Ok(())
    }

    fn close_string(&mut self, py: Python<'_>) -> Result<(), BuildError> {
        if let Some(OpenString { slot, pending, whole: Some(convert), .. }) = self.string.take() {
            let json = serde_json::to_vec(&pending).expect("a string is JSON");
            if let Some(value) = converted(convert.bind(py), &PyBytes::new(py, &json))? {
                self.put(py, &slot, &value)?;
            }
        }
        Ok(())
    }

    /// Appends what has arrived to the open string.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let (Some(string), Some(container)) = (&mut self.string, self.containers.last()) else {
            return Ok(());
        };
        if string.pending.is_empty() || string.whole.is_some() {
            return Ok(());
        }
        let more = PyString::new(py, &string.pending);
        string.pending.clear();
        // Without a second reference it grows in place.
        container.value.put(py, &string.slot, py.None().bind(py))?;
        let text = match string.text.take() {
            Some(text) => append(text.into_bound(py), &more)?,
            None => more,
        };
        container.value.put(py, &string.slot, &text)?;
        string.text = Some(text.unbind());
        Ok(())
    }
}

/// The value that a function of the type made. What does not fit is not shown; the reason comes with the complete record.
fn converted<'py>(
    convert: &Bound<'py, PyAny>,
    json: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match convert.call1((json,)) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyException>(convert.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An object that is open in a text of its own, such as the arguments of a call.
pub(crate) struct OpenValue {
    reader: Reader,
    open: Open,
}

impl OpenValue {
    /// `options` are those of a parser with partials.
    pub(crate) fn new(options: Options) -> Self {
        Self { reader: Reader::new(options), open: Open::default() }
    }

    /// Adds the next piece of the text.
    pub(crate) fn push(
        &mut self,
        py: Python<'_>,
        text: &str,
        builder: &mut Builder,
        plan: Option<&Plan>,
    ) -> PyResult<()> {
        let Self { reader, open } = self;
        reader.push(text.as_bytes());
        while let Some(grown) = reader.next(py, |event| match event {
            Event::Partial(partial) => open.grow(py, &partial, builder, plan),
            _ => Ok(()),
        }) {
            grown?;
        }
        open.flush(py)
    }

    /// The object; `None` until it begins.
    pub(crate) fn root(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.open.root.as_ref().map(|root| root.clone_ref(py))
    }
}

impl Traverse for OpenValue {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.open.traverse(visit)
    }
}

impl Traverse for Open {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.root)?;
        for container in &self.containers {
            match &container.value {
                Growing::Members(Members { dict, set, extra }) => {
                    visit.call(dict)?;
                    visit.call(set)?;
                    visit.call(extra)?;
                }
                Growing::List(list) => visit.call(list)?,
                Growing::Skipped => {}
            }
            visit.call(container.whole.as_ref().map(|(convert, _)| convert))?;
        }
        visit.call(self.string.as_ref().and_then(|string| string.whole.as_ref()))
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
    /// How the open record becomes a partial instance of the model.
    plan: Option<Py<Plan>>,
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
            *open = Open::default();
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
    fn value(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.0.lock(py)?.building.open.root.as_ref().map(|root| root.clone_ref(py)))
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
