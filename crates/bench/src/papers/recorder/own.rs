//! The same load through Barograph: a record of 16 KiB each 5 ms into a log on the same device.

use super::case::{BLOCK_BYTES, PERIOD_NS};
use crate::error::BenchError;
use crate::push::{PushReport, PushSpec, run};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::Options;
use baro_sys::disk::Disk;
use baro_sys::{clock, files, identity};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The log of the store: recycled several times in a full run.
pub(super) const LOG_BYTES: u64 = 64 << 20;
const RING_BYTES: usize = 16 << 20;

/// The store below `folder`, made unless it is there.
pub(super) fn store(folder: &Path) -> Result<PathBuf, BenchError> {
    let path = folder.join("store");
    if files::exists(&path) {
        return Ok(path);
    }
    let geometry = Geometry::for_log(LOG_BYTES, WhenFull::Recycle)
        .map_err(|error| BenchError::Recorder(error.into()))?;
    let files = Disk::create(&path).map_err(BenchError::System)?;
    let geometry = geometry.fitted_to(&files);
    let mut id = StoreId::default();
    identity::random(&mut id.0).map_err(BenchError::System)?;
    init(&files, &path, id, clock::realtime_ns(), &geometry, |_| {})
        .map_err(|error| BenchError::Recorder(error.into()))?;
    Ok(path)
}

/// Pushes `records` of the paper's size at the paper's period.
pub(super) fn record(
    store: &Path,
    records: u64,
    stop: &AtomicBool,
) -> Result<PushReport, BenchError> {
    let spec = PushSpec {
        record_bytes: BLOCK_BYTES as usize,
        records,
        interval_ns: PERIOD_NS,
        greedy_ns: 0,
        cpu: None,
        fifo: None,
        huge_yardstick: false,
        alone: true,
    };
    let options = Options { ring_bytes: RING_BYTES, ..Options::default() };
    run(store, spec, options, true, stop)
}
