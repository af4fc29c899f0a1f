//! The journal: settings go in durably before they are written, and come out when undone.
//!
//! The whole journal is replaced at each change (a rename), so it can never be half written. An
//! entry is `moving` from before its setting is written until the value was read back and noted:
//! a kernel rounds and reformats values, so until then nobody can say which text is ours. Undoing
//! marks what it will write as moving too, because restoring one file can make the kernel change
//! another. Invariant: no file is written that is not in the journal on disk, and an entry leaves
//! it only when its file reads as found or is somebody else's. Tests: `src/journal/tests.rs`,
//! `tests/fake_root.rs`, `tests/kill.rs`.

use std::io;
use std::path::{Path, PathBuf};

use baro_sys::lock::LockFile;
use baro_sys::state::StateFolder;
use baro_sys::{files, schedule};

use crate::allowed::{EXPECTED, is_allowed};
use crate::error::Error;
use crate::form::Target;
use crate::machine::{Host, JOURNAL, Machine, Root};
use crate::report::{Report, Undone, UndoneAs};
use crate::setting::Setting;
use crate::text::{self, Entry, JOURNAL_BYTES_MAX, Reader, SETTINGS_MAX, STATE_BYTES_MAX};

const LOCK: &str = "lock";
/// Root's state: below what no service and no other user owns.
const ROOTS: &str = "/var/lib/barograph-root/tune";
/// Where it was until 0.1. The package gives the folder above it to the service's user.
const ROOTS_BEFORE: &str = "/var/lib/barograph/tune";
/// Below the state directory: the journal of what outlives its process.
const KEPT: &str = "kept";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Where the journal is, which machine it is for, and what to do about settings that somebody
/// else changed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of the journal and its lock; see [`Options::state_dir_default`].
    pub state_dir: PathBuf,
    /// What stands for `/` before every setting's path: a fake machine in tests.
    pub root: PathBuf,
    /// Applies to what a crashed owner left.
    pub on_conflict: OnConflict,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            state_dir: Options::state_dir_default(None, None),
            root: "/".into(),
            on_conflict: OnConflict::Leave,
        }
    }
}

impl Options {
    /// `/var/lib/barograph-root/tune`; for a user other than root `barograph/tune` below
    /// `xdg_state_home` or else below `.local/state` in `home`, which the caller takes from the
    /// environment. On a disk and not in /run, so that the next start can tell what a reboot has undone.
    pub fn state_dir_default(xdg_state_home: Option<&Path>, home: Option<&Path>) -> PathBuf {
        let user = || match (xdg_state_home, home) {
            // The XDG rules: a path that is not absolute is ignored.
            (Some(state), _) if state.is_absolute() => Some(state.to_path_buf()),
            (_, Some(home)) if home.is_absolute() => Some(home.join(".local/state")),
            _ => None,
        };
        let base = if schedule::is_root() { None } else { user() };
        base.map_or_else(|| ROOTS.into(), |base| base.join("barograph/tune"))
    }

    /// A folder of its own below root's, for the journal of something that may be in anybody's folder.
    #[must_use]
    pub fn state_dir_of(name: &str) -> PathBuf {
        Path::new(ROOTS).join(name)
    }
}

/// What undoing does to a setting that somebody else changed after us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Leave it and keep it in the journal, so that one of the others can be chosen later.
    Leave,
    /// Overwrite it with what was found before us.
    Overwrite,
    /// Leave it and forget it: their value is the right one.
    Accept,
}

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
    _lock: Option<LockFile>,
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
        Journal::take(options, &options.state_dir)?.recover(Some(options.on_conflict))
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
        Journal::take(options, &options.state_dir.join(KEPT))?.recover(None)
    }

    /// Whether settings are kept, or a journal that cannot be read says that they may be.
    #[must_use]
    pub fn has_kept(options: &Options) -> bool {
        let before = Path::new(ROOTS_BEFORE).join(KEPT).join(JOURNAL);
        if options.state_dir == Path::new(ROOTS) && files::exists(&before) {
            return true;
        }
        match StateFolder::open(&options.state_dir.join(KEPT)) {
            Ok(folder) => folder.list().is_ok_and(|names| names.iter().any(|name| name == JOURNAL)),
            // One that is refused is to be heard of.
            Err(error) => !error.is_missing(),
        }
    }

    /// The process that holds the settings of this folder now.
    #[must_use]
    pub fn holder(state_dir: &Path) -> Option<u32> {
        StateFolder::open(state_dir).ok()?.lock_holder(LOCK).ok()??.pid
    }

    /// Removes the folder of a journal in which nothing is left to undo, after its last owner.
    ///
    /// # Errors
    /// A journal or something that is not ours is in it; it stays.
    pub fn remove_folder(state_dir: &Path) -> Result<(), Error> {
        let (Some(above), Some(name)) = (state_dir.parent(), state_dir.file_name()) else {
            return Ok(());
        };
        let folder = match StateFolder::open(state_dir) {
            Err(error) if error.is_missing() => return Ok(()),
            folder => folder?,
        };
        folder.clear_temporaries(JOURNAL)?;
        if folder.list()?.iter().all(|name| name == LOCK) {
            folder.remove(LOCK)?;
        }
        Ok(StateFolder::open(above)?.remove_folder(&name.to_string_lossy())?)
    }

    fn take(options: &Options, dir: &Path) -> Result<Taken, Error> {
        let folder = StateFolder::make_all(dir, 0o700)?;
        let lock = match folder.lock(LOCK)? {
            Ok(lock) => lock,
            Err(holder) => return Err(Error::Held { lock: dir.join(LOCK), pid: holder.pid }),
        };
        folder.clear_temporaries(JOURNAL)?;
        let before = match dir.strip_prefix(ROOTS) {
            Ok(rest) => bring_over(&Path::new(ROOTS_BEFORE).join(rest), &folder)?,
            Err(_) => None,
        };
        let machine = Box::new(Host { root: Root(options.root.clone()), folder });
        Ok(Taken { machine, file: dir.join(JOURNAL), lock, before })
    }

    /// Loads the journal and undoes what is in it; without a rule for conflicts, keeps it.
    fn recover(
        machine: Box<dyn Machine>,
        file: PathBuf,
        lock: Option<LockFile>,
        on_conflict: Option<OnConflict>,
    ) -> Result<(Journal, Report), Error> {
        let boot = machine.read(BOOT_ID)?.trim().to_owned();
        let owner_pid = std::process::id();
        let keeps = on_conflict.is_none();
        let mut journal =
            Journal { machine, file, boot, entries: Vec::new(), owner_pid, keeps, _lock: lock };
        let text = match journal.machine.load() {
            Ok(Some(text)) => text,
            Ok(None) => return Ok((journal, Report::default())),
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
        let before = self.state(&target)?;
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

    /// Puts every setting back, last one first, and reports each. What could not be restored stays
    /// in the journal, as do conflicts under [`OnConflict::Leave`]. Never stops at a failure.
    pub fn undo_all(&mut self, on_conflict: OnConflict) -> Report {
        let mut report = Report::default();
        // Conflicts are looked for before anything is written: what one file holds can be changed
        // by the kernel when another is restored.
        let found: Vec<_> = self.entries.iter().map(|entry| self.state(&entry.target)).collect();
        let theirs = |entry: &Entry, found: &Result<String, Error>| match found {
            Ok(found) if entry.moving || *found == entry.was || *found == entry.now => None,
            Ok(found) if on_conflict != OnConflict::Overwrite => Some(found.clone()),
            _ => None,
        };
        let mut plan = Vec::new();
        for (entry, found) in self.entries.iter_mut().zip(&found) {
            let theirs = theirs(entry, found);
            entry.moving |= theirs.is_none();
            plan.push((entry.clone(), theirs));
        }
        if plan.iter().any(|(_, theirs)| theirs.is_none()) {
            report.journal = self.save().err();
        }
        let mut kept = Vec::new();
        for (entry, theirs) in plan.into_iter().rev() {
            let name = entry.target.name();
            let Some(found) = theirs else {
                let result = self.restore(&entry);
                if matches!(result, UndoneAs::Failed(_)) {
                    kept.push(entry);
                }
                report.settings.push(Undone { name, result });
                continue;
            };
            // Restoring another file may have disturbed what they set; best effort.
            if self.state(&entry.target).is_ok_and(|state| state != found) {
                let _ = self.write(&entry.target, &found);
            }
            let result = UndoneAs::Conflict { expected: entry.now.clone(), found };
            report.settings.push(Undone { name, result });
            if on_conflict == OnConflict::Leave {
                kept.push(entry);
            }
        }
        kept.reverse();
        self.entries = kept;
        if !report.settings.is_empty() {
            report.journal = report.journal.or(self.save().err());
        }
        report
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
        let Some((directory, files)) = target.disturbs() else { return Vec::new() };
        let names = self.machine.list(&directory).unwrap_or_default();
        let parameters = names.into_iter().map(|name| format!("{directory}/{name}"));
        let below = |path: &str| Path::new(path).parent() == Some(Path::new(&directory));
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

    /// Notes in memory what the targets hold after a write.
    fn settle(&mut self) {
        for at in 0..self.entries.len() {
            if !self.entries[at].moving {
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
    lock: LockFile,
    before: Option<String>,
}

impl Taken {
    fn recover(self, on_conflict: Option<OnConflict>) -> Result<(Journal, Report), Error> {
        let (journal, mut report) =
            Journal::recover(self.machine, self.file, Some(self.lock), on_conflict)?;
        report.before = self.before;
        Ok((journal, report))
    }
}

/// Brings a journal that 0.1 left in the folder `before` into `folder`, where that folder is root's. From
/// one that a service owns nothing is taken, since its user may have written it: the text says what to do.
fn bring_over(before: &Path, folder: &StateFolder) -> Result<Option<String>, Error> {
    let old = match StateFolder::open(before) {
        Ok(old) => old,
        // Whoever owns it can lay anything there: it is only told of, and never in the way.
        Err(error) if files::exists(&before.join(JOURNAL)) => {
            let file = before.join(JOURNAL);
            let file = file.display();
            return Ok(Some(format!(
                "{file}: a journal of an older version is not put back, because others than root may \
                 have written it ({error}); a reboot undoes its settings, or look at it, put back by \
                 hand what is yours, and `rm {file}`"
            )));
        }
        Err(_) => return Ok(None),
    };
    let Ok(Ok(_lock)) = old.lock(LOCK) else { return Ok(None) };
    if folder.read_text(JOURNAL, JOURNAL_BYTES_MAX)?.is_some() {
        return Ok(None);
    }
    if let Some(text) = old.read_text(JOURNAL, JOURNAL_BYTES_MAX)? {
        folder.replace_durable(JOURNAL, text.as_bytes(), 0o600)?;
        old.remove_durable(JOURNAL)?;
    }
    Ok(None)
}

impl Drop for Journal {
    /// Undoes everything; what that comes to is in no report, so call [`Journal::undo_all`] first.
    fn drop(&mut self) {
        if self.owner_pid == std::process::id() && !self.keeps {
            self.undo_all(OnConflict::Leave);
        }
    }
}

#[cfg(test)]
mod tests;
