//! `lab.md` out of `lab.jsonl`: tables of what was measured, with the command of each.

use crate::tool::at;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// Writes `lab.md` in the folder.
pub(crate) fn write(folder: &Path) -> Result<(), String> {
    let path = folder.join("lab.jsonl");
    let text = std::fs::read_to_string(&path).map_err(at(&path))?;
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let row: Value = serde_json::from_str(line)
            .map_err(|error| format!("{}: line {}: {error}", path.display(), number + 1))?;
        rows.push(row);
    }
    let path = folder.join("lab.md");
    std::fs::write(&path, page(&rows)).map_err(at(&path))
}

fn of<'a>(rows: &'a [Value], what: &'a str) -> impl Iterator<Item = &'a Value> {
    rows.iter().filter(move |row| row["what"] == what)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn page(rows: &[Value]) -> String {
    let mut page = String::from(
        "# The lab\n\nDebian's kernels under QEMU without KVM; raw lines in lab.jsonl. Times are those of an \
         emulated machine and say nothing of a real one. `cargo xtask lab all --out FOLDER` repeats all of \
         it; the command of one table stands above it. How it works: docs/lab.md.\n",
    );
    goals(&mut page, rows);
    start(&mut page, rows);
    cells(&mut page, rows);
    cuts(&mut page, rows);
    faults(&mut page, rows);
    media(&mut page, rows);
    page
}

fn table(page: &mut String, title: &str, command: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n## {title}\n\n```\ncargo xtask lab {command}\n```\n");
    let _ = writeln!(page, "| {} |", columns.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(columns.len()));
    for row in rows {
        let _ = writeln!(page, "| {} |", row.join(" | "));
    }
}

/// What was to be shown, and what was measured.
fn goals(page: &mut String, rows: &[Value]) {
    let sum = |ordinary: bool, fs: &str, field: &str| -> u64 {
        let chosen = of(rows, "cut").filter(|row| (row["way"] == "ordinary") == ordinary);
        chosen.filter(|row| fs.is_empty() || row["fs"] == fs).map(|row| number(&row[field])).sum()
    };
    let (points, bad) = (sum(true, "", "points"), sum(true, "", "bad"));
    let controls: Vec<&Value> = of(rows, "cut").filter(|row| row["way"] != "ordinary").collect();
    let failed = controls.iter().filter(|row| number(&row["bad"]) > 0).count();
    let has = |way: &str| controls.iter().any(|row| row["way"] == way);
    let slowest = of(rows, "start").filter_map(|row| row["median_s"].as_f64()).fold(0.0, f64::max);
    let counted = |what: &'static str| {
        let right = of(rows, what).filter(|row| row["wrong"].as_array().is_some_and(Vec::is_empty));
        (right.count(), of(rows, what).count())
    };
    let (cells, faults) = (counted("cell"), counted("fault"));
    let test = of(rows, "test").last();
    let in_time = |row: &Value| number(&row["points"]) >= 100 && number(&row["seconds"]) <= 180;
    page.push_str("\n| what | goal | measured | met |\n|---|---|---|---|\n");
    let mut line = |what: &str, goal: &str, measured: String, is_met: bool| {
        let met = if is_met { "yes" } else { "no" };
        let _ = writeln!(page, "| {what} | {goal} | {measured} | {met} |");
    };
    line(
        "crash points verified, ext4 and f2fs",
        ">= 2,000, none bad",
        format!(
            "{points} ({} ext4, {} f2fs), {bad} bad",
            sum(true, "ext4", "points"),
            sum(true, "f2fs", "points")
        ),
        points >= 2000 && bad == 0,
    );
    line(
        "crash points in `make test-full`",
        ">= 100 in 3 minutes",
        test.map_or("not measured".to_owned(), |row| {
            format!("{} in {} s, controls included", row["points"], row["seconds"])
        }),
        test.is_some_and(|row| row["right"] == true && in_time(row)),
    );
    line(
        "controls without barriers, without syncs",
        "all fail",
        format!(
            "{failed} of {} failed: {} of {} points bad",
            controls.len(),
            sum(false, "", "bad"),
            sum(false, "", "points")
        ),
        has("no-barrier") && has("no-sync") && failed == controls.len(),
    );
    line(
        "call to result, saved machine",
        "<= 2 s",
        format!("{slowest} s, the slowest kernel's median of 9"),
        slowest > 0.0 && slowest <= 2.0,
    );
    line(
        "kernels x file systems: record, query, verify",
        "all",
        format!("{} of {}", cells.0, cells.1),
        cells.0 == cells.1 && cells.0 >= 10,
    );
    line(
        "machines killed, disks that fail",
        "nothing promised is lost",
        format!("{} of {}", faults.0, faults.1),
        faults.0 == faults.1 && faults.0 > 0,
    );
}

fn start(page: &mut String, rows: &[Value]) {
    let rows = of(rows, "start")
        .map(|row| vec![text(&row["kernel"]), text(&row["median_s"]), text(&row["seconds"])]);
    let columns = ["kernel", "call to result, s (median)", "all"];
    table(page, "From call to result, saved machine", "start", &columns, rows.collect());
}

fn cells(page: &mut String, rows: &[Value]) {
    let rows = of(rows, "cell").map(|row| {
        let step = |name: &str| &row["steps"][name];
        let wrong = row["wrong"].as_array().map_or(0, Vec::len);
        let promises = step("init/promises").as_object().map(|promises| {
            let not = promises
                .iter()
                .filter(|(_, holds)| **holds != "yes")
                .map(|(name, _)| name.as_str());
            not.filter(|name| {
                ["durable", "no-forced-commits", "in-place", "past-page-cache"].contains(name)
            })
            .collect::<Vec<_>>()
            .join(", ")
        });
        vec![
            text(&row["version"]),
            text(&row["kernel"]),
            text(&row["fs"]),
            text(step("record/records")),
            text(step("record/refused_ring_full")),
            text(step("verify/samples")),
            text(step("killed/records_taken_over")),
            text(step("verify-again/torn_tails")),
            text(step("syncs/syncs")),
            text(step("syncs/forced_commits")),
            text(step("syncs/node_blocks")),
            promises.filter(|text| !text.is_empty()).unwrap_or_else(|| "all".to_owned()),
            if wrong == 0 { "ok".to_owned() } else { format!("{wrong} WRONG") },
        ]
    });
    let columns = [
        "version",
        "kernel",
        "file system",
        "records",
        "lost",
        "samples verified",
        "taken over after SIGKILL",
        "torn tails",
        "syncs",
        "commits they forced",
        "node blocks",
        "promises that do not hold",
        "verdict",
    ];
    table(
        page,
        "Kernels and file systems: record, query, verify",
        "cells",
        &columns,
        rows.collect(),
    );
}

fn cuts(page: &mut String, rows: &[Value]) {
    let rows = of(rows, "cut").map(|row| {
        let names = [
            "kernel",
            "fs",
            "scenario",
            "way",
            "points",
            "bad",
            "entries",
            "flushes",
            "statements",
        ];
        names.iter().map(|name| text(&row[*name])).collect()
    });
    let columns = [
        "kernel",
        "file system",
        "scenario",
        "way",
        "crash points",
        "bad",
        "log entries",
        "flushes",
        "statements",
    ];
    table(page, "Power cuts", "cut", &columns, rows.collect());
}

fn faults(page: &mut String, rows: &[Value]) {
    let rows = of(rows, "fault").map(|row| {
        let load = &row["load"];
        let wrong = row["wrong"].as_array().map_or(0, Vec::len);
        vec![
            text(&row["kernel"]),
            text(&row["fs"]),
            text(&row["case"]),
            text(&load["failures"]),
            text(&load["refused_full"]),
            text(&load["left"]),
            text(&load["longest_write_us"]),
            text(&row["judged"]),
            if wrong == 0 { "ok".to_owned() } else { format!("{wrong} WRONG") },
        ]
    });
    let columns = [
        "kernel",
        "file system",
        "case",
        "failures counted",
        "refused, ring full",
        "left in the ring",
        "longest write, us",
        "judged afterwards",
        "verdict",
    ];
    table(page, "Disks that fail, machines that are killed", "faults", &columns, rows.collect());
}

fn media(page: &mut String, rows: &[Value]) {
    let rows = of(rows, "medium").map(|row| {
        let measured = &row["measured"];
        vec![
            text(&row["disk"]),
            text(&row["stands_for"]),
            text(&row["driver"]),
            text(&measured["write_mb_per_s"]),
            text(&measured["read_mb_per_s"]),
            text(&measured["write_4k_iops"]),
            text(&measured["read_4k_iops"]),
        ]
    });
    let columns = [
        "disk",
        "stands for",
        "driver",
        "write, MB/s",
        "read, MB/s",
        "4 KiB writes/s",
        "4 KiB reads/s",
    ];
    table(page, "Models of disks", "media", &columns, rows.collect());
}
