//! The forms of the report on system calls.

use super::Calls;
use crate::analyze::{Report, show};
use crate::calls::Moves;
use crate::timeline::CallCount;
use serde_json::{Value, json};

impl Report for Calls {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.names.is_empty() {
            text.push_str("no system calls: they were not recorded, or there were none\n");
        } else if !self.exact {
            text.push_str(
                "calls were put together from the waits in them: short ones are missing\n",
            );
        } else if !self.counted {
            text.push_str("only slow calls were recorded: short ones are missing\n");
        }
        let mut table =
            show::Table::new(&["calls", "failed", "in all", "longest", "bytes", "tasks", "call"]);
        for row in &self.names {
            let mut cells = self.figures(&row.count, row.moves);
            cells.extend([show::count(row.tasks), row.name.clone()]);
            table.row(cells);
        }
        text.push_str(&table.text());
        text.push_str(&show::not_shown(self.names.len(), self.different, "calls"));
        let mut table = show::Table::new(&[
            "calls", "failed", "in all", "longest", "bytes", "call", "pid", "task",
        ]);
        for row in &self.rows {
            let mut cells = self.figures(&row.count, row.moves);
            cells.extend([row.name.clone(), row.pid.to_string(), row.task.clone()]);
            table.row(cells);
        }
        if !self.rows.is_empty() {
            text.push_str("by task\n");
        }
        text.push_str(&table.text());
        text.push_str(&show::not_shown(self.rows.len(), self.pairs, "of a task"));
        let mut table = show::Table::new(&["so far", "call", "pid", "task"]);
        for (pid, task, name, so_far_ns) in &self.open {
            let so_far = format!("{}+", show::duration(*so_far_ns));
            table.row(vec![so_far, name.clone(), pid.to_string(), task.clone()]);
        }
        if !self.open.is_empty() {
            text.push_str("not ended\n");
        }
        text.push_str(&table.text());
        text
    }

    fn json(&self) -> Value {
        let names = self.names.iter().map(|row| {
            let mut one = self.figures_json(&row.count, row.moves);
            one["call"] = row.name.clone().into();
            one["is_storage"] = row.storage.into();
            one["tasks"] = row.tasks.into();
            one
        });
        let rows = self.rows.iter().map(|row| {
            let mut one = self.figures_json(&row.count, row.moves);
            one["call"] = row.name.clone().into();
            one["pid"] = row.pid.into();
            one["task"] = row.task.clone().into();
            one
        });
        let open = self.open.iter().map(|(pid, task, name, so_far_ns)| {
            json!({ "pid": pid, "task": task, "call": name, "so_far_ns": so_far_ns })
        });
        json!({
            "trace": self.head_json,
            "exact": self.exact,
            "counted": self.counted,
            "different_calls": self.different,
            "pairs": self.pairs,
            "calls": names.collect::<Vec<_>>(),
            "by_task": rows.collect::<Vec<_>>(),
            "not_ended": open.collect::<Vec<_>>(),
        })
    }
}

impl Calls {
    /// What a call returned is not known where it was put together from waits.
    fn figures(&self, count: &CallCount, moves: Option<Moves>) -> Vec<String> {
        vec![
            show::count(count.count),
            show::known_count(self.exact.then_some(count.failed)),
            show::duration(count.sum_ns),
            show::duration(count.max_ns),
            show::known_count(moves.filter(|_| self.exact).map(|_| count.sum_ret)),
        ]
    }

    fn figures_json(&self, count: &CallCount, moves: Option<Moves>) -> Value {
        let moves = moves.filter(|_| self.exact);
        json!({
            "calls": count.count,
            "failed_calls": self.exact.then_some(count.failed),
            "sum_ns": count.sum_ns,
            "max_ns": count.max_ns,
            "read_bytes": (moves == Some(Moves::Reads)).then_some(count.sum_ret),
            "written_bytes": (moves == Some(Moves::Writes)).then_some(count.sum_ret),
        })
    }
}
