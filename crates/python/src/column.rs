//! One column of a batch: its memory, as numpy takes it without a copy, or its values one by one.
//!
//! numpy's array interface and not the buffer protocol, which the stable interface of Python has only
//! from 3.11 on. Without numpy, [`Column::memory`] is a copy that the buffer protocol knows.

use crate::{arrow_c, errors};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::sync::OnceLock;

/// A column of a batch.
#[pyclass(frozen, module = "barograph")]
#[derive(Debug)]
pub struct Column {
    array: ArrayRef,
    /// A byte each of truth values, which Arrow keeps as bits.
    bytes: OnceLock<Vec<u8>>,
}

/// How memory is understood: numpy's and `struct`'s sign, and the bytes of a value.
struct Form {
    numpy: &'static str,
    memory: &'static str,
    value_bytes: usize,
}

impl Column {
    pub(crate) fn new(array: ArrayRef) -> Self {
        Column { array, bytes: OnceLock::new() }
    }

    /// Form, address and memory of the values; texts have none.
    fn values(&self) -> Option<(Form, &[u8])> {
        let form = |numpy, memory, value_bytes| Form { numpy, memory, value_bytes };
        Some(match self.array.data_type() {
            DataType::Float64 => {
                let values = self.array.as_primitive::<Float64Type>().values();
                (form("<f8", "d", 8), values.inner().as_slice())
            }
            DataType::Int64 => {
                let values = self.array.as_primitive::<Int64Type>().values();
                (form("<i8", "q", 8), values.inner().as_slice())
            }
            DataType::UInt64 => {
                let values = self.array.as_primitive::<UInt64Type>().values();
                (form("<u8", "Q", 8), values.inner().as_slice())
            }
            DataType::Timestamp(..) => {
                let values = self.array.as_primitive::<TimestampNanosecondType>().values();
                (form("<M8[ns]", "q", 8), values.inner().as_slice())
            }
            DataType::Dictionary(..) => {
                let keys = self.array.as_dictionary::<Int32Type>().keys().values();
                (form("<i4", "i", 4), keys.inner().as_slice())
            }
            DataType::Boolean => {
                let bits = self.array.as_boolean().values();
                let bytes = self.bytes.get_or_init(|| bits.iter().map(u8::from).collect());
                (form("|b1", "?", 1), bytes)
            }
            _ => return None,
        })
    }

    fn no_memory(&self) -> PyErr {
        let said = "texts have no array of their own: use to_list()";
        pyo3::exceptions::PyAttributeError::new_err(said)
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// What its values are: `f64`, `i64`, `u64`, `bool`, `text`, `time` or `series`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.array.data_type() {
            DataType::Float64 => "f64",
            DataType::Int64 => "i64",
            DataType::UInt64 => "u64",
            DataType::Boolean => "bool",
            DataType::Timestamp(..) => "time",
            DataType::Dictionary(..) => "series",
            _ => "text",
        }
    }

    /// numpy's array interface: the memory of the column as it is, not to be written to.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (form, bytes) = self.values().ok_or_else(|| self.no_memory())?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, [self.array.len()])?)?;
        interface.set_item("typestr", form.numpy)?;
        interface.set_item("data", (bytes.as_ptr().addr(), true))?;
        Ok(interface)
    }

    /// A copy of the values that the buffer protocol knows, for who has no numpy.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (form, bytes) = self.values().ok_or_else(|| self.no_memory())?;
        let wanted = self.array.len() * form.value_bytes;
        let copy = PyBytes::new(py, bytes.get(..wanted).unwrap_or(bytes));
        let view = py.get_type::<pyo3::types::PyMemoryView>().call1((copy,))?;
        view.call_method1("cast", (form.memory,))
    }

    /// Which rows have no value, a byte each; `None` if all have one.
    fn nulls<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let nulls = self.array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
        let bytes: Vec<u8> = nulls.iter().map(|there| u8::from(!there)).collect();
        Some(PyBytes::new(py, &bytes))
    }

    /// Names that the numbers of a column of series stand for, by number.
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let DataType::Dictionary(..) = self.array.data_type() else {
            return Err(errors::value("column", "one of series", self.kind()));
        };
        let names = self.array.as_dictionary::<Int32Type>().values().as_string::<i32>();
        PyList::new(py, names.iter().flatten())
    }

    /// The values as Python has them: times as nanoseconds since 1970, `None` where there is none.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self.array.data_type() {
            DataType::Float64 => PyList::new(py, self.array.as_primitive::<Float64Type>()),
            DataType::Int64 => PyList::new(py, self.array.as_primitive::<Int64Type>()),
            DataType::UInt64 => PyList::new(py, self.array.as_primitive::<UInt64Type>()),
            DataType::Timestamp(..) => {
                PyList::new(py, self.array.as_primitive::<TimestampNanosecondType>())
            }
            DataType::Boolean => {
                let values: Vec<Option<bool>> = self.array.as_boolean().iter().collect();
                PyList::new(py, values)
            }
            DataType::Dictionary(..) => {
                let series = self.array.as_dictionary::<Int32Type>();
                let names = self.names(py)?;
                let rows = series.keys().values().iter();
                let row = |key: &i32| names.get_item(usize::try_from(*key).unwrap_or(0));
                PyList::new(py, rows.map(row).collect::<PyResult<Vec<_>>>()?)
            }
            _ => {
                let texts: Vec<Option<&str>> = self.array.as_string::<i32>().iter().collect();
                PyList::new(py, texts)
            }
        }
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        arrow_c::array(py, &self.array, None)
    }
}
