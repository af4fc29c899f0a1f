//! Taking a stand apart: settings back, unmount, detach, remove.
//!
//! One routine for the ordinary end, for errors half-way and for what a killed run left: it looks
//! at what the kernel says is there (mounts, loop devices) instead of remembering what was made. A
//! stand that is alive holds the lock of its folder.
//!
//! Invariant: only mounts and loop devices of the stand's own folder are touched, which is root's in a
//! folder of root's, and files are removed by name, never recursively (a mount that could not be undone
//! would be emptied). Held by `what_a_killed_stand_left_is_removed` in `tests/stand.rs` and by
//! `tests/hostile.rs`.

use baro_command::say;
use baro_sys::state::StateFolder;
use baro_sys::{clock, files, place};
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

/// Takes the stand `name` in `above` apart. Complaints are collected; the work goes on.
pub(super) fn dismantle(above: &StateFolder, name: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let dir = match above.place() {
        Ok(above) => above.join(name),
        Err(error) => return vec![error.to_string()],
    };
    unmount(&dir.join(MOUNT), &mut complaints);
    detach(&dir, &mut complaints);
    remove_groups(&dir, &mut complaints);
    if let Err(error) = Journal::remove_folder(&state_dir(&dir)) {
        complaints.push(error.to_string());
    }
    let removed = above.below(name).and_then(|folder| {
        let removals = [folder.remove(IMAGE), folder.remove_folder(MOUNT), folder.remove(LOCK)];
        complaints.extend(removals.into_iter().filter_map(Result::err).map(|e| e.to_string()));
        above.remove_folder(name)
    });
    complaints.extend(removed.err().filter(|error| !error.is_missing()).map(|e| e.to_string()));
    complaints
}

/// Removes the stands in `parent` whose runs were killed, and puts back what these had set.
/// Complaints go to stderr. Root makes stands only where nobody else decides what a name means, so
/// elsewhere is none.
pub fn remove_leftovers(parent: &Path) {
    if let Ok(above) = StateFolder::open(parent) {
        remove_leftovers_in(&above);
    }
}

/// The same in a folder that is held.
pub fn remove_leftovers_in(above: &StateFolder) {
    let names = above.list().unwrap_or_default();
    for name in names.iter().filter(|name| name.starts_with(PREFIX)) {
        // In a folder such as /tmp others lay what they like; it stays.
        let (Ok(folder), Ok(place)) = (above.below(name), above.place()) else { continue };
        let dir = place.join(name);
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        // A run that is just beginning has its folder a moment before its lock.
        let beginning = !files::exists(&dir.join(LOCK))
            && pid.is_some_and(|pid| files::exists(&Path::new("/proc").join(pid)));
        if beginning || is_held(&folder) {
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
        for complaint in dismantle(above, name) {
            say!("bench: {complaint}");
        }
    }
}

/// Whether a stand is alive. A program that a killed run had started may hold the lock a moment longer, and
/// attach or mount something then: that is waited for. What is no lock of ours is left alone, as if it were.
fn is_held(folder: &StateFolder) -> bool {
    for _ in 0..BUSY_TRIES {
        let holder = match folder.lock_holder(LOCK) {
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
        // Where that cannot be told it is tried: the image of one that stayed is not to be removed.
        if !place::is_mounted(target).unwrap_or(true) {
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
