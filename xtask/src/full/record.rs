//! The record of a full step that passed: `.ci/full/STEP`, a few lines for people, of which the
//! first holds the hash that tells whether it still counts.

use crate::results::machine;
use crate::shell::{self, Cmd};
use std::fmt;
use std::path::PathBuf;

const FOLDER: &str = ".ci/full";

/// What is kept of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    hash: String,
    day: String,
    machine: String,
    seconds: u64,
    counts: String,
}

impl Record {
    /// Of a pass that ended now on this machine.
    pub(super) fn new(hash: &str, seconds: u64, counts: &str) -> Record {
        let day = Cmd::new("date -u +%F").output().unwrap_or_default().trim().to_owned();
        let (hash, counts) = (hash.to_owned(), counts.to_owned());
        Record { hash, day, machine: machine::sentence(), seconds, counts }
    }

    pub(super) fn passed(&self, hash: &str) -> bool {
        self.hash == hash
    }

    /// The record of a step; none if it has never passed.
    pub(super) fn read(step: &str) -> Result<Option<Record>, String> {
        let path = path(step);
        match std::fs::read_to_string(&path) {
            Ok(text) => Record::parse(&text)
                .map(Some)
                .ok_or_else(|| format!("{}: no record of a pass; remove it", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    pub(super) fn write(&self, step: &str) -> Result<(), String> {
        let path = path(step);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, self.text()))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        println!("   record: {FOLDER}/{step}; commit it");
        Ok(())
    }

    fn text(&self) -> String {
        let Record { hash, day, machine, seconds, counts } = self;
        format!("guards {hash}\nday {day}\nmachine {machine}\nseconds {seconds}\ncounts {counts}\n")
    }

    fn parse(text: &str) -> Option<Record> {
        let value = |key: &str| {
            let mut values =
                text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            values.next().map(str::to_owned)
        };
        Some(Record {
            hash: value("guards")?,
            day: value("day")?,
            machine: value("machine")?,
            seconds: value("seconds")?.parse().ok()?,
            counts: value("counts")?,
        })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} in {} s ({})", self.day, self.machine, self.seconds, self.counts)
    }
}

fn path(step: &str) -> PathBuf {
    shell::root().join(FOLDER).join(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_and_counts_for_its_hash_only() {
        let record = Record::new("abc", 12, "3 passed, 0 failed, 1 skipped");
        assert_eq!(Record::parse(&record.text()).as_ref(), Some(&record));
        assert!(record.passed("abc") && !record.passed("abd"));
        assert_eq!(Record::parse("guards abc\n"), None);
    }
}
