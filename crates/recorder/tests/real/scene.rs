//! The places of one test: a store, and a folder on a tmpfs for rings, signals and the truth.

use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::{Closed, Options, Recorder, Rings};
use baro_sys::disk::Disk;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const MIB: u64 = 1 << 20;

/// Removed on drop.
pub struct Scene {
    store: PathBuf,
    shared: PathBuf,
}

impl Scene {
    /// A scene with a store of `segments` segments of 1 MiB; `None`, said why, without a tmpfs.
    pub fn new(name: &str, segments: u32) -> Option<Self> {
        let scene = Self::without_store(name, &std::env::temp_dir())?;
        scene.init(segments, WhenFull::Stop);
        Some(scene)
    }

    /// A scene whose store will be made below `place`.
    pub fn without_store(name: &str, place: &Path) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let shm = Path::new("/dev/shm");
        if !shm.is_dir() {
            println!("skipped: no tmpfs at /dev/shm");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("baro-real-{name}-{}-{number}", std::process::id());
        let scene = Scene { store: place.join(&name), shared: shm.join(&name) };
        let _ = std::fs::remove_dir_all(&scene.store);
        let _ = std::fs::remove_dir_all(&scene.shared);
        std::fs::create_dir_all(&scene.shared).unwrap();
        Some(scene)
    }

    /// A scene of other places.
    pub fn on(store: &Path, shared: &Path) -> Self {
        Scene { store: store.to_owned(), shared: shared.to_owned() }
    }

    /// The scene that a child process was given.
    pub fn inherited() -> Option<Self> {
        let place = |name| std::env::var_os(name).map(PathBuf::from);
        Some(Scene { store: place("BARO_REAL_STORE")?, shared: place("BARO_REAL_SHARED")? })
    }

    pub fn init(&self, segments: u32, when_full: WhenFull) {
        self.try_init(segments, when_full).unwrap();
    }

    pub fn try_init(&self, segments: u32, when_full: WhenFull) -> baro_log::Result<()> {
        let disk = Disk::create(&self.store)?;
        let mut id = [0; 16];
        baro_sys::identity::random(&mut id)?;
        let geometry = Geometry { segment_bytes: MIB, segments, catalog_bytes: MIB, when_full };
        init(&disk, &self.store, StoreId(id), 1, &geometry, |_| {}).map(drop)
    }

    pub fn store(&self) -> &Path {
        &self.store
    }

    pub fn shared(&self) -> &Path {
        &self.shared
    }

    pub fn rings(&self) -> PathBuf {
        self.shared.join("rings")
    }

    /// Ring files that are there.
    pub fn ring_files(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(self.rings()).into_iter().flatten().flatten();
        folders
            .flat_map(|folder| std::fs::read_dir(folder.path()).unwrap())
            .map(|file| file.unwrap().path())
            .collect()
    }

    pub fn options(&self) -> Options {
        Options {
            rings: Rings::In(self.rings()),
            durable_within_ns: 8_000_000,
            ring_bytes: 128 << 10,
            record_bytes_max: 16 << 10,
            ..Options::default()
        }
    }

    pub fn open(&self) -> Recorder {
        Recorder::open(&self.store, self.options()).unwrap()
    }

    /// Takes over what is left in rings, makes it durable, and closes. Everything must have gone.
    pub fn drain(&self) -> Closed {
        let recorder = self.open();
        assert_eq!(recorder.opening().rings_refused, Vec::<String>::new());
        let closed = recorder.close();
        assert_eq!(closed.left, 0, "{:?}", closed.status);
        closed
    }

    /// Sets a signal that children look for, or that they set.
    pub fn signal(&self, name: &str, text: &str) {
        let new = self.shared.join(format!("{name}.new"));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.shared.join(name)).unwrap();
    }

    pub fn signalled(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.shared.join(name)).ok()
    }

    pub fn clear(&self, name: &str) {
        let _ = std::fs::remove_file(self.shared.join(name));
    }
}

/// Removes the scene when dropped: held by the test, not by children.
pub struct Owned(pub Scene);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0.store);
        let _ = std::fs::remove_dir_all(&self.0.shared);
    }
}

impl std::ops::Deref for Owned {
    type Target = Scene;
    fn deref(&self) -> &Scene {
        &self.0
    }
}
