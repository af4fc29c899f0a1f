//! Probes that run: what they have written is taken from the kernel and becomes pages.
//!
//! Programs write into a ring without waking anyone; whoever owns a [`Probes`] calls
//! [`Probes::drain`] some times a second. What found no room is counted by the programs, and told by
//! the page behind the loss and by the summary.

use crate::error::ProbeError;
use crate::options::ProbeOptions;
use crate::records::{self, KINDS, TIME_BYTES};
use crate::sorter::Sorter;
use crate::statistics::ProgramStatistics;
use crate::waits::{self, WORDS};
use crate::{PROBES_CPU, load};
use aya::Ebpf;
use aya::maps::{Array, Map, MapData, MapError, PerCpuArray, RingBuf};
use baro_sys::{clock, grace};
use baro_trace::collect::sleepers;
use baro_trace::file::CpuLosses;
use baro_trace::format::{EventHeader, PageHeader};
use baro_trace::page_writer::{PageWriter, Sink};
use std::fmt;

/// Records that one [`Probes::drain`] takes at most: it ends even if they come as fast as they are
/// taken, and memory is bounded.
const RECORDS_OF_DRAIN: usize = 1 << 17;
/// How much younger a record in front of another may be: programs take their time before their
/// place, and the longest walks lists in between.
const DISORDER_NS: u64 = 10_000_000;
/// How often the counts of waits are told.
const COUNTS_EVERY_NS: u64 = 1_000_000_000;
/// Devices of which waits are counted apart, and one place for the others.
const DEVICES: u32 = 9;

/// Records that found no room, and what was mixed up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostRecords {
    /// How many of each event, by its name.
    pub records: Vec<(&'static str, u64)>,
    /// Tasks that took the place of another in the programs' memory while something was known of
    /// it: what the other was doing is not told.
    pub displaced_tasks: u64,
}

impl LostRecords {
    /// All records.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.records.iter().map(|(_, count)| count).sum()
    }
}

/// What the probes have told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSummary {
    /// Records.
    pub records: u64,
    /// Pages.
    pub pages: u64,
    /// What was lost.
    pub lost: LostRecords,
    /// The same as a trace file has it, for the processor [`PROBES_CPU`].
    pub losses: CpuLosses,
    /// Tracepoints that this kernel does not have.
    pub missing: Vec<String>,
}

/// Programs that are attached to the kernel's tracepoints; gone when this is.
pub struct Probes {
    ebpf: Option<Ebpf>,
    ring: RingBuf<MapData>,
    waits: PerCpuArray<MapData, [u64; WORDS]>,
    devices: Array<MapData, [u64; 2]>,
    lost: PerCpuArray<MapData, u64>,
    slots: Array<MapData, Slot>,
    missing: Vec<String>,
    pages: PageWriter,
    sorter: Sorter,
    /// Counts of waits that were told, of each device.
    told: Vec<[u64; WORDS]>,
    told_ns: u64,
    told_lost: u64,
    records: u64,
}

/// What the programs know of a task: `struct slot` of `bpf/common.h`, in words of eight bytes: its number and
/// state; since when it is off the processor; more times; who woke it; how long it has run.
type Slot = [u64; SLOT_WORDS];

const SLOT_WORDS: usize = 10;
const OFF_WORD: usize = 1;
const ENTRY_WORD: usize = 5;

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Probes");
        fields.field("missing", &self.missing).field("records", &self.records);
        fields.finish_non_exhaustive()
    }
}

impl Probes {
    /// Loads and attaches the programs: some 50 ms, much longer without optimisation. Needs Linux
    /// 5.18 with its types, and root or CAP_BPF and CAP_PERFMON.
    ///
    /// # Errors
    /// The kernel lacks something, or refuses it; see [`ProbeError`].
    pub fn start(options: &ProbeOptions) -> Result<Self, ProbeError> {
        let page = PageHeader::parse(records::header_page().as_bytes())?;
        let event = EventHeader::parse(records::header_event().as_bytes())?;
        let (mut ebpf, missing) = load::load(options)?;
        let mut slots: Array<MapData, Slot> = map(&mut ebpf, "slots")?;
        begin_slots(&mut slots)?;
        Ok(Self {
            ring: map(&mut ebpf, "records")?,
            waits: map(&mut ebpf, "waits")?,
            devices: map(&mut ebpf, "devices")?,
            lost: map(&mut ebpf, "lost")?,
            slots,
            ebpf: Some(ebpf),
            missing,
            pages: PageWriter::new(page, event),
            sorter: Sorter::default(),
            told: vec![[0; WORDS]; DEVICES as usize],
            told_ns: clock::monotonic_ns(),
            told_lost: 0,
            records: 0,
        })
    }

    /// Makes pages as the kernel's tracer does: for a trace that has its pages too. To be called
    /// before the first [`drain`](Self::drain).
    pub fn lay_out(&mut self, page: PageHeader, event: EventHeader) {
        self.pages = PageWriter::new(page, event);
    }

    /// Tracepoints that this kernel does not have.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Takes what was written and hands on the pages that are full. Does not wait. Returns the number
    /// of records.
    ///
    /// # Errors
    /// Those of `sink`, or the kernel refuses to be read.
    pub fn drain(&mut self, sink: &mut Sink<'_>) -> Result<u64, ProbeError> {
        let now_ns = clock::monotonic_ns();
        let taken = self.take_ring();
        if now_ns.saturating_sub(self.told_ns) >= COUNTS_EVERY_NS {
            self.take_counts(now_ns)?;
        }
        let lost = self.lost()?.total();
        self.pages.missed(lost.saturating_sub(self.told_lost), sink)?;
        self.told_lost = lost;
        self.hand_on(now_ns.saturating_sub(DISORDER_NS), sink)?;
        Ok(taken as u64)
    }

    /// Takes the programs out of the kernel, and hands on all that they have written.
    ///
    /// # Errors
    /// As [`drain`](Self::drain); the programs are gone all the same.
    pub fn finish(mut self, sink: &mut Sink<'_>) -> Result<ProbeSummary, ProbeError> {
        drop(self.ebpf.take());
        // A record that is being written hides all that are behind it.
        grace::wait();
        while self.drain(sink)? >= RECORDS_OF_DRAIN as u64 {}
        self.take_counts(clock::monotonic_ns())?;
        self.hand_on(u64::MAX, sink)?;
        self.pages.flush(sink)?;
        let lost = self.lost()?;
        let losses = CpuLosses { cpu: PROBES_CPU, dropped: lost.total(), ..CpuLosses::default() };
        let (records, pages) = (self.records, self.pages.pages());
        Ok(ProbeSummary { records, pages, lost, losses, missing: self.missing })
    }

    /// Since when a task sleeps that has not gone on; None if the programs do not know.
    pub fn sleeps_since_ns(&self, pid: i32) -> Option<u64> {
        let index = u32::try_from(pid).ok()? & (load::SLOTS - 1);
        let slot = self.slots.get(&index, 0).ok()?;
        let is_of_pid = slot[0] as u32 == pid as u32;
        Some(slot[OFF_WORD]).filter(|off_ns| is_of_pid && *off_ns != 0)
    }

    /// What was lost up to now.
    ///
    /// # Errors
    /// The kernel refuses to be read.
    pub fn lost(&self) -> Result<LostRecords, ProbeError> {
        let count = |kind: u32| {
            let values = self.lost.get(&kind, 0).map_err(|error| refused("lost", &error))?;
            Ok::<u64, ProbeError>(values.iter().sum())
        };
        let each = |(kind, name): (usize, &&'static str)| Ok((*name, count(kind as u32)?));
        let records = KINDS.iter().enumerate().map(each).collect::<Result<_, ProbeError>>()?;
        Ok(LostRecords { records, displaced_tasks: count(KINDS.len() as u32)? })
    }

    /// How often each program ran and how long, if programs are timed: see
    /// [`Timing`](crate::Timing).
    ///
    /// # Errors
    /// The kernel refuses to be read.
    pub fn statistics(&self) -> Result<Vec<ProgramStatistics>, ProbeError> {
        let mut all = Vec::new();
        for (name, program) in self.ebpf.iter().flat_map(Ebpf::programs) {
            // What was not loaded has no statistics.
            let Ok(info) = program.info() else { continue };
            all.push(ProgramStatistics {
                program: name.to_owned(),
                runs: info.run_count(),
                run_time_ns: u64::try_from(info.run_time().as_nanos()).unwrap_or(u64::MAX),
            });
        }
        all.sort_by(|one, other| one.program.cmp(&other.program));
        Ok(all)
    }

    fn take_ring(&mut self) -> usize {
        let mut taken = 0;
        while taken < RECORDS_OF_DRAIN {
            let Some(record) = self.ring.next() else { break };
            taken += 1;
            if let Some((time, event)) = record.split_first_chunk::<TIME_BYTES>() {
                self.sorter.push(u64::from_ne_bytes(*time), event);
            }
        }
        taken
    }

    /// Tells what was counted since the last time.
    fn take_counts(&mut self, now_ns: u64) -> Result<(), ProbeError> {
        for (place, told) in (0..DEVICES).zip(&mut self.told) {
            let read = self.waits.get(&place, 0).map_err(|error| refused("waits", &error))?;
            let now = waits::summed(&read);
            let device = self.devices.get(&place, 0).map_err(|error| refused("devices", &error))?;
            // Two words of four bytes: the device and nothing.
            let device = device[0] as u32;
            if let Some(event) = waits::event(device, self.told_ns, told, &now) {
                self.sorter.push(now_ns, &event);
                *told = now;
            }
        }
        self.told_ns = now_ns;
        Ok(())
    }

    fn hand_on(&mut self, until_ns: u64, sink: &mut Sink<'_>) -> Result<(), ProbeError> {
        let (pages, records) = (&mut self.pages, &mut self.records);
        self.sorter.take(until_ns, |time_ns, event| {
            *records += 1;
            pages.push(time_ns, event, sink)
        })?;
        Ok(())
    }
}

fn refused(map: &str, error: &MapError) -> ProbeError {
    ProbeError::of(&format!("map {map}"), error)
}

/// Tells the programs which tasks sleep already, so that the end of these sleeps is told as any other's.
fn begin_slots(slots: &mut Array<MapData, Slot>) -> Result<(), ProbeError> {
    let now_ns = clock::monotonic_ns();
    for (pid, state) in sleepers() {
        let Ok(pid) = u32::try_from(pid) else { continue };
        let index = pid & (load::SLOTS - 1);
        let told = slots.get(&index, 0).is_ok_and(|slot| slot[OFF_WORD] != 0);
        let state: u64 = match state {
            'D' => 2,
            'S' => 1,
            'T' | 't' => 4,
            _ => continue,
        };
        if !told {
            let mut slot = Slot::default();
            slot[0] = u64::from(pid) | state << 32 | 1 << 48;
            (slot[OFF_WORD], slot[ENTRY_WORD]) = (now_ns, now_ns);
            slots.set(index, slot, 0).map_err(|error| refused("slots", &error))?;
        }
    }
    Ok(())
}

fn map<T: TryFrom<Map, Error = MapError>>(ebpf: &mut Ebpf, name: &str) -> Result<T, ProbeError> {
    let found = ebpf.take_map(name);
    let missing = || ProbeError::of(name, &std::io::Error::other("no such map"));
    T::try_from(found.ok_or_else(missing)?).map_err(|error| refused(name, &error))
}
