//! The Arrow PyCapsule interface: types, arrays and streams of arrays that libraries pass on without a copy.
//!
//! It is trusted that other libraries keep to the C Data Interface, which cannot be checked. It is checked that a capsule
//! holds the expected struct, and that nobody has taken its contents.
#![allow(unsafe_code, reason = "the structs of the C Data Interface are raw pointers")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, make_array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::PyCapsule;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// `EINVAL`, which is the same on all platforms.
const INVALID: c_int = 22;

/// The array of an object with `__arrow_c_array__`.
pub(crate) fn import_array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let capsules = object.call_method0(intern!(object.py(), "__arrow_c_array__"))?;
    let capsules = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>();
    let (schema, array) = capsules.map_err(|_| no_capsule("__arrow_c_array__", "two capsules"))?;
    let data_type = import_type(&schema)?;
    // SAFETY: `with_contents` passes a valid struct that nobody else uses meanwhile.
    let array = with_contents(&array, ARRAY, |array| unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) })?;
    if array.is_released() {
        return Err(consumed(ARRAY));
    }
    // Arrow panics if the array has other parts than its type.
    let imported = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the producer vouches that the array is of its schema's type.
        unsafe { import(array, &data_type) }
    }));
    match imported {
        Ok(array) => array.map_err(|error| PyTypeError::new_err(format!("`array`: {error}"))),
        Err(_) => Err(PyTypeError::new_err("`array` does not fit the schema that came with it")),
    }
}

/// # Safety
///
/// The array is of this type.
unsafe fn import(array: FFI_ArrowArray, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match data_type {
        // Some producers give it a buffer that it should not have.
        DataType::Null => Ok(new_null_array(data_type, array.len())),
        // SAFETY: that of this function.
        _ => unsafe { from_ffi_and_data_type(array, data_type.clone()) }.map(make_array),
    }
}

/// The type in a capsule, which keeps its contents: a requested schema remains the consumer's.
pub(crate) fn import_type(capsule: &Bound<'_, PyCapsule>) -> PyResult<DataType> {
    with_contents(capsule, SCHEMA, |schema: NonNull<FFI_ArrowSchema>| {
        // SAFETY: `with_contents` passes a valid struct that nobody else uses meanwhile.
        let schema = unsafe { schema.as_ref() };
        // The strings of a released schema are gone, though its pointers may still be there.
        if schema.release.is_none() {
            return Err(consumed(SCHEMA));
        }
        DataType::try_from(schema).map_err(|error| PyTypeError::new_err(error.to_string()))
    })?
}

/// Passes the struct in a capsule to a closure. No other thread of this package reads or moves it at the same time, even if
/// there is no GIL.
fn with_contents<T, R>(
    capsule: &Bound<'_, PyCapsule>,
    name: &CStr,
    f: impl FnOnce(NonNull<T>) -> R,
) -> PyResult<R> {
    with_critical_section(capsule, || {
        let pointer = capsule.pointer_checked(Some(name)).map_err(|_| {
            let name = name.to_string_lossy();
            PyValueError::new_err(format!("expected a capsule named `{name}`"))
        })?;
        let pointer = pointer.cast::<T>();
        if !pointer.is_aligned() {
            return Err(PyValueError::new_err(format!("the {} is not aligned", name.to_string_lossy())));
        }
        Ok(f(pointer))
    })
}

fn no_capsule(method: &str, expected: &str) -> PyErr {
    PyTypeError::new_err(format!("`array`: its {method}() must return {expected}"))
}

fn consumed(name: &CStr) -> PyErr {
    PyValueError::new_err(format!("the {} was consumed already", name.to_string_lossy()))
}

/// The arrays of another library's stream.
pub(crate) struct ArrayStream {
    stream: FFI_ArrowArrayStream,
    pub(crate) data_type: DataType,
}

impl ArrayStream {
    /// The stream of an object with `__arrow_c_stream__`.
    pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let capsule = object.call_method0(intern!(py, "__arrow_c_stream__"))?.cast_into::<PyCapsule>();
        let capsule = capsule.map_err(|_| no_capsule("__arrow_c_stream__", "a capsule"))?;
        // SAFETY: `with_contents` passes a valid struct that nobody else uses meanwhile.
        let stream = with_contents(&capsule, STREAM, |stream| unsafe {
            FFI_ArrowArrayStream::from_raw(stream.as_ptr())
        })?;
        if stream.release.is_none() {
            return Err(consumed(STREAM));
        }
        let mut this = Self { stream, data_type: DataType::Null };
        // An engine may have to start a query, whose threads may need the GIL.
        py.detach(move || {
            this.data_type = this.read_type()?;
            Ok(this)
        })
        .map_err(|error: ArrowError| PyValueError::new_err(error.to_string()))
    }

    fn read_type(&mut self) -> Result<DataType, ArrowError> {
        let mut schema = FFI_ArrowSchema::empty();
        let code = match self.stream.get_schema {
            // SAFETY: the stream is not released, and `schema` is valid for writes.
            Some(get_schema) => unsafe { get_schema(&raw mut self.stream, &raw mut schema) },
            None => INVALID,
        };
        match code {
            0 if schema.release.is_some() => DataType::try_from(&schema),
            code => Err(self.last_error(code)),
        }
    }

    fn last_error(&mut self, code: c_int) -> ArrowError {
        let message = self.stream.get_last_error.and_then(|get_last_error| {
            // SAFETY: the stream is not released.
            NonNull::new(unsafe { get_last_error(&raw mut self.stream) }.cast_mut())
        });
        ArrowError::CDataInterface(match message {
            // SAFETY: the string is valid until the next call, and copied before.
            Some(text) => unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned(),
            None => format!("the stream failed with error code {code}"),
        })
    }
}

impl Iterator for ArrayStream {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut array = FFI_ArrowArray::empty();
        let code = match self.stream.get_next {
            // SAFETY: the stream is not released, and `array` is valid for writes.
            Some(get_next) => unsafe { get_next(&raw mut self.stream, &raw mut array) },
            None => INVALID,
        };
        match code {
            0 if array.is_released() => None,
            // SAFETY: the producer vouches that each array is of the stream's type.
            0 => Some(unsafe { import(array, &self.data_type) }),
            code => Some(Err(self.last_error(code))),
        }
    }
}

/// A capsule for `__arrow_c_schema__`.
pub(crate) fn export_field<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    let schema =
        FFI_ArrowSchema::try_from(field).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// The capsules for `__arrow_c_array__`.
pub(crate) fn export_array<'py>(
    py: Python<'py>,
    field: &Field,
    array: &dyn Array,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let schema = export_field(py, field)?;
    Ok((schema, PyCapsule::new_with_value(py, FFI_ArrowArray::new(&array.to_data()), ARRAY)?))
}

/// A capsule for `__arrow_c_stream__`. arrow-rs can export streams of record batches only.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    field: FieldRef,
    arrays: impl Iterator<Item = Result<ArrayRef, ArrowError>> + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let source = Box::new(Source { field, arrays: Some(Box::new(arrays)), last_error: CString::default() });
    let stream = FFI_ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(source).cast(),
    };
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// The private data of an exported stream.
struct Source {
    field: FieldRef,
    /// `None` after the last array, and after an error.
    arrays: Option<Box<dyn Iterator<Item = Result<ArrayRef, ArrowError>> + Send>>,
    last_error: CString,
}

/// Writes a result where the consumer wants it, or keeps the error. A panic must not reach the consumer's frames.
///
/// # Safety
///
/// `stream` was exported here and is not released, `out` is valid for writes, and nobody else uses them meanwhile: what
/// the interface demands of a consumer.
unsafe fn respond<T>(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut T,
    f: impl FnOnce(&mut Source) -> Result<T, ArrowError>,
) -> c_int {
    // SAFETY: `private_data` is a `Source` until the stream is released.
    let source = unsafe { &mut *(*stream).private_data.cast::<Source>() };
    let error = match catch_unwind(AssertUnwindSafe(|| f(source))) {
        Ok(Ok(value)) => {
            // SAFETY: `out` is valid for writes. What it held, if anything, is the consumer's.
            unsafe { out.write(value) };
            return 0;
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "tokenline panicked while it read a stream; this is a bug, please report it".to_owned(),
    };
    source.last_error = CString::new(error.replace('\0', " ")).unwrap_or_default();
    INVALID
}

unsafe extern "C" fn get_schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the consumer keeps to the interface.
    unsafe { respond(stream, out, |source| FFI_ArrowSchema::try_from(source.field.as_ref())) }
}

unsafe extern "C" fn get_next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    let next = |source: &mut Source| {
        let mut arrays = source.arrays.take();
        match arrays.as_mut().and_then(Iterator::next) {
            Some(array) => {
                let array = FFI_ArrowArray::new(&array?.to_data());
                source.arrays = arrays;
                Ok(array)
            }
            // A released array is the end.
            None => Ok(FFI_ArrowArray::empty()),
        }
    };
    // SAFETY: the consumer keeps to the interface.
    unsafe { respond(stream, out, next) }
}

unsafe extern "C" fn get_last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: the stream is not released, so `private_data` is a `Source`. The consumer copies the string before its next
    // call.
    unsafe { (*(*stream).private_data.cast::<Source>()).last_error.as_ptr() }
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: the stream is not released, so `private_data` is the `Source` of `export_stream`. The write marks the stream
    // as released, without dropping what was there, which would call this function again.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Source>()));
        stream.write(FFI_ArrowArrayStream::empty());
    }
}
