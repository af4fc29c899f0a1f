//! Makes a store and fills it until it is in the state that is wanted, portion by portion: each recorded
//! in a session of its own, and then settled or not.
//!
//! Invariant: as many samples were pushed as the data has, and those that are settled are in runs; else
//! it is an error. Held by `tests.rs`.

use super::generate::{Data, Feed};
use super::ingest::{self, Ingested, Settled};
use super::report::{DeviceBytes, StoreReport};
use super::state::{Before, State};
use super::{StoreSpec, catalog_bytes, device_bytes, since};
use crate::BenchError;
use crate::push::Memory;
use baro_log::RUNS;
use baro_ondisk::WhenFull;
use baro_recorder::Recorder;
use baro_sys::{clock, footprint};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What the portions have come to.
#[derive(Debug, Default)]
struct Filled {
    ingested: Ingested,
    log_bytes: u64,
    /// Samples of portions that were to be settled.
    due: u64,
    settled: Settled,
    settle_ns: u64,
}

impl Filled {
    /// Records a portion, of `most` samples or a few more.
    fn record(
        &mut self,
        recorder: Recorder,
        feed: &mut dyn Feed,
        most: u64,
        stop: &AtomicBool,
    ) -> Result<u64, BenchError> {
        let mut producer = recorder.producer().map_err(BenchError::Recorder)?;
        let done = ingest::ingest(&recorder, &mut producer, feed, most, stop)?;
        let closed = recorder.close();
        drop(producer);
        ingest::check_counters(&closed)?;
        self.log_bytes += closed.status.device_bytes + closed.status.other_bytes;
        self.ingested.samples += done.samples;
        self.ingested.pushed_ns += done.pushed_ns;
        self.ingested.durable_ns += done.durable_ns;
        self.ingested.waits += done.waits;
        Ok(done.samples)
    }

    /// Settles what is in the log.
    fn settle(&mut self, path: &Path, data: &dyn Data, state: State) -> Result<(), BenchError> {
        let started_ns = clock::monotonic_ns();
        let settled = ingest::settle_as(path, state.settling(data))?;
        self.settle_ns += clock::monotonic_ns() - started_ns;
        self.settled.samples += settled.samples;
        self.settled.merged += settled.merged;
        self.settled.dropped += settled.dropped;
        Ok(())
    }

    /// Whether nothing is missing.
    fn check(&self, samples: u64) -> Result<(), BenchError> {
        let found = self.ingested.samples;
        if found != samples {
            let text = format!("expected {samples} samples pushed, found {found}");
            return Err(BenchError::Lost(text));
        }
        let (found, due) = (self.settled.samples, self.due);
        if found != due {
            return Err(BenchError::Lost(format!("{found} of {due} samples are in runs")));
        }
        Ok(())
    }
}

/// Fills a new store at `path`; returns the id of the first series.
pub(super) fn fill(
    path: &Path,
    data: &dyn Data,
    spec: &StoreSpec,
    report: &mut StoreReport,
    stop: &AtomicBool,
) -> Result<u32, BenchError> {
    let folder = path.parent().unwrap_or(path);
    let before_init = device_bytes(folder)?;
    let log_bytes = spec.log_bytes.unwrap_or_else(|| ingest::log_bytes_for(data.samples()));
    let when_full = match spec.state {
        State::Fresh => WhenFull::Stop,
        // What is settled makes room for what comes.
        State::Half | State::Aged => WhenFull::Recycle,
    };
    ingest::make(path, log_bytes, data.series(), when_full)?;
    let before_registration = device_bytes(path)?;
    let open = || Recorder::open(path, ingest::options()).map_err(BenchError::Recorder);
    let mut recorder = open()?;
    let started_ns = clock::monotonic_ns();
    let first_id = ingest::register(&recorder, data)?;
    report.registration_ns = clock::monotonic_ns() - started_ns;
    let mut dropped = 0;
    if spec.state == State::Aged {
        // What was before is of no matter to rates.
        let mut before = Filled::default();
        before.record(recorder, &mut Before::new(data, first_id), u64::MAX, stop)?;
        before.settle(path, data, spec.state)?;
        dropped = before.settled.dropped;
        recorder = open()?;
    }
    let before_push = device_bytes(path)?;
    let (portions, settling) = spec.state.portions();
    let most = data.samples().div_ceil(portions);
    let (mut filled, mut feed, mut durable) = (Filled::default(), data.feed(first_id), None);
    let mut recorder = Some(recorder);
    for portion in 0..portions {
        let most = if portion + 1 < portions { most } else { u64::MAX };
        let recorder = recorder.take().map_or_else(open, Ok)?;
        let samples = filled.record(recorder, feed.as_mut(), most, stop)?;
        if portions == 1 {
            // Looking at the device between durable and settled is not part of either.
            durable = device_bytes(path)?;
        }
        if portion < settling {
            filled.due += samples;
            filled.settle(path, data, spec.state)?;
        }
    }
    filled.check(data.samples())?;
    report.peak_rss_ingest_bytes = Memory::now().peak_bytes;
    let Filled { ingested, settled, .. } = &filled;
    (report.pushed_ns, report.durable_ns, report.waits) =
        (ingested.pushed_ns, ingested.durable_ns, ingested.waits);
    (report.runs_merged, report.runs_dropped) = (settled.merged, settled.dropped + dropped);
    report.log_bytes = filled.log_bytes;
    report.device = DeviceBytes {
        init: since(before_registration, before_init),
        registration: since(before_push, before_registration),
        durable: since(durable, before_push),
        settled: None,
    };
    if settling == portions {
        report.settled_ns = Some(ingested.durable_ns + filled.settle_ns);
        report.device.settled = since(device_bytes(path)?, before_push);
        report.runs_bytes =
            Some(footprint::allocated_bytes(&path.join(RUNS)).map_err(BenchError::System)?);
    } else {
        report.missing.push("what is not settled has no rate and size of runs".to_owned());
    }
    if portions > 1 {
        report.missing.push("the device's bytes are not parted among portions".to_owned());
    }
    if before_push.is_none() {
        report.missing.push("no block device below counts what is written to it".to_owned());
    }
    report.catalog_bytes = catalog_bytes(path)?;
    Ok(first_id)
}
