//! `papers.md` and `papers.html`: what the files of a folder say, paper by paper.
//!
//! Pure but for reading the folder. Invariant: a cell that was not measured stands there as such, and
//! a goal with a cell missing is not met (`test an_empty_folder_meets_nothing`).

mod differences;
mod files;
mod page;
mod recording;
mod shares;
mod stall;

use super::plan::Job;
use crate::tool::at;
use page::Page;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Measurements by job: the lines of each file.
pub(super) type Found = BTreeMap<String, Vec<Value>>;

/// What was to be shown, and what came of it.
pub(super) struct Goal {
    pub(super) what: &'static str,
    pub(super) goal: &'static str,
    pub(super) measured: String,
    pub(super) is_met: bool,
}

/// Writes both files.
pub(super) fn write(folder: &Path, jobs: &[Job]) -> Result<(), String> {
    let mut found = Found::new();
    for job in jobs {
        let path = folder.join(job.file());
        if path.exists() {
            found.insert(job.name.clone(), lines(&path)?);
        }
    }
    for entry in std::fs::read_dir(folder).map_err(at(folder))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Shares may have been measured in several files at once.
        if name.starts_with("share") && name.ends_with(".jsonl") {
            found.entry("share".to_owned()).or_default().extend(lines(&entry.path())?);
        }
    }
    let page = page(&found, jobs.len());
    for (name, text) in [("papers.md", page.markdown()), ("papers.html", page.html())] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(at(&path))?;
        println!("{}", path.display());
    }
    Ok(())
}

fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let text = std::fs::read_to_string(path).map_err(at(path))?;
    let line = |(number, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}: line {}: {error}", path.display(), number + 1))
    };
    text.lines().enumerate().map(line).collect()
}

fn page(found: &Found, jobs: usize) -> Page {
    let sections = [
        recording::section(found),
        shares::section(found),
        files::section(found),
        stall::section(found),
        differences::section(found),
    ];
    let (mut goals, mut all) = (Vec::new(), Vec::new());
    for (section, goal) in sections {
        all.push(section);
        goals.extend(goal);
    }
    let measured = found.keys().filter(|name| *name != "share").count();
    Page {
        title: "Four papers on the kernels and media of today".to_owned(),
        says: vec![
            "Debian's kernels under QEMU without KVM: emulated processors are some twenty times slower \
             than real ones, so times are to be compared within this page only. `make lab-papers` repeats \
             all of it and goes on where it was stopped; what a guest is: docs/lab.md."
                .to_owned(),
            format!("{measured} of {jobs} guests have left a measurement. {}", machine(found)),
        ],
        goals,
        sections: all,
    }
}

/// Kernels and the host, as the measurements have them.
fn machine(found: &Found) -> String {
    let all: std::collections::BTreeSet<String> = found
        .iter()
        .filter(|(name, _)| name.starts_with("kernels/"))
        .filter_map(|(_, lines)| {
            let line = lines.first()?;
            let build = line["preempt"].as_str()?;
            let version = build.split("Debian ").nth(1)?.split(' ').next()?;
            Some(format!("{} ({version})", line["kernel"].as_str()?))
        })
        .collect();
    format!("Kernels: {}.", all.into_iter().collect::<Vec<_>>().join(", "))
}

/// A figure, or a dash.
fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// The least and the most, `1.9 to 2.1`.
fn span(values: &[f64], digits: usize) -> String {
    let of = |pick: fn(f64, f64) -> f64| figure(values.iter().copied().reduce(pick), digits);
    match (of(f64::min), of(f64::max)) {
        _ if values.is_empty() => "(not measured)".to_owned(),
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}

/// The data of a cell of a bench's measurement whose name begins so.
fn cell<'a>(lines: &'a [Value], prefix: &str) -> Option<&'a Value> {
    let line = lines.iter().find(|line| {
        line["cell"].as_str().is_some_and(|name| name.starts_with(prefix))
            && line["data"].get("unavailable").is_none()
    })?;
    Some(&line["data"])
}

/// A quantile of a latency as benches store it: (ns, calls) in ascending order; in us.
fn quantile_us(latency: &Value, share: f64) -> Option<f64> {
    let calls = latency["calls"].as_f64().filter(|calls| *calls > 0.0)?;
    let (wanted, mut seen) = ((share * calls).ceil().max(1.0), 0.0);
    for step in latency["steps"].as_array()? {
        seen += step[1].as_f64()?;
        if seen >= wanted {
            return Some(step[0].as_f64()? / 1e3);
        }
    }
    Some(latency["max_ns"].as_f64()? / 1e3)
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_folder_meets_nothing() {
        let page = page(&Found::new(), 90);
        assert!(page.goals.len() >= 5 && page.goals.iter().all(|goal| !goal.is_met));
        let (markdown, html) = (page.markdown(), page.html());
        assert!(markdown.contains("0 of 90 guests") && html.contains("<table>"));
        assert!(!html.contains("<script") && html.ends_with("</html>\n"));
    }

    #[test]
    fn a_quantile_is_that_of_the_calls() {
        let latency =
            json!({"calls": 4, "max_ns": 9000, "steps": [[1000, 2], [2000, 1], [9000, 1]]});
        assert_eq!(quantile_us(&latency, 0.5), Some(1.0));
        assert_eq!(quantile_us(&latency, 0.75), Some(2.0));
        assert_eq!(quantile_us(&latency, 0.9999), Some(9.0));
        assert_eq!(quantile_us(&json!({"calls": 0}), 0.5), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    }
}
