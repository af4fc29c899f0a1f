//! Frames of a channel: times and bytes, read as they are asked for.

use crate::background::{self, Rest, Waiting};
use crate::errors;
use crate::process::Process;
use crate::query::recycled;
use baro_ondisk::Type;
use baro_store::{Filter, Interval, Notes, Reading, Store};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// Frames that are read ahead: of 16 KiB each a megabyte.
const AHEAD: usize = 64;

#[derive(Debug)]
enum Sent {
    Frame(i64, Vec<u8>),
    End(Notes),
    Failed(baro_store::Error),
}

/// Frames of a channel by rising time: `(time_ns, memoryview)` each.
#[pyclass(frozen, module = "barograph")]
#[derive(Debug)]
pub struct Frames {
    rest: Rest<Waiting<Sent>>,
    process: Process,
}

impl Frames {
    pub(crate) fn of(store: Arc<Store>, channel: &str, interval: Interval) -> PyResult<Self> {
        let found = store.catalog().lookup(channel).map_err(errors::store)?;
        let Some(found) = found.filter(|found| found.kind == Type::Channel) else {
            let said = format!("channel: expected the name of a channel, found {channel:?}");
            return Err(errors::Unknown::new_err(said));
        };
        let (send, receive) = sync_channel(AHEAD);
        background::start(move || {
            let filter = Filter::ids(&[found.id]).data_only();
            let done = store.records(interval, &filter, &Reading::default(), |record| {
                let sent = send.send(Sent::Frame(record.time_ns, record.payload.to_vec()));
                if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            let _ = send.send(match done {
                Ok(notes) => Sent::End(notes),
                Err(error) => Sent::Failed(error),
            });
        })?;
        Ok(Frames { rest: Rest::new(Waiting::new(receive)), process: Process::this()? })
    }
}

/// The first thing that kept frames out.
fn missing(notes: &Notes) -> Option<String> {
    let damage = notes.damage.first().map(ToString::to_string);
    damage.or_else(|| recycled(notes.blocks_recycled))
}

#[pymethods]
impl Frames {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(i64, Bound<'py, PyAny>)>> {
        self.process.check("the frames")?;
        self.rest.take(|waiting| match waiting.next(py) {
            // Interrupted: the next call goes on.
            Err(interrupted) => (Err(interrupted), true),
            Ok(Some(Sent::Frame(time_ns, bytes))) => {
                let view = PyMemoryView::from(&PyBytes::new(py, &bytes));
                (view.map(|view| Some((time_ns, view.into_any()))), true)
            }
            Ok(Some(Sent::End(notes))) => match missing(&notes) {
                Some(first) => {
                    let said = format!("frames are missing: {first}");
                    (Err(errors::Damaged::new_err(said)), false)
                }
                None => (Ok(None), false),
            },
            Ok(Some(Sent::Failed(error))) => (Err(errors::store(error)), false),
            Ok(None) => (Err(errors::bug("the reading thread has ended by itself")), false),
        })
    }
}
