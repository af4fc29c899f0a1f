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

use crate::delta::{Log, added, commit_name, created};
use crate::error::{Error, Result};
use crate::parquet_file::Files;
use crate::place::{LOG, Place};
use baro_store::{Damage, Handover, Loss, Store, Waiting};
use baro_sys::{clock, identity};

/// Versions of others that are given way to in one hand-over.
const TRIES: u32 = 64;

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
}

fn time_ms() -> i64 {
    clock::realtime_ns().div_euclid(1_000_000)
}

impl<P: Place> Lake<P> {
    pub(crate) fn new(store: Store, place: P, skip_damaged: bool) -> Self {
        let app = format!("barograph/{}", store.identity().store);
        Lake { store, place, log: Log::default(), app, skip_damaged }
    }

    /// Hands over what has settled.
    pub(crate) fn round(&mut self) -> Result<Done> {
        // Who hands over at the same time may take back an offer of ours.
        let Some(_lock) = self.store.lock_handover()? else { return Err(Error::Beside) };
        let table = self.open_table()?;
        self.refresh()?;
        let (below, known) = (self.below(), self.store.handover()?);
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
        self.check_manifest()?;
        let waiting = self.store.waiting(&offer);
        let last_run = offer.offered.saturating_sub(1);
        let mut files = Files::new(&self.place, &self.store);
        let written = waiting.iter().try_for_each(|run| files.run(run, self.skip_damaged));
        if let Err(error) = written.and_then(|()| files.finish()) {
            files.give_up();
            return Err(error);
        }
        let bytes =
            added(&self.app, last_run, &files.added, self.store.identity().store, time_ms());
        let mut may_be_there = false;
        let committed = commit(&self.place, &mut self.log, &self.app, &bytes, &mut may_be_there);
        let version = match committed {
            Ok(version) => version,
            Err(error) => {
                // A commit that may be there names them.
                if !may_be_there {
                    files.give_up();
                }
                return Err(error);
            }
        };
        let done = done(&waiting, &mut files, version);
        self.store.put_handover(Some(&Handover { below: offer.offered, ..offer }))?;
        Ok(done)
    }

    /// Sees the store anew; which runs there are must be known.
    fn refresh(&mut self) -> Result<()> {
        self.store.refresh()?;
        self.check_manifest()
    }

    fn check_manifest(&self) -> Result<()> {
        let damage = self.store.damage_so_far();
        match damage.into_iter().find(|damage| damage.loss == Loss::Manifest) {
            Some(damage) => Err(baro_store::Error::Manifest { damage: Box::new(damage) }.into()),
            None => Ok(()),
        }
    }

    /// The first run that the table has not got by its number.
    fn below(&self) -> u64 {
        self.log.last_run.map_or(0, |run| run.saturating_add(1))
    }

    /// Reads what has come to the table's log; makes the table if there is none.
    fn open_table(&mut self) -> Result<[u8; 16]> {
        for _ in 0..TRIES {
            self.log.catch_up(&self.place, &self.app)?;
            if let Some(table) = self.log.table {
                return Ok(table);
            }
            let mut table = [0; 16];
            identity::random(&mut table)
                .map_err(|error| baro_sys::Error::new("random", "", error.into()))?;
            // Version 4 and variant 1 of RFC 9562.
            table[6] = table[6] & 0x0f | 0x40;
            table[8] = table[8] & 0x3f | 0x80;
            // Somebody else may make it: then it is read.
            self.place.put_new(&commit_name(0), &created(table, time_ms()))?;
        }
        Err(Error::Contended { tries: TRIES })
    }
}

/// Fails if a store that has `known`, and gives its next run this number, is not one of which this table has
/// the runs below `below`.
fn check(known: Option<Handover>, table: [u8; 16], below: u64, next_run: u64) -> Result<()> {
    let runs = |below: u64| match below.checked_sub(1) {
        Some(last) => format!("the runs up to {last} of this store"),
        None => "no run of this store".to_owned(),
    };
    let (expected, found, next) = match known {
        _ if below > next_run => (
            format!("a store with {}, as the table has it", runs(below)),
            format!("one whose next run is {next_run}: an older copy"),
            "hand it over to a new table",
        ),
        Some(known) if known.table == table && below > known.offered => (
            format!("a store that has offered {}, as the table has it", runs(below)),
            format!("one that has offered {}: an older copy", runs(known.offered)),
            "hand it over to a new table",
        ),
        None if below > 0 => (
            "a store that knows of this table".to_owned(),
            format!("none, and the table has {}", runs(below)),
            "runs may have been merged since: hand it over to a new table",
        ),
        Some(known) if known.table == table && known.below > below => (
            format!("a table with {}", runs(known.below)),
            format!("one with {}", runs(below)),
            "it has lost versions, or is an older copy: restore it, or hand over to a new table",
        ),
        Some(known) if known.table != table && known.holds => (
            "a store that is held for this table".to_owned(),
            "one that is held for another".to_owned(),
            "release it first: baro lake STORE --release",
        ),
        Some(known) if known.table != table && below > 0 => (
            "a store that was handed over to this table last".to_owned(),
            "one that was handed over to another since".to_owned(),
            "hand it over to that one, or to a new one",
        ),
        _ => return Ok(()),
    };
    Err(Error::Apart { expected, found, next })
}

fn done(waiting: &[Waiting], files: &mut Files<'_>, version: u64) -> Done {
    Done {
        runs: waiting.len() as u64,
        samples: files.rows_written,
        files: files.added.len() as u64,
        bytes: files.added.iter().map(|file| file.bytes).sum(),
        version: Some(version),
        damage: std::mem::take(&mut files.damage),
    }
}

/// Commits at the first version that is free, and reads the commit back. `may_be_there` is set before that
/// may be so although it fails.
fn commit(
    place: &dyn Place,
    log: &mut Log,
    app: &str,
    bytes: &[u8],
    may_be_there: &mut bool,
) -> Result<u64> {
    let before = log.last_run;
    for _ in 0..TRIES {
        log.catch_up(place, app)?;
        if log.last_run != before {
            return Err(Error::Overtaken { last_run: log.last_run.unwrap_or(0) });
        }
        let (version, file) = (log.next, commit_name(log.next));
        *may_be_there = true;
        if place.put_new(&file, bytes)? {
            if place.read(&file, bytes.len() as u64)? != bytes {
                return Err(Error::NotBack { file });
            }
            return Ok(version);
        }
        *may_be_there = false;
    }
    Err(Error::Contended { tries: TRIES })
}

#[cfg(test)]
mod tests;
