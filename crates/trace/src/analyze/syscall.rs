//! System calls of each task: how often, how long, how many bytes.
//!
//! A call that had not ended when the trace did is in no count, but named.
//!
//! Invariant: the rows of a call's tasks sum up to the row of the call, were all of them shown. Held by
//! `calls_of_hand_made_tasks`.

mod report;

use super::{Options, Source};
use crate::calls;
use crate::timeline::CallCount;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// System calls of a trace.
#[derive(Clone, Debug)]
pub struct Calls {
    head: String,
    head_json: serde_json::Value,
    /// Whether the bounds of calls were recorded; else they were put together from waits.
    pub exact: bool,
    /// Whether all calls were counted; else those that slept, or were slow.
    pub counted: bool,
    /// By call, over all tasks, the most time first.
    pub names: Vec<NameRow>,
    /// By task and call, the most time first.
    pub rows: Vec<CallRow>,
    /// Pairs of task and call that there are.
    pub pairs: u64,
    /// Different calls that there are.
    pub different: u64,
    /// Calls that had not ended with the trace and were of [`crate::timeline::Limits`], the longest
    /// first: (pid, task, call, how long so far).
    pub open: Vec<(i32, String, String, u64)>,
}

/// Calls of one name.
#[derive(Clone, Debug)]
pub struct NameRow {
    /// The name; `call 74` if it is not known.
    pub name: String,
    /// Whether it moves bytes: then what it returned were bytes.
    pub moves: Option<calls::Moves>,
    /// Whether it concerns storage; None if the name is not known.
    pub storage: Option<bool>,
    /// How often and how long.
    pub count: CallCount,
    /// Tasks that made it.
    pub tasks: u64,
}

/// Calls of one task and name.
#[derive(Clone, Debug)]
pub struct CallRow {
    /// The task.
    pub pid: i32,
    /// Its name.
    pub task: String,
    /// The call's name.
    pub name: String,
    /// Whether it moves bytes.
    pub moves: Option<calls::Moves>,
    /// How often and how long.
    pub count: CallCount,
}

impl Calls {
    /// The calls of a timeline.
    #[must_use]
    pub fn of(source: &Source<'_>, options: &Options) -> Self {
        let line = source.line;
        let mut names: BTreeMap<i64, (CallCount, u64)> = BTreeMap::new();
        let mut most: BTreeMap<(u64, Reverse<(i32, i64)>), CallCount> = BTreeMap::new();
        let mut open: BTreeMap<(u64, Reverse<i32>), i64> = BTreeMap::new();
        let mut pairs = 0;
        for (pid, task) in source.tasks() {
            for (number, count) in &task.call_counts {
                pairs += 1;
                let (all, tasks) = names.entry(*number).or_default();
                add(all, count);
                *tasks += 1;
                most.insert((count.sum_ns, Reverse((pid, *number))), *count);
                if most.len() > options.top {
                    most.pop_first();
                }
            }
            // Calls are in the order of their beginnings, and only the last can be open. From these
            // two nobody comes back.
            let ends =
                |number| matches!(calls::name(source.arch, number), Some("exit" | "exit_group"));
            let last = task.calls.last().filter(|call| call.end_ns.is_none() && !ends(call.number));
            if let Some(call) = last {
                open.insert((line.end_ns.saturating_sub(call.begin_ns), Reverse(pid)), call.number);
                if open.len() > options.top {
                    open.pop_first();
                }
            }
        }
        let different = names.len() as u64;
        let mut names: Vec<NameRow> = names
            .into_iter()
            .map(|(number, (count, tasks))| NameRow {
                name: name(source, number),
                moves: calls::name(source.arch, number).and_then(calls::moves),
                storage: calls::name(source.arch, number).map(calls::is_storage),
                count,
                tasks,
            })
            .collect();
        names.sort_by_key(|row| Reverse(row.count.sum_ns));
        names.truncate(options.top);
        let row = |((_, Reverse((pid, number))), count)| CallRow {
            pid,
            task: source.task_name(pid),
            name: name(source, number),
            moves: calls::name(source.arch, number).and_then(calls::moves),
            count,
        };
        let open = open.into_iter().rev().map(|((so_far_ns, Reverse(pid)), number)| {
            (pid, source.task_name(pid), name(source, number), so_far_ns)
        });
        Self {
            head: super::show::head(line, "system calls"),
            head_json: super::show::head_json(line),
            exact: line.calls_are_exact,
            counted: line.calls_are_counted,
            names,
            rows: most.into_iter().rev().map(row).collect(),
            pairs,
            different,
            open: open.collect(),
        }
    }
}

fn name(source: &Source<'_>, number: i64) -> String {
    calls::name(source.arch, number).map_or_else(|| format!("call {number}"), str::to_owned)
}

fn add(all: &mut CallCount, one: &CallCount) {
    all.count = all.count.saturating_add(one.count);
    all.failed = all.failed.saturating_add(one.failed);
    all.sum_ns = all.sum_ns.saturating_add(one.sum_ns);
    all.max_ns = all.max_ns.max(one.max_ns);
    all.sum_ret = all.sum_ret.saturating_add(one.sum_ret);
}
