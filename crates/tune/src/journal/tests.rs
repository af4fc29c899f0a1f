//! The promise under a simulated kernel that dies at any step: every file ends as found.
//!
//! The kernel here does what makes undoing hard: it rounds, limits, refuses, clears the other file
//! of a pair, and sets a queue anew when its scheduler changes. A step is a write of a setting or
//! a change of the journal; dying at step n leaves all before it done and nothing after it.

mod kept;
mod owners;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proptest::prelude::*;

use super::*;
use crate::claim::Note;
use crate::owner::Owner;

const VM: &str = "/proc/sys/vm/";
const QUEUE: &str = "/sys/block/sda/queue/";
const GROUP: &str = "/sys/fs/cgroup/a/";

#[derive(Debug, Default)]
struct Kernel {
    files: BTreeMap<String, String>,
    journal: Option<String>,
    /// Those in other folders.
    journals: BTreeMap<PathBuf, String>,
    /// Who has a folder or a claim: the number of a process.
    locks: BTreeMap<String, u32>,
    notes: BTreeMap<String, Vec<Note>>,
    /// Steps until the process dies; none: it does not.
    steps_left: Option<usize>,
    steps_done: usize,
    dead: bool,
    /// Files with names that begin so refuse every write.
    broken: Option<String>,
}

fn errno(path: &str, code: i32) -> baro_sys::Error {
    let source = io::Error::from_raw_os_error(code);
    baro_sys::Error::new("simulate", path, source)
}

const EIO: i32 = 5;
const EINVAL: i32 = 22;
const ENOENT: i32 = 2;

impl Kernel {
    fn step(&mut self, path: &str) -> Result<(), baro_sys::Error> {
        self.dead |= self.steps_left == Some(0);
        if self.dead {
            return Err(errno(path, EIO));
        }
        self.steps_left = self.steps_left.map(|left| left - 1);
        self.steps_done += 1;
        Ok(())
    }

    fn put(&mut self, path: &str, text: impl ToString) {
        self.files.insert(path.into(), format!("{}\n", text.to_string()));
    }

    fn get(&self, path: &str) -> Result<String, baro_sys::Error> {
        self.files.get(path).cloned().ok_or_else(|| errno(path, ENOENT))
    }

    fn set_queue(&mut self, scheduler: &str) {
        let words = ["none", "mq-deadline", "bfq"];
        let shown =
            words.map(|word| if word == scheduler { format!("[{word}]") } else { word.into() });
        self.put(&format!("{QUEUE}scheduler"), shown.join(" "));
        self.put(&format!("{QUEUE}nr_requests"), if scheduler == "none" { 128 } else { 256 });
        self.put(&format!("{QUEUE}wbt_lat_usec"), if scheduler == "bfq" { 0 } else { 75_000 });
        self.files.retain(|path, _| !path.contains("/iosched/"));
        match scheduler {
            "bfq" => self.put(&format!("{QUEUE}iosched/low_latency"), 1),
            "mq-deadline" => {
                self.put(&format!("{QUEUE}iosched/read_expire"), 500);
                self.put(&format!("{QUEUE}iosched/async_depth"), 256);
            }
            _ => {}
        }
    }

    fn scheduler(&self) -> String {
        let text = self.files.get(&format!("{QUEUE}scheduler"));
        text.map_or_else(String::new, |text| chosen(text).to_owned())
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), baro_sys::Error> {
        let old = self.get(path)?;
        let refused = || errno(path, EINVAL);
        let number = || text.parse::<u64>().map_err(|_| refused());
        match path.rsplit('/').next().unwrap_or_default() {
            "scheduler" => match text {
                _ if chosen(&old) == text => {}
                "none" | "mq-deadline" | "bfq" => self.set_queue(text),
                _ => return Err(refused()),
            },
            "dirty_bytes" if number()? < 8192 => return Err(refused()),
            "dirty_ratio" if number()? > 100 => return Err(refused()),
            "dirty_bytes" => {
                self.put(path, text);
                self.put(&format!("{VM}dirty_ratio"), 0);
            }
            "dirty_ratio" => {
                self.put(path, text);
                if old.trim() != text {
                    self.put(&format!("{VM}dirty_bytes"), 0);
                }
            }
            // Without a scheduler there are no more requests than the device takes.
            "nr_requests" if number()? > 128 && self.scheduler() == "none" => {
                return Err(refused());
            }
            "nr_requests" => {
                self.put(path, number()?.max(4));
                if self.scheduler() == "mq-deadline" {
                    self.put(&format!("{QUEUE}iosched/async_depth"), number()?.max(4));
                }
            }
            "read_ahead_kb" => self.put(path, number()? / 4 * 4),
            "io.weight" => {
                let (key, value) = text.split_once(' ').ok_or_else(refused)?;
                let mut lines: BTreeMap<_, _> =
                    old.lines().filter_map(|l| l.split_once(' ')).collect();
                match value {
                    "default" => lines.remove(key),
                    _ => lines.insert(key, value),
                };
                let lines: Vec<_> = lines.iter().map(|(k, v)| format!("{k} {v}")).collect();
                self.put(path, lines.join("\n"));
            }
            "cgroup.subtree_control" => {
                let mut words: Vec<_> =
                    old.split_whitespace().filter(|w| *w != &text[1..]).collect();
                words.extend(text.strip_prefix('+'));
                words.sort_unstable();
                self.put(path, words.join(" "));
            }
            _ => self.put(path, text),
        }
        Ok(())
    }
}

fn chosen(text: &str) -> &str {
    text.split(['[', ']']).nth(1).unwrap_or_default()
}

/// A machine, or a process of it with the journal in a folder; dropped, the process has ended.
#[derive(Debug)]
struct Fake {
    kernel: Arc<Mutex<Kernel>>,
    process: u32,
    folder: PathBuf,
}

/// Where the tests of one journal have it.
const FOLDER: &str = "/state";

impl Drop for Fake {
    fn drop(&mut self) {
        let process = self.process;
        self.kernel().locks.retain(|_, holder| *holder != process);
    }
}

impl Fake {
    fn kernel(&self) -> MutexGuard<'_, Kernel> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process that takes the journal in a folder; None while another has it.
    fn process(&self, folder: &Path) -> Option<Fake> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let process = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let lock = format!("folder {}", folder.display());
        let mut kernel = self.kernel();
        if kernel.locks.contains_key(&lock) {
            return None;
        }
        kernel.locks.insert(lock, process);
        drop(kernel);
        Some(Fake { kernel: self.kernel.clone(), process, folder: folder.into() })
    }

    fn has_claim(&self, object: &str) -> bool {
        self.kernel().locks.get(object) == Some(&self.process)
    }

    /// A machine with settings of its own, so that defaults are not enough to restore it.
    fn new(ratio: Option<u8>, scheduler: &str) -> Fake {
        let mut kernel = Kernel::default();
        kernel.put(BOOT_ID, "boot-1");
        kernel.put(&format!("{VM}dirty_bytes"), if ratio.is_some() { 0 } else { 1 << 20 });
        kernel.put(&format!("{VM}dirty_ratio"), ratio.unwrap_or(0));
        kernel.set_queue(scheduler);
        kernel.put(&format!("{QUEUE}nr_requests"), 99);
        if scheduler == "mq-deadline" {
            kernel.put(&format!("{QUEUE}iosched/read_expire"), 77);
            kernel.put(&format!("{QUEUE}iosched/async_depth"), 30);
        }
        kernel.put(&format!("{QUEUE}read_ahead_kb"), 128);
        kernel.put(&format!("{GROUP}io.weight"), "8:0 300\ndefault 100");
        kernel.put(&format!("{GROUP}cgroup.subtree_control"), "cpu memory");
        Fake { kernel: Arc::new(Mutex::new(kernel)), process: 0, folder: FOLDER.into() }
    }

    fn open(&self) -> Result<(Journal, Report), Error> {
        let process = self.process(&self.folder).unwrap();
        Journal::start(Box::new(process), "/journal".into(), OnConflict::Leave)
    }

    fn revive(&self) {
        let mut kernel = self.kernel();
        (kernel.dead, kernel.steps_left) = (false, None);
    }

    fn files(&self) -> BTreeMap<String, String> {
        self.kernel().files.clone()
    }

    /// Opens without dying and closes again: then all must be as in `found`.
    fn assert_ends_as(&self, found: &BTreeMap<String, String>) {
        self.revive();
        let (journal, report) = self.open().unwrap();
        assert!(report.is_clean(), "{report}");
        drop(journal);
        assert_eq!(&self.files(), found);
        assert_eq!(self.kernel().journal, None);
        assert!(self.kernel().journals.is_empty() && self.kernel().notes.is_empty());
    }
}

impl Machine for Fake {
    fn read(&self, path: &str) -> Result<String, baro_sys::Error> {
        let kernel = self.kernel();
        if kernel.dead { Err(errno(path, EIO)) } else { kernel.get(path) }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, baro_sys::Error> {
        let prefix = format!("{path}/");
        let kernel = self.kernel();
        Ok(kernel.files.keys().filter_map(|p| p.strip_prefix(&prefix)).map(str::to_owned).collect())
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), baro_sys::Error> {
        let mut kernel = self.kernel();
        kernel.step(path)?;
        if kernel.broken.as_ref().is_some_and(|broken| path.starts_with(broken)) {
            return Err(errno(path, EIO));
        }
        kernel.write(path, text)
    }

    fn load(&self) -> Result<Option<String>, baro_sys::Error> {
        let kernel = self.kernel();
        let first = self.folder == Path::new(FOLDER);
        Ok(if first { kernel.journal.clone() } else { kernel.journals.get(&self.folder).cloned() })
    }

    fn save(&mut self, text: &str) -> Result<(), baro_sys::Error> {
        let mut kernel = self.kernel();
        kernel.step("journal")?;
        if self.folder == Path::new(FOLDER) {
            kernel.journal = Some(text.to_owned());
        } else {
            kernel.journals.insert(self.folder.clone(), text.to_owned());
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), baro_sys::Error> {
        let mut kernel = self.kernel();
        kernel.step("journal")?;
        if self.folder == Path::new(FOLDER) {
            kernel.journal = None;
        } else {
            kernel.journals.remove(&self.folder);
        }
        Ok(())
    }

    fn claim(&mut self, object: &str) -> Result<Claimed, baro_sys::Error> {
        let mut kernel = self.kernel();
        if kernel.dead {
            return Err(errno(object, EIO));
        }
        let note = kernel.notes.get(object).cloned().unwrap_or_default();
        let holder = *kernel.locks.entry(object.to_owned()).or_insert(self.process);
        if holder != self.process {
            let owner = note.last().map(|note| note.owner.clone());
            return Ok(Claimed::Theirs(owner.unwrap_or_else(|| owner_of(0))));
        }
        let others = note.into_iter().map(|note| note.journal);
        Ok(Claimed::Ours(others.filter(|journal| *journal != self.folder).collect()))
    }

    fn note(&mut self, object: &str) -> Result<(), baro_sys::Error> {
        assert!(self.has_claim(object), "a note without a claim");
        let mut kernel = self.kernel();
        kernel.step("note")?;
        let notes = kernel.notes.entry(object.to_owned()).or_default();
        notes.retain(|note| note.journal != self.folder);
        let (object, owner) = (object.to_owned(), owner_of(self.process));
        notes.push(Note { object, owner, journal: self.folder.clone() });
        Ok(())
    }

    fn release(&mut self, object: &str, left: bool) {
        let process = self.process;
        let mut kernel = self.kernel();
        if !left && !kernel.dead {
            let holder = *kernel.locks.entry(object.to_owned()).or_insert(process);
            if holder == process && kernel.step("note").is_ok() {
                let notes = kernel.notes.entry(object.to_owned()).or_default();
                notes.retain(|note| note.journal != self.folder);
                if notes.is_empty() {
                    kernel.notes.remove(object);
                }
            }
        }
        if kernel.locks.get(object) == Some(&process) {
            kernel.locks.remove(object);
        }
    }

    fn notes(&self) -> Vec<Note> {
        self.kernel().notes.values().flatten().cloned().collect()
    }

    fn beside(&self, journal: &Path) -> Option<Box<dyn Machine>> {
        Some(Box::new(self.process(journal)?))
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

fn owner_of(process: u32) -> Owner {
    Owner { program: "a test".into(), pid: process, since_s: 0 }
}

/// Every kind of setting; some values are rounded, limited or refused.
fn settings() -> Vec<Setting> {
    let vm = |name: &str, value: &str| Setting::new(format!("{VM}{name}"), value);
    let queue = |name: &str, value: &str| Setting::new(format!("{QUEUE}{name}"), value);
    let weight =
        |key: &str, value: &str| Setting::line(format!("{GROUP}io.weight"), key, value, "default");
    let control = |value: &str| Setting::new(format!("{GROUP}cgroup.subtree_control"), value);
    vec![
        queue("nr_requests", "512"),
        vm("dirty_bytes", "65536"),
        queue("scheduler", "bfq"),
        queue("iosched/low_latency", "0"),
        queue("nr_requests", "2"),
        vm("dirty_ratio", "7"),
        weight("8:0", "200"),
        weight("8:16", "50"),
        vm("dirty_bytes", "1"),
        control("+io"),
        queue("scheduler", "mq-deadline"),
        queue("read_ahead_kb", "130"),
        weight("8:16", "default"),
        control("-memory"),
        queue("scheduler", "cfq"),
        vm("dirty_bytes", "131072"),
        queue("scheduler", "none"),
        queue("nr_requests", "64"),
        vm("dirty_ratio", "0"),
    ]
}

fn machines() -> Vec<Fake> {
    let ratios = [Some(20), Some(0), None];
    let of = |scheduler| ratios.map(|ratio| Fake::new(ratio, scheduler));
    ["none", "mq-deadline"].into_iter().flat_map(of).collect()
}

#[test]
fn every_step_can_be_the_last_and_so_can_every_step_of_recovery() {
    let run = |fake: &Fake| {
        let (mut journal, _) = fake.open().unwrap();
        for setting in settings() {
            let _ = journal.apply(&setting);
        }
    };
    let mut deaths = 0;
    for index in 0..machines().len() {
        let fresh = || machines().swap_remove(index);
        let whole = fresh();
        let found = whole.files();
        run(&whole);
        assert_eq!(whole.files(), found);
        for first in 0..whole.kernel().steps_done {
            for second in 0.. {
                let fake = fresh();
                fake.kernel().steps_left = Some(first);
                run(&fake);
                assert!(fake.kernel().dead);
                fake.revive();
                fake.kernel().steps_left = Some(second);
                drop(fake.open());
                let died_again = fake.kernel().dead;
                fake.assert_ends_as(&found);
                deaths += 1;
                if !died_again {
                    break;
                }
            }
        }
    }
    // Guards against a workload that no longer reaches anything.
    assert!(deaths > 3_000, "only {deaths} deaths");
}

#[derive(Debug, Clone)]
enum Act {
    Apply(usize),
    Undo,
    Reopen,
    DieAfter(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0..settings().len()).prop_map(Act::Apply),
        1 => Just(Act::Undo),
        1 => Just(Act::Reopen),
        2 => (0..12_usize).prop_map(Act::DieAfter),
    ];
    prop::collection::vec(act, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn files_end_as_found_whatever_happens(machine in 0..6_usize, acts in acts()) {
        let fake = machines().swap_remove(machine);
        let found = fake.files();
        let mut journal = Some(fake.open().unwrap().0);
        for act in acts {
            match (act, &mut journal) {
                (Act::Apply(index), Some(journal)) => drop(journal.apply(&settings()[index])),
                (Act::Undo, Some(journal)) => {
                    let report = journal.undo_all(OnConflict::Leave);
                    if !fake.kernel().dead {
                        prop_assert!(report.is_clean(), "{}", report);
                        prop_assert_eq!(&fake.files(), &found);
                    }
                }
                (Act::DieAfter(steps), _) => fake.kernel().steps_left = Some(steps),
                (Act::Reopen, _) | (_, None) => {
                    drop(journal.take());
                    journal = fake.open().ok().map(|(journal, _)| journal);
                }
            }
            if fake.kernel().dead {
                drop(journal.take());
                fake.revive();
            }
        }
        drop(journal);
        fake.assert_ends_as(&found);
    }
}

#[test]
fn says_what_the_kernel_made_of_a_value() {
    let fake = Fake::new(Some(20), "none");
    let (mut journal, _) = fake.open().unwrap();
    let mut outcome = |name: &str, value: &str| {
        let applied = journal.apply(&Setting::new(format!("{QUEUE}{name}"), value)).unwrap();
        (applied.outcome, applied.before, applied.now)
    };
    let text = str::to_owned;
    assert_eq!(outcome("read_ahead_kb", "128"), (Outcome::AlreadySet, text("128"), text("128")));
    assert_eq!(outcome("read_ahead_kb", "256"), (Outcome::Exact, text("128"), text("256")));
    assert_eq!(outcome("read_ahead_kb", "130"), (Outcome::Adjusted, text("256"), text("128")));
    assert_eq!(outcome("read_ahead_kb", "131"), (Outcome::Ignored, text("128"), text("128")));
    assert_eq!(outcome("scheduler", "bfq"), (Outcome::Exact, text("none"), text("bfq")));
    let refused = journal.apply(&Setting::new(format!("{QUEUE}scheduler"), "cfq")).unwrap_err();
    assert!(matches!(refused, Error::Rejected { .. }));
    assert!(refused.to_string().contains("scheduler: the kernel refused \"cfq\""), "{refused}");
}

#[test]
fn a_refused_first_setting_leaves_no_journal() {
    let fake = Fake::new(Some(20), "none");
    let (mut journal, _) = fake.open().unwrap();
    journal.apply(&Setting::new(format!("{QUEUE}scheduler"), "cfq")).unwrap_err();
    assert_eq!(fake.kernel().journal, None);
}

#[test]
fn a_setting_changed_by_another_is_left_taken_or_forgotten_as_told() {
    let setting = Setting::new(format!("{VM}swappiness"), "10");
    for (told, ends_with, keeps) in [
        (OnConflict::Leave, "33\n", true),
        (OnConflict::Overwrite, "60\n", false),
        (OnConflict::Accept, "33\n", false),
    ] {
        let fake = Fake::new(Some(20), "none");
        let path = format!("{VM}swappiness");
        fake.kernel().put(&path, 60);
        let (mut journal, _) = fake.open().unwrap();
        journal.apply(&setting).unwrap();
        fake.kernel().put(&path, 33);
        let report = journal.undo_all(told);
        assert_eq!(report.settings.len(), 1);
        assert_eq!(report.is_clean(), told == OnConflict::Overwrite);
        let line = report.settings[0].to_string();
        let expected = match told {
            OnConflict::Overwrite => "restored to \"60\"",
            _ => "changed by another: expected \"10\", found \"33\"; left so",
        };
        assert_eq!(line, format!("{path}: {expected}"));
        assert_eq!(fake.files()[&path], ends_with);
        assert_eq!(fake.kernel().journal.is_some(), keeps);
    }
}

#[test]
fn a_setting_applied_over_anothers_change_restores_theirs() {
    let fake = Fake::new(Some(20), "none");
    let path = format!("{QUEUE}read_ahead_kb");
    let (mut journal, _) = fake.open().unwrap();
    journal.apply(&Setting::new(&path, "256")).unwrap();
    fake.kernel().put(&path, 64);
    journal.apply(&Setting::new(&path, "512")).unwrap();
    assert!(journal.undo_all(OnConflict::Leave).is_clean());
    assert_eq!(fake.files()[&path], "64\n");
}

#[test]
fn what_another_set_survives_the_undoing_of_the_scheduler() {
    let fake = Fake::new(Some(20), "none");
    let path = format!("{QUEUE}nr_requests");
    let (mut journal, _) = fake.open().unwrap();
    journal.apply(&Setting::new(format!("{QUEUE}scheduler"), "bfq")).unwrap();
    fake.kernel().put(&path, 111);
    let report = journal.undo_all(OnConflict::Leave);
    assert!(!report.is_clean());
    assert_eq!(chosen(&fake.files()[&format!("{QUEUE}scheduler")]), "none");
    assert_eq!(fake.files()[&path], "111\n");
}

#[test]
fn what_cannot_be_restored_stays_in_the_journal_and_is_tried_again() {
    let fake = Fake::new(Some(20), "none");
    let found = fake.files();
    let path = format!("{QUEUE}scheduler");
    let (mut journal, _) = fake.open().unwrap();
    journal.apply(&Setting::new(&path, "bfq")).unwrap();
    journal.apply(&Setting::new(format!("{VM}dirty_ratio"), "9")).unwrap();
    fake.kernel().broken = Some(QUEUE.into());
    let report = journal.undo_all(OnConflict::Leave);
    let failed = |undone: &Undone| matches!(undone.result, UndoneAs::Failed(_));
    let failed: Vec<_> = report.settings.iter().map(failed).collect();
    // The ratio, then the scheduler and the two files that it disturbs.
    assert_eq!(failed, [false, true, true, true], "{report}");
    assert_eq!(chosen(&fake.files()[&path]), "bfq");
    fake.kernel().broken = None;
    // The next start does it, and needs the order in which they were set.
    fake.kernel().dead = true;
    drop(journal);
    fake.assert_ends_as(&found);
}

#[test]
fn a_device_that_is_gone_is_reported_and_forgotten() {
    let fake = Fake::new(Some(20), "none");
    let path = format!("{QUEUE}nr_requests");
    let (mut journal, _) = fake.open().unwrap();
    journal.apply(&Setting::new(&path, "64")).unwrap();
    fake.kernel().files.remove(&path);
    let report = journal.undo_all(OnConflict::Leave);
    assert!(matches!(report.settings[0].result, UndoneAs::Gone), "{report}");
    assert!(report.is_clean());
    assert_eq!(fake.kernel().journal, None);
}

#[test]
fn a_journal_of_an_earlier_boot_is_dropped_and_reported() {
    for damage in [false, true] {
        let fake = Fake::new(Some(20), "none");
        let (mut journal, _) = fake.open().unwrap();
        journal.apply(&Setting::new(format!("{QUEUE}nr_requests"), "64")).unwrap();
        fake.kernel().dead = true;
        drop(journal);
        fake.revive();
        fake.kernel().put(BOOT_ID, "boot-2");
        if damage {
            let text = fake.kernel().journal.take().unwrap();
            fake.kernel().journal = Some(text.replace("nr_requests", "nr_request"));
        }
        let before = fake.files();
        let (_journal, report) = fake.open().unwrap();
        assert_eq!(fake.files(), before);
        assert_eq!(fake.kernel().journal, None);
        assert_eq!(report.is_clean(), !damage);
        let expected = if damage { "line 2" } else { "undone by a reboot, was \"99\" before" };
        assert!(report.to_string().contains(expected), "{report}");
    }
}

#[test]
fn a_full_journal_refuses_and_touches_nothing() {
    let fake = Fake::new(Some(20), "none");
    let path = |number: usize| format!("{QUEUE}knob{number}");
    for number in 0..=SETTINGS_MAX {
        fake.kernel().put(&path(number), 0);
    }
    let (mut journal, _) = fake.open().unwrap();
    for number in 0..SETTINGS_MAX {
        journal.apply(&Setting::new(path(number), "1")).unwrap();
    }
    let full = journal.apply(&Setting::new(path(SETTINGS_MAX), "1")).unwrap_err();
    assert!(matches!(full, Error::Full { settings_max: SETTINGS_MAX }));
    assert_eq!(fake.files()[&path(SETTINGS_MAX)], "0\n");
    assert!(journal.undo_all(OnConflict::Leave).is_clean());
}

#[test]
fn what_the_kernel_refuses_before_another_is_put_back_after_it() {
    let nr_requests = format!("{QUEUE}nr_requests");
    let entry = |name: &str, was: &str, now: &str| Entry {
        target: Target::whole(format!("{QUEUE}{name}")),
        was: was.into(),
        now: now.into(),
        moving: false,
    };
    // In the wrong order.
    let fake = Fake::new(Some(20), "none");
    let entries = [entry("scheduler", "bfq", "none"), entry("nr_requests", "1024", "128")];
    fake.kernel().put(&nr_requests, 128);
    fake.kernel().journal = Some(text::render("boot-1", &entries));
    let (_journal, report) = fake.open().unwrap();
    assert!(report.is_clean(), "{report}");
    assert!(report.to_string().contains("nr_requests: restored to \"1024\""), "{report}");
    assert_eq!(fake.files()[&nr_requests], "1024\n");
    assert_eq!(fake.kernel().journal, None);
}

#[test]
fn what_cannot_be_put_back_holds_up_none_of_the_others() {
    let fake = Fake::new(Some(20), "none");
    let entry = |name: &str, was: &str, now: &str| Entry {
        target: Target::whole(format!("{QUEUE}{name}")),
        was: was.into(),
        now: now.into(),
        moving: false,
    };
    // Somebody has taken the scheduler away with which there were so many.
    let entries = [entry("read_ahead_kb", "64", "128"), entry("nr_requests", "1024", "99")];
    fake.kernel().journal = Some(text::render("boot-1", &entries));
    let (journal, report) = fake.open().unwrap();
    let said = report.to_string();
    assert!(
        said.contains("nr_requests: not restored") && said.contains("refused \"1024\""),
        "{said}"
    );
    assert!(said.contains("read_ahead_kb: restored to \"64\""), "{said}");
    drop(journal);
    let left = fake.kernel().journal.clone().unwrap();
    assert!(left.contains("nr_requests") && !left.contains("read_ahead_kb"), "{left}");
}

#[test]
fn a_depth_that_follows_the_number_of_requests_is_put_back_too() {
    let fake = Fake::new(Some(20), "mq-deadline");
    let found = fake.files();
    let (mut journal, _) = fake.open().unwrap();
    journal.apply(&Setting::new(format!("{QUEUE}nr_requests"), "32")).unwrap();
    assert_eq!(fake.files()[&format!("{QUEUE}iosched/async_depth")], "32\n");
    drop(journal);
    assert_eq!(fake.files(), found);
}
