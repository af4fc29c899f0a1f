//! Journals go first: ext4's commits are written before what any group writes.
//!
//! Each direct write changes its file's time, and so waits while a commit has the inode's block. The
//! commit's few requests wait in BFQ as those of a group of weight 50 would; BFQ waits 8 ms for the
//! writer, and gives its turn and what it is owed away (docs/share-cause.md). So the journal's thread gets
//! the real-time class of I/O priority for as long as shares are held.
//!
//! Invariant: what was raised is noted in a file before, and a note of a killed holder is put back by the
//! next one; a thread that somebody else has changed meanwhile is left as it is
//! (`test what_was_raised_is_put_back`).

use baro_sys::files;
use baro_sys::schedule::{IO_REAL_TIME, io_priority, set_io_priority};
use baro_sys::state::StateFolder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// No group has a name that begins so.
const FILE: &str = ".journals";
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// Devices on devices on devices.
const DEPTH_MAX: u32 = 8;

/// A thread of the kernel, by its number and name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Raised {
    tid: u32,
    name: String,
    before: u16,
}

/// The threads that were raised.
#[derive(Debug)]
pub(crate) struct Journals {
    folder: StateFolder,
    raised: Vec<Raised>,
}

impl Journals {
    /// Puts back what a killed holder left raised.
    pub(crate) fn open(folder: StateFolder) -> Self {
        let text = folder.read_text(FILE, TEXT_BYTES_MAX).ok().flatten().unwrap_or_default();
        let mut left = Self { folder, raised: text.lines().filter_map(parse).collect() };
        left.put_back();
        left
    }

    /// Raises the threads of all journals on `disk`; their names, or why not.
    pub(crate) fn raise(&mut self, root: &Path, disk: &str) -> Vec<Result<String, String>> {
        let on = devices(root, disk);
        let is_new = |(tid, _): &(u32, String)| self.raised.iter().all(|one| one.tid != *tid);
        let found: Vec<_> = threads(&root.join("proc"), &on).into_iter().filter(is_new).collect();
        found.into_iter().filter_map(|(tid, name)| self.raise_one(tid, name).transpose()).collect()
    }

    /// None: it had that class already.
    fn raise_one(&mut self, tid: u32, name: String) -> Result<Option<String>, String> {
        let why = |error: baro_sys::Error| format!("{name}: {error}");
        let before = io_priority(tid).map_err(why)?;
        if before >> 13 == IO_REAL_TIME >> 13 {
            return Ok(None);
        }
        self.raised.push(Raised { tid, name: name.clone(), before });
        // Noted first: one that is noted and not raised is left alone when put back.
        let done = self.note().and_then(|()| set_io_priority(tid, IO_REAL_TIME));
        match done {
            Ok(()) => Ok(Some(name)),
            Err(error) => {
                self.raised.pop();
                Err(why(error))
            }
        }
    }

    fn note(&self) -> Result<(), baro_sys::Error> {
        let line = |one: &Raised| format!("{} {} {}\n", one.tid, one.before, one.name);
        let text: String = self.raised.iter().map(line).collect();
        self.folder.replace(FILE, text.as_bytes(), 0o600)
    }

    /// Gives every thread the priority that it had, unless it is another one or was changed.
    pub(crate) fn put_back(&mut self) {
        for one in self.raised.drain(..) {
            let comm = files::read_text(&comm(Path::new("/proc"), one.tid), TEXT_BYTES_MAX);
            let is_it = comm.is_ok_and(|name| name.trim_end() == one.name);
            if is_it && io_priority(one.tid).is_ok_and(|now| now == IO_REAL_TIME) {
                // It may be unmounted in this moment.
                let _ = set_io_priority(one.tid, one.before);
            }
        }
        let _ = self.folder.clear_temporaries(FILE);
        let _ = self.folder.remove(FILE);
    }
}

fn parse(line: &str) -> Option<Raised> {
    let mut words = line.splitn(3, ' ');
    Some(Raised {
        tid: words.next()?.parse().ok()?,
        before: words.next()?.parse().ok()?,
        name: words.next()?.to_owned(),
    })
}

fn comm(proc: &Path, tid: u32) -> PathBuf {
    proc.join(tid.to_string()).join("comm")
}

/// The disk, its partitions, and what is made of any of them.
fn devices(root: &Path, disk: &str) -> BTreeSet<String> {
    let (mut all, mut next) = (BTreeSet::new(), vec![disk.to_owned()]);
    for _ in 0..DEPTH_MAX {
        let mut above = Vec::new();
        for name in next {
            let dir = root.join("sys/block").join(&name);
            let mut parts = vec![dir.clone()];
            for entry in files::list(&dir).unwrap_or_default() {
                let part = dir.join(&entry);
                if files::exists(&part.join("partition")) {
                    all.insert(entry);
                    parts.push(part);
                }
            }
            let holders = parts.iter().flat_map(|part| files::list(&part.join("holders")));
            above.extend(holders.flatten());
            all.insert(name);
        }
        above.retain(|name| !all.contains(name));
        next = above;
    }
    all
}

/// Threads of journals on these devices: `jbd2/sda1-8`; before Linux 5.17 the name ends after 15
/// characters.
fn threads(proc: &Path, on: &BTreeSet<String>) -> Vec<(u32, String)> {
    let numbers = files::list(proc).unwrap_or_default();
    let thread = |tid: u32| {
        let name = files::read_text(&comm(proc, tid), TEXT_BYTES_MAX).ok()?;
        let name = name.trim_end();
        let device = name.strip_prefix("jbd2/")?;
        let device = device.rsplit_once('-').map_or(device, |(device, _)| device);
        on.contains(device).then(|| (tid, name.to_owned()))
    };
    numbers.iter().filter_map(|name| thread(name.parse().ok()?)).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a folder that stands for / and an ordinary child")]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("baro-journals-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn journals_of_partitions_and_of_what_is_made_of_them_are_found() {
        let root = folder("tree");
        let block = root.join("sys/block");
        for dir in
            ["sda/sda1/holders/dm-0", "sda/sda2/holders", "sda/queue", "dm-0/holders/md0", "sdb"]
        {
            std::fs::create_dir_all(block.join(dir)).unwrap();
        }
        for part in ["sda/sda1", "sda/sda2"] {
            std::fs::write(block.join(part).join("partition"), "1").unwrap();
        }
        for (tid, name) in [
            (5, "jbd2/sda2-8"),
            (6, "jbd2/dm-0-8"),
            (7, "jbd2/sdb-8"),
            (8, "sda1"),
            (9, "jbd2/sda2-"),
            (10, "jbd2/sda1"),
            (11, "jbd2/sda11-8"),
            (12, "jbd2/"),
        ] {
            std::fs::create_dir_all(root.join(format!("proc/{tid}"))).unwrap();
            std::fs::write(root.join(format!("proc/{tid}/comm")), format!("{name}\n")).unwrap();
        }
        std::fs::create_dir_all(root.join("proc/self")).unwrap();
        let on = devices(&root, "sda");
        assert_eq!(
            on.iter().map(String::as_str).collect::<Vec<_>>(),
            ["dm-0", "md0", "sda", "sda1", "sda2"]
        );
        let mut found: Vec<u32> =
            threads(&root.join("proc"), &on).iter().map(|one| one.0).collect();
        found.sort_unstable();
        assert_eq!(found, [5, 6, 9, 10]);
        assert!(devices(&root, "none").contains("none"));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_was_raised_is_put_back() {
        if !baro_sys::schedule::is_root() {
            println!("skipped: only root may raise a priority of I/O");
            return;
        }
        let dir = folder("raise");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let tid = child.id();
        // A child is given back to its parent a moment before it has its new name.
        while std::fs::read_to_string(comm(Path::new("/proc"), tid)).unwrap().trim() != "sleep" {
            std::thread::yield_now();
        }
        let before = io_priority(tid).unwrap();
        let mut journals = Journals::open(StateFolder::open(&dir).unwrap());
        assert_eq!(journals.raise_one(tid, "sleep".to_owned()).unwrap().as_deref(), Some("sleep"));
        assert_eq!(io_priority(tid).unwrap(), IO_REAL_TIME);
        assert!(journals.raise_one(tid, "sleep".to_owned()).unwrap().is_none(), "already");
        // Its holder is killed; the next one puts back.
        std::mem::forget(journals);
        let mut next = Journals::open(StateFolder::open(&dir).unwrap());
        assert_eq!(io_priority(tid).unwrap(), before);
        assert!(next.raised.is_empty() && !dir.join(FILE).exists());
        // Somebody else changed it, and a number that is another task's now.
        next.raise_one(tid, "sleep".to_owned()).unwrap();
        set_io_priority(tid, 2 << 13 | 6).unwrap();
        next.put_back();
        assert_eq!(io_priority(tid).unwrap(), 2 << 13 | 6);
        next.raise_one(tid, "another".to_owned()).unwrap();
        next.put_back();
        assert_eq!(io_priority(tid).unwrap(), IO_REAL_TIME);
        assert!(next.raise_one(u32::MAX >> 1, "none".to_owned()).is_err());
        for damaged in ["", "x", "1", "1 2", "-1 2 x", "1 99999 x"] {
            assert!(parse(damaged).is_none(), "{damaged}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
