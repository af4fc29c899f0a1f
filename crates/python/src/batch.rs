//! Rows that were read, as columns: a record batch that Python holds.

use crate::column::Column;
use crate::{arrow_c, errors};
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

/// Rows as columns. Any package that takes Arrow takes it, without a copy.
#[pyclass(frozen, module = "barograph")]
#[derive(Debug)]
pub struct Batch {
    rows: RecordBatch,
}

impl Batch {
    pub(crate) fn new(rows: RecordBatch) -> Self {
        Batch { rows }
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.rows.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<barograph.Batch: {} rows of {}>", self.rows.num_rows(), self.names().join(", "))
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.rows.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Units of the columns that have one, by the columns' names.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let units = PyDict::new(py);
        for field in self.rows.schema().fields() {
            if let Some(unit) = field.metadata().get("unit") {
                units.set_item(field.name(), unit)?;
            }
        }
        Ok(units)
    }

    /// A column by its name.
    fn column(&self, name: &str) -> PyResult<Column> {
        let found = self.rows.column_by_name(name);
        let found = found.ok_or_else(|| {
            errors::value("name", &format!("one of {}", self.names().join(", ")), name)
        })?;
        Ok(Column::new(found.clone()))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // Best effort, as the interface says: there is one form of each column.
        let _ = requested_schema;
        arrow_c::batch(py, &self.rows)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let (one, schema) = (self.rows.clone(), self.rows.schema());
        arrow_c::stream(py, Box::new(RecordBatchIterator::new([Ok(one)], schema)))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow_c::schema(py, &self.rows.schema())
    }
}
