//! What the machine has to offer a recorder, and what should be changed: read-only.
//!
//! Each row says what was found, what is wanted, why, at what price, and the exact command; what
//! can be applied, or made to last, is in it as data. The rules are pure over the texts of files
//! below a root and the rights of the process, so that tests state whole machines. Invariant:
//! nothing is written; a file that is not there gives no row or one that says so. Test:
//! `tests/check.rs`.

mod device;
mod dirty;
mod file_system;
mod memory;
mod need;
mod rights;
mod superblock;

pub use need::{Need, Remedy, Verdict};
pub use superblock::{JournalFacts, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, journal_of};

use crate::machine::Root;
use std::path::PathBuf;

/// What is known from elsewhere: the process, the store, the rings.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Before every path: `/` on a real machine.
    pub root: PathBuf,
    /// Memory that a recorder locks: rings and buffers.
    pub locked_bytes: u64,
    /// RLIMIT_MEMLOCK in bytes, `None` for unlimited.
    pub memlock_bytes: Option<u64>,
    /// CAP_IPC_LOCK: the limit does not apply.
    pub may_lock: bool,
    /// RLIMIT_RTPRIO.
    pub realtime_priority_max: u64,
    /// CAP_SYS_NICE: that limit does not apply.
    pub may_realtime: bool,
    /// The tmpfs of the rings.
    pub rings: Option<MountFacts>,
    /// What may still be allocated there, bytes.
    pub rings_free_bytes: Option<u64>,
    /// The ring that is wanted, bytes.
    pub ring_bytes: u64,
    /// The file system of the store.
    pub store: Option<MountFacts>,
}

/// A mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountFacts {
    /// `ext4`.
    pub kind: String,
    /// Where it is.
    pub mount_point: PathBuf,
    /// Where its file system is in use besides: other mounts of it, and overlays.
    pub elsewhere: Vec<PathBuf>,
    /// Its options.
    pub options: Vec<String>,
    /// The disk below it, by its name in `/sys/block`.
    pub disk: Option<String>,
    /// What is mounted: a device's file, a server's name.
    pub source: String,
    /// The journal of an ext4, where its superblock could be read.
    pub journal: Option<JournalFacts>,
}

impl MountFacts {
    /// All that must be unmounted before the file system is, by name.
    fn everywhere(&self) -> String {
        let all = std::iter::once(&self.mount_point).chain(&self.elsewhere);
        all.map(|at| at.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|found| found == option)
    }

    /// The first of these options that is in force.
    fn one_of<'a>(&self, options: &[&'a str]) -> Option<&'a str> {
        options.iter().copied().find(|option| self.has(option))
    }
}

/// The texts below the root.
struct Files(Root);

impl Files {
    fn text(&self, path: &str) -> Option<String> {
        self.0.read(path).ok().map(|text| text.trim().to_owned())
    }

    fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }
}

/// A disk that a queue or dirty data can clog for seconds: what turns, and cards and eMMC.
fn is_slow(disk: &str, files: &Files) -> bool {
    let rotational = files.number(&format!("/sys/block/{disk}/queue/rotational"));
    // A virtual disk says that it rotates, whatever it is made of.
    disk.starts_with("mmcblk") || rotational == Some(1) && !disk.starts_with("vd")
}

/// Looks at everything that a recorder needs of the machine. Changes nothing; waits for no device.
#[must_use]
pub fn check(here: &Circumstances) -> Vec<Need> {
    let files = Files(Root(here.root.clone()));
    let mut needs = rights::needs(here, &files);
    needs.extend(memory::needs(here, &files));
    needs.extend(dirty::needs(here, &files));
    needs.extend(file_system::needs(here));
    needs.extend(device::needs(here, &files));
    needs.into_iter().map(Need::finished).collect()
}

/// The choice in brackets: `none [bfq] kyber`.
fn chosen(text: &str) -> &str {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(chosen, _)| chosen)
}
