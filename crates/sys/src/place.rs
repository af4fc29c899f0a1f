//! What the system says about the place of a folder: the mount with its options, the block device
//! behind it, and (in [`PlaceFile`]) what becomes of a file there.
//!
//! Only facts; what follows from them is judged elsewhere. A fact that this kernel or these rights
//! do not give is `None` or empty, never guessed. Invariant: looking changes nothing but for
//! [`try_direct_write`], which writes one unnamed page. Tests: below and in `place/`; on real file
//! systems baro-recorder's `tests/real/places.rs`.

mod device;
mod file;
mod fixed;
mod mount;

pub use device::{Queue, QueueCache};
pub use file::{DirectIo, Extents, PlaceFile, bytes_on_disk, file_flags, try_direct_write};
pub use fixed::{FixedFile, try_fix_in_place};
pub(crate) use fixed::{fix_in_place, on_f2fs};

use crate::identity::FileSystem;
use crate::{Error, Result};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Deeper stacks of overlays than the kernel makes (2).
const OVERLAYS_MAX: usize = 3;

/// The place of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the file system's type as the kernel has it: `ext4`, `nfs4`, `fuse.sshfs`; by its
    /// magic number where there is no /proc.
    pub kind: String,
    /// Where it is mounted; empty where there is no /proc.
    pub mount_point: PathBuf,
    /// Options of the mount and of the file system, each once; of ext4 also those that are its
    /// defaults, as far as the kernel tells.
    pub options: Vec<String>,
    /// What is mounted: a device's file, a server's name.
    pub source: String,
    /// The queue of the block device behind it, if one is known.
    pub queue: Option<Queue>,
    /// On an overlayfs: the place that writes go to, if it can be seen from here.
    pub upper: Option<Box<Place>>,
    /// Where the same file system is mounted besides, and overlays that are made of its folders, as far
    /// as they can be seen from here.
    pub elsewhere: Vec<PathBuf>,
    /// Swap is in use on this machine.
    pub swap: bool,
}

impl Place {
    /// Of the folder (or file) at `path`, which must exist.
    ///
    /// # Errors
    /// The path is missing or may not be read.
    pub fn of(path: &Path) -> Result<Self> {
        Self::below(path, OVERLAYS_MAX)
    }

    fn below(path: &Path, depth: usize) -> Result<Self> {
        let found = FileSystem::of(path)?;
        let mount = mount_of(path)?;
        let mut place = Place {
            kind: found.name().to_owned(),
            swap: std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1),
            ..Place::default()
        };
        let mut device = found.device;
        if let Some((mount, elsewhere)) = mount {
            place.elsewhere = elsewhere;
            device = std::fs::metadata(&mount.source).map_or(mount.device, |meta| {
                use std::os::unix::fs::{FileTypeExt, MetadataExt};
                if !meta.file_type().is_block_device() {
                    return mount.device;
                }
                (libc::major(meta.rdev()), libc::minor(meta.rdev()))
            });
            place.kind = mount.kind;
            place.mount_point = mount.mount_point;
            place.source = mount.source;
            place.options = mount.options;
        }
        place.queue = Queue::of(Path::new("/sys"), device);
        if let (Some(queue), true) = (&place.queue, place.kind.starts_with("ext")) {
            // Default options are not in mountinfo: data=journal can be one (tune2fs -o).
            let all = Path::new("/proc/fs").join(&place.kind).join(&queue.name).join("options");
            let text = std::fs::read_to_string(all).unwrap_or_default();
            for option in text.split_whitespace() {
                if !place.options.iter().any(|known| known == option) {
                    place.options.push(option.to_owned());
                }
            }
        }
        if place.kind == "overlay" && depth > 0 {
            let upper = place.option_value("upperdir").map(PathBuf::from);
            let upper = upper.and_then(|upper| Self::below(&upper, depth - 1).ok());
            place.upper = upper.map(Box::new);
        }
        Ok(place)
    }

    /// Whether an option is in force: `nobarrier`, `data=journal`.
    #[must_use]
    pub fn has_option(&self, option: &str) -> bool {
        self.options.iter().any(|found| found == option)
    }

    /// The value of `name=value`.
    #[must_use]
    pub fn option_value(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|found| found.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Whether something is mounted at `path`, which has no links. Names that are no text are in the kernel's
/// list too: anybody may mount something there.
///
/// # Errors
/// /proc does not tell.
pub fn is_mounted(path: &Path) -> Result<bool> {
    let list = Path::new("/proc/self/mountinfo");
    let mounts = std::fs::read(list).map_err(|e| Error::new("read", list, e))?;
    Ok(mount::all(&mounts).any(|(_, mount)| mount.mount_point == path))
}

/// The mount that `path` lies in, and where its file system is in use besides; `None` where /proc does
/// not tell.
fn mount_of(path: &Path) -> Result<Option<(mount::Mount, Vec<PathBuf>)>> {
    use std::os::unix::fs::MetadataExt;
    let file = File::open(path).map_err(|e| Error::new("open", path, e))?;
    let info = format!("/proc/self/fdinfo/{}", file.as_raw_fd());
    let Ok(info) = std::fs::read_to_string(info) else { return Ok(None) };
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    let Some(id) = id else { return Ok(None) };
    let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else { return Ok(None) };
    let Some(mount) = mount::find(&mounts, id) else { return Ok(None) };
    let device = |meta: std::fs::Metadata| (libc::major(meta.dev()), libc::minor(meta.dev()));
    let is_below = |dir: &PathBuf| std::fs::metadata(dir).is_ok_and(|m| device(m) == mount.device);
    let others = mount::all(&mounts).filter(|(other, one)| {
        *other != id && (one.device == mount.device || one.layers().iter().any(is_below))
    });
    let others = others.map(|(_, one)| one.mount_point).collect();
    Ok(Some((mount, others)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_told_from_a_tmpfs_and_a_missing_path_from_both() {
        let proc = Place::of(Path::new("/proc/self")).unwrap();
        assert_eq!((proc.kind.as_str(), &proc.queue), ("proc", &None));
        assert_eq!(proc.mount_point, Path::new("/proc"));
        if Path::new("/dev/shm").is_dir() {
            let memory = Place::of(Path::new("/dev/shm")).unwrap();
            assert_eq!(memory.kind, "tmpfs");
            assert!(memory.has_option("rw") && !memory.has_option("data=journal"));
        }
        assert!(Place::of(Path::new("/no such path")).unwrap_err().is_missing());
        assert!(is_mounted(Path::new("/proc")).unwrap());
        assert!(!is_mounted(Path::new("/proc/self")).unwrap());
    }
}
