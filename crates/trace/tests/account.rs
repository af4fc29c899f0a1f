//! What the analyzers count, against an account that does not come from the tracer.
//!
//! A load on an ext4 of its own, with a journal so small that it goes round: what the reports say of its
//! transactions, handles and blocks must be what the kernel's own statistics
//! (`/proc/fs/jbd2/*/info`), the journal on the disk (`debugfs logdump`, `dumpe2fs`) and the load itself
//! say. Needs root, tracefs, a loop device and e2fsprogs. The line that begins with `account` has the
//! figures as JSON.
#![cfg(feature = "collect")]
#![allow(clippy::disallowed_methods, reason = "test code makes a load, by files")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

use baro_sys::tracefs::{self, TraceError};
use baro_trace::analyze::{Analysis, Options, Source, analyze};
use baro_trace::collect::{self, CollectError, Recorder, known_events};
use baro_trace::file::TraceFile;
use baro_trace::timeline::{Limits, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is done.
#[derive(Clone, Copy)]
enum Load {
    /// So many syncs of a file that grows: at least a commit each.
    Syncs(u64),
    /// So many files and folders are made and half of them removed, with few syncs: large
    /// transactions, of which the kernel's averages, which it tells in whole numbers, are exact to less
    /// than 1 %. Folders that go are revoked in the journal.
    Files(u64),
}

/// An ext4 with a journal of 1,024 blocks on a loop device.
struct Disk {
    folder: PathBuf,
    mounted: bool,
}

impl Disk {
    fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    fn path(&self) -> PathBuf {
        self.folder.join("mnt")
    }

    fn new(name: &str) -> Result<Self, String> {
        let name = format!("account-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut disk = Self { folder, mounted: false };
        std::fs::create_dir_all(disk.path()).map_err(|error| error.to_string())?;
        let image = File::create(disk.image()).map_err(|error| error.to_string())?;
        image.set_len(128 << 20).map_err(|error| error.to_string())?;
        let lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        run("mkfs.ext4", &["-q", "-F", "-b", "4096", "-J", "size=4", "-E", lazy], &disk.image())?;
        let path = disk.path();
        run("mount", &["-o", "loop,commit=300", disk.image().to_str().unwrap()], &path)?;
        disk.mounted = true;
        Ok(disk)
    }

    /// Waits until the loop device is gone too. A process that made a mount namespace of its own while
    /// this was mounted keeps it mounted there until it ends, and its journal is written out only then.
    fn unmount(&mut self) {
        if !std::mem::take(&mut self.mounted) {
            return;
        }
        run("umount", &[], &self.path()).unwrap();
        for _ in 0..600 {
            if run("losetup", &["-j"], &self.image()).unwrap().trim().is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("{}: still mounted in another mount namespace", self.path().display());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.mounted {
            let _ = run("umount", &["-l"], &self.path());
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn run(program: &str, args: &[&str], path: &Path) -> Result<String, String> {
    let output = Command::new(program).args(args).arg(path).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Of `/proc/fs/jbd2/*/info`: transactions, and whole averages of handles, blocks, logged blocks.
fn info(device: &str) -> [u64; 4] {
    let text = std::fs::read_to_string(format!("/proc/fs/jbd2/{device}-8/info")).unwrap();
    let before = |what: &str| {
        let line = text.lines().find(|line| line.contains(what));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    [
        before(" transactions ("),
        before("handles per transaction"),
        before(" blocks per transaction"),
        before("logged blocks per transaction"),
    ]
}

/// Of `debugfs logdump`: blocks of each transaction in the journal, from its first to its commit block.
fn logdump(image: &Path, total: u64) -> BTreeMap<u32, u64> {
    let text = run("debugfs", &["-R", "logdump -a"], image).unwrap();
    let mut first: Option<u64> = None;
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("Found expected sequence ")) {
        let numbers: Vec<u64> = line
            .split(|one: char| !one.is_ascii_digit())
            .filter_map(|one| one.parse().ok())
            .collect();
        let [tid, kind, block] = numbers[..] else { panic!("{line}") };
        let begin = *first.get_or_insert(block);
        if kind == 2 {
            // Its first block is the journal's superblock.
            let blocks = if block >= begin { block - begin } else { block + total - 1 - begin };
            found.insert(u32::try_from(tid).unwrap(), blocks + 1);
            first = None;
        }
    }
    found
}

fn make(load: Load, path: &Path, recorder: &mut Recorder<Vec<u8>>) {
    match load {
        Load::Syncs(syncs) => {
            let mut file = File::create(path.join("grows")).unwrap();
            for _ in 0..syncs {
                file.write_all(&[7; 4_096]).unwrap();
                file.sync_all().unwrap();
                recorder.drain().unwrap();
            }
        }
        Load::Files(files) => {
            for number in 0..files {
                std::fs::write(path.join(number.to_string()), [1; 100]).unwrap();
                std::fs::create_dir(path.join(format!("folder{number}"))).unwrap();
                if number % 2 == 0 {
                    std::fs::remove_file(path.join((number / 2).to_string())).unwrap();
                    std::fs::remove_dir(path.join(format!("folder{}", number / 2))).unwrap();
                }
                recorder.drain().unwrap();
            }
        }
    }
    run("sync", &["-f"], path).unwrap();
    recorder.drain().unwrap();
}

fn number(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {json}"))
}

fn reports(bytes: Vec<u8>, total: u64) -> (Timeline, String, [Value; 4]) {
    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    let line = Timeline::of(&mut trace, Limits::default()).unwrap();
    let named = trace.devices().iter().map(|(device, name)| (*device, name.to_string()));
    let devices = named.collect();
    let source = Source {
        line: &line,
        devices: &devices,
        arch: trace.machine().arch.as_deref(),
        symbols: trace.symbols(),
        facts: trace.facts(),
        tasks: None,
    };
    let options = Options { journal_blocks: Some(total), ..Options::default() };
    let all = [Analysis::Handle, Analysis::State, Analysis::Blocks, Analysis::Space];
    let reports = all.map(|one| analyze(one, &source, &options).json());
    let device = reports[0]["journals"][0]["device"].as_str().unwrap_or("none").to_owned();
    (line, device, reports)
}

#[test]
fn what_is_counted_of_syncs_is_what_others_count() {
    if let Err(why) = account("syncs", Load::Syncs(400)) {
        println!("skipped: {why}");
    }
}

#[test]
fn what_is_counted_of_files_is_what_others_count() {
    if let Err(why) = account("files", Load::Files(3_000)) {
        println!("skipped: {why}");
    }
}

/// Makes a load, and compares; an error says what is missing here to do so.
fn account(name: &str, load: Load) -> Result<(), String> {
    let mut disk = Disk::new(name).map_err(|error| format!("no ext4 on a loop device: {error}"))?;
    let filter = tracefs::device_filter(&disk.path());
    let filter = filter.map_err(|error| format!("no filter for a device: {error}"))?;
    let mut events = known_events(Some(&filter), std::process::id());
    events.retain(|choice| matches!(choice.system.as_str(), "jbd2" | "ext4"));
    let options = collect::Options {
        name: format!("baro-trace-{name}"),
        buffer_kib: 4_096,
        events,
        surroundings: false,
        stacks: None,
    };
    let mut recorder = match Recorder::start(&options, Vec::new()) {
        Ok(recorder) => recorder,
        Err(error @ CollectError::Tracer(TraceError::NotMounted | TraceError::File { .. })) => {
            return Err(format!("no trace instance: {error}"));
        }
        Err(error) => panic!("{error}"),
    };
    let device = loop_device(&disk.image());
    let before = info(&device);
    make(load, &disk.path(), &mut recorder);
    let after = info(&device);
    let header = run("dumpe2fs", &["-h"], &disk.image()).unwrap();
    let total = header_number(&header, "Total journal blocks:");
    let on_disk = logdump(&disk.image(), total);
    recorder.stop().unwrap();
    let (bytes, summary) = recorder.finish(std::collections::BTreeSet::new()).unwrap();
    assert!(summary.losses.iter().all(|cpu| cpu.total() == 0), "{summary:?}");
    disk.unmount();
    let header = run("dumpe2fs", &["-h"], &disk.image()).unwrap();
    let sequence = u32::try_from(header_number(&header, "Journal sequence:")).unwrap();

    let (line, journal_of, [handle, state, blocks, space]) = reports(bytes, total);
    assert_eq!(journal_of, device);
    let journal = line.journals.values().next().unwrap();
    let committed = number(&state, "/journals/0/committed_transactions");
    let handles = number(&state, "/journals/0/handles");
    let logged = number(&state, "/journals/0/logged_blocks");
    let metadata = number(&state, "/journals/0/blocks");
    let in_journal: u64 = on_disk.values().sum();
    let used = number(&space, "/journals/0/last_used_blocks");
    let of_disk = on_disk.iter().map(|(tid, blocks)| {
        let seen = journal.transactions.get(tid).and_then(|one| one.stats);
        (*tid, *blocks, seen.map_or(0, |stats| u64::from(stats.blocks_logged)))
    });
    let of_disk: Vec<(u32, u64, u64)> = of_disk.collect();
    let different: Vec<_> = of_disk.iter().filter(|(_, disk, seen)| disk != seen).collect();
    let figures = json!({
        "load": name,
        "transactions": { "trace": committed, "info": after[0] - before[0] },
        "handles": {
            "trace_events": number(&handle, "/journals/0/waits/handles"),
            "trace_statistics": handles,
            "info_average": after[1],
        },
        "metadata_blocks": { "trace": metadata, "info_average": after[2] },
        "logged_blocks": { "trace": logged, "info_average": after[3] },
        "journal": {
            "total_blocks": total,
            "used_trace_blocks": used,
            "used_on_disk_blocks": in_journal,
            "transactions_on_disk": on_disk.len(),
            "different_transactions": different.len(),
            "corrected_blocks": number(&space, "/journals/0/corrected_blocks"),
            "anchors": number(&space, "/journals/0/anchors"),
            "tail_moves": number(&space, "/journals/0/tail_moves"),
        },
        "checkpoint_blocks": number(&blocks, "/journals/0/checkpoint/max"),
        "sequence_after": sequence,
        "last_transaction": journal.transactions.keys().next_back(),
    });
    println!("account {figures}");

    // The file system is new: the kernel's averages are those of what was recorded.
    assert_eq!(before[0], 0, "{figures}");
    assert_eq!(committed, after[0], "{figures}");
    assert_eq!(handles / committed, after[1], "{figures}");
    assert_eq!(metadata / committed, after[2], "{figures}");
    assert_eq!(logged / committed, after[3], "{figures}");
    assert_eq!(number(&handle, "/journals/0/waits/handles"), handles, "{figures}");
    // Blocks in the journal, one transaction at a time, and all of them.
    assert!(!on_disk.is_empty() && different.is_empty(), "{different:?} {figures}");
    assert_eq!(used, in_journal, "{figures}");
    assert_eq!(number(&space, "/journals/0/total_blocks") + 1, total, "{figures}");
    assert_eq!(number(&space, "/journals/0/corrected_blocks"), 0, "{figures}");
    assert!(
        logged > total && number(&space, "/journals/0/anchors") > 0,
        "it went round: {figures}"
    );
    // The unmounted file system says which transaction would be next; to unmount takes two at most.
    let last = journal.transactions.iter().rev().find(|(_, one)| one.end_ns.is_some());
    let after_last = sequence.checked_sub(*last.unwrap().0);
    assert!(after_last.is_some_and(|after| (1..=3).contains(&after)), "{figures}");
    match load {
        Load::Syncs(syncs) => assert!(committed >= syncs, "{figures}"),
        Load::Files(_) => assert!(after[1] > 100, "averages tell to 1 %: {figures}"),
    }
    Ok(())
}

/// `loop0` of `/dev/loop0`, by the file that it is on.
fn loop_device(image: &Path) -> String {
    let text = run("losetup", &["--noheadings", "--output", "NAME", "-j"], image).unwrap();
    text.trim().trim_start_matches("/dev/").to_owned()
}

/// A number, decimal or with 0x, behind a word of dumpe2fs.
fn header_number(text: &str, word: &str) -> u64 {
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix(word))
        .unwrap_or_else(|| panic!("{word}: {text}"));
    let rest = rest.trim();
    match rest.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => rest.parse().unwrap(),
    }
}
