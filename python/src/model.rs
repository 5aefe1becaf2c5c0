//! Records as instances of the user's types, built by pydantic.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};
use tokenline_core::json::{Kind, Value};
use tokenline_core::{Code, Violation};
use tokenline_schema::{SchemaOptions, SchemaValidator};

use crate::cache::{self, Entry, Origin, Use};
use crate::errors;
use crate::schema::limits;
use crate::settings::MAX_VIOLATIONS;
use crate::value::BuildError;

/// pydantic's errors whose messages have only parts of the type. Others, and those of the user's own validators, may
/// quote the value.
#[rustfmt::skip]
const WITHOUT_VALUES: &[&str] = &[
    "bool_parsing", "bool_type", "bytes_too_long", "bytes_too_short", "bytes_type", "dataclass_type", "date_from_datetime_inexact",
    "date_from_datetime_parsing", "date_future", "date_parsing", "date_past", "date_type", "datetime_from_date_parsing",
    "datetime_future", "datetime_parsing", "datetime_past", "datetime_type", "decimal_max_digits", "decimal_max_places",
    "decimal_parsing", "decimal_type", "decimal_whole_digits", "dict_type", "enum", "extra_forbidden", "finite_number",
    "float_parsing", "float_type", "frozen_set_type", "greater_than", "greater_than_equal", "int_from_float", "int_parsing",
    "int_parsing_size", "int_type", "iterable_type", "less_than", "less_than_equal", "list_type", "literal_error",
    "mapping_type", "missing", "model_type", "multiple_of", "named_tuple_type", "none_required", "set_type", "string_not_ascii",
    "string_pattern_mismatch", "string_too_long", "string_too_short", "string_type", "string_unicode", "time_delta_parsing",
    "time_delta_type", "time_parsing", "time_type", "timezone_aware", "timezone_naive", "too_long", "too_short", "tuple_type",
    "union_tag_not_found", "url_parsing", "url_scheme", "url_too_long", "url_type", "uuid_type", "uuid_version",
];

/// A type that pydantic builds from JSON.
pub(crate) struct Model {
    /// pydantic's `validate_json`. Each model has its own reference, which its owner shows to the garbage collector.
    pub(crate) validate_json: Py<PyAny>,
    /// The names of members in the schema. Others may be private data.
    names: Arc<HashSet<String>>,
    /// Messages are pydantic's own, whatever they quote.
    shows_values: bool,
    shows_names: bool,
}

impl Model {
    /// The model, and the schema that records must fit first. With `has_schema`, they must fit another one.
    /// `pattern_steps` is the limit of matching.
    pub(crate) fn new(
        argument: &str,
        model: &Bound<'_, PyAny>,
        has_schema: bool,
        pattern_steps: Option<usize>,
    ) -> PyResult<(Self, Option<SchemaValidator>)> {
        let py = model.py();
        let used = Use::Model(has_schema, pattern_steps);
        let known = cache::find(model, used, |entry| {
            let (validate_json, names) = entry.model.as_ref()?;
            let model = Self::private(validate_json.clone_ref(py), Arc::clone(names));
            Some((model, entry.schema.clone()))
        })?;
        if let Some(known) = known.flatten() {
            return Ok(known);
        }
        let models = py.import("tokenline._models")?;
        let found = models.call_method1("model_of", (argument, model, has_schema))?;
        let (text, must_fit, validate_json, origin): (Bound<'_, PyString>, bool, Py<PyAny>, Option<Origin>) =
            found.extract()?;
        let text = text.to_str()?;
        let mut names = HashSet::new();
        collect_names(&serde_json::from_str(text).unwrap_or_default(), &mut names);
        // pydantic checks formats, and reads more of them than JSON Schema allows.
        let options = SchemaOptions::new().limits(&limits(pattern_steps)).assert_formats(false);
        let schema = must_fit.then(|| options.build_str(text)).transpose();
        let schema = schema.map_err(|error| errors::schema(py, argument, &error))?;
        let names = Arc::new(names);
        if let Some(origin) = origin {
            let build = Some((validate_json.clone_ref(py), Arc::clone(&names)));
            cache::keep(model, origin, used, Entry { schema: schema.clone(), model: build })?;
        }
        Ok((Self::private(validate_json, names), schema))
    }

    /// The model, whose messages quote nothing.
    fn private(validate_json: Py<PyAny>, names: Arc<HashSet<String>>) -> Self {
        Self { validate_json, names, shows_values: false, shows_names: false }
    }

    /// Whether messages are pydantic's own, which may quote values, and paths have all names.
    pub(crate) fn show(self, values: bool, names: bool) -> Self {
        Self { shows_values: values, shows_names: names, ..self }
    }

    /// Builds the instance of a valid record from its text, so that pydantic applies its rules for JSON.
    pub(crate) fn build<'py>(
        &self,
        py: Python<'py>,
        value: Value<'_>,
    ) -> Result<Bound<'py, PyAny>, BuildError> {
        let text = PyBytes::new(py, value.raw().as_bytes());
        match self.validate_json.bind(py).call1((text,)) {
            Ok(instance) => Ok(instance),
            Err(error) if errors::is_validation_error(py, &error) => Err(self.violation(py, &error, value)?),
            Err(error) => Err(error.into()),
        }
    }

    /// The faults that pydantic found.
    #[cold]
    fn violation(&self, py: Python<'_>, error: &PyErr, value: Value<'_>) -> PyResult<BuildError> {
        let without = PyDict::new(py);
        for name in ["include_url", "include_context", "include_input"] {
            without.set_item(name, false)?;
        }
        let faults = error.value(py).call_method("errors", (), Some(&without))?.cast_into::<PyList>()?;
        let mut violations = faults.iter().take(MAX_VIOLATIONS).map(|fault| self.fault(&fault, value));
        let first = violations
            .next()
            .transpose()?
            .ok_or_else(|| PyErr::from_value(error.value(py).clone().into_any()))?;
        let further = violations.collect::<PyResult<_>>()?;
        Ok(BuildError::Violation(Box::new(first.with_further(further))))
    }

    fn fault(&self, fault: &Bound<'_, PyAny>, value: Value<'_>) -> PyResult<Violation> {
        let kind: String = fault.get_item("type")?.extract()?;
        let message = match kind.as_str() {
            kind if self.shows_values || WITHOUT_VALUES.contains(&kind) => {
                let message: String = fault.get_item("msg")?.extract()?;
                format!("does not fit the model: {message}")
            }
            "value_error" | "assertion_error" => "rejected by a validator of the model".to_owned(),
            _ => "does not fit the model".to_owned(),
        };
        let (path, offset) = self.place(&fault.get_item("loc")?.cast_into::<PyTuple>()?, value);
        Ok(Violation::new(Code::SchemaViolation, offset, message).with_instance_path(path))
    }

    /// The JSON Pointer and the offset of pydantic's location, which also names the members of unions.
    fn place(&self, location: &Bound<'_, PyTuple>, value: Value<'_>) -> (String, usize) {
        let (mut path, mut here) = (String::new(), value);
        for step in location {
            let next = match here.kind() {
                Kind::Object => step.cast::<PyString>().ok().and_then(|name| {
                    let name = name.to_string();
                    let member = here.get(&name)?;
                    let shown =
                        if self.shows_names || self.names.contains(&name) { name } else { "*".to_owned() };
                    Some((shown.replace('~', "~0").replace('/', "~1"), member))
                }),
                Kind::Array => step.cast::<PyInt>().ok().and_then(|index| {
                    let index: usize = index.extract().ok()?;
                    Some((index.to_string(), here.as_array()?.iter().nth(index)?))
                }),
                _ => None,
            };
            if let Some((token, value)) = next {
                path.push('/');
                path.push_str(&token);
                here = value;
            }
        }
        (path, here.range().start)
    }
}

/// The names of members anywhere in a schema.
fn collect_names(schema: &serde_json::Value, names: &mut HashSet<String>) {
    match schema {
        serde_json::Value::Object(members) => {
            if let Some(serde_json::Value::Object(properties)) = members.get("properties") {
                names.extend(properties.keys().cloned());
            }
            members.values().for_each(|member| collect_names(member, names));
        }
        serde_json::Value::Array(elements) => {
            elements.iter().for_each(|element| collect_names(element, names))
        }
        _ => {}
    }
}
