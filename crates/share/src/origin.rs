//! Where the processes of a group would be without it: noted before they are moved, so that they come back
//! there whoever gives the group back.
//!
//! A process is known by its number and the time of its start. Its children are in the group from their
//! first moment on; they go where the process went that made them. Invariant: what is put back goes to where
//! it, or who made it, came from; what nothing tells of goes where most came from, and stays in a group of others. Held by the tests below and by
//! `nested_groups_and_running_processes` of the command line.

use crate::cgroup::{Group, Hierarchy};
use crate::error::ShareError;
use baro_sys::files;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// Processes that are made while others are put back are looked for again.
const ROUNDS: u32 = 5;
/// Of a family no more generations are looked at.
const GENERATIONS_MAX: u32 = 64;
const STAT_BYTES_MAX: u64 = 4 << 10;

/// Processes, when they were started, and the paths of their groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins(Vec<(u32, u64, String)>);

impl Origins {
    /// Adds one that runs now; `from` is where it is, or would be.
    pub(crate) fn add(
        &mut self,
        hierarchy: &Hierarchy,
        pid: u32,
        from: &Group,
    ) -> Result<(), ShareError> {
        let started = started(pid).map(|(_, started)| started).ok_or_else(|| {
            ShareError::Refused(format!("process {pid}: expected one that runs, found none"))
        })?;
        self.0.push((pid, started, hierarchy.path_of(from)));
        Ok(())
    }

    pub(crate) fn text(&self) -> String {
        let line = |(pid, started, path): &(u32, u64, String)| format!("{pid} {started} {path}\n");
        self.0.iter().map(line).collect()
    }

    /// What cannot be read of it is nobody's.
    pub(crate) fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (pid, rest) = line.split_once(' ')?;
            let (started, path) = rest.split_once(' ')?;
            Some((pid.parse().ok()?, started.parse().ok()?, path.to_owned()))
        };
        Origins(text.lines().filter_map(line).collect())
    }

    /// Puts back what is in the group, as far as it is known. `whole`: nothing in the group was there
    /// before, so that what has lost those who made it goes to where most came from: at the top it would be
    /// out of all limits.
    pub(crate) fn put_back(&self, hierarchy: &Hierarchy, group: &Group, whole: bool) {
        if self.0.is_empty() {
            return;
        }
        for _ in 0..ROUNDS {
            let mut moved = false;
            for pid in group.processes() {
                let Some(path) = self.path_of(pid, whole, &started) else { continue };
                let to = match path {
                    "" => Ok(hierarchy.top()),
                    path => hierarchy.adopted(path),
                };
                // One that has ended needs no place, and a place may be gone.
                moved |= to.is_ok_and(|to| to.dir() != group.dir() && to.add(pid).is_ok());
            }
            if !moved {
                return;
            }
        }
    }

    /// The path for a process; `look` tells the parent and the start of one.
    fn path_of(
        &self,
        pid: u32,
        whole: bool,
        look: &dyn Fn(u32) -> Option<(u32, u64)>,
    ) -> Option<&str> {
        let mut now = pid;
        for _ in 0..GENERATIONS_MAX {
            let Some((parent, started)) = look(now) else { break };
            let is = |one: &&(u32, u64, String)| (one.0, one.1) == (now, started);
            if let Some((.., path)) = self.0.iter().find(is) {
                return Some(path);
            }
            now = parent;
        }
        self.most_came_from().filter(|_| whole)
    }

    /// The first noted of several.
    fn most_came_from(&self) -> Option<&str> {
        let mut counts: BTreeMap<&str, (usize, Reverse<usize>)> = BTreeMap::new();
        for (at, (.., path)) in self.0.iter().enumerate() {
            counts.entry(path).or_insert((0, Reverse(at))).0 += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(path, _)| path)
    }
}

/// Parent of a process, and when it was started, in ticks since the machine was.
fn started(pid: u32) -> Option<(u32, u64)> {
    let text = files::read_lossy(Path::new(&format!("/proc/{pid}/stat")), STAT_BYTES_MAX).ok()?;
    // A name may have anything in it, parentheses and what is no text too.
    let mut words = text.rsplit_once(')')?.1.split_whitespace();
    let parent = words.nth(1)?.parse().ok()?;
    Some((parent, words.nth(17)?.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a task of a strange name")]
mod tests {
    use super::*;

    #[test]
    fn children_go_where_their_parents_do() {
        let of = |text: &str| Origins::parse(text);
        let two = of("10 7 user.slice/a b\n11 8 system.slice/x.service\nnonsense\n12 x y\n");
        assert_eq!(two.text(), "10 7 user.slice/a b\n11 8 system.slice/x.service\n");
        let look = |pid: u32| match pid {
            10 => Some((1, 7)),
            // The number of 11 has another process now.
            11 => Some((1, 9)),
            20 => Some((10, 30)),
            21 => Some((20, 31)),
            1 => Some((0, 0)),
            _ => None,
        };
        for whole in [false, true] {
            for pid in [10, 20, 21] {
                assert_eq!(two.path_of(pid, whole, &look), Some("user.slice/a b"));
            }
            let known = two.path_of(11, whole, &look);
            assert_eq!(known, whole.then_some("user.slice/a b"));
        }
        let most = of("10 7 a\n11 8 b\n12 8 b\n");
        assert_eq!(most.path_of(99, true, &look), Some("b"));
        assert_eq!(most.path_of(99, false, &look), None);
        let one = of("10 7 a\n");
        assert_eq!(one.path_of(11, false, &look), None);
        assert_eq!(one.path_of(11, true, &look), Some("a"));
        assert_eq!(of("").path_of(10, true, &look), None);
    }

    #[test]
    fn this_process_runs() {
        let (parent, began) = started(std::process::id()).unwrap();
        assert!(parent > 0 && began > 0);
        assert_eq!(started(u32::MAX), None);
        // A name that is no text, as any program may give itself.
        let named = std::thread::spawn(|| {
            std::fs::write("/proc/thread-self/comm", b"\xff) (").unwrap();
            let own = std::fs::read_link("/proc/thread-self").unwrap();
            started(own.file_name().unwrap().to_str().unwrap().parse().unwrap())
        });
        assert_eq!(named.join().unwrap().map(|(above, _)| above), Some(parent));
    }
}
