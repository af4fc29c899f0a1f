//! The journal: settings go in durably before they are written, and come out when undone.
//!
//! The whole journal is replaced at each change (a rename), so it can never be half written. An
//! entry is `moving` from before its setting is written until the value was read back and noted:
//! a kernel rounds and reformats values, so until then nobody can say which text is ours. Undoing
//! marks what it will write as moving too, because restoring one file can make the kernel change
//! another. Invariant: no file is written that is not in the journal on disk, and an entry leaves
//! it only when its file reads as found or is somebody else's. Tests: `src/journal/tests.rs`,
//! `tests/fake_root.rs`, `tests/kill.rs`.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use baro_sys::files;

use crate::allowed::{EXPECTED, is_allowed};
use crate::claim::{Claimed, disk_object, object};
use crate::error::Error;
use crate::form::Target;
use crate::machine::{Host, JOURNAL, Machine};
use crate::options::{KEPT, OnConflict, Options, ROOTS, ROOTS_BEFORE};
use crate::report::{Report, Undone, UndoneAs};
use crate::setting::Setting;
use crate::text::{self, Entry, Reader, SETTINGS_MAX, STATE_BYTES_MAX};

pub use look::Left;
use look::bring_over;
pub(crate) use look::lock;

mod look;
mod undo;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What the file holds now compared with what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It held that already; nothing was written or journalled.
    AlreadySet,
    /// It holds that.
    Exact,
    /// It holds something else than asked for, and else than before: rounded or limited.
    Adjusted,
    /// The write succeeded and changed nothing.
    Ignored,
}

/// A setting that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// What the file held before.
    pub before: String,
    /// What it holds now, as read back.
    pub now: String,
    /// The two compared with what was asked for.
    pub outcome: Outcome,
}

/// The owner of the machine's settings. One at a time; dropping it undoes them, unless it was
/// opened to [keep](Journal::open_kept) them.
#[derive(Debug)]
pub struct Journal {
    machine: Box<dyn Machine>,
    /// For messages.
    file: PathBuf,
    boot: String,
    entries: Vec<Entry>,
    /// A forked child has a copy of this and must not undo what its parent set.
    owner_pid: u32,
    /// Nothing is undone but by [`Journal::undo_all`].
    keeps: bool,
    /// What this journal has claims on.
    claimed: BTreeSet<String>,
    /// What others left that were killed while this was open: told by the next report.
    undone: Report,
}

impl Journal {
    /// Takes the journal for this process and undoes what a crashed owner left, last setting
    /// first; the report is empty where there was none. Entries of an earlier boot are dropped:
    /// the kernel has forgotten these settings itself.
    ///
    /// # Errors
    /// [`Error::Held`] while another process owns it, [`Error::Damaged`] where the journal of this
    /// boot cannot be trusted; nothing is undone then.
    pub fn open(options: &Options) -> Result<(Journal, Report), Error> {
        Journal::take(options, &options.state_dir)?.start(options.on_conflict)
    }

    /// Takes the journal of settings that outlive their process: what is applied through it stays,
    /// however this process ends, until [`Journal::undo_all`] or a reboot. It is a journal of its
    /// own in `kept` below the state directory, so that [`Journal::open`] never takes such settings
    /// for those of a crashed owner. Entries of an earlier boot are dropped and reported.
    ///
    /// To be opened while the ordinary journal is held, which has undone what a crash left: the
    /// values found here are then nobody's leftovers.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_kept(options: &Options) -> Result<(Journal, Report), Error> {
        Journal::take(options, &options.state_dir.join(KEPT))?.recover()
    }

    fn take(options: &Options, dir: &Path) -> Result<Taken, Error> {
        let host = Host::take(&options.root, dir)?;
        let before = match dir.strip_prefix(ROOTS) {
            Ok(rest) => bring_over(&Path::new(ROOTS_BEFORE).join(rest), host.state())?,
            Err(_) => None,
        };
        Ok(Taken { machine: Box::new(host), file: dir.join(JOURNAL), before })
    }

    /// As [`Journal::recover`], and then the journal beside it: what `share` left, or this one for `share`.
    /// Those in other folders are put back when something of theirs is claimed, and by
    /// [`Journal::undo_left`].
    fn start(
        machine: Box<dyn Machine>,
        file: PathBuf,
        on_conflict: OnConflict,
    ) -> Result<(Journal, Report), Error> {
        let (mut journal, mut report) = Journal::recover(machine, file, Some(on_conflict))?;
        let base = look::base(journal.machine.folder()).to_owned();
        journal.recover_others(&mut report, |other| look::base(other) == base);
        Ok((journal, report))
    }

    /// Loads the journal and undoes what is in it; without a rule for conflicts, keeps it.
    fn recover(
        machine: Box<dyn Machine>,
        file: PathBuf,
        on_conflict: Option<OnConflict>,
    ) -> Result<(Journal, Report), Error> {
        let boot = machine.read(BOOT_ID)?.trim().to_owned();
        let owner_pid = std::process::id();
        let keeps = on_conflict.is_none();
        let mut journal = Journal {
            machine,
            file,
            boot,
            entries: Vec::new(),
            owner_pid,
            keeps,
            claimed: BTreeSet::new(),
            undone: Report::default(),
        };
        let text = match journal.machine.load() {
            Ok(Some(text)) => text,
            Ok(None) => {
                // Of one that was killed between its note and its journal.
                journal.release_all();
                return Ok((journal, Report::default()));
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(error.into());
            }
            Err(error) if error.errno().is_none() => {
                // Not the kernel's refusal: the bytes are too many or no text.
                let (expected, found) = ("a journal".into(), error.source.to_string());
                return Err(Error::Damaged {
                    file: journal.file.clone(),
                    line: 1,
                    expected,
                    found,
                });
            }
            Err(error) => return Err(error.into()),
        };
        let reader = Reader::new(&journal.file, &text)?;
        if reader.boot == journal.boot {
            journal.entries = reader.entries()?;
            let report = on_conflict.map(|rule| journal.undo_all(rule)).unwrap_or_default();
            return Ok((journal, report));
        }
        let mut report = Report::default();
        match reader.entries() {
            Ok(entries) => report.settings.extend(entries.iter().map(|entry| Undone {
                name: entry.target.name(),
                result: UndoneAs::Stale { was: entry.was.clone() },
            })),
            Err(damage) => report.journal = Some(damage),
        }
        journal.machine.remove()?;
        journal.release_all();
        Ok((journal, report))
    }

    /// Writes a setting, having noted durably what its file held before, and reads it back.
    /// Blocks for two replacements of a small file, two syncs each.
    ///
    /// A setting applied before keeps the value first found as the one to be restored, unless
    /// somebody else changed it since: then theirs is.
    ///
    /// # Errors
    /// The setting is not in effect, save where the read-back or the second note fails; it is in
    /// the journal then.
    pub fn apply(&mut self, setting: &Setting) -> Result<Applied, Error> {
        let (target, wanted) = setting.resolve()?;
        let mut before = self.state(&target)?;
        if !target.agrees(&wanted, &before) {
            self.claim(&object(&target))?;
            // Who had it may have put it back in this moment.
            before = self.state(&target)?;
        }
        if target.agrees(&wanted, &before) {
            return Ok(Applied { now: before.clone(), before, outcome: Outcome::AlreadySet });
        }
        if !is_allowed(&target, &before) {
            // It could not be put back.
            return Err(Error::Unfit { path: target.path, expected: EXPECTED, found: before });
        }
        let saved = self.entries.clone();
        for side in self.disturbed(&target) {
            match self.state(&side) {
                // What no verb would set is not put back either.
                Ok(state) if !is_allowed(&side, &state) => {}
                Ok(state) => self.intend(side, &state, &state),
                // A parameter of a scheduler that may come back now, with its default.
                Err(_) => self
                    .entries
                    .iter_mut()
                    .filter(|entry| entry.target == side)
                    .for_each(|entry| entry.moving = true),
            }
        }
        self.intend(target.clone(), &before, &wanted);
        let noted = match self.entries.len() {
            0..=SETTINGS_MAX => self.save(),
            _ => Err(Error::Full { settings_max: SETTINGS_MAX }),
        };
        if let Err(error) = noted {
            self.entries = saved;
            return Err(error);
        }
        let written = self.write(&target, &wanted);
        let now = self.state(&target);
        self.settle();
        match (written, now) {
            (Ok(()), Ok(now)) => {
                self.save()?;
                let outcome = match () {
                    () if target.agrees(&wanted, &now) => Outcome::Exact,
                    () if now == before => Outcome::Ignored,
                    () => Outcome::Adjusted,
                };
                Ok(Applied { before, now, outcome })
            }
            (Ok(()), Err(error)) => Err(error),
            (Err(source), now) => {
                // Of two writes to a pair the first may have succeeded.
                if now.is_ok_and(|now| now == before) {
                    self.entries = saved;
                }
                self.save()?;
                Err(Error::Rejected { name: target.name(), value: wanted, source })
            }
        }
    }

    /// Makes the queue of a disk this journal's until it is undone: for who relies on settings of it that
    /// are as they should be already.
    ///
    /// # Errors
    /// [`Error::Claimed`] while another owner has it.
    pub fn claim_disk(&mut self, disk: &str) -> Result<(), Error> {
        self.claim(&disk_object(disk))
    }

    /// What was put back, since this was last asked, of owners who were killed while this was open.
    pub fn take_undone(&mut self) -> Report {
        std::mem::take(&mut self.undone)
    }

    /// Takes a claim, and puts back what an owner left of it who was killed.
    fn claim(&mut self, object: &str) -> Result<(), Error> {
        if self.claimed.contains(object) {
            return Ok(());
        }
        let mut left = match self.machine.claim(object)? {
            Claimed::Theirs(owner) => {
                return Err(Error::Claimed { object: object.to_owned(), owner });
            }
            Claimed::Ours(left) => left,
        };
        if !left.is_empty() {
            // They are undone under their own claim.
            self.machine.release(object, true);
            let mut undone = std::mem::take(&mut self.undone);
            left.drain(..).for_each(|journal| self.recover_other(&journal, &mut undone));
            self.undone = undone;
            if let Claimed::Theirs(owner) = self.machine.claim(object)? {
                return Err(Error::Claimed { object: object.to_owned(), owner });
            }
        }
        if let Err(error) = self.machine.note(object) {
            self.machine.release(object, true);
            return Err(error.into());
        }
        self.claimed.insert(object.to_owned());
        Ok(())
    }

    fn state(&self, target: &Target) -> Result<String, Error> {
        let read = target.files().into_iter().map(|file| self.machine.read(file));
        let texts = read.collect::<Result<Vec<_>, _>>()?;
        let fit =
            |state: &String| state.len() <= STATE_BYTES_MAX && !state.chars().any(char::is_control);
        target.state(&texts).filter(fit).ok_or_else(|| Error::Unfit {
            path: target.path.clone(),
            expected: "a file of one line of at most 4,096 bytes; of more lines, name one",
            found: texts.concat().chars().take(200).collect(),
        })
    }

    fn write(&mut self, target: &Target, state: &str) -> Result<(), baro_sys::Error> {
        target
            .writes(state)
            .into_iter()
            .try_for_each(|(file, text)| self.machine.write(file, &text))
    }

    /// What the kernel will change by itself when this target is written.
    fn disturbed(&self, target: &Target) -> Vec<Target> {
        let (directory, files) = target.disturbs();
        let names = directory.as_ref().and_then(|directory| self.machine.list(directory).ok());
        let path = |name| format!("{}/{name}", directory.as_deref().unwrap_or_default());
        let parameters = names.into_iter().flatten().map(path);
        let below = |path: &str| Path::new(path).parent() == directory.as_deref().map(Path::new);
        let known = self.entries.iter().map(|entry| &entry.target).filter(|one| below(&one.path));
        files.into_iter().chain(parameters).map(Target::whole).chain(known.cloned()).collect()
    }

    /// Notes in memory that a target is about to be written.
    fn intend(&mut self, target: Target, before: &str, wanted: &str) {
        let now = wanted.to_owned();
        match self.entries.iter_mut().find(|entry| entry.target == target) {
            Some(entry) => {
                if !entry.moving && before != entry.was && before != entry.now {
                    entry.was = before.to_owned();
                }
                (entry.now, entry.moving) = (now, true);
            }
            None => self.entries.push(Entry { target, was: before.to_owned(), now, moving: true }),
        }
    }

    /// Notes in memory what the targets hold after a write: those that are this journal's now. What a
    /// killed `--keep` was about to set may be another owner's meanwhile, with his value.
    fn settle(&mut self) {
        for at in 0..self.entries.len() {
            let entry = &self.entries[at];
            if !entry.moving || !self.claimed.contains(&object(&entry.target)) {
                continue;
            }
            match self.state(&self.entries[at].target) {
                Ok(state) => (self.entries[at].now, self.entries[at].moving) = (state, false),
                // The parameters of the scheduler that was left.
                Err(Error::Host(error)) if files::is_gone(&error) => {
                    self.entries[at].moving = false
                }
                Err(_) => {}
            }
        }
    }

    fn save(&mut self) -> Result<(), Error> {
        if self.entries.is_empty() {
            return Ok(self.machine.remove()?);
        }
        Ok(self.machine.save(&text::render(&self.boot, &self.entries))?)
    }
}

/// A journal that was locked and not read yet.
struct Taken {
    machine: Box<dyn Machine>,
    file: PathBuf,
    before: Option<String>,
}

impl Taken {
    fn start(self, on_conflict: OnConflict) -> Result<(Journal, Report), Error> {
        let (journal, mut report) = Journal::start(self.machine, self.file, on_conflict)?;
        report.before = self.before;
        Ok((journal, report))
    }

    fn recover(self) -> Result<(Journal, Report), Error> {
        let (journal, mut report) = Journal::recover(self.machine, self.file, None)?;
        report.before = self.before;
        Ok((journal, report))
    }
}

impl Drop for Journal {
    /// Undoes everything; what that comes to is in no report, so call [`Journal::undo_all`] first.
    fn drop(&mut self) {
        match () {
            () if self.owner_pid != std::process::id() => {}
            () if self.keeps => self.release_all(),
            () => drop(self.undo_all(OnConflict::Leave)),
        }
    }
}

#[cfg(test)]
mod tests;
