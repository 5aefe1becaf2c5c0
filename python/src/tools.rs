//! `ToolSet`, and tools as arguments.

use std::ffi::CString;
use std::sync::Arc;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_core::ValidateCall as _;
use tokenline_core::json::Parser;

use crate::bytes::bytes_of;
use crate::errors;
use crate::schema::{check_steps, json_text, limits};
use crate::settings::limit;

/// Reads tools: a tool set, JSON as Python objects or as text, or a list of these, of models and of functions.
/// `pattern_steps` is the limit for tools that are compiled here.
pub(crate) fn from_python(
    argument: &str,
    tools: &Bound<'_, PyAny>,
    pattern_steps: Option<usize>,
) -> PyResult<Arc<tokenline_schema::ToolSet>> {
    let py = tools.py();
    if let Ok(set) = tools.cast::<ToolSet>() {
        check_steps("ToolSet", pattern_steps)?;
        return Ok(Arc::clone(&set.get().set));
    }
    let text = match json_text(argument, tools)? {
        Some(text) => text,
        None => {
            let text = py.import("tokenline._models")?.call_method1("tools_of", (argument, tools))?;
            text.cast::<PyString>()?.to_str()?.to_owned()
        }
    };
    let set = tokenline_schema::ToolSet::from_json_str(&text);
    let mut set = set.map_err(|error| errors::schema(py, argument, &error))?;
    if pattern_steps.is_some() {
        let limited = tokenline_schema::ToolSet::with_limits(set.definitions(), &limits(pattern_steps));
        set = limited.map_err(|error| errors::schema(py, argument, &error))?;
    }
    for (name, error) in set.unsupported() {
        let message =
            format!("{argument}: tool {name:?}: {error}; its calls are rejected").replace('\0', " ");
        let message = CString::new(message).expect("no NUL is left");
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
    }
    Ok(Arc::new(set))
}

/// Tool definitions that calls are validated against.
#[pyclass(frozen, module = "tokenline")]
pub(crate) struct ToolSet {
    set: Arc<tokenline_schema::ToolSet>,
    /// The tools that are types or functions, of which the arguments of open calls become partial instances.
    typed: Py<PyTuple>,
}

#[pymethods]
impl ToolSet {
    #[new]
    #[pyo3(signature = (tools, *, coerce=false, show_names=false, pattern_steps=None))]
    #[pyo3(text_signature = "(tools, *, coerce=False, show_names=False, pattern_steps=1000000)")]
    fn py_new(
        tools: &Bound<'_, PyAny>,
        coerce: bool,
        show_names: bool,
        pattern_steps: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let steps = pattern_steps.map(|given| limit("pattern_steps", given)).transpose()?;
        let set = from_python("tools", tools, steps)?;
        let set = (*set).clone().show_names(show_names);
        let set = Arc::new(if coerce { set.with_coercion() } else { set });
        let typed = tools.py().import("tokenline._models")?.call_method1("typed_of", (tools,))?;
        Ok(Self { set, typed: typed.cast_into::<PyTuple>()?.unbind() })
    }

    /// The names of the tools, in the order of their definitions.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.set.definitions().iter().map(|tool| &*tool.name).collect()
    }

    /// The definitions `{"name", "description"?, "parameters"}`, as Python objects.
    #[getter]
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(self.set.definitions()).expect("definitions are JSON");
        py.import("json")?.call_method1("loads", (text,))
    }

    /// The reason why a call is not valid, or `None`.
    fn validate_call(&self, name: &str, parameters: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let text = match json_text("parameters", parameters)? {
            Some(text) => text,
            None => bytes_of("parameters", parameters, |bytes| String::from_utf8_lossy(bytes).into_owned())?,
        };
        let mut parser = Parser::new();
        Ok(match parser.parse(&text) {
            Ok(value) => self.set.validate_call(name, value).err().map(|violation| violation.to_string()),
            Err(error) => Some(format!("invalid_parameters: {error}")),
        })
    }

    fn __len__(&self) -> usize {
        self.set.definitions().len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<&str>().is_ok_and(|name| self.set.has_tool(name))
    }

    /// The tools that are types or functions.
    #[getter]
    fn _typed(&self) -> &Py<PyTuple> {
        &self.typed
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.typed)
    }

    fn __repr__(&self) -> String {
        format!("ToolSet({})", self.names().join(", "))
    }
}
