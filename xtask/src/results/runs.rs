//! `runs.jsonl`: one line a run as it was measured, one for each row that could not be, one for
//! the machine. Written line by line, so that what was measured survives an interruption.
//!
//! Invariant: a row's lines of one measurement carry the same batch; of a row only the newest
//! batch counts, and older ones are dropped when the row is measured again. Held by the tests
//! below.

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The name under which the machine's facts are written.
pub(super) const MACHINE: &str = "machine";

/// The file, open for one row after another.
#[derive(Debug)]
pub(super) struct Runs {
    path: PathBuf,
    lines: Vec<Value>,
}

impl Runs {
    /// Reads what there is; a file that does not exist has no runs.
    pub(super) fn open(folder: &Path) -> Result<Runs, String> {
        let path = folder.join("runs.jsonl");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = serde_json::from_str(line);
            lines.push(line.map_err(|e| format!("{}:{}: {e}", path.display(), index + 1))?);
        }
        Ok(Runs { path, lines })
    }

    /// Adds a line at the end of the file.
    pub(super) fn append(&mut self, line: Value) -> Result<(), String> {
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.path);
        let text = format!("{line}\n");
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| format!("{}: {e}", self.path.display()))?;
        self.lines.push(line);
        Ok(())
    }

    /// Drops what a newer batch of the same row has replaced.
    pub(super) fn drop_replaced(&mut self) -> Result<(), String> {
        let newest: Vec<Value> =
            self.lines.iter().filter(|line| self.is_newest(line)).cloned().collect();
        if newest.len() == self.lines.len() {
            return Ok(());
        }
        let text: String = newest.iter().map(|line| format!("{line}\n")).collect();
        let beside = self.path.with_extension("jsonl.new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &self.path))
            .map_err(|e| format!("{}: {e}", self.path.display()))?;
        self.lines = newest;
        Ok(())
    }

    fn is_newest(&self, line: &Value) -> bool {
        let of_row = self.lines.iter().filter(|other| other["row"] == line["row"]);
        of_row.filter_map(|other| other["batch"].as_u64()).max() == line["batch"].as_u64()
    }

    /// The newest batch of a row.
    pub(super) fn of(&self, row: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["row"] == row && self.is_newest(line)).collect()
    }

    /// What they measured.
    pub(super) fn results(&self, row: &str) -> Vec<&Value> {
        let results = self.of(row).into_iter().map(|line| &line["result"]);
        results.filter(|result| !result.is_null()).collect()
    }
}

/// A line of `runs.jsonl` for a measured run.
pub(super) fn run_line(row: &str, batch: u64, run: u32, command: &str, result: Value) -> Value {
    json!({"row": row, "batch": batch, "run": run, "command": command, "result": result})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_batch_of_a_row_replaces_the_older() {
        let folder = std::env::temp_dir().join(format!("xtask-runs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut runs = Runs::open(&folder).unwrap();
        for (row, batch, run) in [("a", 1, 1), ("b", 1, 1), ("a", 2, 1), ("a", 2, 2)] {
            runs.append(run_line(row, batch, run, "x", json!({"batch": batch}))).unwrap();
        }
        let numbers = |runs: &Runs, row| -> Vec<u64> {
            runs.of(row).iter().filter_map(|line| line["result"]["batch"].as_u64()).collect()
        };
        assert_eq!((numbers(&runs, "a"), numbers(&runs, "b")), (vec![2, 2], vec![1]));
        runs.drop_replaced().unwrap();
        let again = Runs::open(&folder).unwrap();
        assert_eq!((numbers(&again, "a"), numbers(&again, "b")), (vec![2, 2], vec![1]));
        assert_eq!(again.lines.len(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }
}
