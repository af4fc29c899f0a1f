//! Control groups as BFQ knows them, of version 1 (`blkio`) and version 2 (`io`).
//!
//! Groups of ours are folders `baro-NAME` at the top of the hierarchy, so that a weight means what it
//! says against everybody else there (100 if nothing was set); a nested one is a folder in its
//! parent. A weight is always read back: a file that takes a number need not mean it.
//!
//! Invariant: only folders that begin with `baro-` are made or removed; what still runs in one goes to
//! the top first. Held by the tests below on a folder that stands for the kernel's, and on real groups
//! by `tests/share.rs` of the command line.

use crate::error::ShareError;
use crate::weight::Weight;
use baro_sys::files;
use baro_tune::Setting;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Anybody may mount FUSE on folders of his, a thousand times, with names as long as a path may be.
const MOUNTS_BYTES_MAX: u64 = 32 << 20;
/// All groups that we make begin with it.
const PREFIX: &str = "baro-";
/// Processes can be born while others are moved.
const MOVES_MAX: usize = 20;

/// Which interface the controller for block devices has here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `blkio`, a hierarchy of its own. Buffered writes are the root group's.
    One,
    /// `io` in the unified hierarchy. Buffered writes count for who wrote, with the memory controller.
    Two,
}

/// The hierarchy of groups in which BFQ has its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    root: PathBuf,
    mount: PathBuf,
    version: Version,
}

/// A group in its hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    dir: PathBuf,
    version: Version,
}

/// What a group has got of a disk since it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Served {
    /// Both.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }

    /// What came since `before`; nothing if the group was made anew meanwhile.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(before.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(before.written_bytes),
        }
    }
}

impl Hierarchy {
    /// Finds it below `root`, which is `/` on a real machine. Where both versions are mounted, the one
    /// that has the controller of block devices.
    ///
    /// # Errors
    /// Neither has it, with what would mount it.
    pub fn find(root: &Path) -> Result<Self, ShareError> {
        let mounts = files::read_lossy(&root.join("proc/self/mountinfo"), MOUNTS_BYTES_MAX)?;
        let mut two = None;
        for line in mounts.lines() {
            let Some((before, after)) = line.split_once(" - ") else { continue };
            let Some(mount) = before.split(' ').nth(4) else { continue };
            let mut after = after.split(' ');
            let (kind, options) = (after.next().unwrap_or(""), after.nth(1).unwrap_or(""));
            let mount = PathBuf::from(mount);
            match kind {
                "cgroup" if options.split(',').any(|option| option == "blkio") => {
                    return Ok(Self { root: root.to_owned(), mount, version: Version::One });
                }
                "cgroup2" => two = Some(mount),
                _ => {}
            }
        }
        if let Some(mount) = two {
            let found = Self { root: root.to_owned(), mount, version: Version::Two };
            let controllers = found.place("cgroup.controllers");
            let controllers = files::read_text(&controllers, TEXT_BYTES_MAX).unwrap_or_default();
            if controllers.split_whitespace().any(|name| name == "io") {
                return Ok(found);
            }
        }
        Err(ShareError::Refused(
            "no control groups for block devices: expected the controller `io` (version 2) or \
             `blkio` (version 1) to be mounted, found neither; version 2: `mount -t cgroup2 none \
             /sys/fs/cgroup`"
                .to_owned(),
        ))
    }

    /// Which interface it has.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Where it is mounted.
    #[must_use]
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    fn place(&self, below: &str) -> PathBuf {
        self.root.join(self.mount.join(below).strip_prefix("/").unwrap_or(&self.mount))
    }

    /// Settings without which groups have no weights: with version 2 the top hands the controller on.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        match self.version {
            Version::One => Vec::new(),
            Version::Two => {
                let file = self.mount.join("cgroup.subtree_control");
                vec![Setting::new(file.to_string_lossy(), "+io")]
            }
        }
    }

    /// Whether groups at the top have weights: with version 2 once the controller was handed on.
    #[must_use]
    pub fn hands_on(&self) -> bool {
        match self.version {
            Version::One => true,
            Version::Two => {
                let file = self.place("cgroup.subtree_control");
                let text = files::read_text(&file, TEXT_BYTES_MAX).unwrap_or_default();
                text.split_whitespace().any(|name| name == "io")
            }
        }
    }

    /// The group of ours of this name, `parent/child` nested; it need not exist.
    ///
    /// # Errors
    /// A name that is none: letters, digits, `-`, `_`, `.`, at most 60 bytes each.
    pub fn group(&self, name: &str) -> Result<Group, ShareError> {
        let dir: PathBuf = name
            .split('/')
            .map(|part| {
                check_name(part)?;
                Ok(format!("{PREFIX}{part}"))
            })
            .collect::<Result<_, ShareError>>()?;
        Ok(Group { dir: self.place(&dir.to_string_lossy()), version: self.version })
    }

    /// A group that somebody else makes, as of a systemd unit, by its path in the hierarchy. It may be
    /// there later, and go and come with its unit.
    ///
    /// # Errors
    /// A path that leads out of the hierarchy.
    pub fn adopted(&self, path: &str) -> Result<Group, ShareError> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if path.trim_matches('/').split('/').all(plain) && !path.contains(char::is_control) {
            let dir = self.place(path.trim_matches('/'));
            return Ok(Group { dir, version: self.version });
        }
        Err(ShareError::Refused(format!(
            "control group {path:?}: expected a path below {}, without `..`",
            self.mount.display()
        )))
    }

    /// The path of a group below the top, as [`Hierarchy::adopted`] takes it; empty of the top.
    pub(crate) fn path_of(&self, group: &Group) -> String {
        let path = group.dir.strip_prefix(self.place("")).unwrap_or(Path::new(""));
        path.to_string_lossy().into_owned()
    }

    /// The top, which all groups of ours are in.
    #[must_use]
    pub fn top(&self) -> Group {
        Group { dir: self.place(""), version: self.version }
    }

    /// Where process `pid` is.
    ///
    /// # Errors
    /// It has ended, or it is outside of what is mounted here.
    pub fn of_process(&self, pid: u32) -> Result<Group, ShareError> {
        let text = files::read_text(&self.root.join(format!("proc/{pid}/cgroup")), TEXT_BYTES_MAX)?;
        let is = |controllers: &str| match self.version {
            Version::One => controllers.split(',').any(|name| name == "blkio"),
            Version::Two => controllers.is_empty(),
        };
        let path = text.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            is(controllers).then_some(path)
        });
        let path = path.unwrap_or("/").trim_start_matches('/');
        Ok(Group { dir: self.place(path), version: self.version })
    }

    /// Names of all groups of ours that are there, parents before children.
    #[must_use]
    pub fn ours(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(&self.place(""), "", &mut names);
        names
    }
}

/// Below any group, `baro-X` is a nested one of ours.
fn collect(dir: &Path, above: &str, names: &mut Vec<String>) {
    for entry in files::list(dir).unwrap_or_default() {
        let Some(name) = entry.strip_prefix(PREFIX) else { continue };
        if check_name(name).is_err() {
            continue;
        }
        let name = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        names.push(name.clone());
        // No deeper than a path may be.
        if name.len() < 1024 {
            collect(&dir.join(&entry), &name, names);
        }
    }
}

/// What may be part of a group's name.
pub(crate) fn check_name(name: &str) -> Result<(), ShareError> {
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= 60 && name.chars().all(fit) && !name.starts_with('.') {
        return Ok(());
    }
    Err(ShareError::Refused(format!(
        "group {name:?}: expected a name of at most 60 letters, digits, `-`, `_` and `.`"
    )))
}

impl Group {
    /// Its folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        files::exists(&self.dir)
    }

    /// Makes it; one that is there is taken as it is.
    ///
    /// # Errors
    /// No rights, or a parent that is not there.
    pub fn make(&self) -> Result<(), ShareError> {
        let is_there = |error: &baro_sys::Error| error.kind() == std::io::ErrorKind::AlreadyExists;
        match files::make_folder(&self.dir) {
            Err(error) if !is_there(&error) => Err(ShareError::Refused(format!(
                "cannot make the control group {}: {}{}",
                self.dir.display(),
                error.source,
                match error.kind() {
                    std::io::ErrorKind::PermissionDenied => "; it needs root: run it with sudo",
                    _ => "",
                }
            ))),
            _ => Ok(()),
        }
    }

    /// Lets its children have weights (version 2).
    ///
    /// # Errors
    /// Processes are in the group itself: version 2 allows them in its leaves only.
    pub fn hand_on(&self) -> Result<(), ShareError> {
        match self.version {
            Version::One => Ok(()),
            Version::Two => {
                Ok(files::write_setting(&self.dir.join("cgroup.subtree_control"), "+io")?)
            }
        }
    }

    /// The file of its weight.
    #[must_use]
    pub fn weight_file(&self) -> PathBuf {
        self.dir.join(match self.version {
            Version::One => "blkio.bfq.weight",
            Version::Two => "io.bfq.weight",
        })
    }

    /// Its weight as a setting that can be put back, for a group that somebody else made.
    #[must_use]
    pub fn weight_setting(&self, weight: Weight) -> Setting {
        let file = self.weight_file();
        let file = file.to_string_lossy();
        match self.version {
            Version::One => Setting::new(file, weight.to_string()),
            // `default 100`, and a line for each disk with a weight of its own. The first is always
            // there, so that the kernel is never asked to take it away.
            Version::Two => Setting::line(file, "default", weight.to_string(), "100 (as it was)"),
        }
    }

    /// Its weight as BFQ has it.
    ///
    /// # Errors
    /// There is no such file: BFQ is not in use on any disk, or not in this kernel.
    pub fn weight(&self) -> Result<Weight, ShareError> {
        let file = self.weight_file();
        let text = files::read_text(&file, TEXT_BYTES_MAX).map_err(|error| {
            if files::is_gone(&error) {
                return ShareError::Refused(format!(
                    "{}: not there: this kernel has no BFQ with group scheduling \
                     (CONFIG_BFQ_GROUP_IOSCHED), or its module is not loaded: `modprobe bfq`",
                    file.display()
                ));
            }
            ShareError::System(error)
        })?;
        let word = text.lines().next().unwrap_or("").split(' ').next_back().unwrap_or("");
        word.parse().map_err(|error| ShareError::Refused(format!("{}: {error}", file.display())))
    }

    /// Sets its weight and reads it back.
    ///
    /// # Errors
    /// The kernel refuses, or holds another weight afterwards.
    pub fn set_weight(&self, weight: Weight) -> Result<(), ShareError> {
        if self.weight()? == weight {
            return Ok(());
        }
        files::write_setting(&self.weight_file(), &weight.to_string())?;
        let found = self.weight()?;
        if found == weight {
            return Ok(());
        }
        Err(ShareError::Refused(format!(
            "{}: wrote {weight}, found {found} afterwards",
            self.weight_file().display()
        )))
    }

    /// Moves process `pid`, with all its threads, into it. Its children to come are in it too.
    ///
    /// # Errors
    /// The process has ended, or no rights.
    pub fn add(&self, pid: u32) -> Result<(), ShareError> {
        Ok(files::write_setting(&self.dir.join("cgroup.procs"), &pid.to_string())?)
    }

    /// Its processes, those of nested groups not among them; none where it is gone.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let text = files::read_text(&self.dir.join("cgroup.procs"), TEXT_BYTES_MAX);
        text.unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// What it and the groups in it have got of each disk, by `major:minor`.
    #[must_use]
    pub fn served(&self) -> BTreeMap<String, Served> {
        let files: &[&str] = match self.version {
            Version::One => &["blkio.bfq.io_service_bytes_recursive", "blkio.bfq.io_service_bytes"],
            Version::Two => &["io.stat"],
        };
        let read = |file: &&str| files::read_text(&self.dir.join(file), TEXT_BYTES_MAX).ok();
        let text = files.iter().find_map(read).unwrap_or_default();
        served(&text)
    }

    /// Removes it after moving what still runs in it to `to`. Groups in it must be gone.
    ///
    /// # Errors
    /// Processes that are born faster than they are moved, or a nested group.
    pub fn remove(&self, to: &Group) -> Result<(), ShareError> {
        let mut last = None;
        for _ in 0..MOVES_MAX {
            for pid in self.processes() {
                // One that has just ended is gone anyway.
                let _ = to.add(pid);
            }
            match files::remove_empty_folder(&self.dir) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) => last = Some(error),
            }
            // The dead are in it until they are waited for.
            baro_sys::clock::sleep_ns(20_000_000);
        }
        let reason = last.map(|error| error.source.to_string()).unwrap_or_default();
        Err(ShareError::Refused(format!(
            "cannot remove the control group {}: {reason}; `rmdir` it when its processes have ended",
            self.dir.display()
        )))
    }
}

/// Lines `7:0 Read 4096` of version 1, `7:0 rbytes=4096 wbytes=0 ...` of version 2.
fn served(text: &str) -> BTreeMap<String, Served> {
    let mut found: BTreeMap<String, Served> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(device) = words.next().filter(|word| word.contains(':')) else { continue };
        let rest: Vec<&str> = words.collect();
        let entry = found.entry(device.to_owned()).or_default();
        if let [kind, bytes] = rest[..]
            && let Ok(bytes) = bytes.parse()
        {
            match kind {
                "Read" => entry.read_bytes = bytes,
                "Write" => entry.written_bytes = bytes,
                _ => {}
            }
        }
        for (key, value) in rest.iter().filter_map(|word| word.split_once('=')) {
            match (key, value.parse()) {
                ("rbytes", Ok(bytes)) => entry.read_bytes = bytes,
                ("wbytes", Ok(bytes)) => entry.written_bytes = bytes,
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a folder that stands for the kernel's")]
mod tests {
    use super::*;

    #[test]
    fn version_2_has_weights_once_the_controller_is_handed_on() {
        let root = std::env::temp_dir().join(format!("baro-share-top-{}", std::process::id()));
        let mount = PathBuf::from("/sys/fs/cgroup");
        std::fs::create_dir_all(root.join("sys/fs/cgroup")).unwrap();
        let two = Hierarchy { root: root.clone(), mount, version: Version::Two };
        for (text, expected) in [("", false), ("cpu memory\n", false), ("cpu io\n", true)] {
            std::fs::write(root.join("sys/fs/cgroup/cgroup.subtree_control"), text).unwrap();
            assert_eq!(two.hands_on(), expected, "{text:?}");
        }
        std::fs::remove_dir_all(&root).unwrap();
        assert!(!two.hands_on());
        assert!(Hierarchy { version: Version::One, ..two }.hands_on());
    }

    #[test]
    fn a_mount_whose_name_is_no_text_hides_no_hierarchy() {
        let root = std::env::temp_dir().join(format!("baro-share-mounts-{}", std::process::id()));
        std::fs::create_dir_all(root.join("proc/self")).unwrap();
        let mut mounts =
            b"50 1 0:50 / /mnt/u/\xff\xfe rw - fuse.any any rw,user_id=1000\n".to_vec();
        mounts.extend(vec![b'x'; 2 << 20]);
        mounts.extend(b"\n30 1 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n");
        std::fs::write(root.join("proc/self/mountinfo"), mounts).unwrap();
        let found = Hierarchy::find(&root).map(|found| (found.version(), found.mount().to_owned()));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.unwrap(), (Version::One, PathBuf::from("/sys/fs/cgroup/blkio")));
    }

    #[test]
    fn both_versions_tell_what_was_served() {
        let one = "7:0 Read 4096\n7:0 Write 8\n7:0 Sync 4104\n7:0 Total 4104\nTotal 4104\n";
        let two = "7:0 rbytes=4096 wbytes=8 rios=1 wios=1 dbytes=0 dios=0\n8:0 \n";
        let expected = Served { read_bytes: 4096, written_bytes: 8 };
        assert_eq!(served(one), BTreeMap::from([("7:0".to_owned(), expected)]));
        assert_eq!(served(two).get("7:0"), Some(&expected));
        assert_eq!(
            served("x\n7:0 Read 1e9\n7:1 rbytes=-1").values().map(|s| s.bytes()).sum::<u64>(),
            0
        );
    }

    #[test]
    fn the_weight_of_an_adopted_group_is_a_setting_of_its_version() {
        let two = Group { dir: "/sys/fs/cgroup/a".into(), version: Version::Two };
        let one = Group { dir: "/sys/fs/cgroup/blkio/a".into(), version: Version::One };
        let weight = Weight::new(200).unwrap();
        // Version 2 shows the default and lines for disks; a setting of the whole file would never agree.
        let path = "/sys/fs/cgroup/a/io.bfq.weight";
        let line = Setting::line(path, "default", "200", "100 (as it was)");
        assert_eq!(two.weight_setting(weight), line);
        let whole = Setting::new("/sys/fs/cgroup/blkio/a/blkio.bfq.weight", "200");
        assert_eq!(one.weight_setting(weight), whole);
    }

    #[test]
    fn names_stay_inside_the_hierarchy() {
        let found = Hierarchy {
            root: "/".into(),
            mount: "/sys/fs/cgroup/blkio".into(),
            version: Version::One,
        };
        for name in ["", "..", "a/../b", "a b", "a\n", "/a", "a/", ".hidden", &"x".repeat(61)] {
            assert!(found.group(name).is_err(), "{name:?}");
        }
        let nested = found.group("plant/player").unwrap();
        assert_eq!(nested.dir(), Path::new("/sys/fs/cgroup/blkio/baro-plant/baro-player"));
        assert!(found.adopted("../etc").is_err());
    }
}
