//! `SchemaValidator`, and schemas as arguments.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};
use tokenline_core::json::Parser;
use tokenline_core::{Code, Diagnostic, Limits, Span, Violation};
use tokenline_schema::SchemaOptions;

use crate::bytes::bytes_of;
use crate::cache::{self, Entry, Origin, Use};
use crate::errors;
use crate::events::{Finding, Reject};
use crate::settings::limit;

/// Beyond this many bytes, freeing the GIL costs less than holding it.
pub(crate) const DETACH_BYTES: usize = 16 * 1024;

/// Reads a schema: a validator, JSON as Python objects or as text, or a type that pydantic reads. `pattern_steps` is the
/// limit for a schema that is compiled here.
pub(crate) fn from_python(
    argument: &str,
    schema: &Bound<'_, PyAny>,
    pattern_steps: Option<usize>,
) -> PyResult<tokenline_schema::SchemaValidator> {
    let py = schema.py();
    if let Ok(validator) = schema.cast::<SchemaValidator>() {
        check_steps("SchemaValidator", pattern_steps)?;
        return Ok(validator.get().0.clone());
    }
    let options = SchemaOptions::new().limits(&limits(pattern_steps));
    let build = |options: SchemaOptions, text: &str| {
        options.build_str(text).map_err(|error| errors::schema(py, argument, &error))
    };
    if let Some(text) = json_text(argument, schema)? {
        return cache::of_text(text, pattern_steps, |text| build(options, text));
    }
    let used = Use::Schema(pattern_steps);
    if let Some(known) = cache::find(schema, used, |entry| entry.schema.clone())?.flatten() {
        return Ok(known);
    }
    let found = py.import("tokenline._models")?.call_method1("schema_of", (argument, schema))?;
    let (text, origin): (Bound<'_, PyString>, Option<Origin>) = found.extract()?;
    let validator = build(options.assert_formats(false), text.to_str()?)?;
    if let Some(origin) = origin {
        cache::keep(schema, origin, used, Entry { schema: Some(validator.clone()), model: None })?;
    }
    Ok(validator)
}

/// The limits of what is compiled here.
pub(crate) fn limits(pattern_steps: Option<usize>) -> Limits {
    let default = Limits::DEFAULT;
    Limits { pattern_steps: pattern_steps.unwrap_or(default.pattern_steps), ..default }
}

/// Refuses a limit for something that was compiled with its own.
pub(crate) fn check_steps(compiled: &str, pattern_steps: Option<usize>) -> PyResult<()> {
    match pattern_steps {
        None => Ok(()),
        Some(_) => Err(PyValueError::new_err(format!(
            "`pattern_steps` has no effect on a compiled {compiled}: give it to {compiled}()"
        ))),
    }
}

/// JSON as a str, bytes, a dict, a list or a bool.
pub(crate) fn json_text(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = value.py();
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(text.to_str()?.to_owned()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes());
        let text =
            text.map_err(|error| PyValueError::new_err(format!("`{argument}` is not UTF-8: {error}")))?;
        return Ok(Some(text.to_owned()));
    }
    if !value.is_instance_of::<PyDict>() && !value.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    match py.import("json")?.call_method1("dumps", (value,)) {
        Ok(text) => Ok(Some(text.cast::<PyString>()?.to_str()?.to_owned())),
        Err(error) => Err(PyTypeError::new_err(format!("`{argument}` is not JSON: {}", error.value(py)))),
    }
}

/// Validates JSON against a JSON Schema.
#[pyclass(frozen, module = "tokenline")]
pub(crate) struct SchemaValidator(tokenline_schema::SchemaValidator);

#[pymethods]
impl SchemaValidator {
    #[new]
    #[pyo3(signature = (schema, *, show_names=false, pattern_steps=None))]
    #[pyo3(text_signature = "(schema, *, show_names=False, pattern_steps=1000000)")]
    fn py_new(
        schema: &Bound<'_, PyAny>,
        show_names: bool,
        pattern_steps: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let steps = pattern_steps.map(|given| limit("pattern_steps", given)).transpose()?;
        Ok(Self(from_python("schema", schema, steps)?.show_names(show_names)))
    }

    /// The violations of a JSON text.
    #[pyo3(signature = (text, *, at_most=None))]
    #[pyo3(text_signature = "(self, text, *, at_most=100)")]
    fn validate(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        at_most: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Reject>> {
        let at_most = at_most.map_or(Ok(100), |given| limit("at_most", given))?;
        bytes_of("text", text, |bytes| detached(py, bytes.len(), || violations(&self.0, bytes, at_most)))
    }

    /// Whether a JSON text fits the schema.
    fn is_valid(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<bool> {
        bytes_of("text", text, |bytes| {
            detached(py, bytes.len(), || {
                let text = std::str::from_utf8(bytes).ok();
                text.is_some_and(|text| Parser::new().parse(text).is_ok_and(|value| self.0.is_valid(value)))
            })
        })
    }

    /// The schema, as Python objects.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.0.schema().to_string(),))
    }

    fn __repr__(&self) -> String {
        format!("SchemaValidator({})", self.0.schema())
    }
}

/// Runs a closure, without the GIL if there is much to do.
pub(crate) fn detached<T: Send>(py: Python<'_>, bytes: usize, f: impl FnOnce() -> T + Send) -> T {
    if bytes >= DETACH_BYTES { py.detach(f) } else { f() }
}

fn violations(validator: &tokenline_schema::SchemaValidator, bytes: &[u8], at_most: usize) -> Vec<Reject> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let place = Violation::new(Code::InvalidUtf8, error.valid_up_to(), "not UTF-8");
            return vec![reject(bytes, place)];
        }
    };
    let mut parser = Parser::new();
    match parser.parse(text) {
        Ok(value) => validator
            .violations(value, at_most)
            .into_iter()
            .map(|violation| reject(bytes, violation))
            .collect(),
        Err(error) => {
            vec![reject(bytes, Violation::new(Code::MalformedJson, error.offset, error.to_string()))]
        }
    }
}

/// A violation with its place in the text.
fn reject(bytes: &[u8], violation: Violation) -> Reject {
    let before = &bytes[..violation.offset.min(bytes.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
    let column = (before.len() - line_start) as u64 + 1;
    let span = Span::new(0, bytes.len() as u64);
    let mut diagnostic = Diagnostic::new(violation.code, line, span, column, violation.message);
    let is_schema = violation.code == Code::SchemaViolation || violation.code == Code::DuplicateKey;
    diagnostic.instance_path = is_schema.then_some(violation.instance_path);
    diagnostic.schema_path = Some(violation.schema_path).filter(|path| !path.is_empty());
    Reject(Finding::from(diagnostic))
}
