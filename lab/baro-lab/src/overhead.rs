//! What a recording of the kernel's events costs: paper D's 1,024 files of 1 MB, and 200,000 empty
//! files, which are nothing but metadata; with and without a recording in turn.
//!
//! Two figures. The *ratio of times* of each pair of runs is what a user feels, and on a machine with
//! other work it wavers by more than a recording costs; so the spread of the runs without a recording
//! is reported beside it, and `--collector none` measures pairs that differ in nothing. The *share of
//! the processors* is steady: events by the measured cost of one, and what the recording program
//! used itself, over the time of all processors.
//!
//! Invariant: each run has a file system of its own, made anew, and pairs alternate in which comes
//! first. Held by `files_are_made_and_pairs_alternate` in `tests/overhead.rs`.

mod event_cost;
mod workload;

pub use event_cost::event_cost_ns;
pub use workload::Workload;

use baro_bench::error::BenchError;
use baro_bench::stand::{Speed, Stand, StandSpec};
use baro_sys::clock;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A recording that can be begun and ended, again and again.
pub trait Tracer {
    /// Begins to record; returns when all events are recorded.
    ///
    /// # Errors
    /// It could not be begun.
    fn begin(&mut self) -> Result<(), BenchError>;

    /// From now on the kernel is to time what the recording runs in it, which slows it down: for
    /// one run after the pairs. False if there is nothing to be timed.
    ///
    /// # Errors
    /// The kernel refuses.
    fn time_kernel(&mut self) -> Result<bool, BenchError>;

    /// Time in the kernel of what is timed, until now, ns.
    fn kernel_ns(&self) -> u64;

    /// Processor time that the recording program has used until now, ns.
    fn cpu_ns(&self) -> u64;

    /// Ends it; `begin_ns` and `end_ns`, on the monotonic clock, are those of the workload.
    ///
    /// # Errors
    /// It could not be ended, or its trace not be read.
    fn end(&mut self, begin_ns: u64, end_ns: u64) -> Result<Recorded, BenchError>;
}

/// What was recorded in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Events during the workload.
    pub events: u64,
    /// Those of them that programs in the kernel made: their cost is that of the programs.
    pub records: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Bytes of the trace, from begin to end of the recording.
    pub trace_bytes: u64,
    /// Time of programs in the kernel, ns, where the kernel counted it; with what counting adds.
    pub kernel_ns: u64,
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct OverheadSpec {
    /// The work.
    pub workload: Workload,
    /// Pairs of runs.
    pub rounds: u32,
    /// Bytes a second that the device writes; 0 is as much as it can. The slower it is, the less of
    /// the time is work, and the smaller the share that a recording takes.
    pub device_bytes_per_s: u64,
}

/// One pair of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Time without a recording, ns.
    pub without_ns: u64,
    /// Time with one, ns.
    pub with_ns: u64,
    /// Processor time of the recording program meanwhile, ns.
    pub tracer_ns: u64,
    /// What was recorded.
    pub recorded: Recorded,
}

/// All pairs.
#[derive(Clone, Debug)]
pub struct OverheadReport {
    /// The pairs, in their order.
    pub pairs: Vec<Pair>,
    /// Processors of the machine.
    pub cpus: u64,
    /// What an event costs in the kernel, ns.
    pub event_cost_ns: f64,
    /// A run more in which programs in the kernel were timed; none if there are no such.
    pub timed: Option<Pair>,
}

/// Runs all pairs below `dir`, which should be in memory. Needs root; blocks until all is done or
/// `stop` is set.
///
/// # Errors
/// A stand could not be made, a call failed, the tracer's own, or `stop` was set.
pub fn run(
    spec: OverheadSpec,
    dir: &Path,
    stop: &AtomicBool,
    tracer: &mut dyn Tracer,
) -> Result<OverheadReport, BenchError> {
    let mut report = OverheadReport {
        pairs: Vec::new(),
        cpus: baro_sys::schedule::allowed_cpus().len().max(1) as u64,
        event_cost_ns: event_cost_ns()?,
        timed: None,
    };
    // Without being measured: memory that a virtual machine has not used yet is slow once, by half
    // a second for 400 MiB.
    on_new_stand(OverheadSpec { device_bytes_per_s: 0, ..spec }, dir, stop)?;
    for round in 0..spec.rounds {
        let mut pair = Pair::default();
        let first = round.is_multiple_of(2);
        for traced in [!first, first] {
            if stop.load(Relaxed) {
                return Err(BenchError::Refused("told to end".to_owned()));
            }
            if traced {
                with(spec, dir, stop, tracer, &mut pair)?;
            } else {
                pair.without_ns = on_new_stand(spec, dir, stop)?.1;
            }
        }
        report.pairs.push(pair);
    }
    if tracer.time_kernel()? {
        let mut pair = Pair::default();
        with(spec, dir, stop, tracer, &mut pair)?;
        report.timed = Some(pair);
    }
    Ok(report)
}

fn with(
    spec: OverheadSpec,
    dir: &Path,
    stop: &AtomicBool,
    tracer: &mut dyn Tracer,
    pair: &mut Pair,
) -> Result<(), BenchError> {
    tracer.begin()?;
    let (before_ns, kernel_ns) = (tracer.cpu_ns(), tracer.kernel_ns());
    let (begin_ns, length_ns) = on_new_stand(spec, dir, stop)?;
    pair.tracer_ns = tracer.cpu_ns().saturating_sub(before_ns);
    let kernel_ns = tracer.kernel_ns().saturating_sub(kernel_ns);
    pair.recorded = Recorded { kernel_ns, ..tracer.end(begin_ns, begin_ns + length_ns)? };
    pair.with_ns = length_ns;
    Ok(())
}

/// Begin and length of the work; what comes before and after it is not counted.
fn on_new_stand(
    spec: OverheadSpec,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<(u64, u64), BenchError> {
    let on = StandSpec {
        bytes: spec.workload.image_bytes(),
        mkfs: &["-J", "size=64", "-N", "400000"],
        mount: "noatime",
    };
    let mut stand = Stand::build(dir, &on)?;
    stand.set_speed(Speed { write_bytes: spec.device_bytes_per_s, ..Speed::default() })?;
    let begin_ns = clock::monotonic_ns();
    spec.workload.run(&stand.mount_dir(), stop)?;
    Ok((begin_ns, clock::monotonic_ns().saturating_sub(begin_ns)))
}

impl Pair {
    /// Time with a recording over that without.
    #[must_use]
    pub fn time_ratio(&self) -> f64 {
        self.with_ns as f64 / self.without_ns.max(1) as f64
    }

    /// Share of the time of all processors that the recording took: in the kernel, as it counted
    /// itself or by the cost of an event, and in its own program.
    #[must_use]
    pub fn cpu_share(&self, cpus: u64, event_cost_ns: f64) -> f64 {
        let Recorded { events, records, kernel_ns, .. } = self.recorded;
        let kernel_ns = events.saturating_sub(records) as f64 * event_cost_ns + kernel_ns as f64;
        (kernel_ns + self.tracer_ns as f64) / (self.with_ns.max(1) as f64 * cpus.max(1) as f64)
    }
}

impl OverheadReport {
    /// The median of the pairs' ratios.
    #[must_use]
    pub fn time_ratio(&self) -> Option<f64> {
        median(self.pairs.iter().map(Pair::time_ratio).collect())
    }

    /// The share of the timed run; where nothing was timed, the median of the pairs' shares. None if
    /// the cost of an event could not be told.
    #[must_use]
    pub fn cpu_share(&self) -> Option<f64> {
        if self.event_cost_ns <= 0.0 {
            return None;
        }
        if let Some(timed) = &self.timed {
            return Some(timed.cpu_share(self.cpus, self.event_cost_ns));
        }
        median(self.pairs.iter().map(|p| p.cpu_share(self.cpus, self.event_cost_ns)).collect())
    }

    /// Longest over shortest of the runs without a recording: what differs by itself.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let all = || self.pairs.iter().map(|pair| pair.without_ns);
        Some(all().max()? as f64 / all().min()?.max(1) as f64)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_ratios_follow_from_the_pairs() {
        let pair = |without_ns, with_ns| Pair {
            without_ns,
            with_ns,
            tracer_ns: 30_000,
            recorded: Recorded { events: 100, ..Recorded::default() },
        };
        let pairs = vec![pair(1_000_000, 2_000_000), pair(2_000_000, 2_000_000)];
        let report = OverheadReport { pairs, cpus: 2, event_cost_ns: 100.0, timed: None };
        assert_eq!(report.time_ratio(), Some(1.5));
        assert_eq!(report.spread(), Some(2.0));
        // 100 events of 100 ns and 30 us, of 2 ms on 2 processors.
        assert_eq!(report.cpu_share(), Some(0.01));
        // 10 us of programs, whose records cost nothing beside.
        let counted =
            Recorded { kernel_ns: 10_000, events: 50, records: 50, ..Recorded::default() };
        let counted = Pair { recorded: counted, ..pair(1, 1_000_000) };
        assert!((counted.cpu_share(1, 1e9) - 0.04).abs() < 1e-12);
        let report = OverheadReport { timed: Some(counted), ..report };
        assert!((report.cpu_share().unwrap() - 0.02).abs() < 1e-12);
        assert_eq!(OverheadReport { event_cost_ns: 0.0, ..report }.cpu_share(), None);
        assert_eq!(median(Vec::new()), None);
    }
}
