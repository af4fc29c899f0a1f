//! Arrow's C interfaces by Python's capsules: how columns go to other packages, and come from them,
//! without a copy and without a package in between. All that this crate does with pointers is here.
//!
//! Invariants: a capsule is given up with what it holds, unless its taker has moved it out. What is taken
//! in is what its maker says it is; nothing else can be known of it.

#![allow(unsafe_code, reason = "Arrow's C interfaces are pointers")]

use crate::errors;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, RecordBatchReader, StructArray, make_array};
use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A stream of record batches, as `__arrow_c_stream__` returns it.
pub(crate) fn stream(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// A schema, as `__arrow_c_schema__` returns it.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let made = FFI_ArrowSchema::try_from(schema).map_err(|e| errors::arrow("schema", &e))?;
    PyCapsule::new_with_value(py, made, SCHEMA)
}

/// Schema and array, as `__arrow_c_array__` returns them.
pub(crate) fn array<'py>(
    py: Python<'py>,
    array: &dyn Array,
    field: Option<&arrow_schema::Field>,
) -> PyResult<Bound<'py, PyTuple>> {
    let failed = |error| errors::arrow("array", &error);
    let (made, mut schema) = to_ffi(&array.to_data()).map_err(failed)?;
    if let Some(field) = field {
        schema = FFI_ArrowSchema::try_from(field).map_err(failed)?;
    }
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let made = PyCapsule::new_with_value(py, made, ARRAY)?;
    PyTuple::new(py, [schema, made])
}

/// The same of a whole record batch: an array of structures.
pub(crate) fn batch<'py>(
    py: Python<'py>,
    batch: &arrow_array::RecordBatch,
) -> PyResult<Bound<'py, PyTuple>> {
    let made = array(py, &StructArray::from(batch.clone()), None)?;
    let schema = schema(py, &batch.schema())?;
    PyTuple::new(py, [schema.into_any(), made.get_item(1)?])
}

/// What `object.__arrow_c_stream__()` hands out, as record batches; `None` if it has no such method.
pub(crate) fn take_stream(
    argument: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<ArrowArrayStreamReader>> {
    let Some(stream) = taken_stream(argument, object)? else { return Ok(None) };
    ArrowArrayStreamReader::try_new(stream).map(Some).map_err(|e| errors::arrow(argument, &e))
}

fn taken_stream(
    argument: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<FFI_ArrowArrayStream>> {
    let Some(capsule) = asked(argument, object, "__arrow_c_stream__")? else { return Ok(None) };
    let capsule = capsule.cast_into::<PyCapsule>().map_err(|_| not_arrow(argument))?;
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds such a structure, by the Arrow PyCapsule interface; it is moved
    // out while Python's lock is held and the capsule alive.
    Ok(Some(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) }))
}

/// The pieces of a column that `object.__arrow_c_stream__()` hands out; `None` if it has no such method.
pub(crate) fn take_stream_of_arrays(
    argument: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<Vec<ArrayRef>>> {
    let Some(mut stream) = taken_stream(argument, object)? else { return Ok(None) };
    let failed = |code: i32| {
        errors::value(argument, "Arrow columns", format!("a stream that fails with {code}"))
    };
    let (mut schema, mut arrays) = (FFI_ArrowSchema::empty(), Vec::new());
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(errors::value(argument, "an Arrow stream", "one that was taken before"));
    };
    // SAFETY: the functions are the stream's own, and it has not been released.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    if code != 0 {
        return Err(failed(code));
    }
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        if code != 0 {
            return Err(failed(code));
        }
        if array.is_released() {
            return Ok(Some(arrays));
        }
        // SAFETY: the arrays of a stream are of its schema, by the interface.
        let data = unsafe { from_ffi(array, &schema) }.map_err(|e| errors::arrow(argument, &e))?;
        arrays.push(make_array(data));
    }
}

/// What `object.__arrow_c_array__()` hands out; `None` if it has no such method.
pub(crate) fn take_array(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let Some(pair) = asked(argument, object, "__arrow_c_array__")? else { return Ok(None) };
    let pair = pair.cast_into::<PyTuple>().map_err(|_| not_arrow(argument))?;
    let part =
        |at: usize| pair.get_item(at)?.cast_into::<PyCapsule>().map_err(|_| not_arrow(argument));
    let (schema, array) = (part(0)?, part(1)?);
    let schema_at = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array_at = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: as above; the schema is read where it is, and outlives the call.
    let (array, schema) =
        unsafe { (FFI_ArrowArray::from_raw(array_at.as_ptr()), schema_at.as_ref()) };
    if array.is_released() {
        return Err(errors::value(argument, "an Arrow array", "one that was taken before"));
    }
    // SAFETY: the array is of the schema beside it, by the same interface.
    let data = unsafe { from_ffi(array, schema) }.map_err(|e| errors::arrow(argument, &e))?;
    Ok(Some(make_array(data)))
}

fn asked<'py>(
    argument: &str,
    object: &Bound<'py, PyAny>,
    method: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    // A class is no value of it.
    if !object.hasattr(method)? || object.is_instance_of::<pyo3::types::PyType>() {
        return Ok(None);
    }
    object.call_method0(method).map(Some).map_err(|error| {
        let py = object.py();
        let said = errors::value(argument, "Arrow columns", error.value(py));
        said.set_cause(py, Some(error));
        said
    })
}

fn not_arrow(argument: &str) -> PyErr {
    errors::kind(argument, "Arrow columns", "an object whose capsules are none of Arrow's")
}
