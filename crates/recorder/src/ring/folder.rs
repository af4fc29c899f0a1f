//! Where rings live: files on a tmpfs, in a folder per store, never on the store's file system.
//!
//! Some of these places have names that anybody knows, in folders where anybody makes files. So each is
//! opened through the door for state files: it belongs to this user or to root, and nobody else can
//! have put anything into it. What does not is passed over and told, and the next place is taken.
//!
//! Invariant: nothing is taken from, and nothing pushed into, a ring that another user could have made
//! or can open. Held by `tests/squat.rs`, with a second user.

use super::found::{Search, places_of};
use super::header::Home;
use super::layout::Ring;
use baro_ondisk::StoreId;
use baro_sys::identity::FileSystem;
use baro_sys::memory::SharedMemory;
use baro_sys::schedule;
use baro_sys::state::StateFolder;
use std::path::{Path, PathBuf};

/// Where root has its rings. Not the service's folder: that is another user's.
const ROOT_BASE: &str = "/run/barograph-root";
/// Where a service has them, and root had them in 0.1.
pub(super) const SERVICE_BASE: &str = "/run/barograph";

/// How the names of ring files end, and those of rings for other processes.
pub(super) const ENDING: &str = ".ring";
pub(super) const TO_ATTACH: &str = ".attach.ring";

/// Only who made them looks into folders and rings.
const FOLDER_MODE: u32 = 0o700;

/// Where rings are looked for, best first.
pub(super) fn bases() -> Vec<PathBuf> {
    let mut bases = Vec::new();
    if let Some(run) = std::env::var_os("RUNTIME_DIRECTORY") {
        // A unit may have several; the first is ours.
        bases.extend(std::env::split_paths(&run).next());
    }
    if schedule::is_root() {
        bases.push(PathBuf::from(ROOT_BASE));
    }
    if let Some(run) = std::env::var_os("XDG_RUNTIME_DIR") {
        bases.push(Path::new(&run).join("barograph"));
    }
    bases.push(shared_base(schedule::user_id()));
    bases
}

/// Where a user has them who has no run directory.
pub(super) fn shared_base(user: u32) -> PathBuf {
    PathBuf::from(format!("/dev/shm/barograph-{user}"))
}

/// The folder of one store's rings.
#[derive(Clone, Debug)]
pub(crate) struct RingFolder {
    /// Where they are made, and what that lies in. `None`: no tmpfs was found; rings are private
    /// memory of the recorder's process.
    place: Option<Place>,
    /// Where else an earlier recorder may have left some.
    elsewhere: Vec<StateFolder>,
    /// Places that cannot be used, and why.
    passed_over: Vec<String>,
    home: Home,
}

#[derive(Clone, Debug)]
struct Place {
    base: StateFolder,
    own: StateFolder,
}

impl Place {
    fn make(base: StateFolder, store: StoreId) -> baro_sys::Result<Self> {
        let own = base.make_below(store.to_string(), FOLDER_MODE)?;
        Ok(Place { base, own })
    }
}

impl RingFolder {
    /// The folder for a store: below `wanted`, or else below the first of `RUNTIME_DIRECTORY`
    /// (a unit's), /run/barograph-root (root), `XDG_RUNTIME_DIR`, /dev/shm that lies on a tmpfs and
    /// that nobody else can write in. Not below /dev/shm if it can be helped: logind empties it when
    /// a user's last session ends, and containers make it small.
    ///
    /// # Errors
    /// The wanted folder cannot be made, is no tmpfs, or somebody else's hand may be in it.
    pub(crate) fn find(home: Home, wanted: Option<&Path>) -> crate::Result<Self> {
        let mut found = RingFolder::none(home);
        let store = found.home.store;
        if let Some(path) = wanted {
            // Before anything is made: what is refused leaves no folders.
            let there = path.ancestors().find(|there| baro_sys::files::exists(there));
            let there = there.unwrap_or(Path::new("."));
            if FileSystem::of(there)?.name() != "tmpfs" {
                let reason = std::io::Error::other("expected a tmpfs: shared memory is needed");
                return Err(baro_sys::Error::new("use as ring folder", path, reason).into());
            }
            let base = StateFolder::make_all(path, FOLDER_MODE)?;
            found.place = Some(Place::make(base, store)?);
            return Ok(found);
        }
        for path in bases().into_iter().filter(|path| on_tmpfs(path)) {
            if found.place.is_some() {
                found.look_into(&path, schedule::user_id());
                continue;
            }
            let made =
                StateFolder::make(&path, FOLDER_MODE).and_then(|base| Place::make(base, store));
            match made {
                Ok(place) => found.place = Some(place),
                Err(error) => found.passed_over.push(error.to_string()),
            }
        }
        if !bases().contains(&PathBuf::from(SERVICE_BASE)) {
            let owner = baro_sys::identity::owner(Path::new(SERVICE_BASE)).unwrap_or_default();
            if owner == schedule::user_id() {
                found.look_into(Path::new(SERVICE_BASE), owner);
            }
        }
        // Root records for whom the store belongs to, and has what that one's recorder left.
        let owner = baro_sys::identity::owner(&found.home.path).unwrap_or_default();
        if schedule::is_root() && owner != schedule::user_id() {
            places_of(owner).iter().for_each(|base| found.look_into(base, owner));
        }
        Ok(found)
    }

    /// Rings of this store may lie below `base`, although new ones are made elsewhere.
    fn look_into(&mut self, base: &Path, user: u32) {
        match StateFolder::open_of(&base.join(self.home.store.to_string()), user) {
            Ok(own) => self.elsewhere.push(own),
            Err(error) if error.is_missing() => {}
            // Of a folder that may not even be looked into nothing is known.
            Err(error) if error.errno() == Some(baro_sys::state::NO_ACCESS) => {}
            Err(error) => self.passed_over.push(error.to_string()),
        }
    }

    /// Below which folder rings would be made where nothing is said; it need not exist yet.
    #[cfg(feature = "inspect")]
    pub(crate) fn base() -> Option<PathBuf> {
        bases().into_iter().find(|base| on_tmpfs(base))
    }

    /// Rings of private memory.
    pub(crate) fn none(home: impl Into<Home>) -> Self {
        let (elsewhere, passed_over) = (Vec::new(), Vec::new());
        RingFolder { place: None, elsewhere, passed_over, home: home.into() }
    }

    /// Where the rings are, if they are files.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.own.path())
    }

    /// Folders in which rings for other processes may lie.
    pub(crate) fn folders(&self) -> Vec<StateFolder> {
        let own = self.place.iter().map(|place| &place.own);
        own.chain(&self.elsewhere).cloned().collect()
    }

    /// Places that could not be used, and why.
    pub(crate) fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Every ring of a store that lies where rings are looked for (or below `wanted`), by whose
    /// process soever, and what is there but cannot be trusted or read. Makes nothing; for
    /// `baro info`, and to find one to attach to. Root looks where the store's owner has his.
    pub(crate) fn rings(store: StoreId, wanted: Option<&Path>, owner: u32) -> Search {
        Search::of_store(store, wanted, owner)
    }

    /// Makes a ring; one `to_attach` says so in its name, so that another process that looks for
    /// a ring never takes one that this process made for itself and has not locked yet.
    pub(crate) fn make(
        &self,
        producer: u64,
        capacity: usize,
        record_bytes_max: usize,
        to_attach: bool,
    ) -> crate::Result<Ring> {
        let ending = if to_attach { TO_ATTACH } else { ENDING };
        let bytes = Ring::memory_bytes(Ring::capacity_for(capacity));
        let name = format!("{producer:016x}{ending}");
        let memory = match &self.place {
            Some(place) => match SharedMemory::create_in(&place.own, &name, bytes, 0o600) {
                // Whoever left the last ring has taken the folder along.
                Err(error) if error.is_missing() => {
                    let again = Place::make(place.base.clone(), self.home.store)?;
                    SharedMemory::create_in(&again.own, &name, bytes, 0o600)?
                }
                made => made?,
            },
            None => SharedMemory::private(bytes)?,
        };
        Ok(Ring::format(memory, &self.home, producer, record_bytes_max))
    }

    /// Rings that an earlier recorder left, with those that cannot be used and why.
    pub(crate) fn leftovers(&self) -> Vec<crate::Result<Ring>> {
        let folders = self.place.iter().map(|place| &place.own).chain(&self.elsewhere);
        let in_folder = |folder: &StateFolder| {
            let names = folder.list().unwrap_or_default();
            let rings = names.iter().filter(|name| name.ends_with(ENDING));
            rings.map(|name| Ring::open(folder, name, &self.home)).collect::<Vec<_>>()
        };
        folders.flat_map(in_folder).collect()
    }

    /// Removes the folder if nothing is in it.
    pub(crate) fn remove_if_empty(&self) {
        if let Some(place) = &self.place {
            place.own.remove_if_empty();
        }
    }
}

/// Whether `base`, or what it would be made in, lies on a tmpfs.
fn on_tmpfs(base: &Path) -> bool {
    let found = FileSystem::of(base).or_else(|_| FileSystem::of(base.parent().unwrap_or(base)));
    found.is_ok_and(|found| found.name() == "tmpfs")
}
