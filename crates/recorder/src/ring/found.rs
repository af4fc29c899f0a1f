//! Rings that are there, whoever made them: looked at without being mapped, cleared, and given to the
//! store that they belong to.
//!
//! Invariant: no ring that somebody uses is removed, and none with records that are not in its store
//! unless that was said. Held by `tests/attach.rs` and the tests of `baro rings`.

use super::RingReport;
use super::folder::{ENDING, SERVICE_BASE, TO_ATTACH, bases, shared_base};
use super::gone::is_gone;
use super::header::{HEADER_BYTES, Header, Home};
use super::layout::{PRODUCER_LOCK, Ring, STATE_CLOSED, WRITER_LOCK};
use crate::{Error, Result};
use baro_ondisk::StoreId;
use baro_sys::identity::FileId;
use baro_sys::memory::{Glimpse, SharedMemory};
use baro_sys::schedule;
use baro_sys::state::StateFolder;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// A ring file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRing {
    /// The file.
    pub path: PathBuf,
    /// It was made for a producer in another process.
    pub to_attach: bool,
    /// A producer has it.
    pub has_producer: bool,
    /// A writer has it.
    pub has_writer: bool,
    /// Its counters.
    pub report: RingReport,
    /// Id of the store that it belongs to; a copy of that has the same.
    pub store: StoreId,
    /// Where that store was when the ring was made; empty if the ring does not say (of 0.1).
    pub store_path: PathBuf,
    /// Bytes that it takes.
    pub file_bytes: u64,
    home: Home,
    /// Whose it may be, beside root's.
    user: u32,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Rings.
    pub rings: Vec<FoundRing>,
    /// Folders and files in their places that are no rings, or cannot be trusted, and why.
    pub refused: Vec<String>,
}

impl Search {
    /// Below the places of `owner`, or `wanted`.
    pub(super) fn of_store(store: StoreId, wanted: Option<&Path>, owner: u32) -> Self {
        let mut found = Search::default();
        for base in wanted.map_or_else(|| places_of(owner), |base| vec![base.to_owned()]) {
            found.look_at_folder(&base.join(store.to_string()), owner);
        }
        found
    }

    /// All rings of all stores; root finds those of everybody.
    #[must_use]
    pub fn of_all(wanted: Option<&Path>) -> Self {
        let mut found = Search::default();
        let users = if schedule::is_root() { users() } else { vec![schedule::user_id()] };
        for user in users {
            for base in wanted.map_or_else(|| places_of(user), |base| vec![base.to_owned()]) {
                found.look_at_base(&base, user);
            }
        }
        found.rings.sort_by(|a, b| a.path.cmp(&b.path));
        found.rings.dedup_by(|a, b| a.path == b.path);
        found.refused.sort();
        found.refused.dedup();
        found
    }

    fn look_at_base(&mut self, base: &Path, user: u32) {
        let Some(folder) = self.open(base, user) else { return };
        let names = folder.list().unwrap_or_default();
        let is_id =
            |name: &&String| name.len() == 32 && name.bytes().all(|c| c.is_ascii_hexdigit());
        for name in names.iter().filter(is_id) {
            self.look_at_folder(&base.join(name), user);
        }
    }

    fn look_at_folder(&mut self, path: &Path, user: u32) {
        let Some(folder) = self.open(path, user) else { return };
        let names = folder.list().unwrap_or_default();
        for name in names.iter().filter(|name| name.ends_with(ENDING)) {
            match FoundRing::look(&folder, name, user) {
                Ok(ring) => self.rings.push(ring),
                // Gone meanwhile.
                Err(Error::System(error)) if error.is_missing() => {}
                Err(error) => self.refused.push(error.to_string()),
            }
        }
    }

    fn open(&mut self, path: &Path, user: u32) -> Option<StateFolder> {
        match StateFolder::open_of(path, user) {
            Ok(folder) => Some(folder),
            Err(error) if error.is_missing() => None,
            // Of a folder that may not even be looked into nothing is known.
            Err(error) if error.errno() == Some(baro_sys::state::NO_ACCESS) => None,
            Err(error) => {
                self.refused.push(error.to_string());
                None
            }
        }
    }
}

/// Where a user's rings may be.
pub(super) fn places_of(user: u32) -> Vec<PathBuf> {
    let service = PathBuf::from(SERVICE_BASE);
    let mut places = bases();
    if user != schedule::user_id() {
        // What the environment says is this process's own matter, but for a unit's folder.
        places.truncate(usize::from(std::env::var_os("RUNTIME_DIRECTORY").is_some()));
        places.push(PathBuf::from(format!("/run/user/{user}/barograph")));
        places.push(shared_base(user));
    }
    // A service of this user may have its folder where this process could not make one.
    if !places.contains(&service) && (user != 0 || belongs_to_root(&service)) {
        places.push(service);
    }
    places
}

fn belongs_to_root(path: &Path) -> bool {
    baro_sys::identity::owner(path).is_ok_and(|owner| owner == 0)
}

/// Users that have a place for rings.
fn users() -> Vec<u32> {
    let mut users = vec![0];
    users.extend(baro_sys::identity::owner(Path::new(SERVICE_BASE)));
    let names = |path: &str| baro_sys::files::list(Path::new(path)).unwrap_or_default();
    users.extend(names("/run/user").iter().filter_map(|name| name.parse::<u32>().ok()));
    let shared = names("/dev/shm");
    let user =
        |name: &String| name.strip_prefix("barograph-").and_then(|user| user.parse::<u32>().ok());
    users.extend(shared.iter().filter_map(user));
    users.sort_unstable();
    users.dedup();
    users
}

impl FoundRing {
    /// The ring file at `path`.
    ///
    /// # Errors
    /// It is no ring of this version, or somebody else's hand may be in it.
    pub fn at(path: &Path) -> Result<Self> {
        let (folder, name) = open_above(path)?;
        FoundRing::look(&folder, &name, schedule::user_id())
    }

    fn look(folder: &StateFolder, name: &str, user: u32) -> Result<Self> {
        let glimpse = Glimpse::of(folder, name, HEADER_BYTES)?;
        let path = folder.path().join(name);
        let header = Header::decode(glimpse.head(), glimpse.bytes(), &path)?;
        let number = |at: usize| {
            let bytes = glimpse.head().get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        Ok(FoundRing {
            to_attach: name.ends_with(TO_ATTACH),
            has_producer: glimpse.is_locked(PRODUCER_LOCK),
            has_writer: glimpse.is_locked(WRITER_LOCK),
            report: RingReport::read(
                header.producer,
                (header.capacity, header.record_bytes_max as usize),
                number,
            ),
            store: header.home.store,
            store_path: header.home.path.clone(),
            file_bytes: glimpse.bytes() as u64,
            home: header.home,
            user,
            path,
        })
    }

    /// Records that it holds and that are not known to be in the store.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let report = &self.report;
        let records = report.waiting();
        if report.used_bytes > 0 { records.max(1) } else { records }
    }

    /// Whether its store is where it was when the ring was made, or is gone from there for good. `None`
    /// if it may be elsewhere: renamed, on a disk that is not mounted, or the ring does not say (of 0.1).
    #[must_use]
    pub fn has_store(&self) -> Option<bool> {
        if self.store_path.as_os_str().is_empty() || !self.home.file.is_known() {
            return None;
        }
        let there = self.is_of(&self.store_path);
        (there || is_gone(&self.home)).then_some(there)
    }

    /// Whether nothing says that it belongs to another store than the one at `path`, whose id is known
    /// to be that of the ring.
    #[must_use]
    pub fn is_of(&self, path: &Path) -> bool {
        let file = FileId::of(&path.join(baro_log::IDENTITY)).unwrap_or_default();
        self.home.file == file || !self.home.file.is_known() && file.is_known()
    }

    /// The store that it belongs to, for messages.
    #[must_use]
    pub fn made_for(&self) -> String {
        self.home.to_string()
    }

    fn open(&self) -> Result<Ring> {
        let above = self.path.parent().unwrap_or(Path::new("/"));
        let folder = StateFolder::open_of(above, self.user)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Ring::attach(SharedMemory::open_in(&folder, &name)?, Some(self.store))
    }

    /// Removes it, if nobody uses it and all that it held is in its store; with `records`, also if not.
    ///
    /// # Errors
    /// Somebody uses it, or it holds records.
    pub fn clear(&self, records: bool) -> Result<()> {
        let ring = self.open()?;
        ring.take(WRITER_LOCK)?;
        let taken = ring.take(PRODUCER_LOCK).and_then(|()| ring.clear(records));
        ring.memory.unlock(PRODUCER_LOCK);
        ring.memory.unlock(WRITER_LOCK);
        taken
    }

    /// Gives it to the store at `path`, which has its store's id: for one that was restored, or whose
    /// disk was mounted anew. The next recorder there takes it over.
    ///
    /// # Errors
    /// A recorder uses it, or it is another store's.
    pub fn adopt(&self, path: &Path, store: StoreId) -> Result<()> {
        if self.store != store {
            return Err(Error::Setting {
                name: "ring to adopt",
                expected: format!("one of the store {store}"),
                found: format!("{} of the store {}", self.path.display(), self.store),
            });
        }
        let (ring, home) = (self.open()?, Home::of(path, store)?);
        ring.take(WRITER_LOCK)?;
        ring.write_header(&home);
        ring.memory.unlock(WRITER_LOCK);
        Ok(())
    }
}

impl Ring {
    /// The end of a ring that nobody uses: its locks are held.
    fn clear(&self, records: bool) -> Result<()> {
        let report = self.report();
        let waiting = report.waiting();
        if !records && (waiting > 0 || report.used_bytes > 0) {
            return Err(Error::Setting {
                name: "ring to clear",
                expected: "one whose records are all in its store".to_owned(),
                found: format!(
                    "{}: {} records are not",
                    self.memory.path().display(),
                    waiting.max(1)
                ),
            });
        }
        // Whoever has just opened the file, to attach to it, is told.
        self.state().store(STATE_CLOSED, Ordering::Release);
        self.memory.remove_file();
        Ok(())
    }
}

/// The folder of a ring file that is given by its path, and its name. Root, who may name a ring of
/// anybody, takes it from whom the folder belongs to.
pub(super) fn open_above(path: &Path) -> Result<(StateFolder, String)> {
    let (above, name) = (path.parent(), path.file_name());
    let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let user = match schedule::is_root() {
        true => baro_sys::identity::owner(above)?,
        false => schedule::user_id(),
    };
    let folder = StateFolder::open_of(above, user)?;
    Ok((folder, name.unwrap_or_default().to_string_lossy().into_owned()))
}
