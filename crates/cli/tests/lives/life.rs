//! A store, what is done to it, and what it must show by then.

use crate::calls::{baro, run, stderr};
use crate::place::Folder;
use crate::ways::Seen;
use crate::{Key, Shown, number};
use baro_log::{Geometry, init};
use baro_ondisk::{Layout, StoreId, Type, WhenFull};
use baro_recorder::{Options, PinRequest, Producer, Recorder, Retention, Rings};
use baro_store::{Extent, Interval, SettleOptions, Settler, Store};
use baro_sys::disk::Disk;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// So late that integers are taken for nanoseconds.
const START_NS: i64 = 1_700_000_000_000_000_000;
/// What a life may take, with its exports.
const MEMORY_BYTES: u64 = 256 << 20;
/// Segments of the log that are left for one step.
const SPARE: u32 = 5;

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

const SERIES: [(&str, Type); 6] = [
    ("temp{room=\"1\"}", Type::F64),
    ("count", Type::I64),
    ("on", Type::Bool),
    ("said", Type::Text),
    ("plain", Type::F64),
    ("ticks", Type::I64),
];

pub(crate) struct Life {
    _folder: Folder,
    path: PathBuf,
    pub(crate) random: Random,
    now_ns: i64,
    /// What must be shown.
    samples: Shown,
    /// What else may be, since its program was killed: `None` is nothing.
    perhaps: BTreeMap<Key, BTreeSet<Option<String>>>,
    /// All values that were pushed since the last deletion of each: the log may have any.
    pushed: BTreeMap<Key, BTreeSet<String>>,
    /// Frames that were pushed and not deleted: channel, time, how many.
    frames: BTreeMap<Key, u64>,
    pins: Vec<u64>,
    /// What was done, for who reads a failure.
    pub(crate) did: String,
}

impl Life {
    pub(crate) fn new(seed: u64) -> Self {
        let name = format!("lives-{seed}");
        // A device takes half of the time: one of four waits for it.
        let folder = match seed.is_multiple_of(4) {
            true => Folder::new(&name),
            false => Folder::in_memory(&name, MEMORY_BYTES),
        };
        let path = folder.0.join("store");
        let disk = Disk::create(&path).unwrap();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 1 << 20, WhenFull::Recycle);
        let segments = 2 * SPARE + random.below(3) as u32;
        let geometry = Geometry { segment_bytes, segments, catalog_bytes, when_full };
        let mut id = [7; 16];
        // Rings are found by it.
        id[..8].copy_from_slice(&seed.to_le_bytes());
        id[8..12].copy_from_slice(&std::process::id().to_le_bytes());
        init(&disk, &path, StoreId(id), 1, &geometry, |_| {}).unwrap();
        Life {
            _folder: folder,
            path,
            random,
            now_ns: START_NS,
            samples: Shown::new(),
            perhaps: BTreeMap::new(),
            pushed: BTreeMap::new(),
            frames: BTreeMap::new(),
            pins: Vec::new(),
            did: String::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Each session begins a segment, and what is in no run must not be recycled; nor what pins hold, which
    /// may be half of the log.
    fn make_room(&mut self) {
        let info = Store::open(&self.path).unwrap().info().unwrap();
        let most = if self.pins.is_empty() { SPARE } else { 1 };
        if info.segments_unsettled > most {
            self.settle_all();
        }
    }

    fn settle_all(&mut self) {
        let mut settler = Settler::open(&self.path, SettleOptions::default()).unwrap();
        while settler.step(Extent::All).unwrap().more {}
    }

    fn push(&mut self, key: Key, value: String) {
        self.pushed.entry(key.clone()).or_default().insert(value.clone());
        self.samples.insert(key, value);
    }

    /// A series, a time and a value: mostly rising, some late, some twice.
    fn sample(&mut self) -> (usize, i64, f64, i64, String) {
        let random = &mut self.random;
        self.now_ns += random.below(50) as i64;
        let late = if random.below(6) == 0 { random.below(3_000) as i64 } else { 0 };
        let (at, time_ns) = (random.below(6) as usize, (self.now_ns - late).max(START_NS));
        let float = match random.below(20) {
            0 => f64::NAN,
            1 => -0.0,
            _ => random.below(100_000) as f64 / 64.0,
        };
        let integer = random.below(u64::MAX).cast_signed();
        let shown = match SERIES[at].1 {
            Type::Text => format!("text {}, \"ä\"", integer.rem_euclid(20)),
            Type::F64 => number(float),
            Type::Bool => (integer % 2 == 0).to_string(),
            _ => integer.to_string(),
        };
        (at, time_ns, float, integer, shown)
    }

    fn open(&self) -> (Recorder, [u32; 6], [u32; 2]) {
        let retention = Retention { keep_unsettled: true, ..Retention::default() };
        let rings = Rings::Private;
        let options = Options { rings, retention, durable_within_ns: 4_000_000, ..<_>::default() };
        let recorder = Recorder::open(&self.path, options).unwrap();
        let layout: Layout = "speed:f64@0,big:u64@8".parse().unwrap();
        let control = recorder.declare_channel_with_layout("control", &layout).unwrap();
        let ids = recorder.declare(&SERIES.map(|(name, kind)| (name, kind, ""))).unwrap();
        let raw = recorder.declare(&[("raw", Type::Channel, "")]).unwrap()[0];
        (recorder, ids.try_into().unwrap(), [control, raw])
    }

    /// One session of the recorder.
    pub(crate) fn record(&mut self, batches: u64, frames: u64) -> &'static str {
        self.make_room();
        let backup = (self.random.below(4) == 0).then(|| self.back_up_beside());
        let _ = write!(self.did, " record {batches} {frames}");
        let (recorder, ids, channels) = self.open();
        let mut producer = recorder.producer().unwrap();
        for _ in 0..batches {
            for _ in 0..1 + self.random.below(40) {
                self.one(&mut producer, &ids);
            }
        }
        for _ in 0..frames {
            self.frame(&mut producer, channels);
        }
        let pin = self.random.below(6) == 0;
        if pin {
            let before_ns = self.random.below(4_000_000_000);
            let pinned = recorder.pin(&PinRequest { before_ns, ..<_>::default() });
            let _ = write!(self.did, " pin {before_ns}");
            self.pins.extend(pinned.ok().map(|pin| pin.id));
        }
        drop(producer);
        let closed = recorder.close();
        let status = &closed.status;
        assert_eq!((closed.left, status.lost), (0, 0), "{}: {status:?}", self.did);
        if let Some(backup) = backup {
            let done = backup.wait_with_output().unwrap();
            let said: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
            // What was reused before anybody looked into it may have held samples, as far as is known.
            let unknown = said["recycled_unsettled"].as_u64().unwrap_or(0) > 0;
            let code = if unknown { 3 } else { 0 };
            let why = format!("{} {said:#} {}", self.did, stderr(&done));
            assert_eq!(done.status.code(), Some(code), "{why}");
            assert_eq!(said["damage"], serde_json::json!([]), "{why}");
            assert_eq!(said["copy"]["damage"], serde_json::json!([]), "{why}");
        }
        "record"
    }

    /// A backup of which it is not known what it sees. The next one, at rest, must go on from it.
    fn back_up_beside(&mut self) -> Child {
        let _ = write!(self.did, " back up beside");
        let copy = self.path.with_extension("copy");
        let mut backup = baro(&["backup", self.name(), copy.to_str().unwrap(), "--format", "json"]);
        backup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn one(&mut self, producer: &mut Producer, ids: &[u32; 6]) {
        let (at, time_ns, float, integer, shown) = self.sample();
        wait_for_room(producer);
        match SERIES[at].1 {
            Type::Text => producer.push_text(ids[at], time_ns, &shown).unwrap(),
            Type::F64 => producer.push_samples(time_ns, &[ids[at]], &[float]).unwrap(),
            Type::Bool => {
                producer.push_sample(ids[at], time_ns, i64::from(shown == "true")).unwrap()
            }
            _ => producer.push_sample(ids[at], time_ns, integer).unwrap(),
        };
        self.push((SERIES[at].0.to_owned(), time_ns), shown);
    }

    fn frame(&mut self, producer: &mut Producer, channels: [u32; 2]) {
        let random = &mut self.random;
        self.now_ns += 1 + random.below(20) as i64;
        let mut frame = (random.below(1_000) as f64).to_le_bytes().to_vec();
        frame.extend(random.below(u64::MAX).to_le_bytes());
        frame.resize(16 + random.below(30_000) as usize, 7);
        let raw = random.below(3) == 0;
        // Some of one time: of their fields the last counts.
        let time_ns = self.now_ns - i64::from(random.below(9) == 0);
        wait_for_room(producer);
        producer.push_frame(channels[usize::from(raw)], time_ns, &frame).unwrap();
        let name = if raw { "raw" } else { "control" };
        *self.frames.entry((name.to_owned(), time_ns)).or_default() += 1;
    }

    pub(crate) fn settle(&mut self) -> &'static str {
        let options = SettleOptions {
            memory_bytes: 64 << 10,
            least_bytes: self.random.below(2) * 4096,
            fan_in: 2 + self.random.below(3) as usize,
            ..SettleOptions::default()
        };
        let mut settler = Settler::open(&self.path, options).unwrap();
        let mut steps = 0;
        while settler.step(Extent::All).unwrap().more {
            steps += 1;
            if self.random.below(8) == 0 {
                break;
            }
        }
        let _ = write!(self.did, " settle {steps}");
        "settle"
    }

    /// Frames of more than the log holds, all samples being settled.
    pub(crate) fn go_round(&mut self) -> &'static str {
        let _ = write!(self.did, " go-round");
        self.settle_all();
        self.record(0, 900);
        "go round"
    }

    /// Ids of some series and channels, their names, and an interval.
    fn some(&mut self) -> (Vec<&'static str>, Interval) {
        let random = &mut self.random;
        let mut names = SERIES.map(|(name, _)| name).to_vec();
        names.extend(["control", "raw"]);
        names.retain(|_| random.below(3) == 0);
        if names.is_empty() {
            names.push("plain");
        }
        let span_ns = (self.now_ns - START_NS).max(1).cast_unsigned();
        let from_ns = START_NS + random.below(span_ns).cast_signed();
        let interval = match random.below(4) {
            0 => Interval::ALL,
            1 => Interval { from_ns, to_ns: i64::MAX },
            2 => Interval { from_ns: i64::MIN, to_ns: from_ns },
            _ => {
                let length_ns = random.below(span_ns / 4 + 1).cast_signed();
                Interval { from_ns, to_ns: from_ns + 1 + length_ns }
            }
        };
        (names, interval)
    }

    /// What a deletion takes, counted.
    fn forget(&mut self, names: &[&str], interval: Interval) -> u64 {
        let goes = |key: &Key| names.contains(&key.0.as_str()) && interval.holds(key.1);
        let before = self.samples.len();
        self.samples.retain(|key, _| !goes(key));
        self.pushed.retain(|key, _| !goes(key));
        self.frames.retain(|key, _| !goes(key));
        (before - self.samples.len()) as u64
    }

    pub(crate) fn delete(&mut self) -> &'static str {
        let (names, interval) = self.some();
        let _ = write!(self.did, " delete {names:?} {interval:?}");
        let mut store = Store::open(&self.path).unwrap();
        let id = |name: &&str| store.catalog().lookup(name).unwrap().unwrap().id;
        let mut ids: Vec<u32> = names.iter().map(id).collect();
        ids.sort_unstable();
        let counted = store.count_rows(&ids, interval).unwrap();
        let deleted = store.delete(&ids, interval).unwrap();
        assert_eq!(counted, deleted);
        let channels =
            ["control", "raw"].map(|name| store.catalog().lookup(name).unwrap().unwrap().id);
        let samples = deleted.rows.iter().filter(|(id, _)| !channels.contains(id));
        let samples: u64 = samples.map(|(_, rows)| rows).sum();
        assert_eq!(samples, self.forget(&names, interval), "{}", self.did);
        "delete"
    }

    /// A deletion by a program that is killed: all of it or nothing.
    pub(crate) fn killed_delete(&mut self) -> &'static str {
        let (names, interval) = self.some();
        let mut arguments = vec!["delete".to_owned(), self.name().to_owned()];
        arguments.extend(names.iter().map(|name| (*name).to_owned()));
        for (flag, time_ns, open) in
            [("--from", interval.from_ns, i64::MIN), ("--to", interval.to_ns, i64::MAX)]
        {
            if time_ns != open {
                arguments.extend([flag.to_owned(), time_ns.to_string()]);
            }
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let _ = write!(self.did, " kill {arguments:?}");
        self.killed(&arguments, b"", 60);
        let goes = |key: &Key| names.contains(&key.0.as_str()) && interval.holds(key.1);
        let shown = crate::ways::seen(&self.path, 64 << 20);
        let keys: Vec<&Key> = self.samples.keys().filter(|key| goes(key)).collect();
        let left = keys.iter().filter(|key| shown.samples.contains_key(**key)).count();
        assert!(left == 0 || left == keys.len(), "{left} of {}: {}", keys.len(), self.did);
        let frames = shown.frames.iter().any(|frame| goes(&(frame.0.clone(), frame.1)));
        if keys.is_empty() && frames {
            return "killed delete";
        }
        if left == 0 && !(frames && keys.is_empty()) {
            assert!(!frames, "{}", self.did);
            self.forget(&names, interval);
        }
        "killed delete"
    }

    /// Starts the program, feeds it, and kills it some time later.
    fn killed(&mut self, arguments: &[&str], input: &[u8], longest_ms: u64) {
        let mut child = baro(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = child.stdin.as_mut().unwrap().write_all(input);
        std::thread::sleep(Duration::from_micros(self.random.below(longest_ms * 1000)));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Lines of CSV, and the samples that they say.
    fn lines(&mut self) -> (String, Vec<(Key, String)>) {
        let mut lines = String::from("time,series,value\n");
        let mut said = Vec::new();
        for _ in 0..1 + self.random.below(300) {
            let (at, time_ns, float, _, shown) = self.sample();
            let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            let value = match SERIES[at].1 {
                Type::Text => quoted(&shown),
                Type::F64 => format!("{float:?}"),
                _ => shown.clone(),
            };
            let _ = writeln!(lines, "{time_ns},{},{value}", quoted(SERIES[at].0));
            said.push(((SERIES[at].0.to_owned(), time_ns), shown));
        }
        (lines, said)
    }

    /// What was said to a program that was killed may be there or not, each sample by itself.
    fn maybe(&mut self, said: Vec<(Key, String)>) {
        for (key, value) in said {
            let before = self.samples.get(&key).cloned();
            let perhaps = self.perhaps.entry(key.clone()).or_insert_with(|| [before].into());
            perhaps.insert(Some(value.clone()));
            self.pushed.entry(key).or_default().insert(value);
        }
    }

    pub(crate) fn killed_record(&mut self) -> &'static str {
        self.make_room();
        let (lines, said) = self.lines();
        let _ = write!(self.did, " kill-record {}", said.len());
        let store = self.name().to_owned();
        self.killed(&["record", &store, "--stdin", "csv"], lines.as_bytes(), 150);
        self.maybe(said);
        self.reopen();
        "killed record"
    }

    pub(crate) fn killed_import(&mut self) -> &'static str {
        self.make_room();
        let (file, said) = self.file();
        let _ = write!(self.did, " kill-import {}", said.len());
        let store = self.name().to_owned();
        self.killed(&["import", &store, &file], b"", 150);
        self.maybe(said);
        self.reopen();
        "killed import"
    }

    pub(crate) fn killed_settle(&mut self) -> &'static str {
        let _ = write!(self.did, " kill-settle");
        let store = self.name().to_owned();
        self.killed(&["settle", &store, "--all"], b"", 60);
        "killed settle"
    }

    /// The ways out agree before the next recorder takes what a killed one left in its ring, and after.
    fn reopen(&mut self) {
        let seen = crate::ways::seen(&self.path, 64 << 20);
        self.hold(&seen.samples);
        let done = run(&["record", self.name(), "--stdin", "csv"]);
        assert_eq!(done.status.code(), Some(0), "{} {}", self.did, stderr(&done));
    }

    fn file(&mut self) -> (String, Vec<(Key, String)>) {
        let (lines, said) = self.lines();
        let file = self.path.with_extension("csv");
        std::fs::write(&file, lines).unwrap();
        (file.to_str().unwrap().to_owned(), said)
    }

    pub(crate) fn import(&mut self) -> &'static str {
        self.make_room();
        let (file, said) = self.file();
        let _ = write!(self.did, " import {}", said.len());
        let done = run(&["import", self.name(), &file]);
        // Values of one series and time that take each other's place are told, and change the exit code.
        let mut first = BTreeMap::new();
        let replaced = said
            .iter()
            .any(|(key, value)| first.insert(key, value).is_some_and(|before| before != value));
        let told = String::from_utf8_lossy(&done.stdout).contains("replaced: ");
        assert_eq!(told, replaced, "{} {}", self.did, stderr(&done));
        let code = if replaced { 3 } else { 0 };
        assert_eq!(done.status.code(), Some(code), "{} {}", self.did, stderr(&done));
        let line_at_ns =
            said.first().filter(|_| said.len() % 3 == 0).map(|((_, time_ns), _)| *time_ns);
        said.into_iter().for_each(|(key, value)| self.push(key, value));
        if let Some(time_ns) = line_at_ns {
            self.import_line(time_ns);
        }
        "import"
    }

    /// A line of line protocol: the name of its series is put together of two.
    fn import_line(&mut self, time_ns: i64) {
        let n = self.did.len() % 5;
        let file = self.path.with_extension("lp");
        std::fs::write(&file, format!("lp,n={n} v={n}.5 {time_ns}")).unwrap();
        let _ = write!(self.did, " line {n} {time_ns}");
        let done = run(&["import", self.name(), file.to_str().unwrap(), "--precision", "ns"]);
        assert_eq!(done.status.code(), Some(0), "{} {}", self.did, stderr(&done));
        self.push((format!("lp_v{{n=\"{n}\"}}"), time_ns), crate::number(n as f64 + 0.5));
    }

    pub(crate) fn pin(&mut self) -> &'static str {
        let before_ns = self.random.below(10_000_000_000);
        let _ = write!(self.did, " pin {before_ns}");
        let before = format!("{before_ns}ns");
        let done = run(&["pin", self.name(), "--before", &before, "--format", "json"]);
        // One that would keep too much is refused.
        if let Ok(pin) = serde_json::from_slice::<serde_json::Value>(&done.stdout) {
            let id = pin["id"].as_str().and_then(|id| u64::from_str_radix(id, 16).ok());
            self.pins.extend(id);
        }
        "pin"
    }

    pub(crate) fn release(&mut self) -> &'static str {
        if self.pins.is_empty() {
            return self.pin();
        }
        let at = self.random.below(self.pins.len() as u64) as usize;
        let pin = self.pins.swap_remove(at);
        let _ = write!(self.did, " release {pin:016x}");
        let done = run(&["pin", self.name(), "--release", &format!("{pin:016x}")]);
        assert!(done.status.success(), "{} {}", self.did, stderr(&done));
        "release"
    }

    /// The folder of the copy.
    pub(crate) fn back_up(&mut self) -> PathBuf {
        let _ = write!(self.did, " back up");
        let copy = self.path.with_extension("copy");
        let done = run(&["backup", self.name(), copy.to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{} {}", self.did, stderr(&done));
        copy
    }

    /// What is shown is what was pushed; what is not known is known from then on.
    pub(crate) fn check(&mut self, seen: &Seen) {
        self.hold(&seen.samples);
        for (key, _) in std::mem::take(&mut self.perhaps) {
            match seen.samples.get(&key) {
                Some(value) => self.samples.insert(key, value.clone()),
                None => self.samples.remove(&key),
            };
        }
        let mut left = self.frames.clone();
        for (name, time_ns, _) in &seen.frames {
            let count = left.get_mut(&(name.clone(), *time_ns));
            let known = count.is_some_and(|count| {
                *count = count.wrapping_sub(1);
                *count != u64::MAX
            });
            assert!(known, "a frame of {name} at {time_ns} is nobody's: {}", self.did);
        }
        for (key, value) in seen.samples.iter().filter(|(key, _)| key.0.starts_with("control.")) {
            let known = self.frames.contains_key(&("control".to_owned(), key.1));
            assert!(known, "{key:?} {value} is of no frame: {}", self.did);
        }
        for (name, time_ns, value) in &seen.logged {
            let values = self.pushed.get(&(name.clone(), *time_ns));
            let known = values.is_some_and(|values| values.contains(value));
            assert!(known, "{name} {time_ns} {value} was deleted or never pushed: {}", self.did);
        }
    }

    fn hold(&self, shown: &Shown) {
        let is_field = |key: &Key| key.0.starts_with("control.");
        for (key, value) in shown.iter().filter(|(key, _)| !is_field(key)) {
            let known = match self.perhaps.get(key) {
                Some(perhaps) => perhaps.contains(&Some(value.clone())),
                None => self.samples.get(key) == Some(value),
            };
            assert!(known, "{key:?} {value}, expected {:?}: {}", self.samples.get(key), self.did);
        }
        for (key, value) in self.samples.iter().filter(|(key, _)| !shown.contains_key(*key)) {
            let known = self.perhaps.get(key).is_some_and(|perhaps| perhaps.contains(&None));
            assert!(known, "{key:?} {value} is missing: {}", self.did);
        }
    }
}

fn wait_for_room(producer: &Producer) {
    while producer.free_bytes() < 1 << 16 {
        std::thread::yield_now();
    }
}
