//! Putting back: last setting first, and again what stood in another's way.
//!
//! The kernel ties settings to each other: it refuses a number of requests that only the scheduler of
//! before can hold, and sets that number anew when the scheduler changes. No table of such ties is
//! complete, so the list is gone through, last one first, until a round changes nothing. Invariants: a
//! setting that cannot be put back is reported, stays in the journal and holds up none of the others; of
//! what another owner has a claim on, nothing is written. Tests: `src/journal/tests.rs`,
//! `src/journal/tests/owners.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use baro_sys::files;

use super::Journal;
use super::look::is_kept;
use crate::claim::{Claimed, object};
use crate::error::Error;
use crate::machine::JOURNAL;
use crate::options::OnConflict;
use crate::owner::Owner;
use crate::report::{Report, Undone, UndoneAs};
use crate::text::Entry;

/// A tie is one deep on every kernel looked at; two files that undo each other's value must end.
const ROUNDS_MAX: usize = 4;

/// What is to be done about one setting.
#[derive(Debug)]
enum Plan {
    Restore,
    /// Somebody who is no Barograph set it to this.
    Conflict(String),
    Held(Owner),
}

impl Journal {
    /// Puts every setting back, last one first, and reports each. What could not be restored stays
    /// in the journal, as do conflicts under [`OnConflict::Leave`] and what another owner holds. Never
    /// stops at a failure.
    pub fn undo_all(&mut self, on_conflict: OnConflict) -> Report {
        let mut report = std::mem::take(&mut self.undone);
        let plans = self.plans(on_conflict);
        for (entry, plan) in self.entries.iter_mut().zip(&plans) {
            entry.moving |= matches!(plan, Plan::Restore);
        }
        if plans.iter().any(|plan| matches!(plan, Plan::Restore)) {
            let saved = self.save().err();
            report.journal = report.journal.or(saved);
        }
        let results = self.restore_all(&plans);
        let any = !results.is_empty();
        let mut kept = Vec::new();
        for (entry, result) in std::mem::take(&mut self.entries).into_iter().zip(results).rev() {
            let keep = match &result {
                UndoneAs::Failed(_) | UndoneAs::Held(_) => true,
                UndoneAs::Conflict { .. } => on_conflict == OnConflict::Leave,
                _ => false,
            };
            report.settings.push(Undone { name: entry.target.name(), result });
            if keep {
                kept.push(entry);
            }
        }
        kept.reverse();
        self.entries = kept;
        if any {
            let saved = self.save().err();
            report.journal = report.journal.or(saved);
        }
        self.release_all();
        report
    }

    /// Conflicts are looked for before anything is written: what one file holds can be changed by the
    /// kernel when another is restored.
    fn plans(&mut self, on_conflict: OnConflict) -> Vec<Plan> {
        let objects: Vec<String> = self.entries.iter().map(|one| object(&one.target)).collect();
        let mut plans = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            if let Some(owner) = self.claim_to_undo(object) {
                plans.push(Plan::Held(owner));
                continue;
            }
            let Some(entry) = self.entries.get(at) else { continue };
            plans.push(match self.state(&entry.target) {
                Ok(found) if entry.moving || found == entry.was || found == entry.now => {
                    Plan::Restore
                }
                Ok(found) if on_conflict != OnConflict::Overwrite => Plan::Conflict(found),
                _ => Plan::Restore,
            });
        }
        plans
    }

    /// Rounds over all settings, last one first, until one writes nothing.
    fn restore_all(&mut self, plans: &[Plan]) -> Vec<UndoneAs> {
        let entries = self.entries.clone();
        let mut results: Vec<Option<UndoneAs>> = entries.iter().map(|_| None).collect();
        for _ in 0..ROUNDS_MAX {
            let mut wrote = false;
            for ((entry, plan), result) in entries.iter().zip(plans).zip(&mut results).rev() {
                match plan {
                    Plan::Restore => {
                        let now = self.restore(entry);
                        wrote |= matches!(now, UndoneAs::Restored { .. });
                        // What another one brought about is put back all the same.
                        *result = Some(match (result.take(), now) {
                            (Some(UndoneAs::Unchanged) | None, now) => now,
                            (Some(_), UndoneAs::Unchanged) => {
                                UndoneAs::Restored { was: entry.was.clone() }
                            }
                            (Some(_), now) => now,
                        });
                    }
                    // Restoring another file may have disturbed what they set; best effort.
                    Plan::Conflict(found) => {
                        if self.state(&entry.target).is_ok_and(|state| state != *found) {
                            wrote |= self.write(&entry.target, found).is_ok()
                                && self.state(&entry.target).is_ok_and(|state| state == *found);
                        }
                    }
                    Plan::Held(_) => {}
                }
            }
            if !wrote {
                break;
            }
        }
        let done = entries.iter().zip(plans).zip(results);
        done.map(|((entry, plan), result)| match (plan, result) {
            (Plan::Conflict(found), _) => {
                UndoneAs::Conflict { expected: entry.now.clone(), found: found.clone() }
            }
            (Plan::Held(owner), _) => UndoneAs::Held(owner.clone()),
            (Plan::Restore, Some(result)) => self.still(entry, result),
            (Plan::Restore, None) => UndoneAs::Unchanged,
        })
        .collect()
    }

    /// What was put back in one round must not have been taken away in the last.
    fn still(&self, entry: &Entry, result: UndoneAs) -> UndoneAs {
        match self.state(&entry.target) {
            Ok(found) if found != entry.was && !matches!(result, UndoneAs::Failed(_)) => {
                UndoneAs::Failed(Error::NotTaken {
                    name: entry.target.name(),
                    expected: entry.was.clone(),
                    found,
                })
            }
            _ => result,
        }
    }

    fn restore(&mut self, entry: &Entry) -> UndoneAs {
        let Entry { target, was, .. } = entry;
        match self.state(target) {
            Ok(found) if found == *was => return UndoneAs::Unchanged,
            Err(Error::Host(error)) if files::is_gone(&error) => return UndoneAs::Gone,
            // A file that cannot be read may still be written.
            _ => {}
        }
        if let Err(source) = self.write(target, was) {
            let value = was.clone();
            return UndoneAs::Failed(Error::Rejected { name: target.name(), value, source });
        }
        match self.state(target) {
            Ok(found) if found == *was => UndoneAs::Restored { was: found },
            Ok(found) => UndoneAs::Failed(Error::NotTaken {
                name: target.name(),
                expected: was.clone(),
                found,
            }),
            Err(error) => UndoneAs::Failed(error),
        }
    }

    /// Takes the claim on what is to be undone; who has it, where that is another.
    fn claim_to_undo(&mut self, object: &str) -> Option<Owner> {
        if self.claimed.contains(object) {
            return None;
        }
        match self.machine.claim(object) {
            Ok(Claimed::Theirs(owner)) => return Some(owner),
            // Without a claim it is put back as well: nobody can have taken one.
            Ok(Claimed::Ours(_)) | Err(_) => {}
        }
        self.claimed.insert(object.to_owned());
        None
    }

    /// Gives all claims back. The note of what is still to be put back stays; a conflict is not: that is
    /// somebody's value now.
    pub(super) fn release_all(&mut self) {
        let own = self.machine.folder().to_owned();
        let noted = self.machine.notes().into_iter().filter(|note| note.journal == own);
        let mut objects: BTreeSet<String> = noted.map(|note| note.object).collect();
        objects.append(&mut self.claimed);
        for one in objects {
            let is_left = |entry: &Entry| entry.moving && object(&entry.target) == one;
            let left = !self.keeps && self.entries.iter().any(is_left);
            self.machine.release(&one, left);
        }
    }

    /// Puts back what owners left who have ended, also those with a journal in any other folder: by the
    /// notes of this boot.
    pub fn undo_left(&mut self) -> Report {
        let mut report = Report::default();
        self.recover_others(&mut report, |_| true);
        report
    }

    /// The same of journals in folders that are meant.
    pub(super) fn recover_others(&mut self, report: &mut Report, is_meant: impl Fn(&Path) -> bool) {
        let own = self.machine.folder().to_owned();
        let others = self.machine.notes().into_iter().map(|note| note.journal);
        let others: BTreeSet<_> =
            others.filter(|journal| *journal != own && is_meant(journal)).collect();
        others.iter().for_each(|journal| self.recover_other(journal, report));
    }

    pub(super) fn recover_other(&mut self, dir: &Path, report: &mut Report) {
        // None: its owner lives, or somebody puts it back already.
        let Some(mut machine) = self.machine.beside(dir) else { return };
        if is_kept(dir) {
            let notes = machine.notes().into_iter().filter(|note| note.journal == dir);
            for note in notes.collect::<Vec<_>>() {
                machine.release(&note.object, false);
            }
            return;
        }
        match Journal::recover(machine, dir.join(JOURNAL), Some(OnConflict::Leave)) {
            Ok((_journal, undone)) => report.add(undone),
            Err(error) => report.journal = report.journal.take().or(Some(error)),
        }
    }
}
