//! Files of blktrace, and the text that blkparse makes of them, compared with each other.
//!
//! The two files `testdata/blk/sdb.blktrace.0` and `.1` are made here by the kernel's description of
//! the form, so that they have what a short recording would not: all classes, a request given back, a
//! part, a failure, a remap, a lost record. `sdb.blkparse` is what blkparse 1.2.0 printed of them
//! (`blkparse -i sdb`); it has each event in a line and its own totals at the end. `6.1/` is what
//! blktrace really recorded on that kernel, with the disk's own statistics before and after.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

use baro_trace::blk::{Accounting, Column, Traffic, blkparse, blktrace};
use baro_trace::record::Device;
use std::path::{Path, PathBuf};

const DISK: Device = Device(8 << 20 | 16);

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/blk").join(name)
}

/// Bits of `linux/blktrace_api.h`, shifted as they are in the action.
mod bits {
    pub(super) const READ: u32 = 1 << 16;
    pub(super) const WRITE: u32 = 1 << 17;
    pub(super) const FLUSH: u32 = 1 << 18;
    pub(super) const SYNC: u32 = 1 << 19;
    pub(super) const QUEUE: u32 = 1 << 20;
    pub(super) const REQUEUE: u32 = 1 << 21;
    pub(super) const ISSUE: u32 = 1 << 22;
    pub(super) const COMPLETE: u32 = 1 << 23;
    pub(super) const NOTIFY: u32 = 1 << 26;
    pub(super) const AHEAD: u32 = 1 << 27;
    pub(super) const META: u32 = 1 << 28;
    pub(super) const DISCARD: u32 = 1 << 29;
    pub(super) const FUA: u32 = 1 << 31;
}
use bits::{AHEAD, DISCARD, FLUSH, FUA, META, READ, SYNC, WRITE};

/// Makes the file of one processor.
struct Maker {
    cpu: u32,
    sequence: u32,
    time_ns: u64,
    bytes: Vec<u8>,
}

impl Maker {
    fn new(cpu: u32) -> Self {
        Self { cpu, sequence: 0, time_ns: u64::from(cpu) * 500, bytes: Vec::new() }
    }

    #[allow(clippy::too_many_arguments, reason = "a record has so many fields")]
    fn put(&mut self, action: u32, sector: u64, bytes: u32, pid: u32, error: u16, data: &[u8]) {
        let note = action & bits::NOTIFY != 0;
        self.sequence += u32::from(!note);
        self.time_ns += 1_000;
        let sequence = if note { 0 } else { self.sequence };
        self.bytes.extend(0x6561_7407_u32.to_le_bytes());
        self.bytes.extend(sequence.to_le_bytes());
        self.bytes.extend(self.time_ns.to_le_bytes());
        self.bytes.extend(sector.to_le_bytes());
        self.bytes.extend([bytes, action, pid, DISK.0, self.cpu].map(u32::to_le_bytes).concat());
        self.bytes.extend([error, data.len() as u16].map(u16::to_le_bytes).concat());
        self.bytes.extend(data);
    }

    fn name(&mut self, pid: u32, name: &[u8]) {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name);
        self.put(bits::NOTIFY, 0, 0, pid, 0, &comm);
    }

    fn issue(&mut self, class: u32, sector: u64, bytes: u32, pid: u32) {
        self.put(7 | bits::ISSUE | class, sector, bytes, pid, 0, &[]);
    }

    fn done(&mut self, class: u32, sector: u64, bytes: u32) {
        self.put(8 | bits::COMPLETE | class, sector, bytes, 0, 0, &[]);
    }

    fn whole(&mut self, class: u32, sector: u64, bytes: u32, pid: u32) {
        self.put(1 | bits::QUEUE | class, sector, bytes, pid, 0, &[]);
        self.put(12 | bits::QUEUE | class, sector, bytes, pid, 0, &[]);
        self.issue(class, sector, bytes, pid);
        self.done(class, sector, bytes);
    }
}

fn make() -> [Vec<u8>; 2] {
    let mut one = Maker::new(0);
    one.put(1 | bits::NOTIFY, 0, 0, 0, 0, &[0; 8]);
    one.name(101, b"writer");
    one.name(202, b"jbd2/sdb1-8");
    one.whole(WRITE, 2_048, 524_288, 101);
    one.whole(WRITE, 4_096, 262_144, 101);
    one.whole(WRITE | META, 8, 4_096, 101);
    one.whole(WRITE | SYNC, 9_000, 8_192, 202);
    // The record of a commit, as devices without FUA have it: two flushes around it.
    one.issue(FLUSH, 0, 0, 202);
    one.done(FLUSH, 0, 0);
    one.whole(WRITE | SYNC | META, 9_016, 4_096, 202);
    one.whole(WRITE | SYNC | META | FUA, 9_024, 4_096, 202);
    one.whole(WRITE | DISCARD, 100_000, 1 << 20, 101);
    // Given back by the driver, and issued again.
    one.issue(WRITE, 20_000, 65_536, 101);
    one.put(6 | bits::REQUEUE | WRITE, 20_000, 65_536, 101, 0, &[]);
    one.issue(WRITE, 20_000, 65_536, 101);
    one.done(WRITE, 20_000, 65_536);
    let mut two = Maker::new(1);
    two.name(303, b"a reader]");
    // A piece of partition 8,17.
    let remap = [(8_u32 << 20 | 17).to_be_bytes(), DISK.0.to_be_bytes()].concat();
    let remap = [remap, 952_u64.to_be_bytes().to_vec()].concat();
    two.put(15 | bits::QUEUE | READ, 3_000, 4_096, 303, 0, &remap);
    two.whole(READ, 3_000, 4_096, 303);
    two.whole(READ | AHEAD, 3_008, 131_072, 303);
    two.whole(READ | META, 16, 4_096, 303);
    two.whole(READ | SYNC, 5_000, 16_384, 303);
    two.whole(READ | SYNC | META, 24, 4_096, 303);
    two.put(2 | bits::NOTIFY, 0, 0, 0, 0, b"a message");
    // Done in two parts.
    two.issue(READ, 6_000, 8_192, 303);
    two.done(READ, 6_000, 4_096);
    two.done(READ, 6_008, 4_096);
    // Failed: -EIO as the kernel cuts it to 16 bits.
    two.issue(READ, 7_000, 4_096, 303);
    two.put(8 | bits::COMPLETE | READ, 7_000, 4_096, 0, 0xfffb, &[]);
    // Two records are missing here.
    two.sequence += 2;
    two.whole(READ, 8_000, 4_096, 303);
    [one.bytes, two.bytes]
}

fn traffic(accounting: &Accounting) -> Traffic {
    accounting.by_device().remove(&DISK).unwrap()
}

fn of_binary(files: &[Vec<u8>]) -> Accounting {
    let mut merged = blktrace::Merged::new(files.iter().map(Vec::as_slice));
    let mut accounting = Accounting::default();
    merged.by_ref().for_each(|event| accounting.take(&event));
    assert!(merged.damage().is_empty(), "{:?}", merged.damage());
    let counts = merged.counts();
    assert_eq!((counts.lost_records, counts.remaps, counts.notes), (2, 1, 5));
    accounting
}

#[test]
fn blktrace_files_are_accounted_for_as_they_were_made() {
    let files = make();
    for (cpu, bytes) in files.iter().enumerate() {
        let name = format!("sdb.blktrace.{cpu}");
        if std::fs::read(fixture(&name)).unwrap_or_default() != *bytes {
            let found = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
            std::fs::write(&found, bytes).unwrap();
            panic!("{name} differs; what was made is in {}", found.display());
        }
    }
    let accounting = of_binary(&files);
    let traffic = traffic(&accounting);
    let of = |column| {
        let totals = traffic.column(column);
        (totals.requests, totals.requested_bytes, totals.done_requests, totals.done_bytes)
    };
    assert_eq!(of(Column::W), (3, 851_968, 3, 851_968));
    assert_eq!(of(Column::Wm), (1, 4_096, 1, 4_096));
    assert_eq!(of(Column::Ws), (1, 8_192, 1, 8_192));
    assert_eq!(of(Column::Wsm), (2, 8_192, 2, 8_192));
    assert_eq!(of(Column::Flush), (1, 0, 1, 0));
    assert_eq!(of(Column::Discard), (1, 1 << 20, 1, 1 << 20));
    assert_eq!(of(Column::R), (5, 151_552, 4, 147_456));
    assert_eq!(of(Column::Rm), (1, 4_096, 1, 4_096));
    assert_eq!(of(Column::Rs), (1, 16_384, 1, 16_384));
    assert_eq!(of(Column::Rsm), (1, 4_096, 1, 4_096));
    assert_eq!(traffic.column(Column::R).failed_requests, 1);
    assert_eq!(accounting.counts().reissued_requests, 1);
    assert_eq!(accounting.counts().pending_requests, 0);
    let of_process = accounting.by_process(DISK);
    let names: Vec<_> = of_process.keys().map(|who| (who.pid, who.comm.to_string())).collect();
    let expected = [(101, "writer"), (202, "jbd2/sdb1-8"), (303, "a reader]")];
    assert_eq!(names, expected.map(|(pid, name)| (pid, name.to_owned())));
}

#[test]
fn what_blkparse_prints_of_a_file_is_the_same_and_so_are_its_totals() {
    let text = std::fs::read_to_string(fixture("sdb.blkparse")).unwrap();
    let mut of_text = Accounting::default();
    let counts = blkparse::read(text.as_bytes(), &mut of_text).unwrap();
    assert_eq!((counts.bad_lines, counts.first_bad), (0, None));
    let of_binary = of_binary(&make());
    assert_eq!(of_text.counts(), of_binary.counts());
    assert_eq!(traffic(&of_text), traffic(&of_binary));
    assert_eq!(of_text.by_process(DISK), of_binary.by_process(DISK));
    assert_eq!(of_text.span_ns(), of_binary.span_ns());
    // blkparse counts bytes in KiB, of discards too, and of what failed; flushes as reads of nothing.
    let total = |words: &str| {
        let (_, rest) = text.split_once("Total (sdb):").unwrap();
        let at = rest.find(words).unwrap() + words.len();
        let mut words = rest[at..].split_whitespace();
        let requests: u64 = words.next().unwrap().trim_end_matches(',').parse().unwrap();
        let kib: u64 = words.next().unwrap().trim_end_matches("KiB").parse().unwrap();
        (requests, kib)
    };
    let traffic = traffic(&of_binary);
    let sum = |columns: &[Column]| {
        let totals = columns.iter().map(|column| traffic.column(*column));
        totals.fold((0, 0), |(requests, kib), one| {
            let bytes = one.done_bytes + one.failed_bytes;
            (requests + one.done_requests + one.failed_requests, kib + bytes / 1_024)
        })
    };
    let (writes, written_kib) = sum(&Column::WRITES);
    let (discards, discarded_kib) = sum(&[Column::Discard]);
    assert_eq!(total("Writes Completed:"), (writes + discards, written_kib + discarded_kib));
    let (reads, read_kib) = sum(&Column::READS);
    assert_eq!(total("Reads Completed:").1, read_kib);
    assert!(reads > 0);
}

#[test]
fn what_blktrace_recorded_is_what_the_kernel_counted() {
    let files = ["6.1/vda.blktrace.0", "6.1/vda.blktrace.1"];
    let files = files.map(|name| std::fs::read(fixture(name)).unwrap());
    let mut merged = blktrace::Merged::new(files.iter().map(Vec::as_slice));
    let mut accounting = Accounting::default();
    merged.by_ref().for_each(|event| accounting.take(&event));
    assert!(merged.damage().is_empty());
    assert_eq!(merged.counts().lost_records, 0);
    let counts = accounting.counts();
    assert_eq!((counts.unmatched_requests, counts.pending_requests), (0, 0));
    let device = Device::new(254, 0);
    let traffic = &accounting.by_device()[&device];

    // The columns of /sys/block/vda/stat, bytes in sectors of 512.
    let statistics = |name: &str| -> Vec<u64> {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (before, after) = (statistics("6.1/vda.before"), statistics("6.1/vda.after"));
    let over = |column: usize| after[column] - before[column];
    let requests = |columns: &[Column]| {
        columns.iter().map(|column| traffic.column(*column).done_requests).sum::<u64>()
    };
    assert_eq!((requests(&Column::READS), traffic.read_bytes()), (over(0), over(2) * 512));
    assert_eq!((requests(&Column::WRITES), traffic.written_bytes()), (over(4), over(6) * 512));
    let discards = traffic.column(Column::Discard);
    assert_eq!((discards.done_requests, discards.done_bytes), (over(11), over(13) * 512));
    assert_eq!(requests(&[Column::Flush]), over(15));

    // Three files of 64 KiB that were synced, each by the task that wrote it, and 1 MiB that was not.
    let of_process = accounting.by_process(device);
    let dd = of_process.iter().filter(|(who, _)| who.comm.as_bytes() == b"dd");
    let data = dd.map(|(_, traffic)| traffic.column(Column::Ws).done_bytes);
    assert_eq!(data.collect::<Vec<_>>(), [65_536; 3]);
    assert_eq!(traffic.column(Column::Ws).done_bytes, (1 << 20) + 3 * 65_536);

    let text = std::fs::read_to_string(fixture("6.1/vda.blkparse")).unwrap();
    let mut of_text = Accounting::default();
    let counts = blkparse::read(text.as_bytes(), &mut of_text).unwrap();
    assert_eq!(counts.first_bad, None);
    assert_eq!(of_text.by_device()[&device], *traffic);
    assert_eq!(of_text.by_process(device), of_process);
}

/// What the kernel counted over it: `/sys/block/loop0/stat` after less before.
#[test]
fn what_programs_print_of_events_is_what_the_kernel_counted() {
    for (name, events) in [("printed/ftrace.txt", 126), ("printed/perf.txt", 125)] {
        let text = std::fs::read_to_string(fixture(name)).unwrap();
        let mut accounting = Accounting::default();
        let counts = blkparse::read(text.as_bytes(), &mut accounting).unwrap();
        assert_eq!((counts.events, counts.printed_events), (events, events), "{name}");
        assert_eq!(
            (counts.completions, counts.bad_lines, counts.lost_events),
            (63, 0, 0),
            "{name}"
        );
        let devices = accounting.by_device();
        assert_eq!(devices.len(), 1, "{name}");
        let traffic = devices.values().next().unwrap();
        assert_eq!(traffic.read_bytes(), 2_128 * 512, "{name}");
        assert_eq!(traffic.written_bytes(), 864 * 512, "{name}");
        assert_eq!(traffic.column(Column::Discard).done_bytes, 2_048 * 512, "{name}");
    }
    // By hand after the form that trace-cmd documents, of the same recording's beginning.
    let text = std::fs::read_to_string(fixture("printed/trace-cmd.txt")).unwrap();
    let counts = blkparse::read(text.as_bytes(), &mut Accounting::default()).unwrap();
    assert_eq!((counts.bad_lines, counts.lost_events), (0, 3));
    assert!(counts.events > 10 && counts.events == counts.printed_events);
}
