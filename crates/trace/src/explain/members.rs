//! Which control group a task is in, at a time.
//!
//! The kernel tells each move of a task. Where a task was before its first move, and where one is that was not
//! moved, say lists that the recorder made when it began and when it ended; where a task is that no list has, says
//! the one that made it. A process that is moved as a whole has one event, so that of its other threads nobody
//! saw whether they came with it.
//!
//! Invariant: a move counts from its time on, and only in its own hierarchy. Held by
//! `a_task_is_in_the_group_that_it_was_moved_to`.

use super::Knowledge;
use super::group_limits::Limit;
use crate::timeline::{Move, Timeline};
use std::collections::{BTreeMap, BTreeSet};

/// Facts with the tasks of groups that have a limit: when the recording began, and when it ended.
const AT_BEGIN: &str = "limited groups";
const AT_END: &str = "limited groups at the end";
/// The fact with the number and folder of each hierarchy whose groups have their paths from its root on.
const HIERARCHIES: &str = "group hierarchies";

/// Who was in which group when somebody looked.
#[derive(Debug, Default)]
struct List {
    /// Groups that had a limit then: of others it says nothing.
    groups: BTreeSet<String>,
    /// Those of them that a task was in; none of a task that was elsewhere.
    of: BTreeMap<i32, BTreeSet<String>>,
}

/// Who was seen in which group.
#[derive(Debug, Default)]
pub(super) struct Members {
    at_begin: Option<List>,
    /// Those in between: when a ring saw a slow call.
    between: Vec<List>,
    at_end: Option<List>,
    /// Numbers of hierarchies by folder.
    hierarchies: Vec<(String, i32)>,
    /// Moves by task and hierarchy, in their order; of a task that was made within the trace those since.
    moves: BTreeMap<(i32, i32), Vec<Move>>,
}

/// Whether a task is in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    No,
    /// Nobody saw where it was.
    Unknown,
    /// The task that made it is.
    ByParent,
    Yes,
}

impl Members {
    pub(super) fn of(facts: &BTreeMap<String, String>, line: &Timeline) -> Self {
        let list = |name: &str| facts.get(name).map(|text| list(text));
        let between = facts.iter().filter(|(name, _)| {
            let when = name.strip_prefix(AT_BEGIN);
            when.is_some_and(|when| !when.is_empty()) && *name != AT_END
        });
        let hierarchies = facts.get(HIERARCHIES).map_or("", String::as_str).lines();
        let hierarchies = hierarchies.filter_map(|line| {
            let (number, folder) = line.split_once(' ')?;
            Some((folder.to_owned(), number.parse().ok()?))
        });
        let mut moves: BTreeMap<(i32, i32), Vec<Move>> = BTreeMap::new();
        for (pid, task) in &line.tasks {
            let born_ns = task.born_ns.unwrap_or(0);
            for one in task.moves.iter().filter(|one| one.at_ns >= born_ns) {
                moves.entry((*pid, one.hierarchy)).or_default().push(one.clone());
            }
        }
        moves.values_mut().for_each(|moves| moves.sort_by_key(|one| one.at_ns));
        Self {
            moves,
            at_begin: list(AT_BEGIN),
            between: between.map(|(_, text)| self::list(text)).collect(),
            at_end: list(AT_END),
            hierarchies: hierarchies.collect(),
        }
    }

    fn lists(&self) -> impl Iterator<Item = &List> {
        self.at_begin.iter().chain(&self.between).chain(&self.at_end)
    }

    /// Whether a task was seen in one of these groups.
    pub(super) fn is_in_any(&self, pid: i32, groups: &BTreeSet<String>) -> bool {
        let is_in = |list: &List| list.of.get(&pid).is_some_and(|of| !of.is_disjoint(groups));
        self.lists().any(is_in)
    }

    /// Groups with a limit that a task was seen in.
    pub(super) fn groups_of(&self, pid: i32) -> BTreeSet<&str> {
        let of = self.lists().filter_map(|list| list.of.get(&pid));
        of.flatten().map(String::as_str).collect()
    }

    /// The hierarchy of a group, and its path there; None: its moves cannot be told.
    fn place<'a>(&self, group: &'a str) -> Option<(i32, &'a str)> {
        let below = |(folder, number): &(String, i32)| {
            let path = group.strip_prefix(folder.as_str())?;
            let path = if path.is_empty() { "/" } else { path };
            path.starts_with('/').then_some((folder.len(), *number, path))
        };
        let (_, number, path) = self.hierarchies.iter().filter_map(below).max()?;
        Some((number, path))
    }
}

/// `group FOLDER`, `of TASK TASK ..` for each group that has a limit, then `others TASK TASK ..`.
fn list(text: &str) -> List {
    let (mut list, mut group) = (List::default(), "");
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let tasks = rest.split(' ').filter_map(|task| task.parse::<i32>().ok());
        match word {
            "group" => {
                group = rest;
                list.groups.insert(group.to_owned());
            }
            "of" => tasks.for_each(|task| {
                list.of.entry(task).or_default().insert(group.to_owned());
            }),
            "others" => tasks.for_each(|task| {
                list.of.entry(task).or_default();
            }),
            _ => {}
        }
    }
    list
}

/// Whether a task was in a group by these lists; None: no list of that group's tasks has it.
fn seen<'a>(lists: impl Iterator<Item = &'a List>, group: &str, task: i32) -> Option<bool> {
    let lists = lists.filter(|list| list.groups.contains(group));
    lists.filter_map(|list| list.of.get(&task)).map(|of| of.contains(group)).max()
}

impl Knowledge {
    pub(super) fn is_kernels(&self, pid: i32) -> bool {
        self.line.tasks.get(&pid).is_some_and(super::calls::is_kernel_task)
    }

    /// Whether a task is in the group of a limit, or in one that the limit holds as well.
    pub(super) fn is_in_group(&self, limit: &Limit, pid: i32, at_ns: u64) -> Member {
        let members = &self.group_limits.members;
        let place = members.place(&limit.group);
        let moves = |task: i32| {
            let moves = place.and_then(|(number, _)| members.moves.get(&(task, number)));
            moves.map_or(&[][..], Vec::as_slice)
        };
        let (mut next, mut gone_to) = (Some((pid, at_ns)), BTreeSet::new());
        while let Some((task, at_ns)) = next.filter(|(task, _)| gone_to.insert(*task)) {
            let is_own = task == pid;
            let before = moves(task).partition_point(|one| one.at_ns <= at_ns);
            if let Some(last) = before.checked_sub(1).and_then(|last| moves(task).get(last)) {
                let path = place.map_or("", |(_, path)| path);
                let group = last.group.as_deref();
                return match group.map(|group| limit.holds(path, group)) {
                    Some(true) if is_own => Member::Yes,
                    Some(true) => Member::ByParent,
                    Some(false) if is_own => Member::No,
                    Some(false) | None => Member::Unknown,
                };
            }
            let known = self.line.tasks.get(&task);
            let (parent, born_ns) =
                known.map_or((None, None), |known| (known.parent, known.born_ns));
            let born_ns = born_ns.unwrap_or(0);
            // Threads may have been moved with their process.
            let of_parent = parent.map_or(&[][..], moves);
            let since = of_parent.partition_point(|one| one.at_ns < born_ns);
            let of_parent = of_parent.get(since..).unwrap_or(&[]);
            let (first_ns, last_ns) =
                (of_parent.first().map(|one| one.at_ns), of_parent.last().map(|one| one.at_ns));
            let group = limit.group.as_str();
            let (begin, end) = (members.at_begin.iter(), members.at_end.iter());
            let was_in = match (first_ns, last_ns) {
                _ if !moves(task).is_empty() => seen(begin, group, task),
                (Some(first_ns), _) if at_ns < first_ns => seen(begin, group, task),
                (_, Some(last_ns)) if at_ns >= last_ns => seen(end, group, task),
                (Some(_), _) => return Member::Unknown,
                (None, _) => seen(members.lists(), group, task),
            };
            match was_in {
                Some(true) if is_own => return Member::Yes,
                Some(true) => return Member::ByParent,
                Some(false) if is_own => return Member::No,
                // It may have been moved since.
                Some(false) => return Member::Unknown,
                None if first_ns.is_some_and(|first_ns| first_ns <= at_ns) => {
                    return Member::Unknown;
                }
                None if is_own && limit.is_of_root() && self.is_kernels(pid) => {
                    return Member::Yes;
                }
                None => {}
            }
            next = parent.map(|parent| (parent, born_ns));
        }
        Member::Unknown
    }
}
