//! Advice about a control group's limit of memory.
//!
//! Invariant: it names the limits that hold the task which waited, and is given only where that was seen. Held by
//! `advice_about_memory_names_the_group_that_was_seen`.

use super::{Advice, Write, advice, number};
use crate::explain::{Cause, Evidence, Knowledge, Node, SlowCall};

/// The limits of version 2, whose files a trace has. In version 1 a group has no limit of dirty data.
const FILES: [&str; 2] = ["memory.high", "memory.max"];
/// So much more memory is advised.
const TIMES: u64 = 2;

/// A larger limit of memory for the group of a task that was held to its dirty data, or looked for memory.
pub(super) fn larger(known: &Knowledge, call: &SlowCall, cause: Cause) -> Option<Advice> {
    let seen =
        |link: &&crate::explain::Link| link.cause == cause && link.known_by != Evidence::Absence;
    let link = call.chain.iter().find(seen)?;
    if cause == Cause::Reclaim && !is_for_a_group(known, &call.tree) {
        return None;
    }
    let mut limits: Vec<(u64, String)> = Vec::new();
    for group in known.group_limits.members.groups_of(link.pid) {
        for file in FILES {
            let path = format!("{group}/{file}");
            limits.extend(number(known, &path).map(|bytes| (bytes, path)));
        }
    }
    // The least holds, and next those that would hold then.
    limits.sort();
    let bytes = limits.first()?.0.checked_mul(TIMES).filter(|bytes| *bytes > 0)?;
    let held = limits.into_iter().filter(|(now, _)| *now < bytes);
    // From the top, so that no group has less than one in it.
    let mut writes: Vec<Write> =
        held.map(|(_, path)| Write::new(path, bytes.to_string())).collect();
    writes.sort_by_key(|one| one.path.matches('/').count());
    let effect = match cause {
        Cause::Reclaim => "the group's tasks look for free memory later, and less often",
        _ => "the group may hold more memory, and with it more dirty data",
    };
    let commands: Vec<String> = writes.iter().map(Write::command).collect();
    Some(Advice {
        writes,
        ..advice(commands.join("; "), effect, "that memory is missing elsewhere")
    })
}

/// Whether memory was looked for since a group had too much, and not since the machine had too little.
fn is_for_a_group(known: &Knowledge, tree: &[Node]) -> bool {
    let mut nodes = tree;
    while let Some(node) = nodes.first() {
        if node.cause == Cause::Reclaim {
            let functions = node.stack.map_or_else(Vec::new, |stack| known.functions(stack));
            return functions.iter().any(|name| name.contains("mem_cgroup"));
        }
        nodes = &node.children;
    }
    false
}
