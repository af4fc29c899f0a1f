//! What is known of this machine, this process and the store's place, for the rules of `check`.
//!
//! Reads only. What these rights do not give (the superblock of a disk) is missing, not guessed.

use crate::failure::Result;
use crate::size;
use baro_recorder::inspect::base_of_rings;
use baro_recorder::{Options, Recorder};
use baro_sys::files;
use baro_sys::identity::FileSystem;
use baro_sys::place::Place;
use baro_sys::schedule::Rights;
use baro_tune::{
    Circumstances, JournalFacts, MountFacts, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, journal_of,
};
use clap::Args;
use std::path::{Path, PathBuf};

/// Segments of the log that `baro init` makes where nothing is said.
const SEGMENT_BYTES: u64 = 16 << 20;

// Without a group of its own: verbs that flatten it have groups of theirs.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Here {
    /// The store, or the folder it will be in
    ///
    /// Its file system and device are looked at too.
    pub(super) store: Option<PathBuf>,
    /// Memory of the ring that will be locked
    #[arg(long, default_value = "16M", value_parser = size::bytes, value_name = "SIZE")]
    ring: u64,
    /// What stands for / before /proc and /sys: a machine made of files, to try things
    #[arg(long, value_name = "DIR", default_value = "/", hide_short_help = true)]
    pub(super) root: PathBuf,
}

impl Here {
    /// Looks at everything.
    ///
    /// # Errors
    /// The store's folder is not there.
    pub(super) fn look(&self) -> Result<Circumstances> {
        if let Some(store) = self.store.as_deref().filter(|store| !files::exists(store)) {
            let said = "expected a store, or the folder that it will be in, found nothing there; make a \
                        store with baro init, or name a folder above";
            return Err(format!("{}: {said}", store.display()).into());
        }
        let store = self.store.as_deref().map(Place::of).transpose()?;
        let rights = Rights::own();
        let ring_bytes = usize::try_from(self.ring).unwrap_or(usize::MAX);
        let options = Options { ring_bytes, ..Options::default() };
        let base = base_of_rings().map(|base| existing(&base).to_owned());
        let free = base.as_deref().and_then(|base| FileSystem::of(base).ok());
        Ok(Circumstances {
            root: self.root.clone(),
            locked_bytes: Recorder::memory_bytes_for(&options, SEGMENT_BYTES) as u64,
            memlock_bytes: rights.memlock_bytes,
            may_lock: rights.may_lock,
            realtime_priority_max: rights.realtime_priority_max,
            may_realtime: rights.may_realtime,
            rings: base.as_deref().and_then(|base| Place::of(base).ok()).map(mount),
            rings_free_bytes: free.map(|found| found.available_bytes),
            ring_bytes: self.ring,
            store: store.map(mount),
        })
    }
}

/// The folder itself, or what of its path is there.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| files::exists(path)).unwrap_or(Path::new("/"))
}

fn mount(mut place: Place) -> MountFacts {
    while let Some(upper) = place.upper.take() {
        place = *upper;
    }
    let source = device(&place);
    MountFacts {
        journal: place.kind.starts_with("ext").then(|| journal(&source)).flatten(),
        kind: place.kind,
        mount_point: place.mount_point,
        elsewhere: place.elsewhere,
        options: place.options,
        disk: place.queue.map(|queue| queue.disk),
        source,
    }
}

/// The file of the device: what was mounted may be a name that is no file, as /dev/root.
fn device(place: &Place) -> String {
    match &place.queue {
        Some(queue) if !files::exists(Path::new(&place.source)) => format!("/dev/{}", queue.name),
        _ => place.source.clone(),
    }
}

fn journal(device: &str) -> Option<JournalFacts> {
    let file = files::open(Path::new(device)).ok()?;
    let mut bytes = [0; SUPERBLOCK_BYTES];
    files::read_at(&file, &mut bytes, SUPERBLOCK_OFFSET).ok()?;
    journal_of(&bytes)
}
