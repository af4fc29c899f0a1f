//! One hand-over, step by step:
//!
//! 1. The table's log is read: up to which run it has this store. A new table gets its version 0.
//! 2. All runs of the store are offered: `runs/lake` names the table and the last of them. From now on those
//!    that it has not got stay as they are.
//! 3. The manifest, as it was then, tells which runs the table has not got.
//! 4. Their samples are written into files, durable, which nobody sees yet.
//! 5. One commit names the files and the last run. Of two writers one gets the version; the other reads what
//!    has come, and tries the next one.
//! 6. The commit is read back, and `runs/lake` raised: settling may merge and drop these runs.
//!
//! Whoever dies before 5 leaves files that no reader sees. Whoever dies after it leaves a `runs/lake` with an
//! offer, which only keeps runs as they are for longer: the next hand-over goes by the table's log.
//!
//! Invariant: the table has each sample of the runs up to its `txn` exactly once. Held by
//! `a_kill_at_every_step_loses_and_doubles_nothing`.

mod check;
mod commit;

pub(crate) use check::check_new;

use crate::delta::{Log, added, commit_name, created};
use crate::error::{Error, Result};
use crate::parquet_file::Files;
use crate::place::{LOG, Place};
use baro_store::{Damage, Handover, Loss, Source, Store, Waiting};
use baro_sys::{clock, identity};
use check::check;
use commit::{Commit, TRIES};
use std::collections::HashMap;

/// What the operating system does not read for so long is damage, and may be skipped as such.
const UNREAD_NS: u64 = 3_600_000_000_000;

/// What a hand-over has done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Runs that the table has got now.
    pub(crate) runs: u64,
    pub(crate) samples: u64,
    /// Files of the table.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// The table's version; `None` if there was nothing to hand over.
    pub(crate) version: Option<u64>,
    /// What could not be read, if that was to be skipped.
    pub(crate) damage: Vec<Damage>,
    /// What the table's owner should know.
    pub(crate) warning: Option<String>,
    /// What went wrong after the commit, so that the store does not know of it yet. The next hand-over sees
    /// it in the table.
    pub(crate) then: Option<Error>,
}

/// A store and a table.
#[derive(Debug)]
pub(crate) struct Lake<P: Place> {
    store: Store,
    place: P,
    log: Log,
    /// Who commits the runs of this store.
    app: String,
    skip_damaged: bool,
    /// Whether this is not the first hand-over of this process.
    has_begun: bool,
    /// What could not be read, by file and offset, and when that was met first.
    unread: HashMap<(String, u64), u64>,
}

fn time_ms() -> i64 {
    clock::realtime_ns().div_euclid(1_000_000)
}

impl<P: Place> Lake<P> {
    pub(crate) fn new(store: Store, place: P, skip_damaged: bool) -> Self {
        let app = format!("barograph/{}", store.identity().store);
        let (log, unread, has_begun) = (Log::default(), HashMap::new(), false);
        Lake { store, place, log, app, skip_damaged, has_begun, unread }
    }

    /// Hands over what has settled.
    pub(crate) fn round(&mut self) -> Result<Done> {
        // Who hands over at the same time may take back an offer of ours.
        let Some(_lock) = self.store.lock_handover()? else { return Err(Error::AlreadyRunning) };
        self.place.check()?;
        let known = self.store.handover()?;
        let table = self.open_table(known)?;
        let warning = self.warning();
        self.has_begun = true;
        self.refresh()?;
        let below = self.below();
        check(known, table, below, self.store.next_run())?;
        let handed = Handover { table, below, offered: below, holds: true };
        if known != Some(handed) {
            // What was read of the table's log may not be durable yet.
            self.place.sync_names(LOG)?;
        }
        if self.store.waiting(&handed).is_empty() {
            if known != Some(handed) {
                self.store.put_handover(Some(&handed))?;
            }
            return Ok(Done { warning, ..Done::default() });
        }
        let offer = self.store.offer(&handed)?;
        self.check_store()?;
        let waiting = self.store.waiting(&offer);
        let Some(last_run) = offer.offered.checked_sub(1) else { return Ok(Done::default()) };
        let mut files = Files::new(&self.place, &self.store);
        if let Err(error) = self.write(&waiting, &mut files) {
            files.give_up();
            drop(files);
            if let Error::Unread { damage } = &error {
                let place = (damage.file.clone(), damage.offset);
                self.unread.entry(place).or_insert_with(clock::monotonic_ns);
            }
            return Err(error);
        }
        let bytes =
            added(&self.app, last_run, &files.added, self.store.identity().store, time_ms());
        let (app, added) = (self.app.as_str(), files.added.as_slice());
        let mut commit = Commit { place: &self.place, app, added, bytes: &bytes, may_be: false };
        let committed = commit.put(&mut self.log);
        let may_be = commit.may_be;
        let version = match committed {
            Ok(version) => version,
            Err(error) => {
                // A commit that may be there names them.
                if !may_be {
                    files.give_up();
                }
                return Err(error);
            }
        };
        let mut done = done(&waiting, &mut files, version);
        done.damage.extend(self.lost_names());
        done.warning = warning;
        let handed = Handover { below: offer.offered, ..offer };
        done.then = self.store.put_handover(Some(&handed)).err().map(Error::from);
        Ok(done)
    }

    /// Writes what the runs hold.
    fn write(&self, waiting: &[Waiting], files: &mut Files<'_>) -> Result<()> {
        let may_skip = |damage: &Damage| {
            let is_lasting = || match self.unread.get(&(damage.file.clone(), damage.offset)) {
                Some(since_ns) => clock::monotonic_ns().saturating_sub(*since_ns) >= UNREAD_NS,
                None => false,
            };
            self.skip_damaged && (!is_passing(damage) || is_lasting())
        };
        for run in waiting {
            if let Some(damage) = files.run(run, may_skip)? {
                let damage = Box::new(damage);
                return Err(match is_passing(&damage) {
                    true => Error::Unread { damage },
                    false => Error::Damaged { damage },
                });
            }
        }
        files.finish()?;
        // Only who asked for names knows whether they were all to be had.
        self.check_names()
    }

    /// Sees the store anew; which runs there are must be known.
    fn refresh(&mut self) -> Result<()> {
        self.store.refresh()?;
        self.check_store()
    }

    /// Fails if it is not known which runs there are, or how series are called.
    fn check_store(&self) -> Result<()> {
        let damage = self.store.damage_so_far();
        match damage.into_iter().find(|damage| damage.loss == Loss::Manifest) {
            Some(damage) => Err(baro_store::Error::Manifest { damage: Box::new(damage) }.into()),
            None => self.check_names(),
        }
    }

    /// Fails if declarations may be lost: what is handed over without its name keeps none.
    fn check_names(&self) -> Result<()> {
        match self.lost_names().first().filter(|_| !self.skip_damaged) {
            Some(damage) => {
                let reason = damage.to_string();
                Err(baro_store::Error::CatalogDamaged { reason }.into())
            }
            None => Ok(()),
        }
    }

    fn lost_names(&self) -> Vec<Damage> {
        let damage = self.store.catalog().damage().into_iter();
        damage.filter(Damage::is_loss).collect()
    }

    /// Told once: what others may do to the table so that it cannot be gone on with.
    fn warning(&self) -> Option<String> {
        (self.log.may_lose_versions && !self.has_begun).then(|| {
            "expected the table's property delta.enableExpiredLogCleanup to be false, found it is not: \
             when another program removes old versions, baro lake refuses the table from then on; set it \
             with that program"
                .to_owned()
        })
    }

    /// The first run that the table has not got by its number.
    fn below(&self) -> u64 {
        self.log.last_run.map_or(0, |run| run.saturating_add(1))
    }

    /// Reads what has come to the table's log; makes the table if there is none, and should be one.
    fn open_table(&mut self, known: Option<Handover>) -> Result<[u8; 16]> {
        if !self.has_begun {
            self.place.tidy();
        }
        for _ in 0..TRIES {
            self.log.begin(&self.place, &self.app)?;
            if let Some(table) = self.log.table {
                return Ok(table);
            }
            check_new(known)?;
            let mut table = [0; 16];
            identity::random(&mut table)
                .map_err(|error| baro_sys::Error::new("random", "", error.into()))?;
            // Version 4 and variant 1 of RFC 9562.
            table[6] = table[6] & 0x0f | 0x40;
            table[8] = table[8] & 0x3f | 0x80;
            self.place.make_log()?;
            // Somebody else may make it: then it is read.
            self.place.put_new(&commit_name(0), &created(table, time_ms()))?;
        }
        Err(Error::Contended { tries: TRIES })
    }
}

/// Whether it may be read later: the operating system has failed, and the bytes are not known to be wrong.
fn is_passing(damage: &Damage) -> bool {
    matches!(damage.source, Source::Unreadable(_))
}

fn done(waiting: &[Waiting], files: &mut Files<'_>, version: u64) -> Done {
    Done {
        runs: waiting.len() as u64,
        samples: files.rows_written,
        files: files.added.len() as u64,
        bytes: files.added.iter().map(|file| file.bytes).sum(),
        version: Some(version),
        damage: std::mem::take(&mut files.damage),
        ..Done::default()
    }
}

#[cfg(test)]
mod tests;
