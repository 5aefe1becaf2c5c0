//! `tokenline.arrow`: the Arrow kernel, over the Arrow PyCapsule interface.

use std::sync::{Arc, Mutex};

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{ArrowError, Field, FieldRef};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyInt, PyTuple};
use pyo3_arrow::ffi::{ArrayReader, to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule};
use pyo3_arrow::input::AnyArray;
use tokenline_arrow::{Columns, ExtractError, ExtractOptions, Format};

use crate::errors::{unknown, wrong_type};
use crate::settings::{self, Settings, text};

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
        let is_arrow = array.hasattr("__arrow_c_array__")? || array.hasattr("__arrow_c_stream__")?;
        if !is_arrow {
            return Err(wrong_type("array", "an object with __arrow_c_array__ or __arrow_c_stream__", array));
        }
        let field = self.field();
        // An array with both interfaces is read at once.
        match if array.hasattr("__arrow_c_array__")? {
            AnyArray::Array(array.extract()?)
        } else {
            AnyArray::Stream(array.extract()?)
        } {
            AnyArray::Array(array) => {
                let array = py.detach(|| self.0.extract(array.array())).map_err(|error| raise(&error))?;
                Ok(Bound::new(py, Extracted { array: Arc::new(array), field })?.into_any())
            }
            AnyArray::Stream(stream) => {
                let source = stream.into_reader()?;
                // Reports a column of another type here, and not from within the consumer.
                let empty = new_empty_array(source.field().data_type());
                self.0.extract(&empty).map_err(|error| raise(&error))?;
                let reader = Reader { source, kernel: self.0.clone(), field: Arc::clone(&field) };
                Ok(Bound::new(py, ExtractedStream { reader: Mutex::new(Some(reader)), field })?.into_any())
            }
        }
    }

    /// The type of the output.
    #[getter]
    fn output_type(&self) -> OutputType {
        OutputType(self.field())
    }

    /// The output's columns as Spark's DDL.
    fn ddl(&self) -> String {
        self.0.spark_ddl()
    }

    /// The output's type in the words of DuckDB.
    fn duckdb_type(&self) -> String {
        self.0.duckdb_type()
    }
}

impl Extractor {
    fn field(&self) -> FieldRef {
        Arc::new(Field::new("", self.0.data_type().clone(), true))
    }
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
    ) -> PyResult<Bound<'py, PyTuple>> {
        Ok(to_array_pycapsules(py, Arc::clone(&self.field), &self.array, requested_schema)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.field.as_ref())?)
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
        let reader = self.reader.lock().ok().and_then(|mut reader| reader.take());
        let reader =
            reader.ok_or_else(|| PyValueError::new_err("the stream was read already: extract again"))?;
        Ok(to_stream_pycapsule(py, Box::new(reader), requested_schema)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.field.as_ref())?)
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
        Ok(to_schema_pycapsule(py, self.0.as_ref())?)
    }

    fn __repr__(&self) -> String {
        format!("OutputType({})", self.0.data_type())
    }
}

/// Reads a stream an array at a time.
struct Reader {
    source: Box<dyn ArrayReader + Send>,
    kernel: tokenline_arrow::Extractor,
    field: FieldRef,
}

impl Iterator for Reader {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let array = self.source.next()?;
        Some(array.and_then(|array| match self.kernel.extract(&array) {
            Ok(output) => Ok(Arc::new(output) as ArrayRef),
            Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
        }))
    }
}

impl ArrayReader for Reader {
    fn field(&self) -> FieldRef {
        Arc::clone(&self.field)
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
            options = options.columns(match &*text("columns", &columns)? {
                "json" => Columns::Json,
                "typed" => Columns::Typed,
                other => return Err(unknown("columns", other, &["json", "typed"])),
            });
        }
        if let Some(limit) = take("column_bytes")? {
            let limit = limit.cast::<PyInt>().map_err(|_| wrong_type("column_bytes", "an int", &limit))?;
            let beyond = |_| PyValueError::new_err("`column_bytes` must not be negative, nor beyond 64 bits");
            options = options.column_bytes(limit.extract().map_err(beyond)?);
        }
    }
    const TEXT: &[&str] = &["mode", "items", "release", "line_bytes", "depth"];
    const WIRE: &[&str] = &["sse_line_bytes", "sse_event_bytes"];
    let settings = Settings::new("extract", shared.as_ref(), &[TEXT, settings::CALLS, WIRE])?;
    options = options.options(settings.options);
    if let Some(schema) = schema {
        options = options.schema(crate::schema::from_python("schema", schema)?);
    }
    if let Some(tools) = settings.tools {
        options = options.tools(tools);
    }
    Ok(match settings.call_format {
        Some(format) => options.call_format(format),
        None => options,
    })
}

fn raise(error: &ExtractError) -> PyErr {
    match error {
        ExtractError::UnsupportedInput(_) => PyTypeError::new_err(format!("`array`: {error}")),
        ExtractError::Panicked { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
