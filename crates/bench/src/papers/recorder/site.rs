//! Where it is measured: a folder of its own on the user's file system, or ext4 on a modelled device.
//!
//! Invariant: the folder is gone when the site is dropped, and what a killed run left is removed by
//! the next one in the same place. Held by `crates/cli/tests/bench_recorder.rs`.

use super::RecorderSpec;
use crate::error::BenchError;
use crate::ground;
use crate::stand::{DeviceModel, Stand};
use baro_command::say;
use baro_sys::disk::Disk;
use baro_sys::files;
use baro_sys::lock::LockFile;
use baro_sys::place::Place;
use baro_sys::storage::Storage;
use std::path::{Path, PathBuf};

const PREFIX: &str = "baro-recorder-";
const LOCK: &str = "lock";
/// File systems on which nothing reaches a disk of this machine.
const NO_DISK: [&str; 10] =
    ["tmpfs", "ramfs", "nfs", "nfs4", "cifs", "smb3", "9p", "proc", "sysfs", "devtmpfs"];

/// The place.
#[derive(Debug)]
pub(super) struct Site {
    // Before the stand: fields are dropped in this order, and the lock is on its file system.
    lock: Option<LockFile>,
    folder: PathBuf,
    stand: Option<Stand>,
}

impl Site {
    pub(super) fn new(spec: &RecorderSpec) -> Result<Self, BenchError> {
        let place = Place::of(&spec.dir).map_err(BenchError::System)?;
        let need_bytes = needed_bytes(spec);
        let stand = match spec.device {
            DeviceModel::AsFound => {
                if NO_DISK.contains(&place.kind.as_str()) {
                    return Err(BenchError::Refused(format!(
                        "{} is on {}: nothing there is written to a disk of this machine. Name a \
                         folder on a disk, or measure a modelled one there with --device emmc",
                        spec.dir.display(),
                        place.kind
                    )));
                }
                None
            }
            DeviceModel::Limited { .. } => Some(modelled(spec, need_bytes)?),
        };
        let parent = stand.as_ref().map_or_else(|| spec.dir.clone(), Stand::mount_dir);
        let parent = ground::place(&parent)?;
        remove_leftovers(&parent);
        if stand.is_none() {
            let free_bytes = Disk::open(&parent)?.available_bytes()?;
            if let Some(free_bytes) = free_bytes.filter(|free| *free < need_bytes) {
                return Err(BenchError::Refused(format!(
                    "{} has {} MB free, {} MB are needed: free some, name another folder, or make \
                     the files smaller with --file",
                    parent.display(),
                    free_bytes / 1_000_000,
                    need_bytes / 1_000_000
                )));
            }
        }
        let folder = ground::make_own(&parent, format!("{PREFIX}{}", std::process::id()))?;
        let lock = LockFile::take(&folder.join(LOCK)).map_err(BenchError::System)?.ok();
        Ok(Self { lock, folder, stand })
    }

    /// The folder for all files.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Err(error) = files::remove_tree(&self.folder) {
            say!("bench: {error}");
        }
        self.lock = None;
        // Taken apart last: its file system must not be in use.
        self.stand = None;
    }
}

/// The recording, the loads' two files, the reader's, and a store.
fn needed_bytes(spec: &RecorderSpec) -> u64 {
    spec.file_bytes.saturating_mul(4).saturating_add(super::own::LOG_BYTES).saturating_add(64 << 20)
}

fn modelled(spec: &RecorderSpec, need_bytes: u64) -> Result<Stand, BenchError> {
    let mut stand = spec.device.build(&spec.dir, need_bytes.saturating_add(512 << 20))?;
    stand.set_speed(spec.device.speed())?;
    Ok(stand)
}

/// Removes the folders of runs that were killed; root those of root's alone.
fn remove_leftovers(parent: &Path) {
    for name in files::list(parent).unwrap_or_default() {
        let Some(pid) = name.strip_prefix(PREFIX) else { continue };
        if !ground::may_clear(parent, &name) {
            continue;
        }
        let dir = parent.join(&name);
        let beginning =
            !files::exists(&dir.join(LOCK)) && files::exists(&Path::new("/proc").join(pid));
        if pid.parse::<u32>().is_err()
            || beginning
            || matches!(LockFile::holder(&dir.join(LOCK)), Ok(Some(_)))
        {
            continue;
        }
        say!("bench: removing what a killed run left in {}", dir.display());
        if let Err(error) = files::remove_tree(&dir) {
            say!("bench: {error}");
        }
    }
}
