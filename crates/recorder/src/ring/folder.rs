//! Where rings live: files on a tmpfs, in a folder per store, never on the store's file system.

use super::layout::{Ring, RingError};
use baro_ondisk::StoreId;
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use baro_sys::memory::SharedMemory;
use baro_sys::schedule;
use baro_sys::storage::Storage;
use std::path::{Path, PathBuf};

/// The folder of one store's rings.
#[derive(Clone, Debug)]
pub struct RingFolder {
    /// `None`: no tmpfs was found; rings are private memory of the recorder's process.
    folder: Option<PathBuf>,
    store: StoreId,
}

impl RingFolder {
    /// The folder for a store: below `wanted`, or else below the first of /run/barograph (root),
    /// `XDG_RUNTIME_DIR`, /dev/shm that lies on a tmpfs. Not below /dev/shm if it can be helped:
    /// logind empties it when a user's last session ends, and containers make it small.
    ///
    /// # Errors
    /// The wanted folder cannot be made or is no tmpfs.
    pub fn find(store: StoreId, wanted: Option<&Path>) -> Result<Self, RingError> {
        let own = |base: &Path| base.join(store.to_string());
        if let Some(base) = wanted {
            Disk::create(base)?;
            if FileSystem::of(base)?.name() != "tmpfs" {
                let reason = std::io::Error::other("expected a tmpfs: shared memory is needed");
                return Err(baro_sys::Error::new("use as ring folder", base, reason).into());
            }
            Disk::create(&own(base))?;
            return Ok(RingFolder { folder: Some(own(base)), store });
        }
        let user = schedule::user_id();
        let mut bases = Vec::new();
        if schedule::is_root() {
            bases.push(PathBuf::from("/run/barograph"));
        }
        if let Some(run) = std::env::var_os("XDG_RUNTIME_DIR") {
            bases.push(Path::new(&run).join("barograph"));
        }
        bases.push(PathBuf::from(format!("/dev/shm/barograph-{user}")));
        let usable = |base: &PathBuf| {
            let parent = base.parent().unwrap_or(base);
            let tmpfs = FileSystem::of(parent).is_ok_and(|found| found.name() == "tmpfs");
            tmpfs && Disk::create(&own(base)).is_ok()
        };
        let folder = bases.into_iter().find(usable).map(|base| own(&base));
        Ok(RingFolder { folder, store })
    }

    /// Rings of private memory.
    #[must_use]
    pub fn none(store: StoreId) -> Self {
        RingFolder { folder: None, store }
    }

    /// Where the rings are, if they are files.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Makes a ring.
    pub(crate) fn make(
        &self,
        producer: u64,
        capacity: usize,
        record_bytes_max: usize,
    ) -> Result<Ring, RingError> {
        let bytes = Ring::memory_bytes(Ring::capacity_for(capacity));
        let memory = match &self.folder {
            Some(folder) => {
                SharedMemory::create(&folder.join(format!("{producer:016x}.ring")), bytes)?
            }
            None => SharedMemory::private(bytes)?,
        };
        Ok(Ring::format(memory, self.store, producer, record_bytes_max))
    }

    /// Rings that an earlier recorder left, with those that cannot be used and why.
    pub(crate) fn leftovers(&self) -> Vec<Result<Ring, RingError>> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let Ok(names) = Disk::open(folder).and_then(|disk| disk.list("")) else {
            return Vec::new();
        };
        names
            .iter()
            .filter(|name| name.ends_with(".ring"))
            .map(|name| Ring::open(&folder.join(name), Some(self.store)))
            .collect()
    }
}
