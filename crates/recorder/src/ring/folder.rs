//! Where rings live: files on a tmpfs, in a folder per store, never on the store's file system.

use super::RingReport;
use super::layout::{PRODUCER_LOCK, Ring, WRITER_LOCK};
use baro_ondisk::StoreId;
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use baro_sys::memory::SharedMemory;
use baro_sys::schedule;
use baro_sys::storage::Storage;
use std::path::{Path, PathBuf};

/// Where root, and a service, has its rings.
const SYSTEM_BASE: &str = "/run/barograph";

/// How the names of ring files end, and those of rings for other processes.
const ENDING: &str = ".ring";
const TO_ATTACH: &str = ".attach.ring";

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
}

fn own(base: &Path, store: StoreId) -> PathBuf {
    base.join(store.to_string())
}

/// Where rings are looked for, best first.
fn bases() -> Vec<PathBuf> {
    let mut bases = Vec::new();
    if let Some(run) = std::env::var_os("RUNTIME_DIRECTORY") {
        // A unit may have several; the first is ours.
        bases.extend(std::env::split_paths(&run).next());
    }
    if schedule::is_root() {
        bases.push(PathBuf::from(SYSTEM_BASE));
    }
    if let Some(run) = std::env::var_os("XDG_RUNTIME_DIR") {
        bases.push(Path::new(&run).join("barograph"));
    }
    bases.push(PathBuf::from(format!("/dev/shm/barograph-{}", schedule::user_id())));
    bases
}

/// The folder of one store's rings.
#[derive(Clone, Debug)]
pub(crate) struct RingFolder {
    /// `None`: no tmpfs was found; rings are private memory of the recorder's process.
    folder: Option<PathBuf>,
    store: StoreId,
}

impl RingFolder {
    /// The folder for a store: below `wanted`, or else below the first of `RUNTIME_DIRECTORY`
    /// (a unit's), /run/barograph (root), `XDG_RUNTIME_DIR`, /dev/shm that lies on a tmpfs. Not
    /// below /dev/shm if it can be helped: logind empties it when a user's last session ends, and
    /// containers make it small.
    ///
    /// # Errors
    /// The wanted folder cannot be made or is no tmpfs.
    pub(crate) fn find(store: StoreId, wanted: Option<&Path>) -> crate::Result<Self> {
        let own = |base: &Path| own(base, store);
        if let Some(base) = wanted {
            Disk::create(base)?;
            if FileSystem::of(base)?.name() != "tmpfs" {
                let reason = std::io::Error::other("expected a tmpfs: shared memory is needed");
                return Err(baro_sys::Error::new("use as ring folder", base, reason).into());
            }
            Disk::create(&own(base))?;
            return Ok(RingFolder { folder: Some(own(base)), store });
        }
        let usable = |base: &PathBuf| on_tmpfs(base) && Disk::create(&own(base)).is_ok();
        let folder = bases().into_iter().find(usable).map(|base| own(&base));
        Ok(RingFolder { folder, store })
    }

    /// Below which folder rings would be made where nothing is said; it need not exist yet.
    #[cfg(feature = "inspect")]
    pub(crate) fn base() -> Option<PathBuf> {
        bases().into_iter().find(|base| on_tmpfs(base))
    }

    /// Rings of private memory.
    pub(crate) fn none(store: StoreId) -> Self {
        RingFolder { folder: None, store }
    }

    /// Where the rings are, if they are files.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Every ring of a store that lies where rings are looked for (or below `wanted`), by whose
    /// process soever. Makes nothing; for `baro info`, and to find one to attach to.
    pub(crate) fn rings(store: StoreId, wanted: Option<&Path>) -> Vec<FoundRing> {
        let mut bases = wanted.map_or_else(bases, |base| vec![base.to_owned()]);
        // A service of this user may have its folder where this process could not make one.
        let service = PathBuf::from(SYSTEM_BASE);
        if wanted.is_none() && !bases.contains(&service) {
            bases.push(service);
        }
        let files = |base: &PathBuf| {
            let folder = own(base, store);
            let names = Disk::open(&folder).and_then(|disk| disk.list("")).unwrap_or_default();
            let rings = names.into_iter().filter(|name| name.ends_with(ENDING));
            rings.map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        let open = |path: PathBuf| {
            let ring = Ring::open(&path, Some(store)).ok()?;
            Some(FoundRing {
                to_attach: path.to_string_lossy().ends_with(TO_ATTACH),
                has_producer: ring.memory.is_locked(PRODUCER_LOCK),
                has_writer: ring.memory.is_locked(WRITER_LOCK),
                report: ring.report(),
                path,
            })
        };
        bases.iter().flat_map(files).filter_map(open).collect()
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
        let memory = match &self.folder {
            Some(folder) => {
                SharedMemory::create(&folder.join(format!("{producer:016x}{ending}")), bytes)?
            }
            None => SharedMemory::private(bytes)?,
        };
        Ok(Ring::format(memory, self.store, producer, record_bytes_max))
    }

    /// Rings that an earlier recorder left, with those that cannot be used and why.
    pub(crate) fn leftovers(&self) -> Vec<crate::Result<Ring>> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let Ok(names) = Disk::open(folder).and_then(|disk| disk.list("")) else {
            return Vec::new();
        };
        names
            .iter()
            .filter(|name| name.ends_with(ENDING))
            .map(|name| Ring::open(&folder.join(name), Some(self.store)))
            .collect()
    }
}

/// Whether `base`, or what it would be made in, lies on a tmpfs.
fn on_tmpfs(base: &Path) -> bool {
    let found = FileSystem::of(base).or_else(|_| FileSystem::of(base.parent().unwrap_or(base)));
    found.is_ok_and(|found| found.name() == "tmpfs")
}
