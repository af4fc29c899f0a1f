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
//! If much waits, 4 to 6 are done for a portion of the runs after the other (`portion`).
//!
//! Whoever dies before 5 leaves files that no reader sees. Whoever dies after it leaves a `runs/lake` with an
//! offer, which only keeps runs as they are for longer: the next hand-over goes by the table's log.
//!
//! Invariant: the table has each sample of the runs up to its `txn` exactly once. Held by
//! `a_kill_at_every_step_loses_and_doubles_nothing`.

mod check;
mod commit;
mod portion;

pub(crate) use check::check_new;

use crate::delta::{INTERVAL, Log, added, commit_name, created, make_checkpoint};
use crate::error::{Error, Result};
use crate::parquet_file::Files;
use crate::place::{LOG, Place};
use baro_store::{Damage, Handover, Source, Store, Waiting};
use baro_sys::{clock, identity};
use check::check;
use commit::{Commit, TRIES};
use portion::{closed_before, portion};
use std::collections::HashMap;

/// Bytes of runs that one commit has, if as many wait: a hand-over of hours goes on where it was ended.
const PORTION_BYTES: u64 = 4 << 30;
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
    /// The last run that the table has got.
    last_run: Option<u64>,
    /// What could not be read, if that was to be skipped.
    pub(crate) damage: Vec<Damage>,
    /// What the table's owner should know.
    pub(crate) warning: Option<String>,
    /// What went wrong after a commit: the rest is not handed over, or the store does not know of it yet.
    /// The next hand-over goes on by what the table says.
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
    portion_bytes: u64,
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
        let portion_bytes = PORTION_BYTES;
        Lake { store, place, log, app, skip_damaged, portion_bytes, has_begun, unread }
    }

    /// Hands over what has settled.
    pub(crate) fn round(&mut self) -> Result<Done> {
        // Who hands over at the same time may take back an offer of ours.
        let Some(_lock) = self.store.lock_handover()? else { return Err(Error::AlreadyRunning) };
        self.place.check()?;
        let known = self.store.handover()?;
        let table = self.open_table(known)?;
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
            return Ok(Done::default());
        }
        let offer = self.store.offer(&handed)?;
        self.check_store()?;
        let mut done = Done::default();
        let ended = self.portions(&offer, &mut done);
        if done.version.is_none() {
            return ended.map(|()| done);
        }
        done.damage.extend(self.lost_names());
        done.then = ended.err();
        Ok(done)
    }

    /// Hands over what was offered, a commit for each portion.
    fn portions(&mut self, offer: &Handover, done: &mut Done) -> Result<()> {
        let waiting = self.store.waiting(offer);
        let mut rest = waiting.as_slice();
        while !rest.is_empty() {
            let (runs, after) = rest.split_at(portion(rest, self.portion_bytes).min(rest.len()));
            let last_run = match after {
                [] => offer.offered.checked_sub(1),
                _ => runs.iter().map(|run| run.run).max(),
            };
            match self.portion(runs, last_run, offer, done) {
                Ok(()) => rest = after,
                Err(Stop { error, at }) => {
                    // What stands before a run that is not read goes all the same.
                    let before = runs.get(..closed_before(rest, at)).unwrap_or(&[]);
                    if let Some(last_run) = before.iter().map(|run| run.run).max() {
                        let went = self.portion(before, Some(last_run), offer, done);
                        went.map_err(|stop| stop.error)?;
                    }
                    return Err(error);
                }
            }
        }
        self.unread.clear();
        Ok(())
    }

    /// Hands over these runs, and says that the table has all up to the last.
    fn portion(
        &mut self,
        runs: &[Waiting],
        last_run: Option<u64>,
        offer: &Handover,
        done: &mut Done,
    ) -> std::result::Result<(), Stop> {
        let Some(last_run) = last_run else { return Ok(()) };
        if done.version.is_some() {
            self.log.catch_up(&self.place, &self.app)?;
            // The one that was committed before this one is ours.
            if self.log.last_run != done.last_run {
                let last_run = self.log.last_run.unwrap_or(0);
                return Err(Error::Overtaken { last_run }.into());
            }
        }
        let mut files = Files::new(&self.place, &self.store);
        if let Err(stop) = self.write(runs, &mut files) {
            files.give_up();
            drop(files);
            if let Error::Unread { damage } = &stop.error {
                let place = (damage.file.clone(), damage.offset);
                self.unread.entry(place).or_insert_with(clock::monotonic_ns);
            }
            return Err(stop);
        }
        let bytes =
            added(&self.app, last_run, &files.added, self.store.identity().store, time_ms());
        let (app, names) = (self.app.as_str(), files.added.as_slice());
        let mut commit =
            Commit { place: &self.place, app, added: names, bytes: &bytes, may_be: false };
        let committed = commit.put(&mut self.log);
        let may_be = commit.may_be;
        match committed {
            Ok(version) => done.take(runs, files, version, last_run),
            Err(error) => {
                // A commit that may be there names them.
                if !may_be {
                    files.give_up();
                }
                return Err(error.into());
            }
        }
        let handed = Handover { below: last_run.saturating_add(1), ..*offer };
        self.store.put_handover(Some(&handed)).map_err(Error::from)?;
        self.checkpoint(done);
        Ok(())
    }

    /// Makes a checkpoint if one is due: behind so many versions, and where others have left it out. The
    /// hand-over does not depend on it.
    fn checkpoint(&mut self, done: &mut Done) {
        let Some(version) = done.version else { return };
        let interval = self.log.interval.unwrap_or(INTERVAL);
        let behind = version.saturating_sub(self.log.checkpoint.unwrap_or(0));
        if !version.is_multiple_of(interval) && behind < interval.saturating_mul(2) {
            return;
        }
        match make_checkpoint(&self.place, version, time_ms()) {
            Ok(()) => self.log.checkpoint = Some(version),
            Err(error) => {
                done.warning.get_or_insert(format!(
                    "no checkpoint of version {version}, so readers list all versions since the last one; the \
                     hand-over is done: {error}"
                ));
            }
        }
    }

    /// Writes what the runs hold.
    fn write(&self, runs: &[Waiting], files: &mut Files<'_>) -> std::result::Result<(), Stop> {
        let may_skip = |damage: &Damage| {
            let is_lasting = || match self.unread.get(&(damage.file.clone(), damage.offset)) {
                Some(since_ns) => clock::monotonic_ns().saturating_sub(*since_ns) >= UNREAD_NS,
                None => false,
            };
            self.skip_damaged && (!is_passing(damage) || is_lasting())
        };
        for (at, run) in runs.iter().enumerate() {
            if let Some(damage) = files.run(run, may_skip)? {
                let damage = Box::new(damage);
                let error = match is_passing(&damage) {
                    true => Error::Unread { damage },
                    false => Error::Damaged { damage },
                };
                return Err(Stop { error, at });
            }
        }
        files.finish()?;
        // Only who asked for names knows whether they were all to be had.
        Ok(self.check_names()?)
    }

    /// Sees the store anew; which runs there are must be known.
    fn refresh(&mut self) -> Result<()> {
        self.store.refresh()?;
        self.check_store()
    }

    /// Fails if it is not known which runs there are, or how series are called.
    fn check_store(&self) -> Result<()> {
        let damage = self.store.damage_so_far();
        match damage.into_iter().find(|damage| damage.loss.is_of_manifest()) {
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

/// Why a portion was not handed over.
#[derive(Debug)]
struct Stop {
    error: Error,
    /// So many of its runs stand before the one that is not read.
    at: usize,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop { error, at: 0 }
    }
}

impl Done {
    fn take(&mut self, runs: &[Waiting], files: Files<'_>, version: u64, last_run: u64) {
        self.runs += runs.len() as u64;
        self.samples += files.rows_written;
        self.files += files.added.len() as u64;
        self.bytes += files.added.iter().map(|file| file.bytes).sum::<u64>();
        self.damage.extend(files.damage);
        (self.version, self.last_run) = (Some(version), Some(last_run));
    }
}

#[cfg(test)]
mod tests;
