//! The forms of the report on waits.

use super::{KindWaits, WaitRow, Waits};
use crate::analyze::{Report, show};
use crate::timeline::WaitKind;
use serde_json::{Value, json};

/// In words, and as a key.
fn kind(kind: WaitKind) -> (&'static str, &'static str) {
    match kind {
        WaitKind::Sleep => ("asleep, no signal could wake them (D)", "sleep"),
        WaitKind::Runnable => ("ready, but another ran", "runnable"),
        WaitKind::Interruptible => ("asleep, signals could wake them (S)", "interruptible"),
        WaitKind::Stopped => ("stopped", "stopped"),
    }
}

impl Report for Waits {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.kinds.iter().all(|kind| kind.count == 0) {
            text.push_str("no waits: they were not recorded, or were shorter than asked for\n");
        }
        for one in self.kinds.iter().filter(|one| one.count > 0) {
            text.push_str(&format!(
                "\n{}: {} waits, {} in all\n",
                kind(one.kind).0,
                show::count(one.count),
                show::duration(one.sum_ns)
            ));
            text.push_str(&kind_text(one));
        }
        text
    }

    fn json(&self) -> Value {
        let one = |one: &KindWaits| {
            json!({
                "kind": kind(one.kind).1,
                "waits": one.count,
                "sum_ns": one.sum_ns,
                "places": one.all_rows,
                "longest": one.rows.iter().map(row_json).collect::<Vec<_>>(),
            })
        };
        json!({ "trace": self.head_json, "kinds": self.kinds.iter().map(one).collect::<Vec<_>>() })
    }
}

fn kind_text(one: &KindWaits) -> String {
    let mut table =
        show::Table::new(&["waits", "in all", "longest", "at", "pid", "task", "woken by", "place"]);
    for row in &one.rows {
        let more = if row.open > 0 { "+" } else { "" };
        let wakers = row.wakers.iter().map(|waker| match waker.pid {
            Some(0) | None => waker.name.clone(),
            Some(pid) => format!("{} ({pid})", waker.name),
        });
        let wakers: Vec<String> = wakers.collect();
        let mut place = row.place.clone().unwrap_or_else(|| "-".to_owned());
        row.callers.iter().for_each(|caller| place.push_str(&format!(" < {caller}")));
        table.row(vec![
            show::count(row.count),
            format!("{}{more}", show::duration(row.sum_ns)),
            show::duration(row.max_ns),
            show::at(row.max_at_ns),
            row.pid.to_string(),
            row.task.clone(),
            if wakers.is_empty() { "-".to_owned() } else { wakers.join(", ") },
            place,
        ]);
    }
    let mut text = table.text();
    text.push_str(&show::not_shown(one.rows.len(), one.all_rows, "places of a task"));
    text
}

fn row_json(row: &WaitRow) -> Value {
    let wakers = row
        .wakers
        .iter()
        .map(|waker| json!({ "name": waker.name, "pid": waker.pid, "waits": waker.count }));
    json!({
        "pid": row.pid,
        "task": row.task,
        "place": row.place,
        "callers": row.callers,
        "waits": row.count,
        "sum_ns": row.sum_ns,
        "max_ns": row.max_ns,
        "max_at_ns": row.max_at_ns,
        "open_waits": row.open,
        "wakers": wakers.collect::<Vec<_>>(),
    })
}
