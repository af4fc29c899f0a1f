//! The forms of the report on handles.

use super::{HandleRow, Handles, Holder, JournalHandles, kind_name};
use crate::analyze::{Cause, Piece, Report, plot, show};
use crate::timeline::HandleWaits;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Report for Handles {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.journals.is_empty() {
            text.push_str("no handles: the trace has no journal\n");
        }
        self.journals.iter().for_each(|journal| text.push_str(&journal_text(journal)));
        text
    }

    fn json(&self) -> Value {
        let journals: Vec<Value> = self.journals.iter().map(journal_json).collect();
        json!({ "trace": self.head_json, "journals": journals })
    }
}

fn kind(kind: u32) -> String {
    kind_name(kind).map_or_else(|| kind.to_string(), str::to_owned)
}

fn journal_text(journal: &JournalHandles) -> String {
    let waits = &journal.waits;
    let mut text = format!(
        "\njournal of {}: {} handles, {} of them with unknown wait; waited {} in all, at most {}\n",
        journal.device,
        show::count(waits.count),
        show::count(waits.unknown),
        show::duration(waits.sum_wait_ns),
        show::duration(waits.max_wait_ns)
    );
    if waits.count > waits.unknown {
        let below = |per_mille| show::known(quantile_ns(waits, per_mille));
        text.push_str(&format!(
            "  half below {}, 90 % below {}, 99 % below {}, 99.9 % below {}\n",
            below(500),
            below(900),
            below(990),
            below(999)
        ));
        text.push_str(&histogram(waits));
    }
    let mut table = show::Table::new(&["handles", "unknown", "waited", "longest", "kind"]);
    for row in &journal.kinds {
        table.row(vec![
            show::count(row.waits.count),
            show::count(row.waits.unknown),
            show::duration(row.waits.sum_wait_ns),
            show::duration(row.waits.max_wait_ns),
            kind(row.kind),
        ]);
    }
    text.push_str(&table.text());
    if !journal.longest.is_empty() {
        text.push_str("longest waits, and what the journal did meanwhile\n");
    }
    journal.longest.iter().for_each(|row| text.push_str(&wait_text(row)));
    let mut table =
        show::Table::new(&["open", "waited", "at", "transaction", "pid", "blocks", "kind", "task"]);
    for row in &journal.open {
        let more = if row.handle.end_ns.is_none() { "+" } else { "" };
        table.row(vec![
            format!("{}{more}", show::duration(row.open_ns)),
            show::known(row.handle.wait_ns()),
            show::at(row.at_ns),
            row.handle.tid.to_string(),
            row.pid.to_string(),
            show::count(u64::try_from(row.handle.dirtied_blocks).unwrap_or(0)),
            kind(row.handle.kind),
            row.task.clone(),
        ]);
    }
    if !journal.open.is_empty() {
        text.push_str("open longest\n");
    }
    text.push_str(&table.text());
    text
}

/// The most that a share of the handles waited: the upper bound of the bucket, or the maximum.
fn quantile_ns(waits: &HandleWaits, per_mille: u64) -> Option<u64> {
    let known = waits.count.checked_sub(waits.unknown).filter(|known| *known > 0)?;
    let rank = u128::from(known) * u128::from(per_mille);
    let mut seen = 0_u128;
    for (bucket, count) in waits.buckets.iter().enumerate() {
        seen += u128::from(*count) * 1_000;
        if seen >= rank {
            return Some((2_u64 << bucket).min(waits.max_wait_ns));
        }
    }
    Some(waits.max_wait_ns)
}

fn histogram(waits: &HandleWaits) -> String {
    let used = |count: &u64| *count > 0;
    let first = waits.buckets.iter().position(used).unwrap_or(0);
    let last = waits.buckets.iter().rposition(used).unwrap_or(0);
    let max = waits.buckets.iter().copied().max().unwrap_or(0);
    let mut table = show::Table::new(&["from", "handles", ""]);
    let shown = waits.buckets.iter().enumerate().take(last + 1).skip(first);
    for (bucket, count) in shown {
        let from_ns = if bucket == 0 { 0 } else { 1_u64 << bucket };
        table.row(vec![show::duration(from_ns), show::count(*count), plot::bar(*count, max)]);
    }
    table.text()
}

fn wait_text(row: &HandleRow) -> String {
    let handle = &row.handle;
    let mut text = format!(
        "  {} at {}: {} ({}) for {}, transaction {}\n",
        show::known(handle.wait_ns()),
        show::at(row.at_ns),
        row.task,
        row.pid,
        kind(handle.kind),
        handle.tid
    );
    // What is less than a thousandth would only hide the rest.
    let least_ns = handle.wait_ns().unwrap_or(0) / 1_000;
    for (cause, sum_ns) in sums(&row.pieces).into_iter().filter(|(_, ns)| *ns >= least_ns) {
        let what = match cause {
            Cause::Locked(tid) => format!("transaction {tid} was locked"),
            Cause::Full(tid) => format!("transaction {tid} had no room"),
            Cause::Space => "made room in the journal itself".to_owned(),
            Cause::SpaceByOther(pid) => format!("task {pid} made room in the journal"),
            Cause::Ready => "was ready, but another ran".to_owned(),
            Cause::Awake => "no sleep recorded".to_owned(),
            Cause::Unknown => "unexplained".to_owned(),
        };
        let share = show::share(sum_ns, handle.wait_ns().unwrap_or(0));
        text.push_str(&format!("    {share:>7} {:>8}  {what}\n", show::duration(sum_ns)));
    }
    for holder in &row.holders {
        text.push_str(&format!(
            "             {:>8}  of it {} ({}) held transaction {} open, for {}\n",
            show::duration(holder.overlap_ns),
            holder.task,
            holder.pid,
            holder.tid,
            kind(holder.kind)
        ));
    }
    text
}

/// Causes with the sum of their pieces, the longest first.
fn sums(pieces: &[Piece]) -> Vec<(Cause, u64)> {
    let mut sums: BTreeMap<Cause, u64> = BTreeMap::new();
    for piece in pieces {
        *sums.entry(piece.cause).or_default() += piece.duration_ns();
    }
    let mut sums: Vec<(Cause, u64)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum_ns)| std::cmp::Reverse(*sum_ns));
    sums
}

fn waits_json(waits: &HandleWaits) -> Value {
    let used = waits.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
    let bucket = |(bucket, count): (usize, &u64)| json!({ "from_ns": if bucket == 0 { 0 } else { 1_u64 << bucket }, "handles": count });
    json!({
        "handles": waits.count,
        "unknown_handles": waits.unknown,
        "sum_wait_ns": waits.sum_wait_ns,
        "max_wait_ns": waits.max_wait_ns,
        "p50_below_ns": quantile_ns(waits, 500),
        "p90_below_ns": quantile_ns(waits, 900),
        "p99_below_ns": quantile_ns(waits, 990),
        "p999_below_ns": quantile_ns(waits, 999),
        "buckets": used.map(bucket).collect::<Vec<_>>(),
    })
}

fn journal_json(journal: &JournalHandles) -> Value {
    let kinds: Vec<Value> = journal
        .kinds
        .iter()
        .map(|row| json!({ "kind": kind(row.kind), "waits": waits_json(&row.waits) }))
        .collect();
    json!({
        "device": journal.device,
        "waits": waits_json(&journal.waits),
        "kinds": kinds,
        "kept_handles": journal.kept,
        "longest_waits": journal.longest.iter().map(row_json).collect::<Vec<_>>(),
        "open_longest": journal.open.iter().map(row_json).collect::<Vec<_>>(),
    })
}

fn row_json(row: &HandleRow) -> Value {
    let handle = &row.handle;
    let holder = |one: &Holder| {
        json!({
            "pid": one.pid,
            "task": one.task,
            "kind": kind(one.kind),
            "transaction": one.tid,
            "open_ns": one.open_ns,
            "overlap_ns": one.overlap_ns,
        })
    };
    let piece = |(cause, sum_ns): (Cause, u64)| {
        let transaction = match cause {
            Cause::Locked(tid) | Cause::Full(tid) => Some(tid),
            _ => None,
        };
        let by_pid = match cause {
            Cause::SpaceByOther(pid) => Some(pid),
            _ => None,
        };
        json!({
            "cause": cause.name(),
            "sum_ns": sum_ns,
            "transaction": transaction,
            "by_pid": by_pid,
        })
    };
    json!({
        "pid": row.pid,
        "task": row.task,
        "kind": kind(handle.kind),
        "transaction": handle.tid,
        "at_ns": row.at_ns,
        "wait_ns": handle.wait_ns(),
        "open_ns": row.open_ns,
        "is_open_at_end": handle.end_ns.is_none(),
        "requested_blocks": handle.requested_blocks,
        "dirtied_blocks": handle.dirtied_blocks,
        "sync": handle.sync,
        "causes": sums(&row.pieces).into_iter().map(piece).collect::<Vec<_>>(),
        "holders": row.holders.iter().map(holder).collect::<Vec<_>>(),
    })
}
