//! How causes and what came of them look: a line for each, its evidence below if asked for, JSON.
//!
//! Invariant: keys carry units; a figure that was not measured is null, not 0. Held by
//! `tests/bench_causes.rs`.

use super::Row;
use super::one::call_as_json;
use baro_command::failure::Result;
use baro_command::size::show_ns;
use baro_command::{Format, print_json};
use baro_lab::causes::{CAUSES, Seen};
use serde_json::{Value, json};

/// Stacks shown of a task.
const STACKS: usize = 3;

pub(super) fn list(format: Format) -> Result<()> {
    match format {
        Format::Text => {
            for cause in CAUSES {
                let global = if cause.global { " (only with --global)" } else { "" };
                out!("{:20} {}{global}", cause.name, cause.what);
            }
            Ok(())
        }
        Format::Json => {
            let one = |cause: &baro_lab::causes::Cause| {
                json!({ "name": cause.name, "what": cause.what, "expect": cause.expect,
                        "global": cause.global })
            };
            print_json(&Value::Array(CAUSES.iter().map(one).collect()))
        }
    }
}

pub(super) fn row(row: &Row, evidence: bool, first: bool) {
    if first {
        out!(
            "{:20} {:>9} {:>9} {:>9}  {:20} {:>11}  result",
            "cause",
            "call",
            "waited",
            "in place",
            "explained as",
            "unexplained"
        );
    }
    let none = || "-".to_owned();
    let longest = row.longest.as_ref();
    let victim = row.seen.first();
    let explained = row.explained.as_ref();
    out!(
        "{:20} {:>9} {:>9} {:>9}  {:20} {:>11}  {}",
        row.cause.name,
        longest.map_or("-", |call| call.call),
        longest.map_or_else(none, |call| show_ns(call.wait_ns())),
        victim.map_or_else(none, |seen| percent(seen.in_place, seen.samples)),
        explained.map_or("-", |explained| explained.cause.as_str()),
        explained.map_or_else(none, |e| percent(e.unexplained_ns, e.wait_ns)),
        verdict(row),
    );
    if evidence {
        for seen in &row.seen {
            out!(
                "    {}: {} of {} samples in place{}",
                seen.task,
                seen.in_place,
                seen.samples,
                if seen.holds() { "" } else { ", too few" }
            );
            for (count, stack) in seen.stacks.iter().take(STACKS) {
                out!("    {count:6} {stack}");
            }
        }
    }
}

fn verdict(row: &Row) -> String {
    if let Some(failed) = &row.failed {
        return format!("FAILED: {failed}");
    }
    match (row.made(), row.met()) {
        (false, _) => "NOT MADE: the victim waited elsewhere, or not long enough".to_owned(),
        (true, false) => format!("WRONG: expected {}", row.cause.expect.join(" or ")),
        (true, true) => "as expected".to_owned(),
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

pub(super) fn as_json(rows: &[Row], collector: Option<&String>) -> Value {
    let seen = |seen: &Seen| {
        json!({
            "task": seen.task,
            "in_place": seen.in_place,
            "samples": seen.samples,
            "holds": seen.holds(),
            "stacks": seen.stacks.iter().take(STACKS).map(|(count, stack)| {
                json!({ "samples": count, "stack": stack })
            }).collect::<Vec<_>>(),
        })
    };
    let one = |row: &Row| {
        let explained = row.explained.as_ref();
        json!({
            "cause": row.cause.name,
            "expected": row.cause.expect,
            "found": explained.map(|e| &e.cause),
            "root": explained.map(|e| &e.root),
            "waited_ns": row.longest.map(|call| call.wait_ns()),
            "explained_wait_ns": explained.map(|e| e.wait_ns),
            "unexplained_ns": explained.map(|e| e.unexplained_ns),
            "chain": explained.map(|e| &e.chain),
            "holder": row.cause.holder,
            "holder_named": row.cause.holder.and_then(|task| explained.map(|e| e.names(task))),
            "made": row.made(),
            "met": row.met(),
            "failed": row.failed,
            "evidence": row.seen.iter().map(seen).collect::<Vec<_>>(),
            "victim_calls": row.slow.iter().map(call_as_json).collect::<Vec<_>>(),
        })
    };
    json!({
        "collector": collector,
        "met": rows.iter().filter(|row| row.met()).count(),
        "causes": rows.iter().map(one).collect::<Vec<_>>(),
    })
}
