//! Accounts for the requests of disks while they come, without a trace file.
//!
//! A trace of a busy disk is gigabytes an hour, and writing it would be traffic of its own. So pages
//! are decoded as they are read, and only sums are kept. Issue and completion of a request can be on
//! different processors: events wait until no processor can have an older one that was not read.
//!
//! Invariant: as for [`Recorder`](super::Recorder), the instance is gone when the watch is. Events
//! are taken in the order of time; memory is bounded by what one [`BlockWatch::drain`] reads. Held by
//! `what_is_written_to_a_disk_is_accounted_for`, `events_wait_for_older_ones_of_other_processors`.

#[cfg(test)]
mod tests;

use super::{CollectError, PAGES_OF_DRAIN};
use crate::blk::{Accounting, BlockEvent, Sink};
use crate::event_set::EventSet;
use crate::file::{CpuLosses, Preamble};
use crate::record::Device;
use crate::ring_page::PageCursor;
use crate::schema::{RqComplete, RqInsert, RqIssue, RqRequeue, Schemas};
use baro_sys::clock;
use baro_sys::tracefs::{RawTrace, TraceError};

/// An event gets its time before it is in the buffer: so long after its time it is there.
const SETTLED_NS: u64 = 5_000_000;

/// What a watch has seen.
#[derive(Debug)]
pub struct Watched<S = Accounting> {
    /// What took the events.
    pub sums: S,
    /// Events lost, by processor.
    pub losses: Vec<CpuLosses>,
    /// Pages or events that could not be read.
    pub damaged: u64,
}

/// Watches requests of disks from [`start`](Self::start) to [`finish`](Self::finish).
#[derive(Debug)]
pub struct BlockWatch<S = Accounting> {
    trace: RawTrace,
    cpus: Vec<u32>,
    page: Vec<u8>,
    set: EventSet,
    schemas: Schemas,
    waiting: Waiting,
    sums: S,
    damaged: u64,
}

impl BlockWatch {
    /// Begins to account for all, as [`start_into`](Self::start_into) does.
    ///
    /// # Errors
    /// The same.
    pub fn start(name: &str, devices: &[Device], buffer_kib: u64) -> Result<Self, CollectError> {
        Self::start_into(Accounting::default(), name, devices, buffer_kib)
    }
}

impl<S: Sink> BlockWatch<S> {
    /// Begins to watch `devices` (disks, not partitions; none: all) with an instance `name` of the
    /// kernel's tracer and `buffer_kib` of its memory for each processor; `sums` takes what comes. Takes
    /// some milliseconds. Needs root and a mounted tracefs.
    ///
    /// # Errors
    /// tracefs is not to be had, the kernel has no events of requests, or not as they are known.
    pub fn start_into(
        sums: S,
        name: &str,
        devices: &[Device],
        buffer_kib: u64,
    ) -> Result<Self, CollectError> {
        let trace = RawTrace::new(name, buffer_kib)?;
        let mut preamble = Preamble {
            header_page: trace.event_text("header_page")?,
            header_event: trace.event_text("header_event")?,
            ..Preamble::default()
        };
        let is = |device: &Device| format!("dev == {}", device.0);
        let filter = devices.iter().map(is).collect::<Vec<_>>().join(" || ");
        let filter = (!devices.is_empty()).then_some(filter);
        // Completion first: what is issued is then never seen without its end.
        for (event, needed) in [
            (RqComplete::EVENT, true),
            (RqRequeue::EVENT, false),
            (RqIssue::EVENT, true),
            (RqInsert::EVENT, false),
        ] {
            let path = format!("{}/{event}", RqIssue::SYSTEM);
            match trace.enable(&path, filter.as_deref()) {
                Ok(()) => {
                    let text = trace.event_text(&format!("{path}/format"))?;
                    preamble.formats.push((RqIssue::SYSTEM.to_owned(), text));
                }
                Err(TraceError::NoEvent(event)) if needed => {
                    return Err(CollectError::NoEvents(vec![event]));
                }
                Err(TraceError::NoEvent(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let set = preamble.events()?;
        let schemas = Schemas::resolve(&set)?;
        trace.set_recording(true)?;
        Ok(Self {
            cpus: trace.cpus().collect(),
            page: vec![0; set.layout().page_bytes()],
            trace,
            set,
            schemas,
            waiting: Waiting::default(),
            sums,
            damaged: 0,
        })
    }

    /// Takes what came since the last time; to be called every few milliseconds, often enough for
    /// the buffers to hold what comes meanwhile. Does not wait. Returns how many pages there were.
    ///
    /// # Errors
    /// Those of reading.
    pub fn drain(&mut self) -> Result<u64, CollectError> {
        let mut until_ns = clock::monotonic_ns().saturating_sub(SETTLED_NS);
        let mut pages = 0;
        for index in 0..self.cpus.len() {
            let (of_cpu, last_ns) = self.drain_cpu(self.cpus[index])?;
            pages += of_cpu;
            if of_cpu == PAGES_OF_DRAIN as u64 {
                // There is more on this one, and what others have after it is not its turn yet.
                until_ns = until_ns.min(last_ns);
            }
        }
        self.waiting.release(until_ns, |event| self.sums.take(event));
        Ok(pages)
    }

    /// The sums of what was taken until now: of events that are a few milliseconds old, or older than
    /// the last [`drain`](Self::drain).
    #[must_use]
    pub fn so_far(&self) -> &S {
        &self.sums
    }

    /// Pages read of a processor, and the time of the last event.
    fn drain_cpu(&mut self, cpu: u32) -> Result<(u64, u64), CollectError> {
        let (mut pages, mut last_ns) = (0, 0);
        for _ in 0..PAGES_OF_DRAIN {
            let bytes = self.trace.read_page(cpu, &mut self.page)?;
            if bytes == 0 {
                break;
            }
            pages += 1;
            last_ns = self.decode(bytes);
        }
        Ok((pages, last_ns))
    }

    fn decode(&mut self, bytes: usize) -> u64 {
        let page = self.page.get(..bytes).unwrap_or(&self.page);
        let Ok(mut cursor) = PageCursor::new(self.set.layout(), page) else {
            self.damaged += 1;
            return 0;
        };
        loop {
            match cursor.next(page) {
                Ok(None) => return cursor.time_ns(),
                Ok(Some(raw)) => {
                    let decoded = self.schemas.decode(raw.id, raw.payload);
                    let pid = self.set.pid(raw.payload);
                    let (Ok(Some(event)), Ok(pid)) = (decoded, pid) else {
                        self.damaged += 1;
                        continue;
                    };
                    self.waiting.events.extend(BlockEvent::from_kernel(raw.time_ns, pid, &event));
                }
                Err(_) => {
                    self.damaged += 1;
                    return cursor.time_ns();
                }
            }
        }
    }

    /// Stops and takes the rest.
    ///
    /// # Errors
    /// Those of reading; the instance is removed all the same.
    pub fn finish(mut self) -> Result<Watched<S>, CollectError> {
        self.trace.set_recording(false)?;
        while self.drain()? > 0 {}
        let Self { trace, mut waiting, mut sums, damaged, .. } = self;
        waiting.release(u64::MAX, |event| sums.take(event));
        let losses = trace.statistics()?.into_iter().map(CpuLosses::from).collect();
        Ok(Watched { sums, losses, damaged })
    }
}

/// Events that are not taken yet.
#[derive(Debug, Default)]
struct Waiting {
    events: Vec<BlockEvent>,
}

impl Waiting {
    /// Hands out all events up to a time, in its order.
    fn release(&mut self, until_ns: u64, take: impl FnMut(&BlockEvent)) {
        // Stable, and nearly sorted already: those of a processor are.
        self.events.sort_by_key(|event| event.time_ns);
        let end = self.events.partition_point(|event| event.time_ns <= until_ns);
        self.events.drain(..end).as_slice().iter().for_each(take);
    }
}
