//! Which settings are whose while they are changed: a claim for what belongs together.
//!
//! Journals are several (`share` has one of its own, so that a recording and shares on another disk do
//! not wait for each other, and `--state-dir` makes more), and two that hold the same setting cannot both
//! end with what was found. So before a journal writes a setting it takes a claim on the disk, or the
//! file, that it is of. A claim is a byte of one file that is locked, which ends with the process however
//! it ends, and a note of who took it and in which folder its journal is. The note of an owner who has
//! ended without putting back stays: by it the next one, whoever it is, finds that journal.
//!
//! All is in a folder of root's in `/run`, that of the machine whose settings these are: a reboot, which
//! forgets settings, forgets it too. A user who may not make it goes without. Invariant: at most one
//! journal has a claim, and a note is removed only by who holds its claim. Tests:
//! `src/journal/tests/owners.rs` on a simulated machine, `tests/owners.rs` on a real folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use baro_sys::disk::PartLock;
use baro_sys::state::StateFolder;

use crate::form::{Form, Target};
use crate::owner::Owner;

/// Below what stands for `/`.
const FOLDER: &str = "run/barograph-settings";
const LOCK: &str = "lock";
const NOTE: &str = "note-";
/// A few owners' lines.
const NOTE_BYTES_MAX: u64 = 64 << 10;

/// What is claimed for a setting: of a queue its whole disk, since its files depend on each other.
pub(crate) fn object(target: &Target) -> String {
    let disk = target.path.strip_prefix("/sys/block/").and_then(|rest| rest.split('/').next());
    match (disk, &target.form) {
        (Some(disk), _) => disk_object(disk),
        (None, Form::Whole | Form::Pair) => target.path.clone(),
        (None, Form::Line { key: word, .. } | Form::Member { name: word }) => {
            format!("{} {word}", target.path)
        }
    }
}

/// What is claimed for a disk.
pub(crate) fn disk_object(disk: &str) -> String {
    format!("disk {disk}")
}

/// Whether what [`Journal::owners`](crate::Journal::owners) tells of is this disk.
#[must_use]
pub fn is_disk(object: &str, disk: &str) -> bool {
    object == disk_object(disk)
}

/// What came of asking for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// It is this journal's. The folders are those of journals whose owners ended with it.
    Ours(Vec<PathBuf>),
    /// Somebody else has it.
    Theirs(Owner),
}

/// Something of which a note tells that its owner has, or had, settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) object: String,
    pub(crate) owner: Owner,
    /// The folder of its journal.
    pub(crate) journal: PathBuf,
}

impl Note {
    fn render(&self) -> String {
        format!("{}\t{}\t{}\n", self.object, self.journal.display(), self.owner.render())
    }

    fn parse(line: &str) -> Option<Note> {
        let mut fields = line.splitn(3, '\t');
        let object = fields.next()?.to_owned();
        let journal = PathBuf::from(fields.next()?);
        let owner = Owner::parse(fields.next()?)?;
        journal.is_absolute().then_some(Note { object, owner, journal })
    }
}

/// The claims of one journal.
#[derive(Debug)]
pub(crate) struct Claims {
    /// None where this user may not have one.
    folder: Option<StateFolder>,
    /// The folder of the journal.
    journal: PathBuf,
    held: BTreeMap<String, PartLock>,
}

impl Claims {
    /// Of the journal in `journal`, on the machine below `root`.
    pub(crate) fn of(root: &Path, journal: &Path) -> Result<Claims, baro_sys::Error> {
        let journal = std::path::absolute(journal).unwrap_or_else(|_| journal.to_owned());
        let folder = match StateFolder::make_all(&root.join(FOLDER), 0o700) {
            Ok(folder) => Some(folder),
            Err(_) if !baro_sys::schedule::is_root() => None,
            Err(error) => return Err(error),
        };
        Ok(Claims { folder, journal, held: BTreeMap::new() })
    }

    /// All notes of the machine below `root`, for who only looks.
    pub(crate) fn look(root: &Path) -> Vec<Note> {
        StateFolder::open(&root.join(FOLDER)).map(|folder| notes(&folder)).unwrap_or_default()
    }

    /// Takes a claim, if nobody has it.
    pub(crate) fn take(&mut self, object: &str) -> Result<Claimed, baro_sys::Error> {
        let Some(folder) = &self.folder else { return Ok(Claimed::Ours(Vec::new())) };
        if self.held.contains_key(object) {
            return Ok(Claimed::Ours(Vec::new()));
        }
        let Some(lock) = folder.lock_part(LOCK, byte(object))? else {
            let found = note(folder, object).pop().map(|note| note.owner);
            // It may be on the way to its note.
            let unknown = Owner { program: "another program".into(), pid: 0, since_s: 0 };
            return Ok(Claimed::Theirs(found.unwrap_or(unknown)));
        };
        self.held.insert(object.to_owned(), lock);
        let others = note(folder, object).into_iter().map(|note| note.journal);
        Ok(Claimed::Ours(others.filter(|journal| *journal != self.journal).collect()))
    }

    /// Notes who has a claim that was taken.
    pub(crate) fn note(&self, object: &str) -> Result<(), baro_sys::Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let own =
            Note { object: object.to_owned(), owner: Owner::own(), journal: self.journal.clone() };
        self.write(folder, object, Some(own))
    }

    /// Gives a claim back, and removes its note unless settings of it are `left` in the journal.
    pub(crate) fn release(&mut self, object: &str, left: bool) {
        let Some(folder) = &self.folder else { return };
        if !left {
            // One that an owner of this journal left, who was killed.
            if !self.held.contains_key(object)
                && let Ok(Some(lock)) = folder.lock_part(LOCK, byte(object))
            {
                self.held.insert(object.to_owned(), lock);
            }
            if self.held.contains_key(object) {
                // A note that stays makes the next owner look at a journal with nothing in it.
                let _ = self.write(folder, object, None);
            }
        }
        self.held.remove(object);
    }

    /// The notes of other journals, and those of this one.
    pub(crate) fn notes(&self) -> Vec<Note> {
        self.folder.as_ref().map(notes).unwrap_or_default()
    }

    /// Replaces this journal's line in a note.
    fn write(
        &self,
        folder: &StateFolder,
        object: &str,
        own: Option<Note>,
    ) -> Result<(), baro_sys::Error> {
        let name = name(object);
        // Of one who was killed: nobody else writes it while this has its claim.
        folder.clear_temporaries(&name)?;
        let mut lines = note(folder, object);
        lines.retain(|line| line.journal != self.journal);
        lines.extend(own);
        let text: String = lines.iter().map(Note::render).collect();
        if text.is_empty() {
            folder.remove(&name)
        } else {
            folder.replace(&name, text.as_bytes(), 0o600)
        }
    }
}

/// The byte that is locked. Two things with the same one would wait for each other for nothing.
fn byte(object: &str) -> u32 {
    crc32c::crc32c(object.as_bytes()) & 0x7fff_ffff
}

fn name(object: &str) -> String {
    format!("{NOTE}{:08x}", byte(object))
}

fn note(folder: &StateFolder, object: &str) -> Vec<Note> {
    read(folder, &name(object))
}

fn notes(folder: &StateFolder) -> Vec<Note> {
    let names = folder.list().unwrap_or_default();
    names.iter().filter(|name| name.starts_with(NOTE)).flat_map(|name| read(folder, name)).collect()
}

/// A note that cannot be read tells nothing: the journal that it names is found by its own next owner.
fn read(folder: &StateFolder, name: &str) -> Vec<Note> {
    let text = folder.read_text(name, NOTE_BYTES_MAX).ok().flatten().unwrap_or_default();
    text.lines().filter_map(Note::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;

    #[test]
    fn a_disk_is_claimed_whole_and_a_line_alone() {
        let of = |setting: &Setting| object(&setting.resolve().unwrap().0);
        let queue = Setting::new("/sys/block/loop7/queue/iosched/low_latency", "0");
        assert_eq!(of(&queue), disk_object("loop7"));
        assert_eq!(
            of(&Setting::new("/proc/sys/vm/dirty_ratio", "5")),
            of(&Setting::new("/proc/sys/vm/dirty_bytes", "8192"))
        );
        let line = Setting::line("/sys/fs/cgroup/a/io.max", "8:0", "wbps=1", "wbps=max");
        assert_eq!(of(&line), "/sys/fs/cgroup/a/io.max 8:0");
        let member = Setting::new("/sys/fs/cgroup/cgroup.subtree_control", "+io");
        assert_eq!(of(&member), "/sys/fs/cgroup/cgroup.subtree_control io");
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_a_damaged_one_is_none() {
        let note = Note {
            object: "disk sda".into(),
            owner: Owner { program: "baro tune apply".into(), pid: 3, since_s: 5 },
            journal: "/var/lib/x y".into(),
        };
        let text = note.render();
        assert_eq!(Note::parse(text.trim_end()), Some(note));
        for damaged in ["", "disk sda", "disk sda\t/x", "disk sda\tx\t3\t5\tbaro"] {
            assert_eq!(Note::parse(damaged), None, "{damaged:?}");
        }
    }
}
