//! A store that this process records into.

use crate::handle::{Channel, Handle, Series};
use crate::process::Owned;
use crate::push::{Pusher, Ring};
use crate::table_in::Roles;
use crate::{background, errors, many, table_in};
use barograph::Recorder as Inner;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a call that holds the recorder is waited for when it is closed, at a time.
const PAUSE_NS: u64 = 1_000_000;

/// A store that is recorded into.
#[pyclass(frozen, subclass, weakref, module = "barograph._barograph")]
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    inner: Owned<Mutex<Option<Arc<Inner>>>>,
    pusher: Owned<Pusher>,
    reservations: Vec<String>,
}

impl Recorder {
    fn inner(&self) -> PyResult<Arc<Inner>> {
        let inner = self.inner.get("the recorder")?;
        let inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clone().ok_or_else(|| errors::closed("the recorder"))
    }

    fn pusher(&self) -> PyResult<&Pusher> {
        self.pusher.get("the recorder")
    }
}

impl Drop for Recorder {
    /// One that nobody has closed ends here, and waits for the disk: other threads of Python go on.
    fn drop(&mut self) {
        let Ok(inner) = self.inner.get("") else { return };
        let inner = inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ring = self.pusher().ok().and_then(Pusher::end);
        if inner.is_some() || ring.is_some() {
            Python::attach(|py| py.detach(move || drop((ring, inner))));
        }
    }
}

/// What is asked for when a store is opened.
struct Asked {
    path: PathBuf,
    create_bytes: Option<u64>,
    recycle: bool,
    durable_within_ns: Option<u64>,
    ring_bytes: Option<usize>,
    frame_max: Option<usize>,
    priority: Option<u8>,
    settle: bool,
}

impl Asked {
    fn open(self) -> barograph::Result<Inner> {
        let mut opening = match self.create_bytes {
            Some(bytes) => Inner::create_or_open(&self.path).size(bytes),
            None => Inner::existing(&self.path),
        };
        if self.recycle {
            opening = opening.recycle();
        }
        if let Some(within_ns) = self.durable_within_ns {
            opening = opening.durable_within(Duration::from_nanos(within_ns));
        }
        if let Some(bytes) = self.ring_bytes {
            opening = opening.ring(bytes);
        }
        if let Some(bytes) = self.frame_max {
            opening = opening.frame_max(bytes);
        }
        if let Some(priority) = self.priority {
            opening = opening.priority(priority);
        }
        if !self.settle {
            opening = opening.without_settling();
        }
        opening.open()
    }
}

#[pymethods]
impl Recorder {
    #[new]
    #[pyo3(signature = (path, create_bytes, recycle, durable_within_ns, ring_bytes, frame_max, priority, settle))]
    #[allow(clippy::too_many_arguments, reason = "called from one place, which names them")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        create_bytes: Option<u64>,
        recycle: bool,
        durable_within_ns: Option<u64>,
        ring_bytes: Option<usize>,
        frame_max: Option<usize>,
        priority: Option<u8>,
        settle: bool,
    ) -> PyResult<Self> {
        let asked = Asked {
            path: path.clone(),
            create_bytes,
            recycle,
            durable_within_ns,
            ring_bytes,
            frame_max,
            priority,
            settle,
        };
        let opened = background::run(py, move || {
            let recorder = asked.open()?;
            let producer = recorder.producer()?;
            Ok((recorder, producer))
        })?;
        let (recorder, producer) = opened.map_err(errors::front)?;
        let reservations = recorder.reservations();
        let inner = Owned::new(Mutex::new(Some(Arc::new(recorder))))?;
        let pusher = Owned::new(Pusher::new(Ring::Own(producer))?)?;
        Ok(Recorder { path, inner, pusher, reservations })
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// What holds here only in part, in sentences.
    #[getter]
    fn reservations(&self) -> Vec<String> {
        self.reservations.clone()
    }

    /// What was found wrong while recording so far, in sentences.
    #[getter]
    fn complaints(&self) -> PyResult<Vec<String>> {
        Ok(self.inner()?.complaints())
    }

    /// Records that are lost so far.
    #[getter]
    fn lost(&self) -> PyResult<u64> {
        Ok(self.inner()?.lost())
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

    /// The series of these names, declared where they are new.
    fn declare(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        unit: &str,
        kind: &str,
    ) -> PyResult<Vec<Series>> {
        let (inner, owner) = (self.inner()?, self.pusher()?.owner);
        let (unit, kind) = (unit.to_owned(), kind.to_owned());
        background::run(py, move || {
            declared(owner, &names, &unit, &kind, |names, kind| match kind {
                "float64" => Ok(inner.group(names, &unit)?.series().map(Handle::F64).collect()),
                "int64" => Ok(inner.group(names, &unit)?.series().map(Handle::I64).collect()),
                "bool" => Ok(inner.group(names, &unit)?.series().map(Handle::Bool).collect()),
                _ => Ok(inner.group(names, &unit)?.series().map(Handle::Text).collect()),
            })
        })?
    }

    /// The channel of this name, declared if it is new.
    fn declare_channel(&self, py: Python<'_>, name: String, layout: String) -> PyResult<Channel> {
        let (inner, owner) = (self.inner()?, self.pusher()?.owner);
        let declared = background::run(py, move || {
            let handle = inner.channel(&name, &layout)?;
            Ok(Channel { handle, owner, name })
        })?;
        declared.map_err(errors::front)
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

    /// Makes a ring for a producer in another process.
    fn ring_to_attach(&self, py: Python<'_>) -> PyResult<()> {
        let inner = self.inner()?;
        background::run(py, move || inner.ring_to_attach())?.map_err(errors::front)
    }

    /// Makes durable what is in the rings, and ends: records lost, and damage in sentences. `None` if it
    /// was closed before.
    fn end(&self, py: Python<'_>) -> PyResult<Option<(u64, Vec<String>)>> {
        let inner = self.inner.get("the recorder")?;
        let Some(mut inner) = inner.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(None);
        };
        let producer = self.pusher()?.end();
        let closed = background::run(py, move || {
            drop(producer);
            // Another thread may be declaring.
            let inner = loop {
                match Arc::try_unwrap(inner) {
                    Ok(inner) => break inner,
                    Err(shared) => inner = shared,
                }
                baro_sys::clock::sleep_ns(PAUSE_NS);
            };
            inner.close()
        })?;
        Ok(Some((closed.lost(), closed.damage().to_vec())))
    }
}

/// Handles of each of `names`, as `declare` makes them; the type is known.
pub(crate) fn declared(
    owner: u64,
    names: &[String],
    unit: &str,
    kind: &str,
    declare: impl FnOnce(&[&str], &str) -> barograph::Result<Vec<Handle>>,
) -> PyResult<Vec<Series>> {
    if !["float64", "int64", "bool", "text"].contains(&kind) {
        let found = format!("{kind:?}");
        return Err(errors::value("type", "float64, int64, bool or text", found));
    }
    let asked: Vec<&str> = names.iter().map(String::as_str).collect();
    let handles = declare(&asked, kind).map_err(errors::front)?;
    let series = |(name, handle): (&String, Handle)| Series {
        handle,
        owner,
        name: name.clone(),
        unit: unit.to_owned(),
    };
    Ok(names.iter().zip(handles).map(series).collect())
}
