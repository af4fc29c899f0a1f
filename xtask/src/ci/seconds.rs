//! How long each step and each test program took: kept in the build folder with each run, and
//! compared with what `.ci/seconds.tsv` says, which is committed. A change adds seconds only with a
//! reason, so what grew is named.

use crate::shell::{root, target_dir};
use std::collections::BTreeMap;
use std::path::Path;

/// What was agreed on: `name<TAB>seconds`, of a quiet machine with two processors.
const AGREED: &str = ".ci/seconds.tsv";
/// What this run took, below the build folder; copied over the first to agree on it.
const STEPS: &str = "ci/seconds.tsv";
const PROGRAMS: &str = "ci/programs.tsv";

/// More than so much longer than agreed is named: machines differ by a third.
const GROWN: f64 = 1.35;
/// And more than so many seconds.
const GROWN_SECONDS: f64 = 10.0;

/// Seconds of the steps of one run.
#[derive(Debug, Default)]
pub(super) struct Seconds {
    steps: Vec<(String, f64)>,
}

impl Seconds {
    pub(super) fn step(&mut self, name: &str, seconds: f64) {
        self.steps.push((name.to_owned(), seconds));
    }

    /// Prints the table, keeps it, and names what grew.
    pub(super) fn tell(&self) -> Result<(), String> {
        let agreed = std::fs::read_to_string(root().join(AGREED)).unwrap_or_default();
        let agreed = parse(&agreed);
        println!("{:>9} {:>9}  step", "seconds", "agreed");
        for (name, seconds) in &self.steps {
            let before = agreed.get(name.as_str());
            let text = before.map_or("-".to_owned(), |before| format!("{before:.0}"));
            let mark = match before {
                Some(before) if grew(*before, *seconds) => "  grew: say why, or take it back",
                _ => "",
            };
            println!("{seconds:9.1} {text:>9}  {name}{mark}");
        }
        keep(STEPS, &self.steps)
    }
}

/// Keeps what each test program took, the longest first.
pub(super) fn keep_programs(seconds: &[(String, f64)]) -> Result<(), String> {
    let mut seconds = seconds.to_vec();
    seconds.sort_by(|a, b| b.1.total_cmp(&a.1));
    keep(PROGRAMS, &seconds)
}

fn grew(before: f64, now: f64) -> bool {
    now > before * GROWN && now > before + GROWN_SECONDS
}

fn parse(text: &str) -> BTreeMap<&str, f64> {
    let row = |line| -> Option<(&str, f64)> {
        let (name, seconds) = str::split_once(line, '\t')?;
        Some((name, seconds.trim().parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn keep(name: &str, rows: &[(String, f64)]) -> Result<(), String> {
    let path = target_dir().join(name);
    let text: String =
        rows.iter().map(|(name, seconds)| format!("{name}\t{seconds:.1}\n")).collect();
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_is_told_from_noise() {
        let agreed = parse("test\t300\nfmt\t1.5\nbad line\n");
        assert_eq!(agreed.len(), 2);
        assert!(grew(agreed["test"], 420.0));
        assert!(!grew(agreed["test"], 380.0), "a slower machine");
        assert!(!grew(agreed["fmt"], 4.0), "seconds that nobody waits for");
    }
}
