//! A real file system of a test's own, ext4 unless told otherwise: an image file, a loop device, a mount. Always taken down again.

use super::process::tool;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test with mounts at a time: the mount namespace that one of them makes would keep those of
/// the others alive after their end, and with them what the kernel knows of a failed device.
pub fn alone() -> MutexGuard<'static, ()> {
    static MOUNTS: Mutex<()> = Mutex::new(());
    MOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mounted file system on a loop device. The caller holds [`alone`].
pub struct Mount {
    kind: &'static str,
    folder: PathBuf,
    device: PathBuf,
    options: String,
}

fn run(program: &str, arguments: &[&str], paths: &[&Path]) -> Result<String, String> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let paths = paths.iter().map(|path| path.as_os_str());
    tool(program, &arguments.into_iter().chain(paths).collect::<Vec<_>>())
}

/// A folder for images and mount points, or why there can be none.
pub fn folder(name: &str) -> Option<PathBuf> {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, for loop devices and mounts");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("baro-disk-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

impl Mount {
    /// A new ext4 of `mib` MiB; its image lies in `folder`, which it removes at its end.
    pub fn new(folder: PathBuf, mib: u64, options: &str) -> Option<Self> {
        Self::of_kind("ext4", folder, mib, options)
    }

    /// The same of another kind: `xfs`, `btrfs`, `f2fs`.
    pub fn of_kind(kind: &'static str, folder: PathBuf, mib: u64, options: &str) -> Option<Self> {
        let (device, options) = (PathBuf::new(), options.to_owned());
        let mut mount = Mount { kind, folder, device, options };
        match mount.build(mib) {
            Ok(()) => Some(mount),
            Err(reason) => {
                println!("skipped: {reason}");
                None
            }
        }
    }

    fn build(&mut self, mib: u64) -> Result<(), String> {
        std::fs::create_dir_all(self.path()).map_err(|error| error.to_string())?;
        let image = std::fs::File::create(self.image()).map_err(|error| error.to_string())?;
        image.set_len(mib << 20).map_err(|error| error.to_string())?;
        // Without lazy initialisation, nothing but the test writes to the device.
        let lazy = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        match self.kind {
            "xfs" => run("mkfs.xfs", &["-q", "-f", "-K"], &[&self.image()])?,
            "f2fs" => run("mkfs.f2fs", &["-q", "-f", "-t", "0"], &[&self.image()])?,
            "btrfs" => run("mkfs.btrfs", &["-q", "-f", "-K"], &[&self.image()])?,
            _ => run("mkfs.ext4", &["-q", "-F", "-E", lazy], &[&self.image()])?,
        };
        self.attach()?;
        self.mount()
    }

    fn attach(&mut self) -> Result<(), String> {
        let direct = ["--find", "--show", "--direct-io=on"];
        self.device = match run("losetup", &direct, &[&self.image()]) {
            Ok(device) => device.into(),
            // On tmpfs.
            Err(_) => run("losetup", &direct[..2], &[&self.image()])?.into(),
        };
        Ok(())
    }

    pub fn mount(&self) -> Result<(), String> {
        run("mount", &["-t", self.kind, "-o", &self.options], &[&self.device, &self.path()])
            .map(drop)
    }

    pub fn unmount(&self) -> Result<(), String> {
        run("umount", &[], &[&self.path()]).map(drop)
    }

    /// Repairs the unmounted file system. On another loop device: a mount namespace that some other
    /// program made meanwhile may hold the old mount, and with it the kernel's memory of the error.
    pub fn repair(&mut self) {
        let _ = run("losetup", &["--detach"], &[&self.device]);
        self.attach().unwrap();
        // Its exit code tells what it has repaired: the mount that follows shows whether it did.
        let _ = run("fsck.ext4", &["-y", "-f"], &[&self.device]);
    }

    /// Where it is mounted.
    pub fn path(&self) -> PathBuf {
        self.folder.join("mnt")
    }

    pub fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// "loop3"
    pub fn device_name(&self) -> String {
        self.device.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Cuts the device short: what lies beyond is gone, and every access to it an I/O error.
    pub fn shrink(&self, bytes: u64) {
        let image = std::fs::OpenOptions::new().write(true).open(self.image()).unwrap();
        image.set_len(bytes).unwrap();
        run("losetup", &["--set-capacity"], &[&self.device]).unwrap();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.unmount().is_err() {
            let _ = run("umount", &["--lazy"], &[&self.path()]);
        }
        if !self.device.as_os_str().is_empty() {
            let _ = run("losetup", &["--detach"], &[&self.device]);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A tmpfs of limited size: an image on it is a thinly provisioned disk that can run out.
pub struct Pool {
    path: PathBuf,
}

impl Pool {
    pub fn new(folder: PathBuf, mib: u64) -> Option<Self> {
        match run("mount", &["-t", "tmpfs", "-o", &format!("size={mib}m"), "none"], &[&folder]) {
            Ok(_) => Some(Pool { path: folder }),
            Err(reason) => {
                println!("skipped: {reason}");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes back what an image does not need for its contents, and uses up the rest.
    ///
    /// A loop device calls a write done that found room for its first page only (Linux 6.18), which no
    /// recorder can tell. So each page is a request of its own from here on.
    pub fn run_out(&self, mount: &Mount) -> SinglePages {
        let queue = format!("/sys/block/{}/queue/max_sectors_kb", mount.device_name());
        let before = std::fs::read_to_string(&queue).unwrap();
        std::fs::write(&queue, "4").unwrap();
        let single = SinglePages { queue, before };
        run("fallocate", &["--dig-holes"], &[&mount.image()]).unwrap();
        let ballast = std::fs::File::create(self.path.join("ballast")).unwrap();
        let full = |offset| std::os::unix::fs::FileExt::write_all_at(&ballast, &[1; 4096], offset);
        let mut offset = 0;
        while full(offset).is_ok() {
            offset += 4096;
        }
        assert!(offset > 1 << 20, "nothing was dug");
        single
    }

    pub fn refill(&self) {
        std::fs::remove_file(self.path.join("ballast")).unwrap();
    }
}

/// A device whose requests are single pages; the device outlives its image, so they end with this.
pub struct SinglePages {
    queue: String,
    before: String,
}

impl Drop for SinglePages {
    fn drop(&mut self) {
        println!("requests as before: {:?}", std::fs::write(&self.queue, &self.before));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if run("umount", &[], &[&self.path]).is_err() {
            let _ = run("umount", &["--lazy"], &[&self.path]);
        }
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
