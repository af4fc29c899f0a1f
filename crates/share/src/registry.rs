//! The groups that are held now, as files below a run directory: who, on which disks, how heavy.
//!
//! One folder for each group: `group` says what was asked, `alive` is locked by the process that holds
//! it, and `pieces` has the sizes for its programs. There is no daemon: whoever holds the journal of
//! settings controls all groups, and the others wait to take over. All of it is root's; programs of every
//! user read `pieces`.
//!
//! Invariants: a group whose holder is gone, however it ended, is seen as such by its lock; nothing is
//! removed but files of these names and a folder that is empty then, and where anything else is in the
//! way, that is said and left. Held by the tests below.

use crate::cgroup::check_name;
use crate::error::ShareError;
use crate::origin::Origins;
use crate::pieces::{COUNTERS_FILE, Cut, PIECES_FILE, PieceFiles};
use crate::weight::Weight;
use baro_sys::lock::LockFile;
use baro_sys::schedule;
use baro_sys::state::StateFolder;
use std::io;
use std::path::{Path, PathBuf};

const GROUP_FILE: &str = "group";
const LOCK_FILE: &str = "alive";
/// Where its processes came from.
const ORIGINS_FILE: &str = "origins";
/// All that is ever in a group's folder, in the order in which it goes; `counters` was 0.1's.
const OURS: [&str; 5] = [GROUP_FILE, PIECES_FILE, COUNTERS_FILE, ORIGINS_FILE, LOCK_FILE];
/// Programs of every user come by.
const FOLDER_MODE: u32 = 0o755;
const TEXT_BYTES_MAX: u64 = 16 << 10;
const ORIGINS_BYTES_MAX: u64 = 16 << 20;
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
    above: StateFolder,
    name: String,
    dir: PathBuf,
    files: PieceFiles,
    _lock: LockFile,
}

impl Registry {
    /// Where it is: below `/run`, which a reboot empties, and root's alone, unlike the folder of the
    /// recorder's service.
    #[must_use]
    pub fn default_dir() -> PathBuf {
        PathBuf::from("/run/barograph-share")
    }

    /// Opens it, and makes it if it is not there.
    ///
    /// # Errors
    /// No rights, or others than root could put something there.
    pub fn open(dir: &Path) -> Result<Self, ShareError> {
        if !schedule::is_root() {
            return Err(ShareError::Refused(
                "control groups and queues are root's: run it with sudo".to_owned(),
            ));
        }
        StateFolder::make_all(dir, FOLDER_MODE)?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// One that is only looked at; nothing is made.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// The folder of all groups.
    pub(crate) fn folder(&self) -> Result<StateFolder, ShareError> {
        Ok(StateFolder::open(&self.dir)?)
    }

    /// Enters a group. What a dead holder left of one of this name goes.
    ///
    /// # Errors
    /// Its name is none, or it is held by somebody; no rights.
    pub fn enter(&self, asked: &Asked) -> Result<Held, ShareError> {
        asked.name.split('/').try_for_each(check_name)?;
        let (above, name) = (self.folder()?, asked.name.replace('/', NESTED));
        let dir = self.dir.join(&name);
        let folder = above.make_below(&name, FOLDER_MODE)?;
        let begun = format!(".{GROUP_FILE}.new-");
        let origins_begun = format!(".{ORIGINS_FILE}.new-");
        let is_ours = |name: &String| {
            let is_begun = name.starts_with(&begun) || name.starts_with(&origins_begun);
            OURS.contains(&name.as_str()) || is_begun
        };
        if let Some(foreign) = folder.list()?.iter().find(|name| !is_ours(name)) {
            return Err(ShareError::Refused(format!(
                "{}: expected the folder of a group, found {foreign:?} in it, which is not ours; it is \
                 left as it is: choose another --name, or look at it and move it away",
                dir.display()
            )));
        }
        let lock = match folder.lock(LOCK_FILE)? {
            Ok(lock) => lock,
            Err(holder) => {
                let by = holder.pid.map_or_else(String::new, |pid| format!(" by process {pid}"));
                return Err(ShareError::Refused(format!(
                    "group {}: is held{by}; choose another --name, or end that one",
                    asked.name
                )));
            }
        };
        folder.clear_temporaries(GROUP_FILE)?;
        folder.clear_temporaries(ORIGINS_FILE)?;
        // A control group that a dead holder left is taken with what is in it.
        let stays = |name: &&&str| [LOCK_FILE, ORIGINS_FILE].contains(*name);
        OURS.iter().filter(|name| !stays(name)).try_for_each(|name| folder.remove(name))?;
        let files = PieceFiles::create(&folder, asked.cut.unwrap_or_default().first())?;
        folder.replace(GROUP_FILE, text(asked).as_bytes(), 0o644)?;
        Ok(Held { above, name, dir, files, _lock: lock })
    }

    /// All groups, also those whose holder is gone; half-made ones are left out.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let Ok(above) = self.folder() else { return Vec::new() };
        let entry = |name: &String| {
            let folder = above.below(name).ok()?;
            let text = folder.read_text(GROUP_FILE, TEXT_BYTES_MAX).ok()??;
            let asked = parse(&name.replace(NESTED, "/"), &text)?;
            let alive = match folder.lock_holder(LOCK_FILE) {
                Ok(holder) => holder.is_some(),
                // Only root may look; who may not, sees all that are there.
                Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
            };
            Some(Entry { asked, dir: self.dir.join(name), alive })
        };
        above.list().unwrap_or_default().iter().filter_map(entry).collect()
    }

    /// Where the processes of a group came from, as far as its holder noted it.
    pub(crate) fn origins(&self, entry: &Entry) -> Origins {
        let name = entry.asked.name.replace('/', NESTED);
        self.folder().map_err(drop).and_then(|above| origins_in(&above, &name)).unwrap_or_default()
    }

    /// Removes what a dead holder left.
    pub fn forget(&self, entry: &Entry) {
        if let (false, Ok(above)) = (entry.alive, self.folder()) {
            remove(&above, &entry.asked.name.replace('/', NESTED));
        }
    }
}

/// Removes our files of a group, and its folder if nothing else is in it.
fn remove(above: &StateFolder, name: &str) {
    if let Ok(folder) = above.below(name) {
        let _ = folder.clear_temporaries(GROUP_FILE);
        let _ = folder.clear_temporaries(ORIGINS_FILE);
        OURS.iter().for_each(|file| drop(folder.remove(file)));
    }
    let _ = above.remove_folder(name);
}

fn origins_in(above: &StateFolder, name: &str) -> Result<Origins, ()> {
    let folder = above.below(name).map_err(drop)?;
    let text = folder.read_text(ORIGINS_FILE, ORIGINS_BYTES_MAX).map_err(drop)?;
    Ok(Origins::parse(&text.unwrap_or_default()))
}

impl Held {
    /// What a dead holder of this name noted.
    pub(crate) fn origins(&self) -> Origins {
        origins_in(&self.above, &self.name).unwrap_or_default()
    }

    /// Notes where processes came from, for whoever gives the group back.
    pub(crate) fn note(&self, origins: &Origins) -> Result<(), ShareError> {
        let folder = self.above.below(&self.name)?;
        Ok(folder.replace(ORIGINS_FILE, origins.text().as_bytes(), 0o600)?)
    }

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
        remove(&self.above, &self.name);
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
#[allow(clippy::disallowed_methods, reason = "what others lay in the way, by hand")]
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
        std::fs::remove_dir(&dir).unwrap();
    }

    #[test]
    fn what_others_lay_in_the_way_is_refused_and_stays() {
        if !schedule::is_root() {
            println!("skipped: only root holds groups");
            return;
        }
        let place = std::env::temp_dir().join(format!("baro-in-the-way-{}", std::process::id()));
        let victim = place.join("victim");
        std::fs::create_dir_all(&victim).unwrap();
        let run = place.join("run");
        let registry = Registry::open(&run).unwrap();
        let asked = |name: &str| Asked {
            name: name.into(),
            weight: Weight::new(200).unwrap(),
            disks: Vec::new(),
            adopted: None,
            cut: None,
        };
        let precious = ["passwd", "shadow", "pieces"];
        precious.iter().for_each(|name| std::fs::write(victim.join(name), "precious").unwrap());
        let is_whole = || {
            let text = |name: &&str| std::fs::read_to_string(victim.join(name)).unwrap();
            assert!(precious.iter().all(|name| text(name) == "precious"));
            assert_eq!(std::fs::read_dir(&victim).unwrap().count(), precious.len());
        };
        let refusal = |registry: &Registry, name: &str| {
            let said = registry.enter(&asked(name)).map(drop).unwrap_err().to_string();
            is_whole();
            said
        };
        // A link to another folder as a group's, and as that of all groups.
        std::os::unix::fs::symlink(&victim, run.join("etc")).unwrap();
        assert!(refusal(&registry, "etc").contains("etc"));
        let linked = Registry::at(&place.join("linked"));
        std::os::unix::fs::symlink(&place, place.join("linked")).unwrap();
        assert!(refusal(&linked, "victim").contains("\"passwd\" in it"));
        // Another user's folder, and one of ours with a file in it that is not.
        std::fs::create_dir(run.join("theirs")).unwrap();
        std::os::unix::fs::chown(run.join("theirs"), Some(65_534), None).unwrap();
        assert!(refusal(&registry, "theirs").contains("65534's"));
        let held = registry.enter(&asked("ours")).unwrap();
        std::fs::write(run.join("ours/more"), "precious").unwrap();
        std::os::unix::fs::symlink(victim.join("passwd"), run.join("ours/counters")).unwrap();
        drop(held);
        assert_eq!(std::fs::read_to_string(run.join("ours/more")).unwrap(), "precious");
        assert_eq!(std::fs::read_dir(run.join("ours")).unwrap().count(), 1);
        assert!(refusal(&registry, "ours").contains("\"more\" in it"));
        // What is no group is not listed, and not forgotten either.
        assert!(registry.list().is_empty());
        std::fs::write(victim.join("group"), "weight 100\ndisks a\n").unwrap();
        assert!(registry.list().is_empty());
        std::fs::remove_file(victim.join("group")).unwrap();
        is_whole();
        // The folder of all groups below another user's.
        std::os::unix::fs::chown(&place, Some(65_534), None).unwrap();
        assert!(Registry::open(&run).unwrap_err().to_string().contains("65534's"));
        assert!(refusal(&registry, "new").contains("65534's"));
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn damaged_entries_are_left_out() {
        for text in ["", "weight 0\ndisks a\n", "weight 100\n", "disks a\n", "\u{0}"] {
            assert!(parse("a", text).is_none(), "{text:?}");
        }
    }
}
