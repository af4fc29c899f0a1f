//! What is pushed to: a series or a channel of one recorder, as Python holds it.
//!
//! Invariant: a handle of one recorder is refused by every other, since ids are a store's own. Held by
//! `tests/python.rs`.

use crate::errors;
use barograph::Series as Typed;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the recorders of this process.
static NEXT_OWNER: AtomicU64 = AtomicU64::new(1);

/// Whose handles are whose.
pub(crate) fn new_owner() -> u64 {
    NEXT_OWNER.fetch_add(1, Ordering::Relaxed)
}

/// A declared series, by the type of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handle {
    F64(Typed<f64>),
    I64(Typed<i64>),
    Bool(Typed<bool>),
    Text(Typed<String>),
}

impl Handle {
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Handle::F64(_) => "float64",
            Handle::I64(_) => "int64",
            Handle::Bool(_) => "bool",
            Handle::Text(_) => "text",
        }
    }
}

/// A declared series: what samples are pushed to.
#[pyclass(frozen, module = "barograph")]
#[derive(Clone, Debug)]
pub struct Series {
    pub(crate) handle: Handle,
    pub(crate) owner: u64,
    pub(crate) name: String,
    pub(crate) unit: String,
}

impl Series {
    /// # Errors
    /// Another recorder has declared it.
    pub(crate) fn of(&self, owner: u64) -> PyResult<Handle> {
        if self.owner == owner {
            return Ok(self.handle);
        }
        let found = format!("{:?} of another one", self.name);
        Err(errors::value("target", "a series of this recorder", found))
    }
}

#[pymethods]
impl Series {
    /// Its name with its labels.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Its unit as it was asked for; empty if none was.
    #[getter]
    fn unit(&self) -> &str {
        &self.unit
    }

    /// `float64`, `int64`, `bool` or `text`.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.handle.kind()
    }

    fn __repr__(&self) -> String {
        format!("<barograph.Series {:?}: {}>", self.name, self.handle.kind())
    }
}

/// A declared channel: what frames of bytes are pushed to.
#[pyclass(frozen, module = "barograph")]
#[derive(Clone, Debug)]
pub struct Channel {
    pub(crate) handle: barograph::Channel,
    pub(crate) owner: u64,
    pub(crate) name: String,
}

#[pymethods]
impl Channel {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __repr__(&self) -> String {
        format!("<barograph.Channel {:?}>", self.name)
    }
}
