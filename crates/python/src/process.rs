//! Whose an object is: a forked child has a copy of it, but none of the threads and locks behind it. So
//! each object knows its process by numbers that a fork wipes, and refuses in the child.
//!
//! Invariant: in a child nothing waits for a thread of the parent, also when objects are given up. Held by
//! `tests/python.rs`.

use crate::errors;
use baro_sys::memory::ForkWiped;
use pyo3::prelude::*;

/// Tells the process that made it from its forked children.
#[derive(Debug)]
pub(crate) struct Process(ForkWiped<1>);

impl Process {
    pub(crate) fn this() -> PyResult<Self> {
        let mut numbers = ForkWiped::new().map_err(errors::system)?;
        numbers.set(0, 1);
        Ok(Process(numbers))
    }

    pub(crate) fn is_here(&self) -> bool {
        self.0.get(0) == 1
    }

    /// # Errors
    /// This is a forked child: `what` belongs to its parent.
    pub(crate) fn check(&self, what: &str) -> PyResult<()> {
        if self.is_here() { Ok(()) } else { Err(errors::forked(what)) }
    }
}

/// What must not be given up in a forked child, since that would wait for a thread.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    process: Process,
    /// There as long as this is.
    value: Option<T>,
}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> PyResult<Self> {
        Ok(Owned { process: Process::this()?, value: Some(value) })
    }

    /// # Errors
    /// This is a forked child: `what` belongs to its parent.
    pub(crate) fn get(&self, what: &str) -> PyResult<&T> {
        self.process.check(what)?;
        self.value.as_ref().ok_or_else(|| errors::closed(what))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.process.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}
