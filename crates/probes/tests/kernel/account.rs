//! The four analyzers of paper D fed by the probes, against accounts that are not the tracer's: the
//! kernel's own statistics (`/proc/fs/jbd2/*/info`), the journal on the disk (`debugfs logdump`,
//! `dumpe2fs`), and blocks computed from the load. The line that begins with `account` has the figures as
//! JSON.

use crate::stand::{Ext4, probes, run};
use baro_probes::{PROBES_CPU, ProbeOptions};
use baro_trace::analyze::{Analysis, Options as Asked, Source, analyze};
use baro_trace::collect::{CollectError, Options, Recorder, rare_events};
use baro_trace::file::TraceFile;
use baro_trace::timeline::{Limits, Stage, Timeline};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::process::Command;

/// Blocks of data that the load leaves to commits: with nodelalloc they are allocated when written, and
/// sent by the commit (data=ordered).
const DATA_BLOCKS: u64 = 256;
const COMMITS: u64 = 20;
const FILES: u64 = 100;

/// In each round a commit with files that are made and data that is not synced by itself.
fn load(stand: &Ext4) {
    for round in 0..COMMITS {
        for file in 0..FILES {
            File::create(stand.mount.join(format!("{round}-{file}"))).unwrap();
        }
        let data = vec![round as u8; (DATA_BLOCKS * 4_096) as usize];
        fs::write(stand.mount.join(format!("data{round}")), data).unwrap();
        let mut small = File::create(stand.mount.join(format!("small{round}"))).unwrap();
        small.write_all(b"x").unwrap();
        small.sync_all().unwrap();
    }
}

/// Transactions, and averages of handles, blocks and logged blocks.
fn info(device: &str) -> [u64; 4] {
    let text = fs::read_to_string(format!("/proc/fs/jbd2/{device}-8/info")).unwrap();
    let keys = [
        " transactions (",
        "handles per transaction",
        " blocks per transaction",
        "logged blocks per transaction",
    ];
    keys.map(|key| {
        let line = text.lines().find(|line| line.contains(key));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    })
}

/// Blocks of all transactions that are in the journal on the disk.
fn on_disk(stand: &Ext4, total: u64) -> u64 {
    let text = run(Command::new("debugfs").args(["-R", "logdump -a"]).arg(&stand.image)).unwrap();
    let (mut first, mut sum) = (None, 0);
    for line in text.lines().filter(|line| line.starts_with("Found expected sequence ")) {
        let words = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        let [_, kind, block] = words.collect::<Vec<u64>>()[..] else { panic!("{line}") };
        let begin = *first.get_or_insert(block);
        if kind == 2 {
            let wraps = if block < begin { total - 1 } else { 0 };
            sum += block + wraps - begin + 1;
            first = None;
        }
    }
    sum
}

fn number(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {json}"))
}

/// Not further from it than one in a hundred.
fn near(found: u64, expected: u64) -> bool {
    found.abs_diff(expected) * 100 <= expected
}

#[test]
fn the_analyzers_count_what_others_count() {
    let Some(stand) = Ext4::new("account") else { return };
    if run(Command::new("debugfs").arg("-V")).is_err() {
        println!("skipped: no debugfs (e2fsprogs)");
        return;
    }
    run(Command::new("umount").arg(&stand.mount)).unwrap();
    let how = "loop,noatime,nodelalloc,dioread_lock,commit=300";
    run(Command::new("mount").args(["-o", how]).args([&stand.image, &stand.mount])).unwrap();
    let device = stand.device();
    let options = ProbeOptions { device: Some(device), ..Default::default() };
    let Some(mut probes) = probes(&options) else { return };
    let mut events = rare_events(std::process::id());
    events.retain(|choice| matches!(choice.system.as_str(), "jbd2" | "ext4"));
    events.iter_mut().for_each(|choice| choice.filter = Some(format!("dev == {}", device.0)));
    let name = "baro-probes-account".to_owned();
    let recording = Options { name, buffer_kib: 4_096, events, surroundings: false, stacks: None };
    let beside = baro_probes::formats();
    let mut recorder = match Recorder::start_beside(&recording, &beside, Vec::new()) {
        Ok(recorder) => recorder,
        Err(error @ CollectError::Tracer(_)) => {
            println!("skipped: no trace instance: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (page, entry) = recorder.headers();
    probes.lay_out(page, entry);
    let loop_device = fs::read_link(format!("/sys/dev/block/{device}")).unwrap();
    let loop_device = loop_device.file_name().unwrap().to_str().unwrap().to_owned();
    let before = info(&loop_device);
    load(&stand);
    stand.sync();
    let after = info(&loop_device);
    let total = stand.told("Total journal blocks");
    let in_journal = on_disk(&stand, total);
    let summary = probes.finish(&mut |page| recorder.write_page(PROBES_CPU, page)).unwrap();
    recorder.extra_losses(summary.losses);
    let (bytes, recorded) = recorder.finish([]).unwrap();
    assert!(recorded.losses.iter().all(|cpu| cpu.total() == 0), "{recorded:?}");

    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    let line = Timeline::of(&mut trace, Limits::default()).unwrap();
    let devices = [(device, loop_device)].into_iter().collect();
    let source = Source {
        line: &line,
        devices: &devices,
        arch: None,
        symbols: trace.symbols(),
        facts: trace.facts(),
        tasks: None,
    };
    let report = |one| analyze(one, &source, &Asked::default()).json();
    let (handle, state) = (report(Analysis::Handle), report(Analysis::State));
    let space = report(Analysis::Space);
    let journal = &line.journals[&device];
    let committed = number(&state, "/journals/0/committed_transactions");
    let handles = number(&handle, "/journals/0/waits/handles");
    let logged = number(&state, "/journals/0/logged_blocks");
    let metadata = number(&state, "/journals/0/blocks");
    // By the lists that the probes walked, as each commit began to log.
    let ended = journal.transactions.values().filter(|one| one.stats.is_some());
    let at_logging = |one: &baro_trace::timeline::Transaction| {
        let at = one.lists.iter().find(|lists| lists.stage == Stage::Logging);
        at.map_or(0, |lists| lists.metadata)
    };
    let listed: u64 = ended.clone().map(at_logging).sum();
    let data: u64 = ended.map(|one| one.data_pages).sum();
    let last = journal.samples.last().unwrap();
    let used = last.total_blocks - last.free_blocks;
    let figures = json!({
        "collector": "btf",
        "transactions": { "trace": committed, "info": after[0] - before[0] },
        "handles": { "trace": handles, "info_average": after[1] },
        "metadata_blocks": { "trace": metadata, "lists": listed, "info_average": after[2] },
        "logged_blocks": { "trace": logged, "info_average": after[3] },
        "data_blocks": { "trace": data, "load": COMMITS * DATA_BLOCKS },
        "journal": {
            "total_blocks": last.total_blocks, "dumpe2fs_blocks": total,
            "used_blocks": used, "on_disk_blocks": in_journal,
            "reported_used_blocks": number(&space, "/journals/0/last_used_blocks"),
        },
    });
    println!("account {figures}");
    assert!(before[0] == 0 && committed >= COMMITS, "{figures}");
    assert_eq!(committed, after[0], "{figures}");
    // The kernel tells whole averages.
    assert_eq!(handles / committed, after[1], "{figures}");
    assert_eq!(metadata / committed, after[2], "{figures}");
    assert_eq!(logged / committed, after[3], "{figures}");
    assert!(near(listed, metadata), "{figures}");
    // Small files and folders' blocks are data of the commit too: less than one in a hundred.
    assert!(near(data, COMMITS * DATA_BLOCKS), "{figures}");
    assert_eq!(last.total_blocks + 1, total, "{figures}");
    assert!(near(used, in_journal), "{figures}");
    assert_eq!(number(&space, "/journals/0/last_used_blocks"), used, "{figures}");
}
