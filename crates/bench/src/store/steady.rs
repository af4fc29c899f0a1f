//! Input at a given rate for a long time, with retention at work: does anything grow?
//!
//! A tick is all series; its samples are pushed in batches spread evenly over its time, so that a
//! burst at each tick does not hide behind the ring. Nobody waits here: a record that finds the
//! ring full is lost, and counted. Each push is timed; a look at memory, disk and counters is a
//! point of the timeline, and a share of the whole, each in turn.
//!
//! Invariant: a histogram of pushes belongs to one point and no other. Held by
//! `tests::a_short_steady_run_loses_nothing_and_its_points_add_up`.

use super::generate::{BATCH, Data, Feed, Walk, WalkSpec};
use super::report::Field;
use super::{Scratch, ingest};
use crate::BenchError;
use crate::plot::timeline::{Panel, Timeline};
use crate::push::histogram;
use baro_ondisk::WhenFull;
use baro_recorder::{Options, Producer, Recorder, Retention};
use baro_store::{Logged, RunRetention, SettleOptions, Settling, SettlingOptions, SettlingState};
use baro_sys::{clock, footprint};
use hdrhistogram::Histogram;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Compressed samples taken at once, as `baro record` does.
const SETTLE_MEMORY_BYTES: usize = 16 << 20;
/// Settling is told so often how far the log is.
const TELL_NS: u64 = 50_000_000;

/// What is pushed, and what may be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadySpec {
    /// Number of series.
    pub series: u32,
    /// Samples per second of all series.
    pub rate: u64,
    /// How long.
    pub duration_ns: u64,
    /// Seed of the walk.
    pub seed: u64,
    /// Size of the log, which is recycled.
    pub log_bytes: u64,
    /// What is kept of it.
    pub retention: Retention,
    /// What is kept of the runs that samples settle into meanwhile.
    pub runs: RunRetention,
    /// Points of the timeline.
    pub points: u32,
}

/// One point of the timeline: the time since the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Time since the start.
    pub at_ns: u64,
    /// Samples taken by the ring since the start.
    pub pushed: u64,
    /// Samples refused since the start.
    pub lost: u64,
    /// 99.99th percentile and maximum of pushes since the last point.
    pub push_p9999_ns: u64,
    /// See above.
    pub push_max_ns: u64,
    /// Memory resident now.
    pub resident_bytes: Option<u64>,
    /// Allocated bytes of the store's files.
    pub disk_bytes: u64,
    /// Of these, runs.
    pub runs_bytes: u64,
    /// Bytes in the log that are not in runs yet; `None` where the store does not settle.
    pub unsettled_bytes: Option<u64>,
    /// Bytes in the ring.
    pub ring_used_bytes: u64,
    /// What the block device was given since the start.
    pub device_bytes: Option<u64>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct SteadyReport {
    /// What was asked for.
    pub spec: SteadySpec,
    /// The timeline.
    pub points: Vec<Point>,
    /// All pushes.
    pub push_ns: Histogram<u64>,
    /// The longest, exactly.
    pub push_max_ns: u64,
    /// How late a batch was pushed at most, because the processor was not to be had.
    pub late_ns_max: u64,
    /// Segments started: how often the log went round, in segments.
    pub segments_started: u32,
    /// Segments of the log.
    pub segments: u32,
    /// Segments that were reused before their samples were in a run.
    pub segments_lost_unsettled: u64,
    /// Samples that went into runs.
    pub samples_settled: u64,
    /// Longest time from push to durable.
    pub longest_durable_ns: u64,
    /// Length of it all.
    pub elapsed_ns: u64,
}

fn wrong(field: &'static str, found: u64, expected: &'static str) -> BenchError {
    BenchError::Specification { field, found, expected }
}

/// Pushes at the given rate into a store in `dir`, which is removed. Blocks for as long as the spec
/// says; `stop` ends it early, with a report of what was done.
///
/// # Errors
/// The store cannot be made or written; the rate is 0.
pub fn run(dir: &Path, spec: &SteadySpec, stop: &AtomicBool) -> Result<SteadyReport, BenchError> {
    if spec.rate == 0 || spec.points == 0 {
        return Err(wrong("rate and points", 0, "at least 1"));
    }
    let tick_ns = u128::from(spec.series) * 1_000_000_000 / u128::from(spec.rate);
    let tick_ns = u64::try_from(tick_ns).ok().filter(|ns| *ns > 0);
    let tick_ns = tick_ns.ok_or(wrong("rate", spec.rate, "at most one tick a nanosecond"))?;
    let samples = u128::from(spec.rate) * u128::from(spec.duration_ns) / 1_000_000_000;
    let samples = u64::try_from(samples).unwrap_or(u64::MAX);
    let order = super::generate::Order::Ticks;
    let mut walk = WalkSpec::about(spec.series, samples, spec.seed, order)?;
    let scratch = Scratch::in_folder(dir)?;
    let path = scratch.path().join("store");
    ingest::make(&path, spec.log_bytes, spec.series, WhenFull::Recycle)?;
    let retention = Retention { keep_unsettled: true, ..spec.retention };
    let options = Options { retention, ..ingest::options() };
    let recorder = Recorder::open(&path, options).map_err(BenchError::Recorder)?;
    let settle = SettleOptions {
        memory_bytes: SETTLE_MEMORY_BYTES,
        least_bytes: SETTLE_MEMORY_BYTES as u64 / 2,
        retention: spec.runs,
        rest: 3,
        ..SettleOptions::default()
    };
    let settling = Settling::beside(&path, settle, SettlingOptions::default(), recorder.taken());
    let settling = settling.map_err(BenchError::Store)?;
    walk.start_ns = clock::realtime_ns();
    walk.step_ns = tick_ns as i64;
    let walk = Walk::new(walk);
    let first_id = ingest::register(&recorder, &walk)?;
    let producer = recorder.producer().map_err(BenchError::Recorder)?;
    let mut run = Run::new(spec, &path, &recorder, &settling, producer)?;
    run.push_all(walk.feed(first_id).as_mut(), tick_ns, stop)?;
    let mut report = run.report;
    drop(run.producer);
    let settled = settling.end();
    if let SettlingState::Stopped { reason } = settled.state {
        return Err(BenchError::Lost(format!("settling has stopped: {reason}")));
    }
    let closed = recorder.close();
    report.segments_lost_unsettled = u64::from(closed.status.segments_lost_unsettled);
    report.samples_settled = settled.samples;
    report.segments_started = closed.status.segments_started;
    report.longest_durable_ns = closed.status.longest_durable_ns;
    let store = baro_store::Store::open(&path).map_err(BenchError::Store)?;
    report.segments = store.identity().segments;
    Ok(report)
}

struct Run<'a> {
    path: &'a Path,
    recorder: &'a Recorder,
    settling: &'a Settling,
    /// When settling was told last how far the log is.
    told_ns: u64,
    segment_bytes: u64,
    producer: Producer,
    report: SteadyReport,
    since_point: Histogram<u64>,
    since_point_max_ns: u64,
    now: Point,
    device_before: Option<u64>,
}

impl<'a> Run<'a> {
    fn new(
        spec: &SteadySpec,
        path: &'a Path,
        recorder: &'a Recorder,
        settling: &'a Settling,
        producer: Producer,
    ) -> Result<Self, BenchError> {
        let store = baro_store::Store::open(path).map_err(BenchError::Store)?;
        let segment_bytes = store.identity().segment_bytes;
        let report = SteadyReport {
            spec: spec.clone(),
            points: Vec::with_capacity(spec.points as usize + 1),
            push_ns: histogram()?,
            push_max_ns: 0,
            late_ns_max: 0,
            segments_started: 0,
            segments: 0,
            segments_lost_unsettled: 0,
            samples_settled: 0,
            longest_durable_ns: 0,
            elapsed_ns: 0,
        };
        let device_before = footprint::device_written_bytes(path).map_err(BenchError::System)?;
        let (since_point, since_point_max_ns, now) = (histogram()?, 0, Point::default());
        Ok(Run {
            path,
            recorder,
            settling,
            told_ns: 0,
            segment_bytes,
            producer,
            report,
            since_point,
            since_point_max_ns,
            now,
            device_before,
        })
    }

    fn push_all(
        &mut self,
        feed: &mut dyn Feed,
        tick_ns: u64,
        stop: &AtomicBool,
    ) -> Result<(), BenchError> {
        let spec = self.report.spec.clone();
        let each_ns = (spec.duration_ns / u64::from(spec.points)).max(1);
        let started_ns = clock::monotonic_ns();
        let (mut batch, mut next_point_ns) = (super::generate::Batch::default(), each_ns);
        let mut offered = 0_u128;
        while feed.next(&mut batch) && !stop.load(Ordering::Relaxed) {
            let time_ns = batch.time_ns.unwrap_or_default();
            let due_ns = offered * u128::from(tick_ns) / u128::from(spec.series);
            let due_ns = started_ns + u64::try_from(due_ns).unwrap_or(u64::MAX / 2);
            clock::sleep_until_ns(due_ns);
            let before_ns = clock::monotonic_ns();
            let pushed = self.producer.push_samples(time_ns, &batch.series, &batch.values);
            let after_ns = clock::monotonic_ns();
            let took_ns = after_ns - before_ns;
            self.report.late_ns_max = self.report.late_ns_max.max(before_ns - due_ns);
            self.since_point.saturating_record(took_ns);
            self.since_point_max_ns = self.since_point_max_ns.max(took_ns);
            offered += batch.len() as u128;
            match pushed {
                Ok(_) => self.now.pushed += batch.len() as u64,
                Err(_) => self.now.lost += batch.len() as u64,
            }
            if after_ns - self.told_ns >= TELL_NS {
                self.told_ns = after_ns;
                self.settling.logged(Logged::from(&self.recorder.status()));
            }
            if after_ns - started_ns >= next_point_ns {
                self.point(after_ns - started_ns)?;
                next_point_ns += each_ns;
            }
        }
        self.report.elapsed_ns = clock::monotonic_ns() - started_ns;
        if !self.since_point.is_empty() {
            self.point(self.report.elapsed_ns)?;
        }
        let next = self.producer.next_sequence();
        self.recorder.wait_durable(&self.producer, next, 60_000_000_000);
        Ok(())
    }

    fn point(&mut self, at_ns: u64) -> Result<(), BenchError> {
        let bytes = |path: &Path| match footprint::allocated_bytes(path) {
            Err(error) if error.is_missing() => Ok(0),
            other => other.map_err(BenchError::System),
        };
        let device = footprint::device_written_bytes(self.path).map_err(BenchError::System)?;
        self.now.at_ns = at_ns;
        self.now.push_p9999_ns = self.since_point.value_at_quantile(0.9999);
        self.now.push_max_ns = self.since_point_max_ns;
        self.now.resident_bytes = crate::push::Memory::now().resident_bytes;
        self.now.disk_bytes = bytes(self.path)?;
        self.now.runs_bytes = bytes(&self.path.join("runs"))?;
        let segments = u64::from(self.recorder.status().segments_unsettled);
        self.now.unsettled_bytes = Some(segments * self.segment_bytes);
        self.now.ring_used_bytes = self.producer.report().used_bytes;
        self.now.device_bytes = super::since(device, self.device_before);
        self.report.points.push(self.now);
        // Both have the same bounds, so nothing can be out of them.
        let _ = self.report.push_ns.add(&self.since_point);
        self.report.push_max_ns = self.report.push_max_ns.max(self.since_point_max_ns);
        self.since_point.reset();
        self.since_point_max_ns = 0;
        Ok(())
    }
}

impl SteadyReport {
    fn last(&self) -> Point {
        self.points.last().copied().unwrap_or_default()
    }

    /// Largest of the points in a tenth of the run, 0 the first, 9 the last.
    fn most_in_tenth(&self, tenth: usize, pick: impl Fn(&Point) -> Option<u64>) -> Option<u64> {
        let count = self.points.len();
        let (from, to) = (count * tenth / 10, (count * (tenth + 1)).div_ceil(10));
        self.points.get(from..to)?.iter().filter_map(pick).max()
    }

    /// All fields, in the order of the output.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        let (spec, last) = (&self.spec, self.last());
        let seconds = self.elapsed_ns.max(1) as f64 / 1e9;
        let p9999 = |pushes: &Histogram<u64>| pushes.value_at_quantile(0.9999);
        let resident = |point: &Point| point.resident_bytes;
        let disk = |point: &Point| Some(point.disk_bytes);
        let push = |point: &Point| Some(point.push_p9999_ns);
        let ratio = last.device_bytes.map(|bytes| bytes as f64 / (16.0 * last.pushed as f64));
        vec![
            ("series", Field::Count(u64::from(spec.series))),
            ("rate_per_s", Field::Count(spec.rate)),
            ("elapsed_ns", Field::Count(self.elapsed_ns)),
            ("pushed", Field::Count(last.pushed)),
            ("pushed_per_s", Some(last.pushed as f64 / seconds).into()),
            ("lost", Field::Count(last.lost)),
            ("batch_samples", Field::Count(u64::from(spec.series).min(BATCH as u64))),
            ("push_p50_ns", Field::Count(self.push_ns.value_at_quantile(0.5))),
            ("push_p9999_ns", Field::Count(p9999(&self.push_ns))),
            ("push_max_ns", Field::Count(self.push_max_ns)),
            ("first_push_p9999_ns", self.most_in_tenth(0, push).into()),
            ("last_push_p9999_ns", self.most_in_tenth(9, push).into()),
            ("late_ns_max", Field::Count(self.late_ns_max)),
            ("first_resident_bytes", self.most_in_tenth(1, resident).into()),
            ("last_resident_bytes", self.most_in_tenth(9, resident).into()),
            ("first_disk_bytes", self.most_in_tenth(1, disk).into()),
            ("last_disk_bytes", self.most_in_tenth(9, disk).into()),
            (
                "unsettled_bytes_max",
                self.points.iter().filter_map(|p| p.unsettled_bytes).max().into(),
            ),
            ("unsettled_bytes_last", last.unsettled_bytes.into()),
            ("device_bytes_ratio", ratio.into()),
            ("segments_started", Field::Count(u64::from(self.segments_started))),
            ("segments", Field::Count(u64::from(self.segments))),
            ("segments_lost_unsettled", Field::Count(self.segments_lost_unsettled)),
            ("samples_settled", Field::Count(self.samples_settled)),
            ("runs_bytes_last", Field::Count(last.runs_bytes)),
            ("longest_durable_ns", Field::Count(self.longest_durable_ns)),
            ("points", Field::Count(self.points.len() as u64)),
        ]
    }

    /// The timeline as CSV with a header; what was not told is empty.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "at_s,pushed,lost,push_p9999_ns,push_max_ns,resident_bytes,disk_bytes,\
                        runs_bytes,unsettled_bytes,ring_used_bytes,device_bytes\n"
            .to_owned();
        let told = |found: Option<u64>| found.map_or(String::new(), |number| number.to_string());
        for point in &self.points {
            let _ = writeln!(
                text,
                "{:.3},{},{},{},{},{},{},{},{},{},{}",
                point.at_ns as f64 / 1e9,
                point.pushed,
                point.lost,
                point.push_p9999_ns,
                point.push_max_ns,
                told(point.resident_bytes),
                point.disk_bytes,
                point.runs_bytes,
                told(point.unsettled_bytes),
                point.ring_used_bytes,
                told(point.device_bytes),
            );
        }
        text
    }

    /// The timeline as a picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let of = |name: &'static str, unit: &'static str, pick: &dyn Fn(&Point) -> Option<f64>| {
            let points = self.points.iter();
            let points =
                points.filter_map(|point| Some((point.at_ns as f64 / 1e9, pick(point)?))).collect();
            Panel { name, unit, points }
        };
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let panels = [
            of("samples lost", "", &|point| Some(point.lost as f64)),
            of("push p99.99", "us", &|point| Some(point.push_p9999_ns as f64 / 1e3)),
            of("memory resident", "MiB", &|point| point.resident_bytes.map(mib)),
            of("files", "MiB", &|point| Some(mib(point.disk_bytes))),
            of("not settled yet", "MiB", &|point| point.unsettled_bytes.map(mib)),
        ];
        let title = format!("{} series, {} samples/s in batches", self.spec.series, self.spec.rate);
        Timeline { title: &title, panels: &panels }.svg()
    }
}
