//! `README.md` of a folder of results: computed from `runs.jsonl` alone, so that it can be made
//! anew anywhere and holds no number that was not measured.
//!
//! Invariant: every row of the table is there, measured or with the reason why not. Held by the
//! test below.

use super::judge::Verdict;
use super::rows::{ROWS, Row, What};
use super::runs::{MACHINE, Runs};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Writes `README.md` and returns its table of results.
pub(super) fn write(folder: &Path) -> Result<String, String> {
    let runs = Runs::open(folder)?;
    let table = table(&runs);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut drawing = "";
    if let Some(svg) = super::wear::svg(&runs) {
        let path = folder.join("wear.svg");
        fs::write(&path, svg).map_err(|e| format!("{}: {e}", path.display()))?;
        drawing = "\n![Bytes to the device for each byte pushed, by durable_within](wear.svg)\n";
    }
    let (machine, commands) = (machine(&runs), commands(&runs));
    let text = format!("# Results {name}\n\n{machine}{table}{drawing}{commands}");
    let path = folder.join("README.md");
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(table)
}

fn machine(runs: &Runs) -> String {
    let lines = runs.of(MACHINE);
    let fact = |name: &str| match lines.first().map(|line| &line[name]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "unknown".to_owned(),
    };
    let memory = fact("memory_bytes").parse().map_or(0.0, |bytes: f64| bytes / 1e9);
    let commits: BTreeSet<&str> = ROWS
        .iter()
        .flat_map(|row| runs.of(row.name))
        .filter_map(|line| line["commit"].as_str())
        .collect();
    let commits: Vec<_> = commits.into_iter().collect();
    format!(
        "Written by `cargo xtask results` from `runs.jsonl`, one line a run.\n\n\
         - Machine: CPU {} x {}, {memory:.1} GB memory{}\n\
         - Kernel: {}\n\
         - Disk below: {} ({}) on {}\n\
         - File systems measured on: ext4 on a loop device with direct I/O on a file there; \
           \"throttled\" rows and rates are modelled between the two by `media` (a FUSE file that \
           answers late: rate, 50 us an operation, 2 ms a flush)\n\
         - Versions: baro {}; {}; {}\n\n",
        fact("cpus"),
        fact("cpu"),
        or_nothing(&fact("vendor")),
        fact("kernel"),
        fact("file_system"),
        fact("mount_options"),
        fact("device"),
        if commits.is_empty() { fact("commit") } else { commits.join(", ") },
        fact("fio"),
        fact("mkfs"),
    )
}

fn or_nothing(vendor: &str) -> String {
    if vendor == "unknown" { String::new() } else { format!(", {vendor}") }
}

fn table(runs: &Runs) -> String {
    let mut table = "| row | goal | measured: median (smallest to largest) | runs | met |\n\
                     |---|---|---|---|---|\n"
        .to_owned();
    for row in ROWS {
        let lines = runs.of(row.name);
        let (count, Verdict { measured, met }) = verdict(row, &lines);
        let met = match met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        };
        let (goal, measured) = (cell(row.goal), cell(&measured));
        let _ = writeln!(table, "| {} | {goal} | {measured} | {count} | {met} |", row.name);
    }
    let forced = forced_elsewhere(runs);
    if !forced.is_empty() {
        let _ = writeln!(
            table,
            "\nCommits that the recorder's syncs forced in the other rows, most of any run (by who \
             woke the journal's thread, and whom it woke): {forced}."
        );
    }
    table
}

/// What a row amounts to, for the one who waits for it.
pub(super) fn measured(row: &Row, lines: &[&Value]) -> String {
    verdict(row, lines).1.measured
}

fn verdict(row: &Row, lines: &[&Value]) -> (usize, Verdict) {
    if let What::Document(path) = row.what {
        let measured = format!("[{path}](../../{path})");
        return (0, Verdict { measured, met: None });
    }
    let results: Vec<&Value> =
        lines.iter().map(|line| &line["result"]).filter(|result| !result.is_null()).collect();
    let mut said = match results.as_slice() {
        [] => Verdict { measured: "not measured".to_owned(), met: None },
        results => (row.judge)(results),
    };
    if let Some(why) = lines.iter().find_map(|line| line["not_run"].as_str()) {
        let _ = write!(said.measured, "; not run to the end: {why}");
        said.met = said.met.filter(|met| !met);
    }
    if lines.iter().any(|line| line["quick"] == true) {
        said.measured += "; QUICK: too short to count";
        said.met = None;
    }
    (results.len(), said)
}

fn forced_elsewhere(runs: &Runs) -> String {
    let most = |row: &Row| -> Option<String> {
        let lines = runs.of(row.name);
        let count = |line: &&Value| {
            let result = &line["result"];
            result["forced_commits"].as_u64().or_else(|| result["push"]["forced_commits"].as_u64())
        };
        let most = lines.iter().filter_map(count).max()?;
        Some(format!("{} {most}", row.name))
    };
    let all = ROWS.iter().filter(|row| row.name != "commits").filter_map(most);
    all.collect::<Vec<_>>().join(", ")
}

fn commands(runs: &Runs) -> String {
    let mut text = "\n## Repeat it\n\nAll of it needs root, 10 GB of disk and about 80 minutes; one row \
                    needs its name. `cargo build --release -p baro-cli -p baro-lab -p media` makes the \
                    programs below.\n\n```\ncargo xtask results\ncargo xtask results ROW...\n```\n\n\
                    What the rows run:\n\n```\n"
        .to_owned();
    for row in ROWS {
        let mut commands: Vec<&str> =
            runs.of(row.name).iter().filter_map(|line| line["command"].as_str()).collect();
        commands.dedup();
        for command in commands {
            let _ = writeln!(text, "# {}\n{command}", row.name);
        }
    }
    text + "```\n"
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_row_is_there_measured_or_not() {
        let folder = std::env::temp_dir().join(format!("xtask-summary-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut runs = Runs::open(&folder).unwrap();
        let result = json!({"cpu_share": 0.004, "forced_commits": 2});
        for line in [
            json!({"row": "machine", "batch": 1, "cpu": "X1", "kernel": "6.1"}),
            json!({"row": "idle-cpu", "batch": 1, "run": 1, "command": "baro", "result": result}),
            json!({"row": "verify", "batch": 1, "not_run": "no | root"}),
        ] {
            runs.append(line).unwrap();
        }
        let table = write(&folder).unwrap();
        let text = fs::read_to_string(folder.join("README.md")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        for row in ROWS {
            assert!(table.contains(&format!("| {} |", row.name)), "{} is missing", row.name);
        }
        assert!(table.contains("| 0.40 % | 1 | yes |"), "{table}");
        assert!(table.contains("not run to the end: no \\| root | 0 | - |"), "{table}");
        assert!(table.contains("most of any run") && table.contains("idle-cpu 2."), "{table}");
        assert!(text.contains("CPU unknown x X1") && text.contains("# idle-cpu\nbaro\n"), "{text}");
    }
}
