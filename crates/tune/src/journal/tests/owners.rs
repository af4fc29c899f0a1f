//! Several owners on the simulated machine, in any order: started, refused, ended, killed at any step,
//! undone, rebooted over; then the machine is as it was found.
//!
//! The owners are those that a machine has: who shares a disk, who applies for a while, who keeps, who
//! makes a queue short while recording, and one with a journal of his own. `BARO_TUNE_ORDERS` says how
//! many orders, `BARO_TUNE_SEED` the first seed; a failure names its own.

use super::*;
use std::collections::BTreeSet;

const ORDERS: u64 = 150;
const ACTS_MAX: u64 = 24;
/// Once: a `--keep` that was killed took the value that a share had set meanwhile for its own.
const FOUND: [u64; 1] = [8616];

/// xorshift64*, begun as splitmix64 would.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Share,
    Apply,
    ShortQueue,
    /// `tune apply --state-dir`.
    Elsewhere,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Kind::Share => "/state/share",
            Kind::Apply | Kind::ShortQueue => FOLDER,
            Kind::Elsewhere => "/other",
        }
    }

    fn settings(self, random: &mut Random) -> Vec<Setting> {
        let queue = |name: &str, value: &str| Setting::new(format!("{QUEUE}{name}"), value);
        let ratio = Setting::new(format!("{VM}dirty_ratio"), "7");
        match self {
            Kind::Share => vec![
                queue("scheduler", "bfq"),
                queue("iosched/low_latency", "0"),
                queue("nr_requests", "1024"),
                queue("wbt_lat_usec", "10000"),
                queue("read_ahead_kb", "64"),
            ],
            Kind::ShortQueue => vec![queue("read_ahead_kb", "512"), queue("nr_requests", "16")],
            Kind::Apply | Kind::Elsewhere => match random.below(4) {
                0 => vec![queue("nr_requests", "32"), queue("read_ahead_kb", "256")],
                1 => vec![queue("scheduler", "mq-deadline"), queue("nr_requests", "32")],
                2 => vec![ratio],
                _ => vec![queue("nr_requests", "32"), ratio, queue("scheduler", "none")],
            },
        }
    }
}

/// What came of starting one.
#[derive(Debug, Default)]
struct Told {
    refused: u64,
    applied: u64,
    killed: u64,
    recovered: u64,
    reboots: u64,
}

struct Stage {
    /// Process 0: nobody.
    fake: Fake,
    found: BTreeMap<String, String>,
    live: Vec<(Kind, u32, Journal)>,
    boots: u64,
    told: Told,
}

impl Stage {
    fn start(&mut self, kind: Kind, random: &mut Random) {
        let Some(process) = self.fake.process(Path::new(kind.folder())) else {
            let other = self.live.iter().any(|(other, ..)| other.folder() == kind.folder());
            assert!(other, "the folder of {kind:?} is held by nobody");
            self.told.refused += 1;
            return;
        };
        let number = process.process;
        let opened = Journal::start(Box::new(process), "/journal".into(), OnConflict::Leave);
        let Ok((mut journal, report)) = opened else { return };
        assert!(self.fake.kernel().dead || report.is_clean(), "{report}");
        self.told.recovered += u64::from(!report.settings.is_empty());
        let mut done = Ok(());
        if kind == Kind::Share {
            done = journal.claim_disk("sda");
        }
        for setting in kind.settings(random) {
            done = done.and_then(|()| journal.apply(&setting).map(drop));
        }
        let late = journal.take_undone();
        assert!(self.fake.kernel().dead || late.is_clean(), "{late}");
        match done {
            _ if self.fake.kernel().dead => {}
            Ok(()) => {
                self.told.applied += 1;
                self.live.push((kind, number, journal));
            }
            Err(Error::Claimed { owner, .. }) => {
                let is = |(_, number, _): &(Kind, u32, Journal)| *number == owner.pid;
                assert!(self.live.iter().any(is), "{kind:?} is refused for one that has ended");
                self.told.refused += 1;
            }
            Err(error) => panic!("{kind:?}: {error}"),
        }
    }

    fn keep(&mut self, random: &mut Random) {
        let Some(first) = self.fake.process(Path::new(FOLDER)) else { return };
        let opened = Journal::start(Box::new(first), "/journal".into(), OnConflict::Leave);
        let Ok((_journal, _)) = opened else { return };
        let second = self.fake.process(Path::new("/state/kept")).unwrap();
        let Ok((mut kept, _)) = Journal::recover(Box::new(second), "/kept".into(), None) else {
            return;
        };
        for setting in Kind::Apply.settings(random) {
            if let Err(error) = kept.apply(&setting) {
                assert!(self.fake.kernel().dead || matches!(error, Error::Claimed { .. }));
                break;
            }
        }
    }

    /// As `baro tune undo` does it.
    fn undo(&mut self) -> Option<Vec<Report>> {
        let first = self.fake.process(Path::new(FOLDER))?;
        let rule = OnConflict::Leave;
        let (mut journal, report) =
            Journal::start(Box::new(first), "/journal".into(), rule).ok()?;
        let mut reports = vec![report, journal.undo_left()];
        if let Some(share) = self.fake.process(Path::new("/state/share")) {
            let share = Journal::recover(Box::new(share), "/share".into(), Some(rule));
            reports.extend(share.ok().map(|(_, report)| report));
        }
        let kept = self.fake.process(Path::new("/state/kept"))?;
        let (mut kept, dropped) = Journal::recover(Box::new(kept), "/kept".into(), None).ok()?;
        reports.extend([dropped, kept.undo_all(rule)]);
        Some(reports)
    }

    fn end(&mut self, random: &mut Random) {
        if self.live.is_empty() {
            return;
        }
        let at = usize::try_from(random.below(self.live.len() as u64)).unwrap();
        let (_, _, mut journal) = self.live.swap_remove(at);
        let report = journal.undo_all(OnConflict::Leave);
        assert!(self.fake.kernel().dead || report.is_clean(), "{report}");
    }

    /// One that does nothing in this moment.
    fn kill(&mut self, random: &mut Random) {
        if self.live.is_empty() {
            return;
        }
        let at = usize::try_from(random.below(self.live.len() as u64)).unwrap();
        self.fake.kernel().dead = true;
        drop(self.live.swap_remove(at));
    }

    fn kill_all(&mut self) {
        self.fake.kernel().dead = true;
        self.live.clear();
        self.fake.revive();
    }

    fn reboot(&mut self) {
        self.kill_all();
        self.boots += 1;
        self.told.reboots += 1;
        let mut kernel = self.fake.kernel();
        kernel.notes.clear();
        // The kernel's own values, which nobody has set.
        kernel.set_queue("none");
        kernel.put(&format!("{QUEUE}read_ahead_kb"), 128);
        kernel.put(&format!("{VM}dirty_bytes"), 0);
        kernel.put(&format!("{VM}dirty_ratio"), 20);
        kernel.put(BOOT_ID, format!("boot-{}", self.boots));
        self.found = kernel.files.clone();
    }

    /// Where no journal is, nothing is set.
    fn check(&self) {
        let kernel = self.fake.kernel();
        // One of an earlier boot says nothing of this one.
        let boot = kernel.get(BOOT_ID).unwrap();
        let mut journals = kernel.journal.iter().chain(kernel.journals.values());
        if !journals.any(|text| text.contains(boot.trim())) {
            assert_eq!(kernel.files, self.found);
        }
        let mut folders = BTreeSet::new();
        assert!(self.live.iter().all(|(kind, ..)| folders.insert(kind.folder())));
    }
}

fn order(seed: u64) -> Told {
    let mut random = Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let fake = machines().swap_remove(usize::try_from(random.below(6)).unwrap());
    let found = fake.files();
    let mut stage = Stage { fake, found, live: Vec::new(), boots: 1, told: Told::default() };
    for _ in 0..=random.below(ACTS_MAX) {
        if random.below(3) == 0 {
            let steps = usize::try_from(random.below(24)).unwrap();
            stage.fake.kernel().steps_left = Some(steps);
        }
        match random.below(22) {
            0..5 => stage.start(Kind::Share, &mut random),
            5..8 => stage.start(Kind::Apply, &mut random),
            8..10 => stage.start(Kind::ShortQueue, &mut random),
            10..12 => stage.start(Kind::Elsewhere, &mut random),
            12..14 => stage.keep(&mut random),
            14..16 => drop(stage.undo()),
            16..19 => stage.end(&mut random),
            19..21 => stage.kill(&mut random),
            _ => stage.reboot(),
        }
        // Who acted is dead; the others go on.
        stage.told.killed += u64::from(stage.fake.kernel().dead);
        stage.fake.revive();
        stage.check();
    }
    match random.below(3) {
        0 => stage.kill_all(),
        _ => {
            while !stage.live.is_empty() {
                stage.end(&mut random);
            }
        }
    }
    let reports = stage.undo().unwrap();
    let clean = reports.iter().all(Report::is_clean);
    assert!(clean, "{}", reports.iter().map(ToString::to_string).collect::<String>());
    // A reboot takes the notes: what it left elsewhere is dropped by the next owner there.
    let elsewhere = stage.fake.process(Path::new(Kind::Elsewhere.folder())).unwrap();
    Journal::start(Box::new(elsewhere), "/other".into(), OnConflict::Leave).unwrap();
    stage.fake.assert_ends_as(&stage.found);
    stage.told
}

#[test]
fn the_machine_is_as_found_whatever_the_order_of_its_owners() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BARO_TUNE_SEED").unwrap_or(1);
    let orders = number("BARO_TUNE_ORDERS").unwrap_or(ORDERS);
    let mut all = Told::default();
    for seed in (first..first + orders).chain(FOUND) {
        let done = std::panic::catch_unwind(|| order(seed));
        let told = done.unwrap_or_else(|_| panic!("BARO_TUNE_SEED={seed} BARO_TUNE_ORDERS=1"));
        all.refused += told.refused;
        all.applied += told.applied;
        all.killed += told.killed;
        all.recovered += told.recovered;
        all.reboots += told.reboots;
    }
    println!("{orders} orders from seed {first}: {all:?}");
    // Guards against a workload that no longer reaches anything.
    let least = orders / 4;
    assert!(all.refused >= least && all.applied >= least && all.killed >= least, "{all:?}");
    assert!(all.recovered >= least && all.reboots >= least / 4, "{all:?}");
}
