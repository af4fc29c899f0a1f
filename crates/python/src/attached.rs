//! Pushing into a store that another process records.

use crate::handle::{Channel, Handle, Series};
use crate::process::Owned;
use crate::push::{Pusher, Ring};
use crate::recorder::declared;
use crate::table_in::Roles;
use crate::{background, errors, many, table_in};
use barograph::Attached as Inner;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A producer of a recorder in another process.
#[pyclass(frozen, subclass, weakref, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Attached {
    path: PathBuf,
    pusher: Owned<Arc<Pusher>>,
}

impl Attached {
    fn pusher(&self) -> PyResult<&Arc<Pusher>> {
        self.pusher.get("the producer")
    }
}

#[pymethods]
impl Attached {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, timeout_ns: u64) -> PyResult<Self> {
        let place = path.clone();
        let inner = background::run(py, move || Inner::to(place))?.map_err(errors::front)?;
        let ring = Ring::Attached(Box::new(inner.timeout(Duration::from_nanos(timeout_ns))));
        Ok(Attached { path, pusher: Owned::new(Arc::new(Pusher::new(ring)?))? })
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Records of this object that were refused: since the ring was full, and since they were too large.
    #[getter]
    fn refused(&self) -> PyResult<(u64, u64)> {
        self.pusher()?.with(|push| push.refused())
    }

    /// Sequence number of the next push.
    #[getter]
    fn pushed(&self) -> PyResult<u64> {
        self.pusher()?.with(|push| push.pushed())
    }

    /// Every record below this number is durable.
    #[getter]
    fn durable_below(&self) -> PyResult<u64> {
        self.pusher()?.with(|push| push.durable())
    }

    /// The series of these names; the recorder is asked where they are new.
    fn declare(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        unit: &str,
        kind: &str,
    ) -> PyResult<Vec<Series>> {
        let pusher = Arc::clone(self.pusher()?);
        let (unit, kind) = (unit.to_owned(), kind.to_owned());
        background::run(py, move || {
            declared(pusher.owner, &names, &unit, &kind, |names, kind| {
                let asked = pusher.with_ring(|ring| handles(ring, names, &unit, kind));
                asked.unwrap_or_else(|_| Ok(Vec::new()))
            })
        })?
    }

    /// The channel of this name; the recorder is asked if it is new.
    fn declare_channel(&self, py: Python<'_>, name: String, layout: String) -> PyResult<Channel> {
        let pusher = Arc::clone(self.pusher()?);
        background::run(py, move || {
            let handle = pusher.with_ring(|ring| match ring {
                Ring::Attached(attached) => attached.channel(&name, &layout).map(Some),
                Ring::Own(_) => Ok(None),
            })?;
            let handle = handle.map_err(errors::front)?;
            let handle = handle.ok_or_else(|| errors::bug("a ring that is not attached"))?;
            Ok::<Channel, PyErr>(Channel { handle, owner: pusher.owner, name })
        })?
    }

    /// Pushes a value or a frame. Never waits.
    #[pyo3(signature = (target, value, *, time_ns=None))]
    fn push(
        &self,
        target: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        time_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        self.pusher()?.push(target, value, time_ns)
    }

    /// Pushes many samples of a series, waiting for room at most so long.
    fn push_columns(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        times: &Bound<'_, PyAny>,
        time_unit_ns: i64,
        values: &Bound<'_, PyAny>,
        timeout_ns: u64,
    ) -> PyResult<u64> {
        many::push(py, self.pusher()?, target, (times, time_unit_ns), values, timeout_ns)
    }

    /// Pushes all rows of a table; `declare(names, type)` makes its series.
    fn push_table(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        roles: Roles,
        declare: &Bound<'_, PyAny>,
        timeout_ns: u64,
    ) -> PyResult<u64> {
        table_in::write(py, self.pusher()?, table, &roles, declare, timeout_ns)
    }

    /// Waits until all below `wanted`, or all that was pushed, is durable.
    fn wait_durable_ns(
        &self,
        py: Python<'_>,
        wanted: Option<u64>,
        timeout_ns: u64,
    ) -> PyResult<()> {
        self.pusher()?.wait_durable(py, wanted, Duration::from_nanos(timeout_ns))
    }

    /// Gives the ring back.
    fn end(&self) -> PyResult<()> {
        drop(self.pusher()?.end());
        Ok(())
    }
}

fn handles(
    ring: &mut Ring,
    names: &[&str],
    unit: &str,
    kind: &str,
) -> barograph::Result<Vec<Handle>> {
    let Ring::Attached(inner) = ring else { return Ok(Vec::new()) };
    Ok(match kind {
        "float64" => inner.group(names, unit)?.series().map(Handle::F64).collect(),
        "int64" => inner.group(names, unit)?.series().map(Handle::I64).collect(),
        "bool" => inner.group(names, unit)?.series().map(Handle::Bool).collect(),
        _ => inner.group(names, unit)?.series().map(Handle::Text).collect(),
    })
}
