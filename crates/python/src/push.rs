//! Pushing from Python: one value or frame, checked and copied into the ring. Never waits.
//!
//! The ring's lock is held for the copy alone, so that a push in one thread waits at most for that of
//! another.
//!
//! Invariant: a value of another type than its series is refused, never converted with loss. Held by
//! `tests/python.rs`.

use crate::background::LOOK_EVERY;
use crate::errors;
use crate::handle::{Channel, Handle, Series};
use crate::process::Process;
use baro_sys::clock;
use barograph::{Attached, Producer, Refused, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyMemoryView, PyString};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Duration;

/// Integers up to here are floats too.
const EXACT: i64 = 1 << 53;
/// Between two looks at what is durable.
const PAUSE_NS: u64 = 1_000_000;
/// The same where another thread has the ring.
const LOCKED_NS: u64 = 20_000;

/// A ring of this process, or one of a recorder elsewhere.
#[derive(Debug)]
pub(crate) enum Ring {
    Own(Producer),
    Attached(Box<Attached>),
}

impl Ring {
    fn producer(&mut self) -> &mut Producer {
        match self {
            Ring::Own(producer) => producer,
            Ring::Attached(attached) => attached.producer(),
        }
    }
}

/// What pushes into a ring.
#[derive(Debug)]
pub(crate) struct Pusher {
    /// Boxed: a producer begins a cache line, and objects of Python begin anywhere.
    ring: Mutex<Option<Box<Ring>>>,
    pub(crate) owner: u64,
    pub(crate) process: Process,
}

impl Pusher {
    pub(crate) fn new(ring: Ring) -> PyResult<Self> {
        let owner = crate::handle::new_owner();
        Ok(Pusher { ring: Mutex::new(Some(Box::new(ring))), owner, process: Process::this()? })
    }

    /// Calls `work` with the producer.
    ///
    /// # Errors
    /// A forked child, or it is closed.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Producer) -> T) -> PyResult<T> {
        self.with_ring(|ring| work(ring.producer()))
    }

    /// The same with the ring.
    pub(crate) fn with_ring<T>(&self, work: impl FnOnce(&mut Ring) -> T) -> PyResult<T> {
        // First: in a child the lock may be held by a thread that it does not have.
        self.process.check("the recorder")?;
        let mut ring = loop {
            match self.ring.try_lock() {
                Ok(ring) => break ring,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                // Another thread pushes, for a moment, or asks a recorder elsewhere to declare: then the
                // others of Python go on.
                Err(TryLockError::WouldBlock) => {
                    Python::attach(|py| py.detach(|| clock::sleep_ns(LOCKED_NS)));
                }
            }
        };
        ring.as_mut().map(|ring| work(ring)).ok_or_else(|| errors::closed("the recorder"))
    }

    /// Gives the ring up.
    pub(crate) fn end(&self) -> Option<Box<Ring>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Pushes a value or a frame; now, if no time is given. Its sequence number.
    pub(crate) fn push(
        &self,
        target: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        time_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let time = match time_ns {
            None => Time::now(),
            Some(time_ns) => Time::from(integer("time_ns", time_ns)?),
        };
        if let Ok(series) = target.cast::<Series>() {
            return self.push_sample(series.get().of(self.owner)?, time, value);
        }
        let Ok(channel) = target.cast::<Channel>() else {
            let wanted = "a Series or a Channel of this recorder";
            return Err(errors::kind("target", wanted, type_of(target)));
        };
        let channel = channel.get();
        if channel.owner != self.owner {
            let found = format!("{:?} of another one", channel.name);
            return Err(errors::value("target", "a channel of this recorder", found));
        }
        let pushed = |bytes: &[u8]| self.with(|push| push.frame(channel.handle, time, bytes));
        with_bytes("value", value, pushed)??.map_err(errors::refused)
    }

    fn push_sample(&self, handle: Handle, time: Time, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let pushed: Result<u64, Refused> = match handle {
            Handle::F64(series) => {
                let value = float("value", value)?;
                self.with(|push| push.sample(series, time, value))?
            }
            Handle::I64(series) => {
                let value = integer("value", value)?;
                self.with(|push| push.sample(series, time, value))?
            }
            Handle::Bool(series) => {
                let value = truth("value", value)?;
                self.with(|push| push.sample(series, time, value))?
            }
            Handle::Text(series) => {
                let Ok(text) = value.cast::<PyString>() else {
                    return Err(errors::kind("value", "a text", type_of(value)));
                };
                let text = text.to_cow()?;
                self.with(|push| push.sample(series, time, &text))?
            }
        };
        pushed.map_err(errors::refused)
    }

    /// Waits until everything below `wanted` is durable; all that was pushed, if that is not given.
    pub(crate) fn wait_durable(
        &self,
        py: Python<'_>,
        wanted: Option<u64>,
        timeout: Duration,
    ) -> PyResult<()> {
        let deadline_ns = clock::monotonic_ns().saturating_add(nanoseconds(timeout));
        let wanted = match wanted {
            Some(wanted) => wanted,
            None => self.with(|push| push.pushed())?,
        };
        let mut look_ns = 0;
        loop {
            let (durable, closed, trouble) =
                self.with(|push| (push.durable(), push.closed(), push.trouble()))?;
            if durable >= wanted {
                return Ok(());
            }
            if closed {
                return Err(errors::closed("the recorder"));
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= deadline_ns {
                let why = trouble.map(|why| format!("; {why}")).unwrap_or_default();
                return Err(errors::NotDurable::new_err(format!(
                    "of the records below {wanted}, those below {durable} are durable in the time given{why}"
                )));
            }
            if now_ns >= look_ns {
                py.check_signals()?;
                look_ns = now_ns.saturating_add(nanoseconds(LOOK_EVERY));
            }
            py.detach(|| clock::sleep_ns(PAUSE_NS));
        }
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Calls `work` with the bytes of a bytes-like object.
pub(crate) fn with_bytes<T>(
    argument: &str,
    object: &Bound<'_, PyAny>,
    work: impl FnOnce(&[u8]) -> T,
) -> PyResult<T> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(work(bytes.as_bytes()));
    }
    let view = PyMemoryView::from(object).map_err(|_| {
        errors::kind(argument, "bytes, or an object with a buffer of them", type_of(object))
    })?;
    // A copy, since somebody may change or free the buffer meanwhile; of any layout.
    let copy = view.call_method0("tobytes")?.cast_into::<PyBytes>()?;
    Ok(work(copy.as_bytes()))
}

pub(crate) fn type_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// An integer of 64 bits: of Python, or of numpy.
pub(crate) fn integer(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<i64> {
    let wrong = || errors::kind(argument, "an integer", type_of(object));
    let is_integer = if object.is_instance_of::<PyInt>() {
        !object.is_instance_of::<PyBool>()
    } else {
        object.hasattr("__index__")? && !is_numpy_bool(object)
    };
    if !is_integer {
        return Err(wrong());
    }
    object.extract::<i64>().map_err(|error| {
        let py = object.py();
        if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
            errors::value(argument, "an integer of 64 bits", object)
        } else {
            wrong()
        }
    })
}

/// A float, or an integer that is one exactly.
pub(crate) fn float(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(float.value());
    }
    if object.is_instance_of::<PyInt>() || object.hasattr("__index__")? {
        let value = integer(argument, object)
            .map_err(|error| wrong_float(argument, object, Some(error)))?;
        if (-EXACT..=EXACT).contains(&value) {
            return Ok(value as f64);
        }
        return Err(errors::value(argument, "an integer that a float holds exactly", value));
    }
    // Floats of numpy; a text has none of this.
    if object.hasattr("__float__")? && object.hasattr("dtype")? {
        return object.extract::<f64>();
    }
    Err(wrong_float(argument, object, None))
}

fn wrong_float(argument: &str, object: &Bound<'_, PyAny>, error: Option<PyErr>) -> PyErr {
    match error {
        Some(error) if error.is_instance_of::<pyo3::exceptions::PyValueError>(object.py()) => error,
        _ => errors::kind(argument, "a number", type_of(object)),
    }
}

fn is_numpy_bool(object: &Bound<'_, PyAny>) -> bool {
    let name = type_of(object);
    (name == "bool" || name == "bool_") && object.hasattr("dtype").unwrap_or(false)
}

fn truth(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyBool>() || is_numpy_bool(object) {
        return object.is_truthy();
    }
    Err(errors::kind(argument, "True or False", type_of(object)))
}
