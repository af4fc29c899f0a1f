//! What the kernel does while a store is recorded into, counted by its own tracepoints, in a
//! process with a mount namespace (and so a tracefs) of its own.

use crate::process::{play_with_own_tracefs, sleep_ms};
use crate::scene::Scene;
use baro_recorder::{Options, Recorder};
use baro_sys::place::Place;
use baro_sys::tracefs::{TraceInstance, TraceLine};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const FRAMES: u64 = 300;
const REQUEST: &str = "block/block_rq_issue";

/// Events during a recording of [`FRAMES`] frames.
#[derive(Debug)]
pub struct Counted {
    /// Syncs of the recorder.
    pub syncs: u64,
    /// Requests to the place's device that flush its cache.
    pub flushes: u64,
    events: BTreeMap<String, u64>,
    /// Events while a file that had grown was synced: that the counters can count.
    grown: BTreeMap<String, u64>,
}

impl Counted {
    /// Records into the scene's store; `None`, said why, where the kernel cannot count.
    pub fn of(scene: &Scene, events: &[&str]) -> Option<Self> {
        scene.signal("events", &events.join(" "));
        if !play_with_own_tracefs("places", scene) {
            return None;
        }
        let text = scene.signalled("counted")?;
        let mut counted = BTreeMap::new();
        for line in text.lines() {
            let (name, count) = line.rsplit_once(' ').unwrap();
            counted.insert(name.to_owned(), count.parse().unwrap());
        }
        let take = |counted: &mut BTreeMap<String, u64>, name| counted.remove(name).unwrap();
        let (syncs, flushes) = (take(&mut counted, "syncs"), take(&mut counted, "flushes"));
        let (grown, events) = counted.into_iter().partition(|(name, _)| name.starts_with("grown "));
        let counted = Counted { syncs, flushes, events, grown };
        println!("{}: {counted:?}", scene.store().display());
        Some(counted)
    }

    /// How often an event happened while a file that had grown was synced.
    pub fn grown(&self, name: &str) -> u64 {
        self.grown[&format!("grown {}", name.rsplit('/').next().unwrap())]
    }

    /// How often an event (`jbd2/jbd2_end_commit`) happened.
    pub fn events(&self, name: &str) -> u64 {
        self.events[name.rsplit('/').next().unwrap()]
    }
}

/// The filter for the loop device behind the store.
fn filter(scene: &Scene) -> Option<String> {
    let mut place = Place::of(scene.store()).ok()?;
    while let Some(upper) = place.upper.take() {
        place = *upper;
    }
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(&place.source).ok()?.rdev();
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
    Some(format!("dev == {}", major << 20 | minor))
}

/// The role `places`.
pub fn count_in_own_namespace(scene: &Scene) {
    let options = Options { durable_within_ns: 20_000_000, ring_bytes: 8 << 20, ..scene.options() };
    let recorder = Recorder::open(scene.store(), options).unwrap();
    let mut producer = recorder.producer().unwrap();
    let mut trace = match TraceInstance::new("baro-places", 4096) {
        Ok(trace) => trace,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let device = filter(scene).unwrap();
    let wanted = scene.signalled("events").unwrap_or_default();
    trace.enable(REQUEST, Some(&device)).unwrap();
    for event in wanted.split_whitespace() {
        // Those of btrfs have no device.
        let by_device = !event.starts_with("btrfs/");
        if let Err(reason) = trace.enable(event, by_device.then_some(device.as_str())) {
            println!("skipped: {reason}");
            return;
        }
    }
    // What the opening itself left to be committed.
    let file = std::fs::File::create(scene.store().with_extension("settled")).unwrap();
    file.sync_all().unwrap();
    trace.read(&mut Vec::new()).unwrap();
    let (before, syncs) = (trace.counts().clone(), recorder.status().syncs);
    let frame = vec![3; 4 << 10];
    for n in 0..FRAMES {
        assert_eq!(producer.push_frame(1, n as i64, &frame), Ok(n));
        sleep_ms(2);
        // However slow the disk is, it is asked so often at least.
        if n % 16 == 15 {
            assert!(recorder.wait_durable(&producer, n + 1, 60_000_000_000));
        }
    }
    assert!(recorder.wait_durable(&producer, FRAMES, 60_000_000_000));
    let mut lines = Vec::new();
    trace.read(&mut lines).unwrap();
    assert_eq!(trace.lost().unwrap().total(), 0);
    let is_flush = |line: &&TraceLine| {
        let TraceLine::Event(event) = line else { return false };
        // "7,0 FF 0 () 0 + 0 none,0,0 [task]": the second word has an F in front for a flush.
        event.event == "block_rq_issue"
            && event.text.split_whitespace().nth(1).is_some_and(|kind| kind.starts_with('F'))
    };
    let syncs = recorder.status().syncs - syncs;
    let flushes = lines.iter().filter(is_flush).count();
    let mut text = format!("syncs {syncs}\nflushes {flushes}\n");
    for (name, count) in trace.counts() {
        writeln!(text, "{name} {}", count - before[name]).unwrap();
    }
    let before = trace.counts().clone();
    std::io::Write::write_all(&mut &file, &[1; 100_000]).unwrap();
    file.sync_data().unwrap();
    trace.read(&mut Vec::new()).unwrap();
    for (name, count) in trace.counts() {
        writeln!(text, "grown {name} {}", count - before[name]).unwrap();
    }
    scene.signal("counted", &text);
    drop(producer);
    assert_eq!(recorder.close().left, 0);
}
