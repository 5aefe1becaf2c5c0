//! How the members of an open record become those of a partial instance of its type.
//!
//! Each value is built once, when it is complete or as it grows: never the whole record again.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

/// The index of a node in its plan.
pub(crate) type NodeId = usize;

/// What becomes of a JSON value.
pub(crate) enum Node {
    /// What it is in JSON.
    Any,
    /// A string, which grows.
    Text,
    /// Nothing until it is complete; then what this function makes of its JSON.
    Whole(Py<PyAny>),
    /// A list, which grows.
    List(NodeId),
    /// A dict, which grows.
    Map(NodeId),
    Object(Object),
}

/// A partial instance.
pub(crate) struct Object {
    /// Makes an instance without members: the instance, the dict of its attributes, the set of the names of those that are
    /// there, and the dict of other members. The last two may be `None`.
    make: Py<PyAny>,
    /// The attribute of each member of the JSON object, and what its value becomes.
    members: HashMap<Box<str>, (Py<PyString>, NodeId)>,
}

/// An instance without members.
pub(crate) struct Made {
    pub(crate) instance: Py<PyAny>,
    pub(crate) members: Members,
}

/// The members of an open object.
pub(crate) struct Members {
    pub(crate) dict: Py<PyDict>,
    pub(crate) set: Option<Py<PySet>>,
    pub(crate) extra: Option<Py<PyDict>>,
}

impl Object {
    pub(crate) fn make(&self, py: Python<'_>) -> PyResult<Made> {
        let made = self.make.bind(py).call0()?.cast_into::<PyTuple>()?;
        let (instance, dict, set, extra) = made.extract()?;
        Ok(Made { instance, members: Members { dict, set, extra } })
    }

    pub(crate) fn member(&self, name: &str) -> Option<(&Py<PyString>, NodeId)> {
        self.members.get(name).map(|(attribute, node)| (attribute, *node))
    }
}

/// The nodes of a type, of which the first is that of the type itself.
#[pyclass(frozen, module = "tokenline._tokenline")]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
}

impl Plan {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }
}

#[pymethods]
impl Plan {
    /// From tuples `(kind, ...)`; see `tokenline._partial`.
    #[new]
    fn py_new(nodes: &Bound<'_, PyList>) -> PyResult<Self> {
        let count = nodes.len();
        let id = |node: Bound<'_, PyAny>| -> PyResult<NodeId> {
            let id: NodeId = node.extract()?;
            if id < count { Ok(id) } else { Err(PyValueError::new_err("a node refers to none")) }
        };
        let read = |node: Bound<'_, PyAny>| -> PyResult<Node> {
            let node = node.cast_into::<PyTuple>()?;
            let kind: String = node.get_item(0)?.extract()?;
            Ok(match kind.as_str() {
                "any" => Node::Any,
                "text" => Node::Text,
                "whole" => Node::Whole(node.get_item(1)?.unbind()),
                "list" => Node::List(id(node.get_item(1)?)?),
                "map" => Node::Map(id(node.get_item(1)?)?),
                _ => {
                    let mut members = HashMap::new();
                    for (name, member) in node.get_item(2)?.cast_into::<PyDict>()? {
                        let (attribute, of): (Py<PyString>, Bound<'_, PyAny>) = member.extract()?;
                        let name: String = name.extract()?;
                        members.insert(name.into(), (attribute, id(of)?));
                    }
                    Node::Object(Object { make: node.get_item(1)?.unbind(), members })
                }
            })
        };
        let nodes: Vec<Node> = nodes.iter().map(read).collect::<PyResult<_>>()?;
        if nodes.is_empty() {
            return Err(PyValueError::new_err("a plan has at least one node"));
        }
        Ok(Self { nodes })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.nodes.iter().try_for_each(|node| match node {
            Node::Whole(convert) => visit.call(convert),
            Node::Object(object) => visit.call(&object.make),
            Node::Any | Node::Text | Node::List(_) | Node::Map(_) => Ok(()),
        })
    }
}
