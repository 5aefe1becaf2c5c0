//! `tokenline.arrow`: the Arrow kernel, over the Arrow PyCapsule interface.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::{Array, ArrayRef, StructArray, new_empty_array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};
use tokenline_arrow::{Columns, ExtractError, ExtractOptions, Format};

use crate::capsule::{self, ArrayStream};
use crate::errors::{unknown, wrong_type};
use crate::layout;
use crate::settings::{self, Settings, text};

/// How often a long extraction looks for an interrupt from the keyboard.
const LOOK: Duration = Duration::from_millis(100);

/// Adds the classes to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Extractor>()?;
    module.add_class::<Extracted>()?;
    module.add_class::<ExtractedStream>()?;
    module.add_class::<OutputType>()
}

/// The kernel with its options.
#[pyclass(frozen, module = "tokenline.arrow")]
pub(crate) struct Extractor(tokenline_arrow::Extractor);

#[pymethods]
impl Extractor {
    #[new]
    #[pyo3(signature = (schema=None, **options))]
    fn py_new(schema: Option<&Bound<'_, PyAny>>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = extract_options(schema, options)?;
        tokenline_arrow::Extractor::new(options).map(Self).map_err(|error| raise(&error))
    }

    /// Reads an array at once, or a stream of arrays while it is read.
    fn extract<'py>(&self, py: Python<'py>, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let field = self.field();
        let has = |method: &str| array.hasattr(method);
        let converted;
        let array = if !has("__arrow_c_array__")? && !has("__arrow_c_stream__")? && has("__arrow_array__")? {
            // An array of pandas, which becomes one of pyarrow, or several chunks.
            converted = array.call_method0("__arrow_array__")?;
            &converted
        } else {
            array
        };
        // An array with both interfaces is read at once.
        if array.hasattr("__arrow_c_array__")? {
            let array = capsule::import_array(array)?;
            let array = self.extract_array(py, &array)?;
            Ok(Bound::new(py, Extracted { array: Arc::new(array), field })?.into_any())
        } else if array.hasattr("__arrow_c_stream__")? {
            let source = ArrayStream::import(array)?;
            // Reports a column of another type here, and not from within the consumer.
            let empty = new_empty_array(&source.data_type);
            self.0.extract(&empty).map_err(|error| raise(&error))?;
            let reader = Reader { source, kernel: self.0.clone(), output: field.data_type().clone() };
            Ok(Bound::new(py, ExtractedStream { reader: Mutex::new(Some(reader)), field })?.into_any())
        } else {
            Err(wrong_type("array", "an object with __arrow_c_array__ or __arrow_c_stream__", array))
        }
    }

    /// The type of the output.
    #[getter]
    fn output_type(&self) -> OutputType {
        OutputType(self.field())
    }

    /// The lists of the output, which become tables, with the names of their columns.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        if let DataType::Struct(fields) = self.0.data_type() {
            for field in fields {
                if let Some(names) = column_names(field) {
                    tables.set_item(field.name(), names)?;
                }
            }
        }
        Ok(tables)
    }

    /// The columns of the output that are no lists: one value for each row.
    #[getter]
    fn row_columns(&self) -> Vec<&str> {
        let DataType::Struct(fields) = self.0.data_type() else { return Vec::new() };
        let columns = fields.iter().filter(|field| column_names(field).is_none());
        columns.map(|column| &**column.name()).collect()
    }

    /// The output's columns as Spark's DDL.
    fn ddl(&self) -> PyResult<String> {
        self.0.spark_ddl().map_err(|error| raise(&error))
    }

    /// The output's type in the words of DuckDB.
    fn duckdb_type(&self) -> PyResult<String> {
        self.0.duckdb_type().map_err(|error| raise(&error))
    }
}

impl Extractor {
    /// Without the GIL, but for a look at interrupts from the keyboard now and then.
    fn extract_array(&self, py: Python<'_>, array: &ArrayRef) -> PyResult<StructArray> {
        let mut interrupt = None;
        let mut looked = Instant::now();
        let goes_on = || {
            if looked.elapsed() >= LOOK {
                interrupt = Python::attach(|py| py.check_signals()).err();
                looked = Instant::now();
            }
            interrupt.is_none()
        };
        let extracted = py.detach(|| self.0.extract_while(array, goes_on));
        interrupt.map_or_else(|| extracted.map_err(|error| raise(&error)), Err)
    }

    fn field(&self) -> FieldRef {
        Arc::new(Field::new("", self.0.data_type().clone(), true))
    }
}

/// The names in a list of structs.
fn column_names(field: &Field) -> Option<Vec<&str>> {
    let DataType::List(item) = field.data_type() else { return None };
    let DataType::Struct(columns) = item.data_type() else { return None };
    Some(columns.iter().map(|column| &**column.name()).collect())
}

/// The output for an array.
#[pyclass(frozen, module = "tokenline.arrow")]
pub(crate) struct Extracted {
    array: ArrayRef,
    field: FieldRef,
}

#[pymethods]
impl Extracted {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let field = requested(&self.field, requested_schema.as_ref())?;
        let array = layout::convert(&self.array, field.data_type());
        capsule::export_array(py, &field, array.as_ref().unwrap_or(&self.array))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_field(py, &self.field)
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __repr__(&self) -> String {
        format!("Extracted({} rows)", self.array.len())
    }
}

/// The output for a stream of arrays, which is read once.
#[pyclass(frozen, module = "tokenline.arrow")]
pub(crate) struct ExtractedStream {
    reader: Mutex<Option<Reader>>,
    field: FieldRef,
}

#[pymethods]
impl ExtractedStream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let field = requested(&self.field, requested_schema.as_ref())?;
        let reader = self.reader.lock().ok().and_then(|mut reader| reader.take());
        let mut reader =
            reader.ok_or_else(|| PyValueError::new_err("the stream was read already: extract again"))?;
        reader.output = field.data_type().clone();
        capsule::export_stream(py, field, reader)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_field(py, &self.field)
    }

    /// What `pyarrow.array` calls, which reads no streams: a chunk for each array.
    #[pyo3(signature = (r#type=None))]
    fn __arrow_array__<'py>(
        slf: Bound<'py, Self>,
        r#type: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("chunked_array", (&slf, r#type))
    }

    fn __repr__(&self) -> String {
        "ExtractedStream()".to_owned()
    }
}

/// The type of an output.
#[pyclass(frozen, module = "tokenline.arrow")]
pub(crate) struct OutputType(FieldRef);

#[pymethods]
impl OutputType {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_field(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("OutputType({})", self.0.data_type())
    }
}

/// The field with the type that a consumer requests, or as it is: a request may be declined.
fn requested(field: &FieldRef, schema: Option<&Bound<'_, PyCapsule>>) -> PyResult<FieldRef> {
    let Some(schema) = schema else { return Ok(Arc::clone(field)) };
    let output = capsule::import_type(schema)?;
    Ok(match layout::convert(&new_empty_array(field.data_type()), &output) {
        Some(_) => Arc::new(field.as_ref().clone().with_data_type(output)),
        None => Arc::clone(field),
    })
}

/// Reads a stream an array at a time.
struct Reader {
    source: ArrayStream,
    kernel: tokenline_arrow::Extractor,
    output: DataType,
}

impl Iterator for Reader {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let array = self.source.next()?;
        Some(array.and_then(|array| match self.kernel.extract(&array) {
            Ok(output) => {
                let output: ArrayRef = Arc::new(output);
                Ok(layout::convert(&output, &self.output).unwrap_or(output))
            }
            Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
        }))
    }
}

fn extract_options(
    schema: Option<&Bound<'_, PyAny>>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<ExtractOptions> {
    let mut options = ExtractOptions::new();
    let shared = given.map(|given| given.copy()).transpose()?;
    if let Some(shared) = &shared {
        let take = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let value = shared.get_item(name)?;
            if value.is_some() {
                shared.del_item(name)?;
            }
            Ok(value)
        };
        if let Some(format) = take("format")? {
            let name = text("format", &format)?;
            let allowed: Vec<&str> = Format::all().map(Format::as_str).collect();
            options =
                options.format(Format::from_name(&name).ok_or_else(|| unknown("format", &name, &allowed))?);
        }
        if let Some(columns) = take("columns")? {
            options = options.columns(read_columns(&columns)?);
        }
        if let Some(limit) = take("column_bytes")? {
            options = options.column_bytes(settings::limit("column_bytes", &limit)?);
        }
    }
    const TEXT: &[&str] = &["mode", "items", "release", "line_bytes", "depth", "pattern_steps"];
    const WIRE: &[&str] = &["sse_line_bytes", "sse_event_bytes"];
    let settings = Settings::new("extract", shared.as_ref(), &[TEXT, settings::CALLS, WIRE])?;
    options = options.options(settings.options);
    if let Some(schema) = schema {
        let schema = crate::schema::from_python("schema", schema, settings.pattern_steps)?;
        options = options.schema(schema);
    }
    if let Some(tools) = settings.tools {
        options = options.tools(tools);
    }
    Ok(match settings.call_format {
        Some(format) => options.call_format(format),
        None => options,
    })
}

/// `json`, `typed`, or the schema of Arrow that declares the columns.
fn read_columns(columns: &Bound<'_, PyAny>) -> PyResult<Columns> {
    if columns.hasattr("__arrow_c_schema__")? {
        let capsule = columns.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>();
        let capsule = capsule
            .map_err(|_| PyTypeError::new_err("`columns`: its __arrow_c_schema__() must return a capsule"))?;
        return match capsule::import_type(&capsule)? {
            DataType::Struct(fields) => Ok(Columns::Fields(fields)),
            other => Err(PyValueError::new_err(format!(
                "`columns` must be the schema of a record, not of {other}"
            ))),
        };
    }
    if !columns.is_instance_of::<PyString>() {
        return Err(wrong_type("columns", "'json', 'typed' or an object with __arrow_c_schema__", columns));
    }
    match &*text("columns", columns)? {
        "json" => Ok(Columns::Json),
        "typed" => Ok(Columns::Typed),
        other => Err(unknown("columns", other, &["json", "typed"])),
    }
}

fn raise(error: &ExtractError) -> PyErr {
    match error {
        ExtractError::UnsupportedInput(_) => PyTypeError::new_err(format!("`array`: {error}")),
        ExtractError::Panicked { .. } => PyRuntimeError::new_err(error.to_string()),
        ExtractError::TypedWithoutSchema
        | ExtractError::UnsupportedColumn { .. }
        | ExtractError::DuplicateColumn { .. } => PyValueError::new_err(format!("`columns`: {error}")),
        _ => PyValueError::new_err(error.to_string()),
    }
}
