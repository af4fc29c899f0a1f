//! The paced part: every push and every memcpy is timed.

use super::alone::Watch;
use super::{Memory, PushReport, PushSpec, histogram};
use crate::error::BenchError;
use baro_recorder::{Producer, Recorder, Status};
use baro_sys::counters::{SyscallCounter, ThreadUsage, allocations, counting};
use baro_sys::memory::AlignedBuffer;
use baro_sys::{clock, schedule};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// From here on the producer sleeps between records.
const SLEEP_FROM_NS: u64 = 1_000_000;
/// From here on there is time to count what happens inside each pair of copies, and nothing else:
/// the loop around them may meet a page of the program for the first time.
const COUNT_EACH_FROM_NS: u64 = 20_000;
/// Where the whole loop is counted, its page faults (and switches) are from this record on: the
/// first ones bring in the loop's own pages, which not every build has side by side. System calls
/// and allocations are counted from the first.
const COUNT_FAULTS_FROM: u64 = 64;
/// Records between two looks at the positions: often enough to see them move.
const LOOK_EACH: u64 = 64;
/// How long the last records may take to become durable.
const DURABLE_TIMEOUT_NS: u64 = 60_000_000_000;

/// The yardstick: memory as large and as locked as the ring.
struct Yardstick {
    area: AlignedBuffer,
    place: usize,
    stride: usize,
}

impl Yardstick {
    fn new(ring_bytes: usize, spec: &PushSpec) -> Result<Self, BenchError> {
        let bytes = ring_bytes.next_multiple_of(4096);
        let area = match spec.huge_yardstick {
            true => AlignedBuffer::huge(bytes),
            false => AlignedBuffer::new(bytes).map(|(area, _)| area),
        };
        let mut area = area.map_err(BenchError::System)?;
        area.fill(1);
        Ok(Yardstick { area, place: 0, stride: Producer::record_bytes(spec.record_bytes) })
    }

    #[inline]
    fn copy(&mut self, record: &[u8]) {
        if self.place + record.len() > self.area.len() {
            self.place = 0;
        }
        let end = self.place + record.len();
        if let Some(to) = self.area.get_mut(self.place..end) {
            to.copy_from_slice(record);
            std::hint::black_box(to);
        }
        self.place += self.stride;
    }
}

pub(super) struct Loop<'a> {
    producer: &'a mut Producer,
    yardstick: Yardstick,
    record: Vec<u8>,
    channel: u32,
    pub(super) report: PushReport,
    counter: Option<SyscallCounter>,
    offset_ns: i64,
}

impl Loop<'_> {
    /// How long it took, ns.
    #[inline]
    fn push(&mut self) -> u64 {
        let before_ns = clock::monotonic_ns();
        let time_ns = before_ns as i64 + self.offset_ns;
        let _ = std::hint::black_box(self.producer.push_frame(self.channel, time_ns, &self.record));
        let took_ns = clock::monotonic_ns() - before_ns;
        self.report.push_max_ns = self.report.push_max_ns.max(took_ns);
        self.report.push_ns.saturating_record(took_ns);
        took_ns
    }

    #[inline]
    fn copy(&mut self) -> u64 {
        let before_ns = clock::monotonic_ns();
        self.yardstick.copy(&self.record);
        let took_ns = clock::monotonic_ns() - before_ns;
        self.report.memcpy_max_ns = self.report.memcpy_max_ns.max(took_ns);
        self.report.memcpy_ns.saturating_record(took_ns);
        took_ns
    }

    /// One of the two, and how long it took, ns.
    #[inline]
    fn one(&mut self, pushes: bool) -> u64 {
        if pushes { self.push() } else { self.copy() }
    }

    #[inline]
    fn both(&mut self, number: u64) {
        let pushes_first = number.is_multiple_of(2);
        self.one(pushes_first);
        self.one(!pushes_first);
    }

    /// The same, and its system calls and allocations are added up.
    pub(super) fn counted(&mut self, pushes: bool) -> u64 {
        let allocated = allocations();
        if let Some(counter) = &self.counter {
            counter.arm();
        }
        let took_ns = self.one(pushes);
        let report = &mut self.report;
        if let (Some(counter), Some(sum)) = (&self.counter, &mut report.syscalls) {
            *sum += counter.disarm();
        }
        if let Some(sum) = &mut report.allocations {
            *sum += allocations() - allocated;
        }
        took_ns
    }
}

pub(super) fn run(
    recorder: &Recorder,
    producer: &mut Producer,
    channel: u32,
    ring_bytes: usize,
    spec: &PushSpec,
    stop: &AtomicBool,
) -> Result<PushReport, BenchError> {
    if let Some(cpu) = spec.cpu {
        schedule::set_cpu(cpu).map_err(BenchError::System)?;
    }
    if let Some(priority) = spec.fifo {
        schedule::set_fifo(priority).map_err(BenchError::System)?;
    }
    let record = (0..spec.record_bytes).map(|at| (at % 251) as u8).collect();
    let yardstick = Yardstick::new(ring_bytes, spec)?;
    let counter = SyscallCounter::new().ok();
    let report = empty()?;
    let offset_ns = clock::realtime_ns() - clock::monotonic_ns() as i64;
    let mut this = Loop { producer, yardstick, record, channel, report, counter, offset_ns };
    let started_ns = clock::monotonic_ns();
    if spec.interval_ns >= COUNT_EACH_FROM_NS {
        counting_each(&mut this, spec, stop);
    } else {
        spinning(&mut this, spec, stop);
    }
    let mut report = this.report;
    report.memory = Memory::now();
    report.yardstick_bytes = this.yardstick.area.len();
    report.paced_ns = clock::monotonic_ns() - started_ns;
    report.records = report.push_ns.len();
    if !counting() {
        report.allocations = None;
    }
    recorder.wait_durable(producer, producer.next_sequence(), DURABLE_TIMEOUT_NS);
    Ok(report)
}

/// Never leaves user space between the first record and the last.
fn spinning(this: &mut Loop<'_>, spec: &PushSpec, stop: &AtomicBool) {
    let (mut usage, allocated) = (ThreadUsage::now(), allocations());
    if let Some(counter) = &this.counter {
        counter.arm();
    }
    let mut syscalls = 0;
    let mut due_ns = clock::monotonic_ns();
    let mut durable = 0;
    for number in 0..spec.records {
        if number == COUNT_FAULTS_FROM {
            // To look is a system call of the loop's own.
            syscalls += this.counter.as_ref().map_or(0, SyscallCounter::disarm);
            usage = ThreadUsage::now();
            if let Some(counter) = &this.counter {
                counter.arm();
            }
        }
        this.both(number);
        if number.is_multiple_of(LOOK_EACH) {
            look(this, &mut durable);
            if stop.load(Relaxed) {
                break;
            }
        }
        due_ns += spec.interval_ns;
        while clock::monotonic_ns() < due_ns {
            std::hint::spin_loop();
        }
    }
    this.report.syscalls = this.counter.as_ref().map(|counter| syscalls + counter.disarm());
    this.report.allocations = Some(allocations() - allocated);
    note_usage(&mut this.report, ThreadUsage::now().since(usage));
}

/// Counts only from before the copies to after them; sleeps between records, or spins.
fn counting_each(this: &mut Loop<'_>, spec: &PushSpec, stop: &AtomicBool) {
    let mut due_ns = clock::monotonic_ns();
    let mut durable = 0;
    let mut watch = match spec.alone.then(Watch::new) {
        Some(Ok(watch)) => Some(watch),
        Some(Err(why)) => {
            this.report.alone_reason = Some(why);
            None
        }
        None => None,
    };
    this.report.syscalls = this.counter.as_ref().map(|_| 0);
    this.report.allocations = Some(0);
    for number in 0..spec.records {
        let pushes_first = number.is_multiple_of(2);
        if let Some(watch) = &mut watch {
            watch.one(this, pushes_first);
            watch.one(this, !pushes_first);
        } else {
            let usage = ThreadUsage::now();
            this.counted(pushes_first);
            this.counted(!pushes_first);
            note_usage(&mut this.report, ThreadUsage::now().since(usage));
        }
        look(this, &mut durable);
        if stop.load(Relaxed) {
            break;
        }
        due_ns += spec.interval_ns;
        if spec.interval_ns >= SLEEP_FROM_NS {
            clock::sleep_until_ns(due_ns);
        }
        while clock::monotonic_ns() < due_ns {
            std::hint::spin_loop();
        }
    }
    match watch.map(Watch::finish) {
        Some(Ok(alone)) => this.report.alone = Some(alone),
        Some(Err(why)) => this.report.alone_reason = Some(why),
        None => {}
    }
}

pub(super) fn note_usage(report: &mut PushReport, usage: ThreadUsage) {
    report.page_faults += usage.minor_faults + usage.major_faults;
    report.voluntary_switches += usage.voluntary_switches;
}

#[inline]
fn look(this: &mut Loop<'_>, durable: &mut u64) {
    let found = this.producer.report();
    if found.durable > *durable {
        *durable = found.durable;
        this.report.durable_advances += 1;
    }
    this.report.ring_used_bytes_max = this.report.ring_used_bytes_max.max(found.used_bytes);
}

fn empty() -> Result<PushReport, BenchError> {
    Ok(PushReport {
        push_ns: histogram()?,
        push_max_ns: 0,
        memcpy_ns: histogram()?,
        memcpy_max_ns: 0,
        alone: None,
        alone_reason: None,
        records: 0,
        paced_ns: 0,
        syscalls: None,
        allocations: None,
        page_faults: 0,
        voluntary_switches: 0,
        lost: 0,
        durable_advances: 0,
        ring_used_bytes_max: 0,
        records_per_s: None,
        durable_records_per_s: None,
        status: Status::default(),
        kernel: None,
        kernel_reason: None,
        memory_bytes: 0,
        memory: Memory::default(),
        yardstick_bytes: 0,
        reservations: Vec::new(),
    })
}
