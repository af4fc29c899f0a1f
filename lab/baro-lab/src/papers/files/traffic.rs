//! What goes to the device meanwhile: the kernel's own sums, and requests by class where the tracer
//! can be had.
//!
//! A thread of its own empties the tracer's buffers, so that whoever waits for a sync need not.

use baro_bench::error::BenchError;
use baro_sys::block_device::{BlockDevice, DiskStatistics};
use baro_sys::clock;
use baro_trace::blk::{Accounting, Column};
use baro_trace::collect::{BlockWatch, CollectError, Watched};
use baro_trace::record::Device;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const NAME: &str = "baro-files";
const BUFFER_KIB: u64 = 4 << 10;
const DRAIN_EVERY_NS: u64 = 20_000_000;

/// Sums over an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Its length, ns.
    pub interval_ns: u64,
    /// By the kernel's statistics.
    pub written_bytes: u64,
    /// The same.
    pub read_bytes: u64,
    /// By class, as the paper names them; empty if nobody could watch.
    pub classes: BTreeMap<String, Class>,
    /// Events that were lost: then the classes are too small.
    pub lost_events: u64,
    /// Why nobody watched.
    pub missing: Option<String>,
}

/// Requests of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Issued.
    pub requests: u64,
    /// Their bytes.
    pub requested_bytes: u64,
    /// Bytes done.
    pub done_bytes: u64,
}

impl Traffic {
    /// A class's share of all bytes read and written, percent, and its mean request, KiB.
    #[must_use]
    pub fn share_and_mean(&self, class: &str) -> (Option<f64>, Option<f64>) {
        let all: u64 = self.classes.values().map(|class| class.done_bytes).sum();
        if all == 0 {
            return (None, None);
        }
        let class = self.classes.get(class).copied().unwrap_or_default();
        let mean = class.requested_bytes as f64 / class.requests.max(1) as f64 / 1024.0;
        let share = class.done_bytes as f64 * 100.0 / all as f64;
        (Some(share), (class.requests > 0).then_some(mean))
    }
}

/// Watches a device until it is finished.
#[derive(Debug)]
pub(super) struct Watch {
    device: BlockDevice,
    before: DiskStatistics,
    begin_ns: u64,
    wish: Arc<Wish>,
    drainer: Result<JoinHandle<Result<Watched, CollectError>>, String>,
}

/// What is asked of the thread that empties the buffers.
#[derive(Debug, Default)]
struct Wish {
    over: AtomicBool,
    /// Sums are wanted; taken back when they are there.
    so_far: AtomicBool,
    sums: Mutex<BTreeMap<String, Class>>,
}

/// Events are that old when they are taken, and some.
const SETTLED_NS: u64 = 30_000_000;
/// Longer than any drain takes.
const SO_FAR_TRIES: u32 = 500;

impl Watch {
    /// Begins. A tracer that is not to be had is no error.
    pub(super) fn start(device: &Path) -> Result<Self, BenchError> {
        let device = BlockDevice::find(device)?;
        let number = Device::new(device.number.0, device.number.1);
        let wish = Arc::new(Wish::default());
        let drainer = BlockWatch::start(NAME, &[number], BUFFER_KIB)
            .map_err(|error| error.to_string())
            .map(|watch| drained(watch, Arc::clone(&wish)));
        let before = device.statistics()?;
        Ok(Self { device, before, begin_ns: clock::monotonic_ns(), wish, drainer })
    }

    /// What came until now; the watch goes on. Takes some 50 ms, for the classes.
    pub(super) fn so_far(&self) -> Result<Traffic, BenchError> {
        let mut traffic = self.statistics()?;
        if let Err(reason) = &self.drainer {
            traffic.missing = Some(reason.clone());
            return Ok(traffic);
        }
        clock::sleep_ns(SETTLED_NS);
        self.wish.so_far.store(true, Relaxed);
        for _ in 0..SO_FAR_TRIES {
            if !self.wish.so_far.load(Relaxed) {
                break;
            }
            clock::sleep_ns(DRAIN_EVERY_NS / 4);
        }
        let sums = self.wish.sums.lock();
        traffic.classes = sums.map_err(|_| BenchError::ThreadLost("drainer"))?.clone();
        Ok(traffic)
    }

    fn statistics(&self) -> Result<Traffic, BenchError> {
        let after = self.device.statistics()?;
        Ok(Traffic {
            interval_ns: clock::monotonic_ns().saturating_sub(self.begin_ns),
            written_bytes: after.written_bytes.saturating_sub(self.before.written_bytes),
            read_bytes: after.read_bytes.saturating_sub(self.before.read_bytes),
            ..Traffic::default()
        })
    }

    /// Ends, with all that came.
    pub(super) fn finish(self) -> Result<Traffic, BenchError> {
        let mut traffic = self.statistics()?;
        self.wish.over.store(true, Relaxed);
        match self.drainer {
            Err(reason) => traffic.missing = Some(reason),
            Ok(thread) => {
                let watched = thread.join().map_err(|_| BenchError::ThreadLost("drainer"))?;
                let watched = watched.map_err(|error| BenchError::Refused(error.to_string()))?;
                traffic.lost_events = watched.losses.iter().map(|cpu| cpu.total()).sum();
                traffic.lost_events += watched.damaged;
                traffic.classes = classes(&watched.sums);
            }
        }
        Ok(traffic)
    }
}

fn drained(mut watch: BlockWatch, wish: Arc<Wish>) -> JoinHandle<Result<Watched, CollectError>> {
    std::thread::spawn(move || {
        // Should whoever started it give up, ours is the last end.
        while !wish.over.load(Relaxed) && Arc::strong_count(&wish) > 1 {
            watch.drain()?;
            if wish.so_far.load(Relaxed) {
                if let Ok(mut sums) = wish.sums.lock() {
                    *sums = classes(watch.so_far());
                }
                wish.so_far.store(false, Relaxed);
            }
            clock::sleep_ns(DRAIN_EVERY_NS);
        }
        watch.finish()
    })
}

fn classes(accounting: &Accounting) -> BTreeMap<String, Class> {
    let mut classes: BTreeMap<String, Class> = BTreeMap::new();
    for traffic in accounting.by_device().values() {
        for column in Column::OF_DATA {
            let totals = traffic.column(column);
            if totals.requests > 0 || totals.done_bytes > 0 {
                let class = classes.entry(column.name().to_owned()).or_default();
                class.requests += totals.requests;
                class.requested_bytes += totals.requested_bytes;
                class.done_bytes += totals.done_bytes;
            }
        }
    }
    classes
}
