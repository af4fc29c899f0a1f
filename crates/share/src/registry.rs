//! The groups that are held now, as files below a run directory: who, on which disks, how heavy.
//!
//! One folder for each group: `group` says what was asked, `alive` is locked by the process that holds
//! it, and the two files of its pieces lie there. There is no daemon: whoever holds the journal of
//! settings controls all groups, and the others wait to take over.
//!
//! Invariant: a group whose holder is gone, however it ended, is seen as such by its lock. Held by the
//! tests below.

use crate::cgroup::check_name;
use crate::error::ShareError;
use crate::pieces::{Cut, PieceFiles};
use crate::weight::Weight;
use baro_sys::lock::LockFile;
use baro_sys::{files, schedule};
use std::path::{Path, PathBuf};

const GROUP_FILE: &str = "group";
const LOCK_FILE: &str = "alive";
const TEXT_BYTES_MAX: u64 = 16 << 10;
/// Stands for `/` in the names of folders; no name of a group has it.
const NESTED: &str = "+";

/// What is asked for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its name; `a/b` is `b` in `a`.
    pub name: String,
    /// Its weight.
    pub weight: Weight,
    /// Names of the disks on which it is controlled.
    pub disks: Vec<String>,
    /// A control group of somebody else's, by its path; None: one of ours.
    pub adopted: Option<String>,
    /// How its I/O is cut; None: as the controller does by itself.
    pub cut: Option<Cut>,
}

/// A group that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was asked.
    pub asked: Asked,
    /// Its folder.
    pub dir: PathBuf,
    /// Whether its holder lives.
    pub alive: bool,
}

/// The folder of all groups.
#[derive(Clone, Debug)]
pub struct Registry {
    dir: PathBuf,
}

/// One's own group; given back when dropped.
#[derive(Debug)]
pub struct Held {
    dir: PathBuf,
    files: PieceFiles,
    _lock: LockFile,
}

impl Registry {
    /// Where it is for root: below `/run`, which a reboot empties.
    #[must_use]
    pub fn default_dir() -> PathBuf {
        PathBuf::from("/run/barograph/share")
    }

    /// Opens it, and makes it if it is not there.
    ///
    /// # Errors
    /// No rights.
    pub fn open(dir: &Path) -> Result<Self, ShareError> {
        if !schedule::is_root() {
            return Err(ShareError::Refused(
                "control groups and queues are root's: run it with sudo".to_owned(),
            ));
        }
        files::make_folders(dir)?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// One that is only looked at; nothing is made.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// The folder of all groups.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn folder(&self, name: &str) -> Result<PathBuf, ShareError> {
        name.split('/').try_for_each(check_name)?;
        Ok(self.dir.join(name.replace('/', NESTED)))
    }

    /// Enters a group. What a dead holder left of one of this name goes.
    ///
    /// # Errors
    /// Its name is none, or it is held by somebody; no rights.
    pub fn enter(&self, asked: &Asked) -> Result<Held, ShareError> {
        let dir = self.folder(&asked.name)?;
        files::make_folders(&dir)?;
        let lock = match LockFile::take(&dir.join(LOCK_FILE))? {
            Ok(lock) => lock,
            Err(holder) => {
                let by = holder.pid.map_or_else(String::new, |pid| format!(" by process {pid}"));
                return Err(ShareError::Refused(format!(
                    "group {}: is held{by}; choose another --name, or end that one",
                    asked.name
                )));
            }
        };
        for name in files::list(&dir)?.iter().filter(|name| *name != LOCK_FILE) {
            files::remove(&dir.join(name))?;
        }
        let files = PieceFiles::create(&dir, asked.cut.unwrap_or_default().first())?;
        files::write(&dir.join(GROUP_FILE), text(asked).as_bytes())?;
        Ok(Held { dir, files, _lock: lock })
    }

    /// All groups, also those whose holder is gone; half-made ones are left out.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let names = files::list(&self.dir).unwrap_or_default();
        names
            .iter()
            .filter_map(|name| {
                let dir = self.dir.join(name);
                let text = files::read_text(&dir.join(GROUP_FILE), TEXT_BYTES_MAX).ok()?;
                let asked = parse(&name.replace(NESTED, "/"), &text)?;
                let alive = LockFile::holder(&dir.join(LOCK_FILE)).is_ok_and(|held| held.is_some());
                Some(Entry { asked, dir, alive })
            })
            .collect()
    }

    /// Removes what a dead holder left.
    pub fn forget(&self, entry: &Entry) {
        if !entry.alive {
            let _ = files::remove_tree(&entry.dir);
        }
    }
}

impl Held {
    /// The folder, which programs find by the environment.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its pieces.
    #[must_use]
    pub fn files(&self) -> &PieceFiles {
        &self.files
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = files::remove_tree(&self.dir);
    }
}

fn text(asked: &Asked) -> String {
    let adopted =
        asked.adopted.as_deref().map_or_else(String::new, |path| format!("cgroup {path}\n"));
    let cut = asked.cut.map_or_else(String::new, |cut| format!("cut {cut}\n"));
    format!("weight {}\ndisks {}\n{adopted}{cut}", asked.weight, asked.disks.join(" "))
}

fn parse(name: &str, text: &str) -> Option<Asked> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    Some(Asked {
        name: name.to_owned(),
        weight: value("weight")?.parse().ok()?,
        disks: value("disks")?.split_whitespace().map(str::to_owned).collect(),
        adopted: value("cgroup").map(str::to_owned),
        cut: value("cut").and_then(|text| text.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::Pieces;

    #[test]
    fn a_group_is_there_while_it_is_held() {
        let dir = std::env::temp_dir().join(format!("baro-registry-{}", std::process::id()));
        let registry = Registry::open(&dir).unwrap();
        let asked = Asked {
            name: "plant/player".into(),
            weight: Weight::new(200).unwrap(),
            disks: vec!["sda".into(), "sdb".into()],
            adopted: Some("system.slice/x y.service".into()),
            cut: Some(Cut::Fixed(Pieces { read_bytes: 5, write_bytes: 6 })),
        };
        let held = registry.enter(&asked).unwrap();
        let found = registry.list();
        assert_eq!((found.len(), &found[0].asked, found[0].alive), (1, &asked, true));
        let again = registry.enter(&asked).unwrap_err().to_string();
        assert!(again.contains("is held") && again.contains("--name"), "{again}");
        held.files().set(Pieces { read_bytes: 1, write_bytes: 2 });
        let seen = PieceFiles::open(held.dir()).unwrap();
        assert_eq!(seen.get(), Pieces { read_bytes: 1, write_bytes: 2 });
        assert!(seen.counters().iter().all(|(_, count)| *count == 0));
        drop(held);
        assert!(registry.list().is_empty());
        baro_sys::files::remove_tree(&dir).unwrap();
    }

    #[test]
    fn damaged_entries_are_left_out() {
        for text in ["", "weight 0\ndisks a\n", "weight 100\n", "disks a\n", "\u{0}"] {
            assert!(parse("a", text).is_none(), "{text:?}");
        }
    }
}
