//! `lab all`: everything that the lab shows, one after the other, kept as it comes.

use crate::tool::{Result, Trouble, at};
use crate::{cutting, matrix, summary};
use std::path::Path;

/// One of the lab's own command lines.
const LINES: &[&str] = &[
    "start",
    "test",
    "media",
    "cells",
    "faults --seed 1",
    "faults --case kill --seed 2",
    "faults --case kill --seed 3",
    "faults --kernel 5.10 --case errors,hang",
    "faults --kernel 6.12 --case errors,hang",
    "reset --kernel 5.10,6.1,6.12",
    "cut --way no-barrier --scenario direct,settle --points 12",
    "cut --way no-sync --scenario direct,settle --points 12",
    "cut --points 124",
    "cut --kernel 5.10 --scenario direct,settle,pins --points 30",
    "cut --kernel 6.12 --scenario direct,settle,pins --points 30",
    "cut --kernel 6.12-rt --scenario direct-5ms,settle --points 30",
];

/// Runs them all; goes on after one that is wrong and says so at the end.
pub(crate) fn run(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    let path = folder.join("lab.jsonl");
    let path = path.to_string_lossy();
    let mut wrong = Vec::new();
    for line in LINES {
        println!("== lab {line}");
        let mut args: Vec<&str> = line.split(' ').skip(1).collect();
        args.extend(["--json", &path]);
        let done = match line.split(' ').next().unwrap_or("") {
            "start" => matrix::start(&args),
            "test" => cutting::short(&args),
            "media" => matrix::media(&args),
            "cells" => matrix::cells(&args),
            "faults" => matrix::faults(&args),
            "reset" => matrix::reset(&args),
            _ => cutting::command(&args),
        };
        match done {
            Ok(()) => {}
            Err(Trouble::Missing(why)) => println!("skipped: {why}"),
            Err(Trouble::Failed(why) | Trouble::Usage(why)) => {
                eprintln!("lab: {why}");
                wrong.push(format!("{line}: {why}"));
            }
        }
    }
    summary::write(folder)?;
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Failed(wrong.join("\n"))) }
}
