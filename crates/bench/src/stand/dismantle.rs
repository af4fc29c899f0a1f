//! Taking a stand apart: settings back, unmount, detach, remove.
//!
//! One routine for the ordinary end, for errors half-way and for what a killed run left: it looks
//! at what the kernel says is there (mounts, loop devices) instead of remembering what was made. A
//! stand that is alive holds the lock of its folder.
//!
//! Invariant: only mounts and loop devices of the stand's own folder are touched, and files are
//! removed by name, never recursively (a mount that could not be undone would be emptied). Held by
//! `what_a_killed_stand_left_is_removed` in `tests/stand.rs`.

use baro_command::say;
use baro_sys::lock::LockFile;
use baro_sys::{clock, files};
use baro_tune::{Journal, OnConflict, Options};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beginning of the name of each stand's folder; process id and serial number follow.
pub(super) const PREFIX: &str = "baro-stand-";
pub(super) const LOCK: &str = "lock";
pub(super) const IMAGE: &str = "image";
pub(super) const MOUNT: &str = "mnt";
/// The journal of settings is in root's folders, whoever owns that of the stand.
const SETTINGS: &str = "stands";

/// How long somebody may keep the file system busy before it is unmounted lazily.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE_NS: u64 = 100_000_000;
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Takes the stand in `dir` apart. Complaints are collected; the work goes on.
pub(super) fn dismantle(dir: &Path) -> Vec<String> {
    let mut complaints = Vec::new();
    unmount(&dir.join(MOUNT), &mut complaints);
    detach(dir, &mut complaints);
    remove_groups(dir, &mut complaints);
    if let Err(error) = Journal::remove_folder(&state_dir(dir)) {
        complaints.push(error.to_string());
    }
    let removals = [
        files::remove(&dir.join(IMAGE)),
        files::remove_empty_folder(&dir.join(MOUNT)),
        files::remove(&dir.join(LOCK)),
        files::remove_empty_folder(dir),
    ];
    for error in removals.into_iter().filter_map(Result::err) {
        if error.kind() != std::io::ErrorKind::NotFound {
            complaints.push(format!("removing a part of {}: {}", dir.display(), error.source));
        }
    }
    complaints
}

/// Removes the stands in `parent` whose runs were killed, and puts back what these had set.
/// Complaints go to stderr.
pub fn remove_leftovers(parent: &Path) {
    let Ok(parent) = parent.canonicalize() else { return };
    let names = files::list(&parent).unwrap_or_default();
    for dir in names.iter().filter(|name| name.starts_with(PREFIX)).map(|name| parent.join(name)) {
        let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        // A run that is just beginning has its folder a moment before its lock.
        let beginning = !files::exists(&dir.join(LOCK))
            && pid.is_some_and(|pid| files::exists(&Path::new("/proc").join(pid)));
        if beginning || is_held(&dir.join(LOCK)) {
            continue;
        }
        say!("bench: removing what a killed run left in {}", dir.display());
        let state_dir = state_dir(&dir);
        if files::exists(&state_dir) {
            // Opening it undoes; what cannot be undone keeps its journal, and so its folder.
            let on_conflict = OnConflict::Overwrite;
            match Journal::open(&Options { state_dir, on_conflict, ..Options::default() }) {
                Ok((_, report)) if report.is_clean() => {}
                Ok((_, report)) => say!("bench: {report}"),
                Err(error) => say!("bench: {error}"),
            }
        }
        for complaint in dismantle(&dir) {
            say!("bench: {complaint}");
        }
    }
}

/// Whether a stand is alive. A program that a killed run had started may hold the lock a moment longer, and
/// attach or mount something then: that is waited for.
fn is_held(lock: &Path) -> bool {
    for _ in 0..BUSY_TRIES {
        let holder = match LockFile::holder(lock) {
            Ok(None) => return false,
            Ok(Some(holder)) => holder,
            Err(_) => return true,
        };
        let process = holder.pid.map(|pid| Path::new("/proc").join(pid.to_string()));
        if process.is_none_or(|process| files::exists(&process)) {
            return true;
        }
        clock::sleep_ns(BUSY_PAUSE_NS);
    }
    true
}

/// Where the journal of the stand in `dir` is: by its name alone, so that a stand of the same name, made
/// once the process of a killed one is gone, puts back what that one had set.
pub(super) fn state_dir(dir: &Path) -> PathBuf {
    Options::state_dir_of(SETTINGS).join(group_name(dir))
}

/// What the stand's control groups are called.
pub(super) fn group_name(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn remove_groups(dir: &Path, complaints: &mut Vec<String>) {
    // The last two are version 2, alone or beside version 1, which has one tree for all.
    for controller in ["blkio", "memory", "", "unified"] {
        let group = Path::new("/sys/fs/cgroup").join(controller).join(group_name(dir));
        // Processes that are ending keep a group busy for a moment.
        for attempt in 0..=BUSY_TRIES {
            match files::remove_empty_folder(&group) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    if attempt == BUSY_TRIES {
                        let reason = error.source;
                        complaints.push(format!("removing {}: {reason}", group.display()));
                    }
                    clock::sleep_ns(BUSY_PAUSE_NS);
                }
                _ => break,
            }
        }
    }
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
        if !command.arg(target).output().is_ok_and(|output| output.status.success()) {
            clock::sleep_ns(BUSY_PAUSE_NS);
        }
    }
}

fn is_mounted(target: &Path) -> bool {
    let mounts = files::read_text(Path::new("/proc/self/mounts"), TEXT_BYTES_MAX);
    // As octal numbers the kernel writes blank, tab, newline and backslash.
    let plain = |path: &str| {
        path.replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\012", "\n")
            .replace("\\134", "\\")
    };
    mounts.is_ok_and(|mounts| {
        mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(1))
            .any(|path| Path::new(&plain(path)) == target)
    })
}

/// The loop devices of the stand in `dir`, upper ones first.
fn devices(dir: &Path) -> Vec<String> {
    let backed: Vec<(String, PathBuf)> = files::list(Path::new("/sys/block"))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| {
            let file = Path::new("/sys/block").join(&name).join("loop/backing_file");
            let backing = files::read_text(&file, TEXT_BYTES_MAX).ok()?;
            Some((name, PathBuf::from(backing.trim_end())))
        })
        .collect();
    let image = dir.join(IMAGE);
    let lower: Vec<String> =
        backed.iter().filter(|(_, on)| *on == image).map(|(name, _)| name.clone()).collect();
    // A device's file is shown without its folder if it was opened in a mount namespace that has
    // ended since.
    let on_lower = |on: &Path| {
        lower.iter().any(|name| ["/dev", "/"].iter().any(|dir| on == Path::new(dir).join(name)))
    };
    let upper = backed.iter().filter(|(_, on)| on_lower(on)).map(|(name, _)| name.clone());
    upper.chain(lower.clone()).collect()
}

fn detach(dir: &Path, complaints: &mut Vec<String>) {
    for _ in 0..BUSY_TRIES {
        let found = devices(dir);
        if found.is_empty() {
            return;
        }
        for name in &found {
            // Failing because it is gone or still held: the next look tells which.
            let device = Path::new("/dev").join(name);
            let _ = Command::new("losetup").arg("--detach").arg(device).output();
        }
        if !devices(dir).is_empty() {
            clock::sleep_ns(BUSY_PAUSE_NS);
        }
    }
    for name in devices(dir) {
        // A mount namespace that was made meanwhile has the mount too. The kernel detaches the
        // device by itself when that ends, and its speed is as it was.
        complaints.push(format!("/dev/{name} is in use elsewhere and detached when that ends"));
    }
}
