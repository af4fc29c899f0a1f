//! Sources that push into a ring of their own, each on a thread of its own.

use super::frame_bytes::check_frame_bytes;
use super::stdin::{self, Lines};
use super::udp::{self, UdpFeed};
use crate::failure::Result;
use baro_ingest::Fed;
use baro_ondisk::Type;
use baro_recorder::Recorder;
use baro_sources::TextForm;
use baro_sources::generate::fill_frame;
use baro_sources::proc::{ProcSampler, ProcSelection, ProcSource};
use baro_sys::{clock, schedule};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Seed of generated frames: any, but known, so that a reader can verify them.
pub(crate) const GENERATE_SEED: u64 = 0xba20;

/// A source.
#[derive(Debug)]
pub(crate) enum Feed {
    /// The kernel's counters.
    Proc { interval_ns: u64 },
    /// Control frames that can be verified.
    Generate { interval_ns: u64, frame_bytes: usize },
    /// Lines of text on stdin, and what is said of them.
    Lines(Lines, TextForm),
    /// Frames of one size on stdin.
    Raw { frame_bytes: usize, channel: String },
    /// Frames with their length before them on stdin.
    Frames { channel: String },
    /// Datagrams.
    Udp(UdpFeed),
}

impl Feed {
    /// It waits for room in its ring instead of losing anything, as long as there can be any.
    pub(crate) fn can_wait(&self) -> bool {
        matches!(self, Feed::Lines(..) | Feed::Raw { .. } | Feed::Frames { .. })
    }
}

impl Feed {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Feed::Proc { .. } => "proc",
            Feed::Generate { .. } => "generate",
            Feed::Lines(..) | Feed::Raw { .. } | Feed::Frames { .. } => "stdin",
            Feed::Udp(_) => "udp",
        }
    }

    /// Pushes until `stop`, or the input's end.
    pub(crate) fn run(self, recorder: &Recorder, stop: &AtomicBool) -> Result<Fed> {
        if let Some(Ok(priority)) = &recorder.opening().fifo {
            // One above the writer: what is sampled late is late for ever.
            let _ = schedule::set_fifo(priority.saturating_add(1).min(99));
        }
        match self {
            Feed::Proc { interval_ns } => proc(recorder, interval_ns, stop),
            Feed::Generate { interval_ns, frame_bytes } => {
                generate(recorder, interval_ns, frame_bytes, stop)
            }
            Feed::Lines(lines, form) => stdin::lines(recorder, lines, form, stop),
            Feed::Raw { frame_bytes, channel } => stdin::raw(recorder, frame_bytes, &channel, stop),
            Feed::Frames { channel } => stdin::frames(recorder, &channel, stop),
            Feed::Udp(feed) => udp::run(feed, recorder, stop),
        }
    }
}

/// How often a source that rests looks whether it is to end.
const LOOK_NS: u64 = 50_000_000;

/// Calls `each` once a period until `stop`, and once at least: a short recording on a busy machine may
/// be over before this thread runs. Returns the periods that began while it was late.
fn periodically(interval_ns: u64, stop: &AtomicBool, mut each: impl FnMut(u64)) -> u64 {
    let mut due_ns = clock::monotonic_ns();
    let mut missed = 0;
    let mut number = 0;
    loop {
        each(number);
        number += 1;
        due_ns = due_ns.saturating_add(interval_ns);
        let behind_ns = clock::monotonic_ns().saturating_sub(due_ns);
        let behind = behind_ns / interval_ns.max(1);
        missed += behind;
        due_ns += behind * interval_ns;
        loop {
            if stop.load(Ordering::Relaxed) {
                return missed;
            }
            let now_ns = clock::monotonic_ns();
            if now_ns >= due_ns {
                break;
            }
            // A period may last for hours.
            clock::sleep_until_ns(due_ns.min(now_ns.saturating_add(LOOK_NS)));
        }
    }
}

fn proc(recorder: &Recorder, interval_ns: u64, stop: &AtomicBool) -> Result<Fed> {
    let every = ProcSource::ALL
        .into_iter()
        .fold(ProcSelection::none(), |selection, source| selection.with(source, 1));
    let mut sampler = ProcSampler::open(Path::new("/proc"), &every)?;
    let wanted: Vec<(&str, Type, &str)> =
        sampler.series().iter().map(|s| (s.name.as_str(), Type::I64, s.unit)).collect();
    let ids = recorder.declare(&wanted)?;
    let mut producer = recorder.producer()?;
    let mut fed = Fed::new("proc", producer.report().producer)?;
    fed.series = ids.len();
    let mut values = Vec::with_capacity(ids.len());
    let mut columns = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    fed.missed = periodically(interval_ns, stop, |_| {
        values.clear();
        sampler.sample(&mut values);
        columns.0.clear();
        columns.1.clear();
        for (index, value) in &values {
            if let Some(id) = ids.get(*index as usize) {
                columns.0.push(*id);
                columns.1.push(*value);
            }
        }
        let time_ns = clock::realtime_ns();
        let count = columns.0.len();
        // It has counted what the ring refuses.
        let _ = fed
            .push(count, 8 + count * 12, || producer.push_samples(time_ns, &columns.0, &columns.1));
    });
    Ok(fed)
}

fn generate(
    recorder: &Recorder,
    interval_ns: u64,
    frame_bytes: usize,
    stop: &AtomicBool,
) -> Result<Fed> {
    let ids = recorder.declare(&[("generated", Type::Channel, "")])?;
    let channel = ids.first().copied().unwrap_or(1);
    let mut frame = vec![0; frame_bytes];
    fill_frame(GENERATE_SEED, 0, &mut frame)?;
    let mut producer = recorder.producer()?;
    check_frame_bytes(frame_bytes, producer.report().record_bytes_max)?;
    let mut fed = Fed::new("generate", producer.report().producer)?;
    fed.series = 1;
    fed.missed = periodically(interval_ns, stop, |number| {
        // The length was checked by the first call.
        let _ = fill_frame(GENERATE_SEED, number, &mut frame);
        let time_ns = clock::realtime_ns();
        // It has counted what the ring refuses.
        let _ = fed.push(0, frame_bytes, || producer.push_frame(channel, time_ns, &frame));
    });
    Ok(fed)
}
