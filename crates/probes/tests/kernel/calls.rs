//! Calls of many threads on a slow disk, against the account that each thread keeps of its own: none is lost,
//! none told twice, and no two are told as one.
//!
//! What a call slept for follows from the scheduler's own sums (`/proc/thread-self/schedstat`: on a processor,
//! and waiting for one); what was that long must be told. `lab/stalls/every_call.py` does so of more kinds of
//! calls and for longer. BARO_CALLS_S has it go on for so many seconds.

use crate::stand::{Ext4, own_task, probes};
use baro_probes::{PROBES_CPU, ProbeOptions, Probes};
use baro_sys::clock;
use baro_trace::collect::this_machine;
use baro_trace::file::{Preamble, TraceFile, TraceWriter};
use baro_trace::timeline::{Call, Limits, Timeline};
use std::fs::{self, File, OpenOptions};
use std::io::Cursor;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const O_DIRECT: i32 = 0o40000;
const THREADS: u64 = 12;
const FILE_BYTES: u64 = 4 << 20;
const MS: u64 = 1_000_000;
/// Sleeps of a call that must be told.
const LONG_NS: u64 = 15 * MS;
/// What the account is read before and after the kernel's own times.
const MOMENT_NS: u64 = 300_000;

/// What a thread knows of a call that it made.
#[derive(Clone, Copy, Debug)]
struct Made {
    begin_ns: u64,
    end_ns: u64,
    slept_ns: u64,
}

/// How long this thread ran, and waited to run.
fn not_asleep_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().take(2).map(|word| word.parse::<u64>().unwrap()).sum()
}

/// The account is read around the call's own time: a page fault or a lock may hold up who reads it.
fn timed(made: &mut Vec<Made>, call: impl FnOnce()) {
    let before_ns = not_asleep_ns();
    let begin_ns = clock::monotonic_ns();
    call();
    let end_ns = clock::monotonic_ns();
    let awake_ns = not_asleep_ns() - before_ns;
    let slept_ns = (end_ns - begin_ns).saturating_sub(awake_ns);
    made.push(Made { begin_ns, end_ns, slept_ns });
}

/// Reads past the page cache, or writes and syncs, or renames and syncs the folder.
fn load(folder: &Path, number: u64, until_ns: u64) -> Vec<Made> {
    let mut made = Vec::new();
    let own = folder.join(format!("own{number}"));
    let file = File::create(&own).unwrap();
    let (mut page, mut memory) = (vec![7; 4_096], vec![0_u8; 8_192]);
    let direct =
        OpenOptions::new().read(true).custom_flags(O_DIRECT).open(folder.join("data")).unwrap();
    let mut at = number;
    while clock::monotonic_ns() < until_ns {
        at = (at * 31 + 7) % (FILE_BYTES / 4_096);
        match number % 3 {
            0 => {
                let from = memory.as_ptr().align_offset(4_096);
                let into = &mut memory[from..from + 4_096];
                timed(&mut made, || assert_eq!(direct.read_at(into, at * 4_096).unwrap(), 4_096));
            }
            1 => {
                page[0] = at as u8;
                timed(&mut made, || file.write_all_at(&page, at * 4_096).unwrap());
                timed(&mut made, || file.sync_all().unwrap());
            }
            _ => {
                let other = folder.join(format!("other{number}"));
                fs::write(&other, b"x").unwrap();
                timed(&mut made, || fs::rename(&other, &own).unwrap());
                timed(&mut made, || file.sync_data().unwrap());
            }
        }
    }
    made
}

/// Few requests a second of a device, for all tasks of the root's group; as many as it can when dropped.
struct Slow(String);

impl Slow {
    fn files() -> [String; 2] {
        ["read", "write"]
            .map(|way| format!("/sys/fs/cgroup/blkio/blkio.throttle.{way}_iops_device"))
    }

    fn new(device: &str) -> Option<Self> {
        let slow = Slow(device.to_owned());
        for file in Self::files() {
            if let Err(error) = fs::write(&file, format!("{device} 120")) {
                println!("skipped: no limits of I/O (cgroup v1): {error}");
                return None;
            }
        }
        Some(slow)
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        for file in Self::files() {
            let _ = fs::write(file, format!("{} 0", self.0));
        }
    }
}

/// What was told, in pages that were taken before and the rest.
fn timeline(probes: Probes, pages: Vec<Vec<u8>>) -> Timeline {
    let preamble = Preamble {
        machine: this_machine(1),
        header_page: baro_probes::header_page().into(),
        header_event: baro_probes::header_event().into(),
        formats: baro_probes::formats(),
    };
    let mut writer = TraceWriter::new(Vec::new(), &preamble).unwrap();
    pages.iter().for_each(|page| writer.page(PROBES_CPU, page).unwrap());
    let summary = probes.finish(&mut |page| writer.page(PROBES_CPU, page)).unwrap();
    assert_eq!(summary.lost.total() + summary.lost.displaced_tasks, 0);
    let bytes = writer.finish(&[summary.losses]).unwrap();
    Timeline::of(&mut TraceFile::open(Cursor::new(bytes)).unwrap(), Limits::default()).unwrap()
}

#[test]
fn every_call_is_told_once() {
    let Some(stand) = Ext4::new("calls") else { return };
    fs::write(stand.mount.join("data"), vec![1; FILE_BYTES as usize]).unwrap();
    stand.sync();
    let Some(slow) = Slow::new(&stand.device().to_string()) else { return };
    let options = ProbeOptions { own_sleeps: true, ..Default::default() };
    let Some(mut probes) = probes(&options) else { return };
    let seconds: u64 = std::env::var("BARO_CALLS_S").map_or(2, |text| text.parse().unwrap());
    let until_ns = clock::monotonic_ns() + seconds * 1_000 * MS;
    let (mut pages, mut made) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let loads: Vec<_> = (0..THREADS)
            .map(|number| {
                let folder = stand.mount.clone();
                scope.spawn(move || (own_task(), load(&folder, number, until_ns)))
            })
            .collect();
        while clock::monotonic_ns() < until_ns {
            clock::sleep_ns(100 * MS);
            let mut keep = |page: &[u8]| {
                pages.push(page.to_vec());
                Ok(())
            };
            probes.drain(&mut keep).unwrap();
        }
        made = loads.into_iter().map(|one| one.join().unwrap()).collect();
    });
    drop(slow);
    let line = timeline(probes, pages);
    let (mut long, mut wrong) = (0, Vec::new());
    for (task, calls) in &made {
        let told = line.tasks.get(task).map_or(&[][..], |task| &task.calls);
        let is_apart = line.tasks.get(task).is_some_and(|task| task.calls_are_apart);
        for one in told {
            let within = |made: &&Made| {
                one.begin_ns + MOMENT_NS >= made.begin_ns && one.begin_ns < made.end_ns
            };
            let Some(of) = calls.iter().find(within) else { continue };
            if one.end_ns.is_none_or(|end_ns| end_ns > of.end_ns + MOMENT_NS) {
                wrong.push(format!("joined: {task} {of:?} {one:?}"));
            }
        }
        for of in calls.iter().filter(|of| of.slept_ns >= LONG_NS) {
            long += 1;
            let within =
                |one: &&Call| one.begin_ns + MOMENT_NS >= of.begin_ns && one.begin_ns < of.end_ns;
            let all: Vec<&Call> = told.iter().filter(within).collect();
            // The account is read by calls too.
            let longest =
                all.iter().max_by_key(|one| one.end_ns.map(|end_ns| end_ns - one.begin_ns));
            let is_it = |one: &&Call| longest.is_some_and(|longest| longest.number == one.number);
            let parts: Vec<&Call> = all.iter().copied().filter(is_it).collect();
            let told_ns: u64 =
                parts.iter().filter_map(|one| Some(one.end_ns? - one.begin_ns)).sum();
            // Sleeps of less than 1 ms are not told, nor short waits for a processor.
            if told_ns + of.slept_ns / 10 + 5 * MS < of.slept_ns || is_apart && parts.len() != 1 {
                let around = |begin_ns: u64, end_ns: Option<u64>| {
                    begin_ns < of.end_ns + 50 * MS
                        && end_ns.is_none_or(|end_ns| end_ns > of.begin_ns)
                };
                let Some(whole) = line.tasks.get(task) else { continue };
                let waits: Vec<_> =
                    whole.waits.iter().filter(|one| around(one.begin_ns, one.end_ns)).collect();
                let faults: Vec<_> =
                    whole.faults.iter().filter(|(from, to)| around(*from, Some(*to))).collect();
                wrong.push(format!(
                    "{} parts, {told_ns} ns: {task} {of:?}, told {all:?}, faults {faults:?}, waits {waits:?}",
                    parts.len()
                ));
            }
        }
    }
    println!("{long} long calls of {THREADS} threads");
    assert!(long > 0 && wrong.is_empty(), "{wrong:#?}");
}
