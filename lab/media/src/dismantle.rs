//! Taking a stand apart: unmount, detach, remove.
//!
//! One routine for the ordinary end, for errors half-way and for what a killed run left behind:
//! it looks at what the kernel says is there (mounts, loop devices) instead of remembering what
//! was made. A stand that is alive holds a lock on its directory's lock file.
//!
//! Invariant: only mounts and loop devices under the stand's own directory are touched, and files
//! are removed by name, never recursively (a mount that could not be undone would be emptied).
//! Held by `tests/run.rs`.
#![allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]

use baro_sys::clock::sleep_ns;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beginning of the name of each stand's directory; the process id follows.
pub(crate) const PREFIX: &str = "baro-media-";
pub(crate) const LOCK_NAME: &str = "lock";
pub(crate) const BACKING_NAME: &str = "backing.img";
pub(crate) const FUSE_NAME: &str = "fuse";
pub(crate) const MOUNT_NAME: &str = "mnt";

/// How long somebody may keep the file system busy before it is unmounted lazily.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE_NS: u64 = 100_000_000;

/// Takes the stand in `dir` apart. Complaints are collected; the work goes on.
pub(crate) fn dismantle(dir: &Path) -> Vec<String> {
    let mut complaints = Vec::new();
    unmount(&dir.join(MOUNT_NAME), &mut complaints);
    detach_loop_devices(dir, &mut complaints);
    unmount(&dir.join(FUSE_NAME), &mut complaints);
    let removals = [
        std::fs::remove_file(dir.join(BACKING_NAME)),
        std::fs::remove_dir(dir.join(FUSE_NAME)),
        std::fs::remove_dir(dir.join(MOUNT_NAME)),
        std::fs::remove_file(dir.join(LOCK_NAME)),
        std::fs::remove_dir(dir),
    ];
    for error in removals.into_iter().filter_map(Result::err) {
        if error.kind() != io::ErrorKind::NotFound {
            complaints.push(format!("removing a part of {}: {error}", dir.display()));
        }
    }
    complaints
}

/// Removes the stands in `parent` whose runs were killed; returns what could not be done.
pub(crate) fn remove_leftovers(parent: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut complaints = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let file_name = entry.file_name();
        let Some(pid) = file_name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        let dir = entry.path();
        // No lock file: its run died before or after everything else was there.
        let is_free = || match File::open(dir.join(LOCK_NAME)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let mut unlocked = is_free();
        // A program that a killed run had started may hold it a moment longer, and attach or mount something.
        for _ in 0..BUSY_TRIES {
            if unlocked || Path::new("/proc").join(pid).exists() {
                break;
            }
            sleep_ns(BUSY_PAUSE_NS);
            unlocked = is_free();
        }
        // A run that is just beginning has its directory a moment before its lock.
        let comm = std::fs::read_to_string(Path::new("/proc").join(pid).join("comm"));
        let beginning = comm.is_ok_and(|comm| comm.trim_end() == env!("CARGO_PKG_NAME"));
        let abandoned = unlocked && !beginning;
        if abandoned {
            eprintln!("media: removing what a killed run left in {}", dir.display());
            complaints.extend(dismantle(&dir));
        }
    }
    complaints
}

fn unmount(target: &Path, complaints: &mut Vec<String>) {
    for attempt in 0..=BUSY_TRIES {
        if !is_mounted(target) {
            return;
        }
        let mut command = Command::new("umount");
        if attempt == BUSY_TRIES {
            complaints.push(format!("{} stayed busy: unmounted lazily", target.display()));
            command.arg("--lazy");
        }
        // Its complaints would repeat each try; what matters is said above.
        let done = command.arg(target).output().is_ok_and(|output| output.status.success());
        if !done {
            sleep_ns(BUSY_PAUSE_NS);
        }
    }
}

/// Whether the kernel has a mount at `target`. Does not touch the mounted file system itself,
/// which may be dead.
pub(crate) fn is_mounted(target: &Path) -> bool {
    let Ok(mounts) = std::fs::read_to_string("/proc/self/mounts") else { return false };
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .any(|path| Path::new(&unescaped(path)) == target)
}

/// /proc/self/mounts writes blank, tab, newline and backslash as octal numbers.
fn unescaped(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Loop devices whose backing file is under `dir`. Read from /sys, because losetup asks the
/// backing file, which a dead FUSE file system does not answer.
pub(crate) fn loop_devices(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| {
            std::fs::read_to_string(entry.path().join("loop/backing_file"))
                .is_ok_and(|backing| Path::new(backing.trim_end()).starts_with(dir))
        })
        .map(|entry| Path::new("/dev").join(entry.file_name()))
        .collect()
}

fn detach_loop_devices(dir: &Path, complaints: &mut Vec<String>) {
    for _ in 0..BUSY_TRIES {
        let devices = loop_devices(dir);
        if devices.is_empty() {
            return;
        }
        for device in devices {
            // Failing because the device is gone or still held: the next look tells which.
            let _ = Command::new("losetup").arg("--detach").arg(device).output();
        }
        if !loop_devices(dir).is_empty() {
            sleep_ns(BUSY_PAUSE_NS);
        }
    }
    for device in loop_devices(dir) {
        complaints.push(format!("{} is still attached: losetup -d it", device.display()));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn mount_paths_are_unescaped() {
        assert_eq!(super::unescaped("/a\\040b\\134c"), "/a b\\c");
        assert!(super::is_mounted(std::path::Path::new("/proc")));
    }
}
