//! Limits of I/O that are set, changed or lifted while a recording lasts.
//!
//! Lists that are made when a recording begins and ends do not have a limit that was set and lifted in between.
//! The kernel tells who watches a group's folder that one of its files was written; only such a file is read. That
//! takes one system call for each look, however many groups there are, and some for each change.
//!
//! Mappings of device-mapper that are suspended are told in the same way. Of these the kernel tells nobody; each look
//! reads them, two system calls each.
//!
//! Each change is a fact: since when the file may hold the text (the look before), when that was seen, the file,
//! and the text.
//!
//! Invariant: groups that are watched, changes that are told and lists of tasks are bounded, and what was left out
//! is counted. Held by `a_limit_that_comes_and_goes_is_told`.

use super::groups;
use super::state::text;
use baro_sys::clock;
use baro_sys::inotify::{Change, Inotify};
use baro_sys::procfile::ProcFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What facts of changes begin with; a number follows.
pub(crate) const CHANGE: &str = "limit change ";
/// The fact with how many groups or changes there was no room for.
pub(crate) const LEFT_OUT: &str = "limit changes left out";
/// Groups that are watched; the kernel keeps about 1 KiB for each.
const WATCHED_MAX: usize = 1_024;
/// Changes that are told. A trace has room for 4,096 facts.
const CHANGES_MAX: usize = 256;
/// Lists of tasks that are made when a group has its first limit: each reads all of `/proc`.
const LISTS_MAX: usize = 8;

/// Mappings that are looked at, and how often at most.
const MAPPINGS_MAX: usize = 64;
const MAPPING_BYTES_MAX: usize = 4096;
const MAPPINGS_EACH_NS: u64 = 100_000_000;

/// Groups whose limits are watched, and mappings.
#[derive(Debug)]
pub(super) struct LimitWatch {
    inotify: Option<Inotify>,
    groups: BTreeMap<i32, PathBuf>,
    /// What the files hold that limit something.
    texts: BTreeMap<PathBuf, String>,
    /// Groups whose tasks were listed.
    listed: BTreeSet<PathBuf>,
    /// Files that say whether a mapping is suspended.
    mappings: Vec<(PathBuf, ProcFile)>,
    mappings_looked_ns: u64,
    looked_ns: u64,
    changes: usize,
    lists: usize,
    left_out: u64,
}

impl LimitWatch {
    /// Watches all groups. To be called before limits are read, which [`knows`](Self::knows) is then told of.
    pub(super) fn start() -> Self {
        let mut watch = Self {
            inotify: Inotify::new().ok(),
            groups: BTreeMap::new(),
            texts: BTreeMap::new(),
            listed: BTreeSet::new(),
            mappings: Vec::new(),
            mappings_looked_ns: clock::monotonic_ns(),
            looked_ns: clock::monotonic_ns(),
            changes: 0,
            lists: 0,
            left_out: 0,
        };
        watch.left_out += u64::from(watch.inotify.is_none());
        groups::of_io(&mut |group| watch.add(group));
        watch
    }

    /// A file that was read when the recording began: a limit, or whether a mapping is suspended.
    pub(super) fn knows(&mut self, file: &str, text: &str) {
        let file = Path::new(file);
        if is_limit(file) {
            self.listed.extend(file.parent().map(Path::to_owned));
            self.texts.insert(file.to_owned(), text.to_owned());
        }
        if file.ends_with(SUSPENDED) && self.mappings.len() < MAPPINGS_MAX {
            self.mappings.extend(ProcFile::open(file).ok().map(|open| (file.to_owned(), open)));
            self.texts.insert(file.to_owned(), text.to_owned());
        }
    }

    fn add(&mut self, group: &Path) {
        let Some(inotify) = &self.inotify else { return };
        let number = (self.groups.len() < WATCHED_MAX).then(|| inotify.add(group));
        match number {
            Some(Ok(number)) => {
                self.groups.insert(number, group.to_owned());
            }
            Some(Err(error)) if error.is_missing() => {}
            _ => self.left_out += 1,
        }
    }

    /// Facts of what has changed since the last look.
    pub(super) fn look(&mut self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        let changes = self.inotify.as_mut().map_or(Ok(Vec::new()), Inotify::changes);
        let now_ns = clock::monotonic_ns();
        let mut files = BTreeSet::new();
        match changes {
            Ok(changes) => changes.into_iter().for_each(|one| self.changed(one, &mut files)),
            Err(_) => self.left_out += 1,
        }
        let mut has_new = false;
        if now_ns - self.mappings_looked_ns >= MAPPINGS_EACH_NS {
            for (file, now) in self.suspensions() {
                self.tell((self.mappings_looked_ns, now_ns), &file, &now, &mut facts);
            }
            self.mappings_looked_ns = now_ns;
        }
        for file in files {
            let now = text(&file).unwrap_or_default().trim().to_owned();
            if !self.tell((self.looked_ns, now_ns), &file, &now, &mut facts) {
                continue;
            }
            let group = file.parent().unwrap_or(Path::new("")).to_owned();
            has_new |= !now.is_empty() && self.listed.insert(group);
        }
        if has_new && self.lists < LISTS_MAX {
            self.lists += 1;
            let name = format!("{} at change {}", groups::LIMITED, self.changes);
            facts.push((name, groups::limited()));
        }
        self.looked_ns = now_ns;
        facts
    }

    /// Adds the fact that a file was seen to hold another text, if that is another; false: it is told of no change.
    fn tell(
        &mut self,
        (from_ns, at_ns): (u64, u64),
        file: &Path,
        now: &str,
        facts: &mut Vec<(String, String)>,
    ) -> bool {
        if now == self.texts.get(file).map_or("", String::as_str) {
            return false;
        }
        if self.changes == CHANGES_MAX {
            self.left_out += 1;
            return false;
        }
        self.changes += 1;
        let fact = format!("{from_ns} {at_ns} {}\n{now}", file.display());
        facts.push((format!("{CHANGE}{}", self.changes), fact));
        self.texts.insert(file.to_owned(), now.to_owned());
        true
    }

    /// What the files of mappings hold: `1` of one that is suspended, nothing of one that has gone.
    fn suspensions(&self) -> Vec<(PathBuf, String)> {
        let mut buffer = Vec::new();
        let mut held = |file: &ProcFile| {
            let read = file.read_into(&mut buffer, MAPPING_BYTES_MAX);
            let text = read.ok().and_then(|bytes| buffer.get(..bytes));
            String::from_utf8_lossy(text.unwrap_or_default()).trim().to_owned()
        };
        self.mappings.iter().map(|(path, file)| (path.clone(), held(file))).collect()
    }

    /// The same for the last time, with what was left out.
    pub(super) fn end(&mut self) -> Vec<(String, String)> {
        self.mappings_looked_ns = self.mappings_looked_ns.saturating_sub(MAPPINGS_EACH_NS);
        let mut facts = self.look();
        if self.left_out > 0 {
            facts.push((LEFT_OUT.to_owned(), self.left_out.to_string()));
        }
        facts
    }

    /// Adds the files that a change may be of.
    fn changed(&mut self, change: Change, files: &mut BTreeSet<PathBuf>) {
        match change {
            Change::Written(number, name) => {
                let file = self.groups.get(&number).map(|group| group.join(name));
                files.extend(file.filter(|file| is_limit(file)));
            }
            Change::Made(number, name) => {
                let Some(group) = self.groups.get(&number).map(|group| group.join(name)) else {
                    return;
                };
                // What was written before it was watched, and groups that were made in it.
                let mut made = Vec::new();
                groups::groups(&group, true, &mut |group| made.push(group.to_owned()));
                for group in made {
                    self.add(&group);
                    files.extend(groups::IO_FILES.map(|file| group.join(file)));
                }
            }
            Change::Gone(number) => {
                let Some(group) = self.groups.remove(&number) else { return };
                self.listed.remove(&group);
                files.extend(groups::IO_FILES.map(|file| group.join(file)));
            }
            Change::Lost => self.left_out += 1,
        }
    }
}

/// What the files of mappings end with, below `/sys/block`.
const SUSPENDED: &str = "dm/suspended";

fn is_limit(file: &Path) -> bool {
    file.file_name().is_some_and(|name| groups::IO_FILES.iter().any(|one| name == *one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_sys::files;

    #[test]
    fn a_mapping_that_is_suspended_is_told() {
        let folder = std::env::temp_dir().join(format!("baro-mappings-{}", std::process::id()));
        let file = folder.join(SUSPENDED);
        files::make_folders(file.parent().unwrap()).unwrap();
        files::write(&file, b"0\n").unwrap();
        let mut watch = LimitWatch::start();
        watch.knows(&file.display().to_string(), "0");
        let mut told = |text: &[u8]| {
            files::write(&file, text).unwrap();
            watch.mappings_looked_ns -= MAPPINGS_EACH_NS;
            let facts = watch.look();
            facts
                .into_iter()
                .map(|(name, text)| (name, text.lines().last().unwrap().to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(b"0\n"), []);
        assert_eq!(told(b"1\n"), [("limit change 1".to_owned(), "1".to_owned())]);
        assert_eq!(told(b"1\n"), []);
        assert_eq!(told(b"0\n"), [("limit change 2".to_owned(), "0".to_owned())]);
        // What is asked of one that has gone fails.
        let (_, gone) = told(b"").pop().unwrap();
        assert!(gone.ends_with(SUSPENDED), "{gone}");
        files::remove_tree(&folder).unwrap();
    }

    #[test]
    fn a_limit_that_comes_and_goes_is_told() {
        let mut watch = LimitWatch::start();
        assert_eq!((watch.look(), watch.changes), (Vec::new(), 0));
        // Groups are folders, and these do as well.
        let name = format!("baro-limit-watch-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let (new, file) = (root.join("new"), "blkio.throttle.write_bps_device");
        files::make_folders(&root).unwrap();
        watch.add(&root);
        watch.knows(&root.join(file).display().to_string(), "8:0 9");
        let mut told = || {
            let facts = watch.look();
            let changes = facts.iter().filter(|(name, _)| name.starts_with(CHANGE));
            let of = |(name, text): &(String, String)| {
                let (head, text) = text.split_once('\n').unwrap();
                let mut head = head.splitn(3, ' ');
                let (from, at) = (head.next().unwrap(), head.next().unwrap());
                assert!(from.parse::<u64>().unwrap() <= at.parse::<u64>().unwrap());
                let path = Path::new(head.next().unwrap()).strip_prefix(&root).unwrap();
                format!("{name}: {} {text}", path.parent().unwrap().display())
            };
            let changes: Vec<String> = changes.map(of).collect();
            let lists = facts.iter().filter(|(name, _)| name.contains(" at change ")).count();
            (changes, lists)
        };
        let none = Vec::<String>::new();
        // The same again is no change, and other files are none of limits.
        files::write(&root.join(file), b"8:0 9\n").unwrap();
        files::write(&root.join("cgroup.procs"), b"1").unwrap();
        assert_eq!(told(), (none.clone(), 0));
        files::write(&root.join(file), b"").unwrap();
        files::make_folder(&new).unwrap();
        files::write(&new.join(file), b"8:0 7").unwrap();
        let changes = ["limit change 1:  ", "limit change 2: new 8:0 7"].map(str::to_owned);
        assert_eq!(told(), (changes.to_vec(), 1));
        files::write(&new.join(file), b"8:0 6").unwrap();
        assert_eq!(told(), (vec!["limit change 3: new 8:0 6".to_owned()], 0));
        files::remove_tree(&new).unwrap();
        assert_eq!(told(), (vec!["limit change 4: new ".to_owned()], 0));
        assert_eq!(told(), (none, 0));
        watch.changes = CHANGES_MAX;
        files::write(&root.join(file), b"8:0 5").unwrap();
        assert_eq!(watch.end(), [(LEFT_OUT.to_owned(), "1".to_owned())]);
        files::remove_tree(&root).unwrap();
    }
}
