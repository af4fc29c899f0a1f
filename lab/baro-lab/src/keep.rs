//! An always-on window for long: a log that is recycled many times, with pins or without. Pushes
//! are timed in ten parts of the run, and while a pin is made and copied out, so that anything that
//! grows with time, or that a pin costs, is seen.
//!
//! Invariant: what is reported was counted in this run; the recorder is the real one, with its
//! keeper. Held by the rows `recycle-1000` and `pin-full-rate` of `cargo xtask results`.

use baro_bench::Histogram;
use baro_bench::error::BenchError;
use baro_bench::push::histogram;
use baro_ondisk::Pin;
use baro_recorder::{Options, PinRequest, Recorder, Status};
use baro_sys::{clock, schedule};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// What is pushed, and what is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepSpec {
    /// Payload of each record.
    pub record_bytes: usize,
    /// Records.
    pub records: u64,
    /// Time from one record to the next; the producer spins below 1 ms.
    pub interval_ns: u64,
    /// Processor of the producer.
    pub cpu: Option<usize>,
    /// Pins that are made while it runs, evenly spread; each is released before the next.
    pub pins: u32,
    /// How far each reaches back.
    pub before_ns: u64,
    /// How far it goes on.
    pub after_ns: u64,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct KeepReport {
    /// Time inside each push, by tenths of the run.
    pub tenths: Vec<Histogram>,
    /// Time inside pushes from the moment of a pin until nothing more is copied out for it.
    pub beside_pin_ns: Histogram,
    /// All others.
    pub without_pin_ns: Histogram,
    /// Time of each record that was taken, in order.
    pub times_ns: Vec<i64>,
    /// Records refused.
    pub lost: u64,
    /// Length of the run.
    pub elapsed_ns: u64,
    /// Pins that were granted, as they ended; the last one is not released.
    pub pins: Vec<Pin>,
    /// Pins that were refused, and why.
    pub refused: Vec<String>,
    /// Resident bytes of this process at the end of each tenth.
    pub resident_bytes: Vec<u64>,
    /// The writer's counters at the end.
    pub status: Status,
}

/// Opens the store at `path`, pushes, pins, and closes it. Blocks for as long as the spec says;
/// `stop` ends it early.
///
/// # Errors
/// The store cannot be opened, or memory is short.
pub fn run(
    path: &Path,
    spec: KeepSpec,
    options: Options,
    stop: &AtomicBool,
) -> Result<KeepReport, BenchError> {
    let recorder = Recorder::open(path, options).map_err(BenchError::Recorder)?;
    let channel = [("keep", baro_ondisk::Type::Channel, "")];
    let ids = recorder.declare(&channel).map_err(BenchError::Recorder)?;
    let channel = ids.first().copied().unwrap_or(1);
    let mut report = KeepReport {
        tenths: (0..10).map(|_| histogram()).collect::<Result<_, _>>()?,
        beside_pin_ns: histogram()?,
        without_pin_ns: histogram()?,
        // Not zeros, which would become resident only while the run goes on.
        times_ns: vec![i64::MIN; usize::try_from(spec.records).unwrap_or(0)],
        lost: 0,
        elapsed_ns: 0,
        pins: Vec::new(),
        refused: Vec::new(),
        resident_bytes: vec![0; 10],
        status: Status::default(),
    };
    let (pushed, pinning, over) =
        (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
    let (pins, refused, resident) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| keep(&recorder, &spec, &pushed, &pinning, &over));
        let done = produce(&recorder, channel, &spec, &pushed, &pinning, stop, &mut report);
        over.store(true, Relaxed);
        let kept = beside.join().map_err(|_| BenchError::ThreadLost("bench-keep"));
        done.and(kept)
    })?;
    (report.pins, report.refused, report.resident_bytes) = (pins, refused, resident);
    report.status = recorder.close().status;
    Ok(report)
}

fn produce(
    recorder: &Recorder,
    channel: u32,
    spec: &KeepSpec,
    pushed: &AtomicU64,
    pinning: &AtomicBool,
    stop: &AtomicBool,
    report: &mut KeepReport,
) -> Result<(), BenchError> {
    if let Some(cpu) = spec.cpu {
        schedule::set_cpu(cpu).map_err(BenchError::System)?;
    }
    let mut producer = recorder.producer().map_err(BenchError::Recorder)?;
    let record: Vec<u8> = (0..spec.record_bytes).map(|at| (at % 251) as u8).collect();
    let started_ns = clock::monotonic_ns();
    let offset_ns = clock::realtime_ns() - started_ns as i64;
    let (mut due_ns, mut taken) = (started_ns, 0);
    for number in 0..spec.records {
        let before_ns = clock::monotonic_ns();
        let time_ns = before_ns as i64 + offset_ns;
        let ok = producer.push_frame(channel, time_ns, &record).is_ok();
        let took_ns = clock::monotonic_ns() - before_ns;
        if let Some(place) = report.times_ns.get_mut(taken).filter(|_| ok) {
            *place = time_ns;
            taken += 1;
        }
        let tenth = (number * 10 / spec.records) as usize;
        if let Some(histogram) = report.tenths.get_mut(tenth) {
            histogram.saturating_record(took_ns);
        }
        let beside = pinning.load(Relaxed);
        if beside { &mut report.beside_pin_ns } else { &mut report.without_pin_ns }
            .saturating_record(took_ns);
        pushed.store(number + 1, Relaxed);
        if number.is_multiple_of(64) && stop.load(Relaxed) {
            break;
        }
        due_ns += spec.interval_ns;
        if spec.interval_ns >= 1_000_000 {
            clock::sleep_until_ns(due_ns);
        } else {
            while clock::monotonic_ns() < due_ns {
                std::hint::spin_loop();
            }
        }
    }
    report.elapsed_ns = clock::monotonic_ns() - started_ns;
    report.times_ns.truncate(taken);
    recorder.wait_durable(&producer, producer.next_sequence(), 60_000_000_000);
    let found = producer.report();
    report.lost = found.refused_full + found.refused_large;
    Ok(())
}

type Beside = (Vec<Pin>, Vec<String>, Vec<u64>);

/// Pins, and looks at the memory, beside the producer.
fn keep(
    recorder: &Recorder,
    spec: &KeepSpec,
    pushed: &AtomicU64,
    pinning: &AtomicBool,
    over: &AtomicBool,
) -> Beside {
    let (mut pins, mut refused, mut resident): (Vec<Pin>, Vec<String>, _) =
        (Vec::new(), Vec::new(), vec![0; 10]);
    let (mut made, mut quiet_since) = (0, None);
    while !over.load(Relaxed) {
        clock::sleep_ns(5_000_000);
        let number = pushed.load(Relaxed);
        let tenth = (number * 10 / spec.records.max(1)).min(9) as usize;
        if let Some(place) = resident.get_mut(tenth) {
            *place = resident_bytes().unwrap_or(0);
        }
        let due = spec.records * u64::from(made + 1) / u64::from(spec.pins + 1);
        if made < spec.pins && number >= due {
            made += 1;
            if let Some(last) = pins.last() {
                let _ = recorder.release_pin(last.id);
            }
            pinning.store(true, Relaxed);
            let (before_ns, after_ns) = (spec.before_ns, spec.after_ns);
            let name = format!("pin {made}");
            match recorder.pin(&PinRequest { name, before_ns, after_ns }) {
                Ok(pin) => pins.push(pin),
                Err(error) => refused.push(error.to_string()),
            }
            quiet_since = None;
        }
        if pinning.load(Relaxed) {
            // Ended, and nothing copied for half a second.
            let open = recorder.pins().iter().any(|pin| pin.last_epoch == u64::MAX);
            let now_ns = clock::monotonic_ns();
            let bytes = recorder.status().other_bytes;
            match quiet_since {
                Some((since_ns, seen)) if seen == bytes && !open => {
                    if now_ns > since_ns + 500_000_000 {
                        pinning.store(false, Relaxed);
                    }
                }
                _ => quiet_since = Some((now_ns, bytes)),
            }
        }
    }
    let ended = recorder.pins();
    for pin in &mut pins {
        if let Some(now) = ended.iter().find(|other| other.id == pin.id) {
            pin.clone_from(now);
        }
    }
    (pins, refused, resident)
}

fn resident_bytes() -> Option<u64> {
    let text = baro_sys::files::read_text(Path::new("/proc/self/status"), 64 << 10).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}
