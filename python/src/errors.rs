//! The exceptions, which are defined in Python.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// `RejectedError` for a reject.
pub(crate) fn rejected(py: Python<'_>, reject: Bound<'_, PyAny>) -> PyErr {
    raise(py, "RejectedError", (reject,))
}

/// `SchemaError`, which is a `ValueError`, with the name of the argument.
pub(crate) fn schema(py: Python<'_>, argument: &str, error: &tokenline_schema::SchemaError) -> PyErr {
    let message = pyo3::types::PyString::new(py, &format!("`{argument}`: {error}"));
    raise(py, "SchemaError", (message,))
}

/// `TooManyRejectedError`, with how many rejects are allowed, and the last.
pub(crate) fn too_many_rejected(py: Python<'_>, allowed: u64, last: Bound<'_, PyAny>) -> PyErr {
    raise(py, "TooManyRejectedError", (allowed, last))
}

fn raise<'py>(py: Python<'py>, name: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let class = py.import("tokenline._exceptions").and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1(arguments)) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// `pydantic.ValidationError`, if pydantic is installed.
pub(crate) fn is_validation_error(py: Python<'_>, error: &PyErr) -> bool {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "pydantic_core", "ValidationError").is_ok_and(|class| error.is_instance(py, class))
}

/// A `ValueError` that lists the values which an argument may have.
pub(crate) fn unknown(argument: &str, given: &str, allowed: &[&str]) -> PyErr {
    let allowed: Vec<String> = allowed.iter().map(|name| format!("'{name}'")).collect();
    PyValueError::new_err(format!("`{argument}` must be one of {}, not '{given}'", allowed.join(", ")))
}

/// A `TypeError` that names the argument.
pub(crate) fn wrong_type(argument: &str, expected: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let name =
        given.get_type().fully_qualified_name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("`{argument}` must be {expected}, not {name}"))
}
