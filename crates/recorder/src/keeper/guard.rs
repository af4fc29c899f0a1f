//! Whether the store is still what is written: looked at a few times a second while recording, and
//! once more when all is written.
//!
//! A write to a file that somebody has removed, cut or put another in place of succeeds, and so does
//! its sync. So the names are asked what they are now, segments in use for their header too. What is
//! wrong is said, what was durable in it counts as lost, and nothing more goes there; recording goes on
//! in what is left. It ends where nothing is: the folder is gone, or another recorder writes.
//!
//! Cost: a stat of each name, at most [`NAMES_MAX`] segments, runs and copies of pins at once, and one
//! header read; on the keeper's thread, never the writer's.
//! Invariant: what was durable and has been taken away is told and counted. Held by
//! `whatever_is_done_to_a_store_in_use_is_told_and_counted` (command line) and
//! `a_store_that_is_deleted_while_recording_ends_in_a_report` (`tests/real`).

mod copies;
mod names;
mod segments;

use super::{Holds, Tell};
use crate::writer::Stored;
use baro_log::{IDENTITY, Recovery, Role, segment_name};
use baro_ondisk::StoreId;
use baro_sys::disk::{Disk, PartAttempt, PartLock};
use baro_sys::lock::LockFile;
use names::Names;
pub(crate) use segments::Gone;
use segments::Segments;

/// Between two looks: what is found in two of them is told within a second.
const LOOK_NS: u64 = 300_000_000;
/// Names of a kind asked for at once: where there are more they are gone round in turns.
const NAMES_MAX: usize = 256;
/// Findings that are kept as text; further ones are counted in one more.
const FINDINGS_MAX: usize = 32;

/// What has been found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    /// In sentences.
    pub(crate) said: Vec<String>,
    /// How many there were beyond [`FINDINGS_MAX`].
    more: u64,
    /// Segments that are not what was written.
    pub(crate) gone: Vec<Gone>,
    /// The folder was removed, and with it all that was written.
    pub(crate) all: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Guard {
    disk: Disk,
    store: StoreId,
    names: Names,
    segments: Segments,
    findings: Findings,
    tells: Vec<Tell>,
    /// Another recorder writes too.
    is_invaded: bool,
    /// The locks on files that were made anew.
    relocked: Relocked,
    due_ns: u64,
}

/// Locks that are taken while recording, on files that somebody has put in place of those that were locked.
#[derive(Debug, Default)]
struct Relocked {
    named: Option<LockFile>,
    part: Option<PartLock>,
    /// Another process had the named one at the last look.
    refused: bool,
}

impl Guard {
    pub(crate) fn new(disk: Disk, recovery: &Recovery, session: u64) -> Self {
        let store = recovery.identity.store;
        let names = Names::new(&disk);
        let segments = Segments::new(&disk, recovery, session);
        let findings = Findings::default();
        Guard {
            disk,
            store,
            names,
            segments,
            findings,
            tells: Vec::new(),
            is_invaded: false,
            relocked: Relocked::default(),
            due_ns: 0,
        }
    }

    /// What pins miss already, as `recovery` has found the log, and what else was `changed` in the store.
    /// `frames`: the store may have frames.
    pub(crate) fn look_back(
        &mut self,
        recovery: &Recovery,
        changed: Vec<String>,
        frames: impl FnOnce() -> bool,
    ) {
        changed.into_iter().for_each(|said| self.say(said));
        let log = recovery.segments.started.iter().map(|(header, _)| header.epoch);
        let manifest = names::read_manifest(&self.disk).filter(|found| found.store == self.store);
        let manifest = manifest.unwrap_or_default();
        for said in copies::missing_before(&self.disk, self.store, log, (&manifest, frames)) {
            self.say(said);
        }
    }

    /// A segment has been started, durably.
    pub(crate) fn started(&mut self, index: u32, epoch: u64) {
        self.segments.started(index, epoch);
    }

    /// The log has so many segments now.
    pub(crate) fn grown(&mut self, segments: u32) {
        self.segments.grown(&self.disk, segments);
    }

    /// Looks if it is time; what the engine has to know then, and whether anything was found.
    pub(crate) fn look(&mut self, now_ns: u64, holds: impl FnOnce() -> Holds) -> (Vec<Tell>, bool) {
        if now_ns < self.due_ns {
            return (Vec::new(), false);
        }
        self.due_ns = now_ns + LOOK_NS;
        let count = |findings: &Findings| (findings.said.len(), findings.more);
        let before = count(&self.findings);
        self.look_now(&holds(), false);
        (std::mem::take(&mut self.tells), count(&self.findings) != before)
    }

    /// When it is time for the next look.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Copies to which something has happened since the last call.
    pub(crate) fn take_doubted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.names.copies.doubted)
    }

    /// These copies were made anew, and this is to be said of copies.
    pub(crate) fn take_mended(&mut self, remade: Vec<u64>, said: Vec<String>) {
        remade.into_iter().for_each(|epoch| self.names.copies.remade(epoch));
        said.into_iter().for_each(|what| self.say(what));
    }

    /// The last look, when all is written: at every name.
    pub(crate) fn last_look(&mut self, holds: &Holds, stored: &[Stored]) {
        self.look_now(holds, true);
        if self.is_invaded {
            self.findings.gone.extend(self.segments.superseded(&self.disk, stored));
        }
        let since = self.segments.started_since(&self.disk, &self.findings.gone, stored);
        self.findings.gone.extend(since);
        let Some(newest) = stored.last().filter(|_| !self.findings.all) else { return };
        // A file that was written over in place keeps its header.
        let known = self.findings.gone.iter().any(|gone| gone.epoch == newest.epoch);
        if let Some(gone) = self.segments.blocks_gone(&self.disk, newest).filter(|_| !known) {
            let name = segment_name(gone.index);
            self.findings.gone.push(gone);
            self.say(format!(
                "{name} was written over while recording: blocks that were durable are not there any more"
            ));
        }
    }

    pub(crate) fn findings(&self) -> &Findings {
        &self.findings
    }

    fn look_now(&mut self, holds: &Holds, last: bool) {
        if self.findings.all {
            return;
        }
        match self.disk.found_here() {
            Ok(found) if found.names == 0 => {
                self.findings.all = true;
                let why = "the store's folder was removed while recording".to_owned();
                self.tells.push(Tell::Stop(why.clone()));
                self.say(why);
                return;
            }
            _ => {}
        }
        for said in self.names.look(&self.disk, self.store, holds, last) {
            self.say(said);
        }
        self.hold_locks();
        for (finding, why) in self.segments.look(&self.disk, last) {
            match finding {
                segments::Finding::Gone(gone) => {
                    self.tells.push(Tell::Lost { index: gone.index, why: why.clone() });
                    self.findings.gone.push(gone);
                }
                segments::Finding::Foreign => self.tells.push(Tell::Stop(why.clone())),
            }
            self.say(why);
        }
    }

    /// Holds the locks again if somebody has removed or replaced their files. Where both were replaced,
    /// another recorder may have got in before this look: then nothing more is written.
    fn hold_locks(&mut self) {
        if !self.names.unlocked || self.disk.found(IDENTITY).is_err() {
            return;
        }
        if self.relocked.part.is_none()
            && self.names.is_store_replaced
            && let Ok(PartAttempt::Taken(part)) =
                self.disk.try_part(IDENTITY, Role::Recording.byte())
        {
            self.relocked.part = Some(part);
        }
        // Where its file is the one that was locked, the lock on it is this recorder's.
        if !self.names.is_lock_replaced {
            self.names.unlocked = self.relocked.part.is_none();
            return;
        }
        match self.disk.lock(Role::Recording.file()) {
            Ok(Ok(lock)) => {
                self.relocked.named = Some(lock);
                (self.relocked.refused, self.names.is_lock_replaced) = (false, false);
                self.names.know(&self.disk, Role::Recording.file());
                self.names.unlocked = self.names.is_store_replaced && self.relocked.part.is_none();
            }
            // Once may be somebody who only looks whether he may.
            Ok(Err(_)) if !self.relocked.refused => self.relocked.refused = true,
            Ok(Err(holder)) if self.names.is_store_replaced => {
                let who =
                    holder.pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
                let why = format!(
                    "{who} records into this store too, since its files {IDENTITY} and {} were replaced while recording: \
                     nothing more is written; what was recorded since the other began is lost",
                    Role::Recording.file()
                );
                self.names.unlocked = false;
                self.is_invaded = true;
                self.tells.push(Tell::Stop(why.clone()));
                self.say(why);
            }
            // The byte of the file `store` decides.
            _ => {}
        }
    }

    fn say(&mut self, what: String) {
        self.findings.say(what);
    }
}

impl Findings {
    fn say(&mut self, what: String) {
        if self.said.contains(&what) {
            return;
        }
        if self.said.len() < FINDINGS_MAX {
            self.said.push(what);
            return;
        }
        self.more += 1;
        self.said.truncate(FINDINGS_MAX);
        let more = self.more;
        self.said.push(format!("{more} more were found while recording: look with: baro verify"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_beyond_those_that_are_kept_are_counted() {
        let mut findings = Findings::default();
        for number in 0..FINDINGS_MAX + 5 {
            findings.say(format!("finding {number}"));
            findings.say("finding 0".to_owned());
        }
        assert_eq!(findings.said.len(), FINDINGS_MAX + 1);
        let last = findings.said.last().unwrap();
        assert!(last.starts_with("5 more were found"), "{last}");
    }
}
