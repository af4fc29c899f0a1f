//! The first file system of a guest: busybox, the tools that make and check file systems, the
//! agent, the modules. Made without root.

use super::cpio::Archive;
use super::programs::{Brought, with_libraries};
use crate::kernels::Kernel;
use crate::tool::{at, which};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const INIT: &str = include_str!("init.sh");
/// Tools of the host that every guest has.
const TOOLS: &[(&str, &str)] = &[
    ("busybox", "bin/busybox"),
    ("mke2fs", "sbin/mkfs.ext4"),
    ("e2fsck", "sbin/e2fsck"),
    ("tune2fs", "sbin/tune2fs"),
    ("mkfs.f2fs", "sbin/mkfs.f2fs"),
    ("fsck.f2fs", "sbin/fsck.f2fs"),
    ("dmsetup", "sbin/dmsetup"),
];

/// A first file system, and what is in it.
#[derive(Debug)]
pub(crate) struct Initramfs {
    pub(crate) bytes: Vec<u8>,
    /// Places in the guest that are taken.
    pub(crate) files: BTreeSet<String>,
}

/// Makes it for `kernel`, with the agent at `agent`.
pub(crate) fn make(kernel: &Kernel, agent: &Path) -> Result<Initramfs, String> {
    let mut brought: BTreeSet<Brought> = with_libraries(agent, "/bin/lab-agent")?;
    for (tool, place) in TOOLS {
        let host = which(tool).ok_or_else(|| format!("no {tool} here"))?;
        brought.extend(with_libraries(&host, &format!("/{place}"))?);
    }
    let mut archive = Archive::default();
    for folder in
        ["dev", "proc", "sys", "tmp", "run", "mnt", "out", "etc", "root", "usr/bin", "usr/sbin"]
    {
        archive.folder(folder);
    }
    archive.link("bin/sh", "busybox");
    archive.link("etc/mtab", "/proc/mounts");
    archive.file("etc/passwd", 0o644, b"root:x:0:0:root:/:/bin/sh\n");
    archive.file("etc/group", 0o644, b"root:x:0:\n");
    let conf = Path::new("/etc/mke2fs.conf");
    archive.file("etc/mke2fs.conf", 0o644, &fs::read(conf).map_err(at(conf))?);
    archive.file("init", 0o755, INIT.as_bytes());
    let mut files = BTreeSet::new();
    for one in brought {
        let (mode, bytes) = one.read()?;
        archive.file(&one.guest, mode, &bytes);
        files.insert(one.guest);
    }
    let folder = kernel.modules.join(&kernel.release);
    let list = fs::read_dir(&folder).map_err(at(&folder))?;
    let mut modules: Vec<_> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    modules.sort();
    for path in modules {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(&path).map_err(at(&path))?;
        archive.file(&format!("lib/modules/{}/{name}", kernel.release), 0o644, &bytes);
    }
    Ok(Initramfs { bytes: archive.finish(), files })
}
