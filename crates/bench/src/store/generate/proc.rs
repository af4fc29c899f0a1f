//! Kernel counters of this machine as data: recorded for a while, then pushed as any recording.

use super::recorded::{Recorded, Recording};
use crate::BenchError;
use baro_sources::Scalar;
use baro_sources::proc::{ProcSampler, ProcSelection};
use baro_sys::clock;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples all counters below /proc each `interval_ns` for `duration_ns`; blocks so long, or until
/// `stop`. `samples` is how many are wanted at least: the recording is repeated so often.
///
/// # Errors
/// There is nothing to sample.
pub fn record_proc(
    duration_ns: u64,
    interval_ns: u64,
    samples: u64,
    stop: &AtomicBool,
) -> Result<Recorded, BenchError> {
    let root = Path::new("/proc");
    let data = |reason: String| BenchError::Data { path: root.to_owned(), reason };
    let sampler = ProcSampler::open(root, &ProcSelection::default());
    let mut sampler = sampler.map_err(|error| data(error.to_string()))?;
    let names: Vec<String> = sampler.series().iter().map(|series| series.name.clone()).collect();
    let (mut recording, mut values) = (Recording::default(), Vec::with_capacity(names.len()));
    let started_ns = clock::monotonic_ns();
    let mut due_ns = started_ns;
    while due_ns < started_ns + duration_ns && !stop.load(Ordering::Relaxed) {
        clock::sleep_until_ns(due_ns);
        values.clear();
        sampler.sample(&mut values);
        let time_ns = clock::realtime_ns();
        for (place, value) in &values {
            let Some(name) = names.get(*place as usize) else { continue };
            recording.push(name, time_ns, Scalar::Integer(*value));
        }
        due_ns += interval_ns.max(1);
    }
    recording.finish(root, samples)
}
