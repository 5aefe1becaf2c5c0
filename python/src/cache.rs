//! Compiled schemas and types, kept for the next parser: programs pass the same one for each text.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyNone, PyString, PyType};
use pyo3::{PyTraverseError, PyVisit};
use tokenline_schema::SchemaValidator;

/// How a type was compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// As a schema, with this limit of matching.
    Schema(Option<usize>),
    /// As a model, whether there is another schema that records must fit, and with this limit of matching.
    Model(bool, Option<usize>),
}

/// The result for one use of a type.
pub(crate) struct Entry {
    pub(crate) schema: Option<SchemaValidator>,
    /// pydantic's `validate_json` and the names of members, of a model.
    pub(crate) model: Option<(Py<PyAny>, Arc<HashSet<String>>)>,
}

/// The attribute of a type from which pydantic reads all that it knows of it, and its value. pydantic replaces it when it
/// builds the type anew.
pub(crate) type Origin = (Py<PyString>, Py<PyAny>);

/// The compiled forms of a type. The type owns them, as an attribute: they refer to the type, so that a table would keep
/// both for ever.
#[pyclass(frozen, module = "tokenline._tokenline")]
pub(crate) struct Compiled {
    /// An attribute is inherited.
    of: Py<PyAny>,
    origin: Origin,
    /// No Python code runs while it is locked.
    entries: Mutex<Vec<(Use, Entry)>>,
}

/// The most entries of a type: only limits of matching can make more than three.
const MAX_USES: usize = 8;

#[pymethods]
impl Compiled {
    /// A type that is pickled, as cloudpickle does it, leaves this behind.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, ()) {
        (PyNone::get(py).get_type(), ())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.of)?;
        visit.call(&self.origin.1)?;
        let entries = self.entries();
        entries
            .iter()
            .filter_map(|(_, entry)| entry.model.as_ref())
            .try_for_each(|(build, _)| visit.call(build))
    }
}

impl Compiled {
    /// The compiled forms of a type, unless the type has changed since. A metaclass may run Python code, and be
    /// interrupted.
    fn of<'py>(of: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Self>>> {
        let py = of.py();
        let Some(compiled) = attribute(of, intern!(py, "__tokenline_cache__"))? else { return Ok(None) };
        let Ok(compiled) = compiled.cast_into::<Self>() else { return Ok(None) };
        let Self { of: owner, origin: (name, value), .. } = compiled.get();
        let is_current = of.is(owner) && attribute(of, name.bind(py))?.is_some_and(|now| now.is(value));
        Ok(is_current.then_some(compiled))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<(Use, Entry)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attribute, if the type has it and can be asked.
fn attribute<'py>(
    of: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match of.getattr_opt(name) {
        Err(error) if error.is_instance_of::<PyException>(of.py()) => Ok(None),
        found => found,
    }
}

/// Reads the compiled form of a type for this use.
pub(crate) fn find<R>(
    of: &Bound<'_, PyAny>,
    used: Use,
    read: impl FnOnce(&Entry) -> R,
) -> PyResult<Option<R>> {
    let Some(compiled) = Compiled::of(of)? else { return Ok(None) };
    let entries = compiled.get().entries();
    Ok(entries.iter().find(|(known, _)| *known == used).map(|(_, entry)| read(entry)))
}

/// Keeps a compiled form of a type. Types that take no attribute are compiled each time.
pub(crate) fn keep(of: &Bound<'_, PyAny>, origin: Origin, used: Use, entry: Entry) -> PyResult<()> {
    let py = of.py();
    if let Some(compiled) = Compiled::of(of)?
        && compiled.get().origin.1.is(&origin.1)
    {
        let mut entries = compiled.get().entries();
        if entries.iter().any(|(known, _)| *known == used) {
            // Another thread was faster.
            drop(entries);
            drop(entry);
            return Ok(());
        }
        let removed = (entries.len() == MAX_USES).then(|| entries.remove(0));
        entries.push((used, entry));
        drop(entries);
        drop(removed);
        return Ok(());
    }
    let compiled = Compiled { of: of.clone().unbind(), origin, entries: Mutex::new(vec![(used, entry)]) };
    match of.setattr(intern!(py, "__tokenline_cache__"), Bound::new(py, compiled)?) {
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(()),
        set => set,
    }
}

/// The schemas that were compiled from text, with their limit of matching; the last used one first.
static TEXTS: Mutex<Vec<(String, Option<usize>, SchemaValidator)>> = Mutex::new(Vec::new());
/// Programs have few schemas.
const MAX_TEXTS: usize = 16;
/// In bytes. Longer texts are compiled each time, so that memory stays bounded.
const MAX_TEXT: usize = 64 * 1024;

/// The schema that was compiled from this text, or is compiled now.
pub(crate) fn of_text(
    text: String,
    pattern_steps: Option<usize>,
    compile: impl FnOnce(&str) -> PyResult<SchemaValidator>,
) -> PyResult<SchemaValidator> {
    let texts = || TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut texts = texts();
        let known = texts.iter().position(|(known, steps, _)| *known == text && *steps == pattern_steps);
        if let Some(at) = known {
            texts[..=at].rotate_right(1);
            return Ok(texts[0].2.clone());
        }
    }
    let schema = compile(&text)?;
    if text.len() <= MAX_TEXT {
        let mut texts = texts();
        texts.truncate(MAX_TEXTS - 1);
        texts.insert(0, (text, pattern_steps, schema.clone()));
    }
    Ok(schema)
}
