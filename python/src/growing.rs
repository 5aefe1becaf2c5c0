//! Values that are being written, as Python objects that grow in place.

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::json::{Change, Key, Kind, ValueDelta};
use tokenline_core::{Event, OpenRecord, Options};

use crate::partial::{Made, Members, Node, NodeId, Plan};
use crate::raw::append;
use crate::reader::Reader;
use crate::shared::Traverse;
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
pub(crate) struct GrowingValue {
    /// Where it starts in the text.
    pub(crate) start: Option<u64>,
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

impl GrowingValue {
    /// Applies a step by which a record grows, or the first of another one.
    pub(crate) fn grow(
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

    /// The object as it is now; `None` until it begins.
    pub(crate) fn root<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.root.as_ref().map(|root| root.bind(py).clone())
    }

    /// The object, if all of it is there.
    pub(crate) fn complete<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.root(py).filter(|_| self.containers.is_empty())
    }

    /// Appends what has arrived to the open string.
    pub(crate) fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
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
    open: GrowingValue,
}

impl OpenValue {
    /// `options` are those of a parser with partials.
    pub(crate) fn new(options: Options) -> Self {
        Self { reader: Reader::new(options), open: GrowingValue::default() }
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
        self.open.root(py).map(Bound::unbind)
    }
}

impl Traverse for OpenValue {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.open.traverse(visit)
    }
}

impl Traverse for GrowingValue {
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
