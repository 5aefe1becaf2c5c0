//! The chunks that a user pushes: bytes, text, or what has a buffer of bytes.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};

use crate::errors::wrong_type;

/// Passes the bytes of `chunk` to a closure. `None` if it has none.
pub(crate) fn with_bytes<R>(chunk: &Bound<'_, PyAny>, f: impl FnOnce(&[u8]) -> R) -> PyResult<Option<R>> {
    if let Ok(bytes) = chunk.cast::<PyBytes>() {
        return Ok(Some(f(bytes.as_bytes())));
    }
    if let Ok(text) = chunk.cast::<PyString>() {
        return Ok(Some(f(text.to_str()?.as_bytes())));
    }
    if let Ok(array) = chunk.cast::<PyByteArray>() {
        return Ok(Some(f(&array.to_vec())));
    }
    // Not the other way round: `bytes(5)` is five zeros.
    let view = match PyMemoryView::from(chunk) {
        Ok(view) => view,
        Err(error) if error.is_instance_of::<PyTypeError>(chunk.py()) => return Ok(None),
        Err(error) => return Err(error),
    };
    // The bytes of other items, such as pointers to objects, are not text.
    let format: String = view.getattr("format")?.extract()?;
    if !matches!(format.trim_start_matches(['@', '=', '<', '>', '!']), "B" | "b" | "c") {
        return Ok(None);
    }
    let bytes = view.call_method0("tobytes")?;
    Ok(Some(f(bytes.cast::<PyBytes>()?.as_bytes())))
}

/// Like [`with_bytes`], with a `TypeError` that names the argument.
pub(crate) fn bytes_of<R>(
    argument: &str,
    chunk: &Bound<'_, PyAny>,
    f: impl FnOnce(&[u8]) -> R,
) -> PyResult<R> {
    match with_bytes(chunk, f)? {
        Some(result) => Ok(result),
        None => Err(wrong_type(argument, "bytes, str or a buffer of bytes", chunk)),
    }
}
