//! Python objects from parsed JSON.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use tokenline_core::json::{Number, Value, View};
use tokenline_core::{Code, Violation};

/// Builds Python objects, and keeps the names of members that it has built.
#[derive(Default)]
pub(crate) struct Builder {
    /// By hash; empty until the first name.
    names: Vec<Option<(Box<str>, Py<PyString>)>>,
}

const NAMES: usize = 512;
/// Longer names are rarely repeated.
const NAME_BYTES: usize = 64;
/// Python's own limit on the digits of an integer in text, whose conversion takes quadratic time.
const INTEGER_DIGITS: usize = 4300;

/// Why a value has no Python object.
pub(crate) enum BuildError {
    /// The value cannot be a Python object.
    Violation(Box<Violation>),
    /// Python failed.
    Python(PyErr),
}

impl From<PyErr> for BuildError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<BuildError> for PyErr {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Violation(violation) => {
                pyo3::exceptions::PyValueError::new_err(violation.to_string())
            }
            BuildError::Python(error) => error,
        }
    }
}

impl Builder {
    pub(crate) fn build<'py>(
        &mut self,
        py: Python<'py>,
        value: Value<'_>,
    ) -> Result<Bound<'py, PyAny>, BuildError> {
        Ok(match value.view() {
            View::String(text) => PyString::new(py, &text).into_any(),
            View::Number(number) => return self::number(py, number, value),
            View::Object(members) => {
                let dict = PyDict::new(py);
                for (name, member) in members {
                    let member = self.build(py, member)?;
                    dict.set_item(self.name(py, name), member)?;
                }
                dict.into_any()
            }
            View::Array(elements) => {
                let list = PyList::empty(py);
                for element in elements {
                    list.append(self.build(py, element)?)?;
                }
                list.into_any()
            }
            View::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
            View::Null => py.None().into_bound(py),
        })
    }

    /// The name as a Python string, the same for equal names.
    #[inline]
    pub(crate) fn name<'py>(&mut self, py: Python<'py>, name: &str) -> Bound<'py, PyString> {
        if name.len() > NAME_BYTES {
            return PyString::new(py, name);
        }
        if self.names.is_empty() {
            self.names.resize_with(NAMES, || None);
        }
        let slot = &mut self.names[hash(name.as_bytes()) % NAMES];
        if let Some((known, object)) = slot
            && **known == *name
        {
            return object.bind(py).clone();
        }
        let object = PyString::new(py, name);
        *slot = Some((name.into(), object.clone().unbind()));
        object
    }
}

/// Of the length, and of the first and the last eight bytes.
#[inline]
fn hash(name: &[u8]) -> usize {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let (first, last) = match name.len() {
        0..=8 => (word(name), 0),
        len => (word(&name[..8]), word(&name[len - 8..])),
    };
    let mixed = (first ^ last.rotate_left(23) ^ name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize
}

/// The number as `json.loads` reads it: of any size if it is written as an integer, else the nearest float.
fn number<'py>(
    py: Python<'py>,
    number: Number<'_>,
    value: Value<'_>,
) -> Result<Bound<'py, PyAny>, BuildError> {
    let literal = number.as_str();
    if !number.is_written_as_integer() {
        // Of JSON's numbers, Rust reads all, and those beyond the range as infinities.
        let float: f64 = literal.parse().unwrap_or(f64::NAN);
        return Ok(PyFloat::new(py, float).into_any());
    }
    if let Ok(integer) = literal.parse::<i64>() {
        let Ok(integer) = integer.into_pyobject(py);
        return Ok(integer.into_any());
    }
    if literal.trim_start_matches('-').len() > INTEGER_DIGITS {
        return Err(too_long(value));
    }
    // The user may have lowered Python's limit.
    py.get_type::<PyInt>().call1((literal,)).map_err(|_| too_long(value))
}

#[cold]
fn too_long(value: Value<'_>) -> BuildError {
    let message = "an integer has more digits than Python converts";
    BuildError::Violation(Box::new(Violation::new(Code::SchemaViolation, value.range().start, message)))
}
