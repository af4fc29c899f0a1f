//! What differs between kernels, measured by one script in each.

use super::page::{Section, Table};
use super::{Found, Goal};
use crate::papers::plan::KERNELS;
use serde_json::Value;

/// What stands in a row, and how it is shown.
type Line = (&'static str, fn(&Value) -> Option<String>);

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

const LINES: [Line; 8] = [
    ("journal handles of 200 writes of 16 KiB into written blocks, 5 ms apart", |v| {
        text(&v["handles"])
    }),
    ("the same, mounted with lazytime", |v| text(&v["handles_lazytime"])),
    ("classes of requests of the log (jbd2)", |v| text(&v["log"])),
    ("classes of requests at umount, checkpoint among them", |v| text(&v["checkpoint"])),
    ("BFQ's tags that two groups' writes of 100 MB take, of all", |v| {
        Some(format!("{} of {}", text(&v["tags_busy_max"])?, text(&v["tags_all"])?))
    }),
    ("reads of preallocated blocks, by default", |v| text(&v["dioread"])),
    ("of 200 buffered writes by io_uring, done by a kernel thread", |v| text(&v["uring_punted"])),
    ("a limit of dirty data for one device (`max_ratio_fine`)", |v| {
        text(&v["dirty_limit_of_device"])
    }),
];

pub(super) fn section(found: &Found) -> (Section, Vec<Goal>) {
    let measured = KERNELS.map(|kernel| found.get(&format!("kernels/{kernel}"))?.first());
    let mut table = Table::new("On ext4, each by the same script", &["what"]);
    table.columns.extend(KERNELS.map(str::to_owned));
    let mut missing = 0;
    for (what, show) in LINES {
        let cells = measured.map(|value| value.and_then(show));
        missing += cells.iter().filter(|cell| cell.is_none()).count();
        let mut row = vec![what.to_owned()];
        row.extend(cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned())));
        table.rows.push(row);
    }
    let goal = Goal {
        what: "what differs between the kernels",
        goal: "each row measured, with its command",
        measured: format!("{missing} of {} cells missing", LINES.len() * KERNELS.len()),
        is_met: missing == 0,
    };
    let section = Section {
        title: "What differs between the kernels",
        says: vec![
            "The script is lab/src/papers/kernels.sh; what follows from each row: docs/lab-papers.md.".to_owned(),
        ],
        command: "cargo xtask lab papers --out FOLDER --only kernels/",
        tables: vec![table],
    };
    (section, vec![goal])
}
