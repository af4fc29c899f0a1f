//! What may take long runs on a thread of its own, and Python's main thread looks for Ctrl-C while it
//! waits. So an interrupt ends every wait at once; what the thread was at goes on and is thrown away.

use crate::errors;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// How often it is looked for an interrupt.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs `work` with Python's lock given up, until it is done or the user interrupts.
///
/// # Errors
/// Interrupted; no thread can be started; `work` has panicked.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, waiting) = sync_channel(1);
    start(move || {
        // Nobody waits any more: interrupted.
        let _ = done.send(work());
    })?;
    Waiting::new(waiting).next(py)?.ok_or_else(|| errors::bug("a thread has ended by itself"))
}

/// Starts a thread of this crate.
pub(crate) fn start(work: impl FnOnce() + Send + 'static) -> PyResult<()> {
    let started = Builder::new().name("baro-python".to_owned()).spawn(work);
    started
        .map(drop)
        .map_err(|error| errors::system(baro_sys::Error::new("start thread", "", error)))
}

/// What a thread sends, waited for without Python's lock.
#[derive(Debug)]
pub(crate) struct Waiting<T>(Option<Receiver<T>>);

impl<T: Send> Waiting<T> {
    pub(crate) fn new(receiver: Receiver<T>) -> Self {
        Waiting(Some(receiver))
    }

    /// The next; `None` once the thread has ended.
    ///
    /// # Errors
    /// Interrupted.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<T>> {
        loop {
            let Some(receiver) = self.0.take() else { return Ok(None) };
            let (receiver, received) = py.detach(move || {
                let received = receiver.recv_timeout(LOOK_EVERY);
                (receiver, received)
            });
            match received {
                Ok(value) => {
                    self.0 = Some(receiver);
                    return Ok(Some(value));
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.0 = Some(receiver);
                    py.check_signals()?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// The next, waited for as it is: by a caller that is not Python.
    pub(crate) fn next_anywhere(&mut self) -> Option<T> {
        self.0.as_ref().and_then(|receiver| receiver.recv().ok())
    }
}

/// What one thread of Python at a time takes from, such as the rest of a query.
///
/// Invariant: an interrupt loses nothing of it, and a second thread is refused and not told that it is over.
#[derive(Debug)]
pub(crate) struct Rest<T>(Mutex<State<T>>);

#[derive(Debug)]
enum State<T> {
    There(T),
    Taken,
    Over,
}

impl<T> Rest<T> {
    pub(crate) fn new(rest: T) -> Self {
        Rest(Mutex::new(State::There(rest)))
    }

    fn set(&self, state: State<T>) -> State<T> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// Takes one more by `next`, which says whether there may be others; `None` once it is over.
    ///
    /// # Errors
    /// That of `next`; another thread is at it.
    pub(crate) fn take<R>(
        &self,
        next: impl FnOnce(&mut T) -> (PyResult<Option<R>>, bool),
    ) -> PyResult<Option<R>> {
        match self.set(State::Taken) {
            State::There(mut rest) => {
                let (taken, more) = next(&mut rest);
                self.set(if more { State::There(rest) } else { State::Over });
                taken
            }
            State::Over => {
                self.set(State::Over);
                Ok(None)
            }
            State::Taken => Err(PyValueError::new_err(
                "iterator: expected one thread at a time, found another that is taking from it",
            )),
        }
    }
}
