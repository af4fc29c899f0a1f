//! What the verbs of the lab take: one set of options, of which each verb knows some.

use crate::cache::Cache;
use crate::cut::Way;
use crate::faults::{CASES, Case};
use crate::kernels::{self, Kernel, Series};
use crate::machine::disk::{self, Model};
use crate::options::size;
use crate::project::Profile;
use crate::share;
use crate::site::Site;
use crate::tool::{Result, Trouble, at};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const FILE_SYSTEMS: [&str; 2] = ["ext4", "f2fs"];

/// What was chosen. An empty list is left to the verb.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) kernels: Vec<&'static Series>,
    pub(crate) fs: Vec<&'static str>,
    pub(crate) disks: Vec<&'static Model>,
    pub(crate) cases: Vec<Case>,
    pub(crate) scenarios: Vec<&'static str>,
    pub(crate) way: Way,
    pub(crate) points: usize,
    pub(crate) record_for: Duration,
    /// How long a cell of shares is measured.
    pub(crate) measure_for: Duration,
    /// Bytes of an I/O of shares.
    pub(crate) blocks: Vec<u64>,
    pub(crate) repeats: u64,
    pub(crate) settings: Vec<&'static str>,
    pub(crate) seed: u64,
    pub(crate) json: Option<PathBuf>,
    pub(crate) profile: Profile,
}

impl Choice {
    /// Reads options, those of which the verb has `known`.
    ///
    /// # Errors
    /// Of usage: an option that the verb does not know, a value that is none.
    pub(crate) fn of(known: &[&str], args: &[&str]) -> Result<Choice> {
        let mut choice = Choice {
            kernels: Vec::new(),
            fs: FILE_SYSTEMS.to_vec(),
            disks: Vec::new(),
            cases: CASES.to_vec(),
            scenarios: scenarios(),
            way: Way::Ordinary,
            points: 120,
            record_for: Duration::from_secs(3),
            measure_for: Duration::from_secs(60),
            blocks: vec![1 << 20, 100 << 20],
            repeats: 1,
            settings: share::SETTINGS.to_vec(),
            seed: 1,
            json: None,
            profile: Profile::Release,
        };
        let mut args = args.iter().copied();
        while let Some(arg) = args.next() {
            if arg == "--test-profile" {
                choice.profile = Profile::Test;
            } else if arg == "--full" && known.contains(&arg) {
                choice.blocks = [1, 10, 30, 100].map(|mib| mib << 20).to_vec();
            } else if known.contains(&arg) || arg == "--json" {
                let value = args.next().ok_or_else(|| format!("{arg} needs a value"));
                value.and_then(|value| choice.take(arg, value)).map_err(Trouble::Usage)?;
            } else {
                let known = known.join(" ");
                return Err(Trouble::Usage(format!("no option {arg}; there are {known} --json")));
            }
        }
        Ok(choice)
    }

    fn take(&mut self, arg: &str, value: &str) -> std::result::Result<(), String> {
        let number =
            || value.parse::<u64>().map_err(|_| format!("{arg}: number expected, found {value}"));
        match arg {
            "--kernel" => {
                for name in value.split(',') {
                    self.kernels.push(kernels::series(name)?);
                }
            }
            "--disk" => {
                for name in value.split(',') {
                    self.disks.push(disk::model(name)?);
                }
            }
            "--blocks" => {
                self.blocks = value.split(',').map(size).collect::<std::result::Result<_, _>>()?;
                if self.blocks.iter().any(|bytes| !(4096..=100 << 20).contains(bytes)) {
                    return Err(format!("{arg}: 4K to 100M expected, found {value}"));
                }
            }
            "--setting" => self.settings = several(arg, value, &share::SETTINGS)?,
            "--repeats" => self.repeats = number()?.clamp(1, 100),
            "--fs" => self.fs = several(arg, value, &FILE_SYSTEMS)?,
            "--scenario" => self.scenarios = several(arg, value, &scenarios())?,
            "--case" => {
                let names = several(arg, value, &CASES.map(Case::name))?;
                self.cases =
                    CASES.into_iter().filter(|case| names.contains(&case.name())).collect();
            }
            "--way" => {
                let ways = [Way::Ordinary, Way::NoBarrier, Way::NoSync];
                let name = several(arg, value, &ways.map(Way::name))?;
                self.way = ways.into_iter().find(|way| name == [way.name()]).unwrap_or(self.way);
            }
            "--points" => self.points = usize::try_from(number()?.clamp(2, 100_000)).unwrap_or(2),
            "--seconds" => {
                self.record_for = Duration::from_secs(number()?.clamp(1, 60));
                self.measure_for = Duration::from_secs(number()?.clamp(1, 600));
            }
            "--seed" => self.seed = number()?,
            _ => self.json = Some(PathBuf::from(value)),
        }
        Ok(())
    }

    pub(crate) fn site<'a>(&self, cache: &'a Cache, kernel: &'a Kernel) -> Site<'a> {
        Site { cache, kernel, profile: self.profile }
    }

    /// The rows that the file of results has already; none if there is no file.
    pub(crate) fn rows(&self) -> std::result::Result<Vec<Value>, String> {
        let Some(path) = self.json.as_ref().filter(|path| path.exists()) else {
            return Ok(Vec::new());
        };
        let text = std::fs::read_to_string(path).map_err(at(path))?;
        let row = |line| {
            serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()))
        };
        text.lines().map(row).collect()
    }

    /// Adds a line to the file of results, if there is one.
    pub(crate) fn keep(&self, row: &Value) -> std::result::Result<(), String> {
        let Some(path) = &self.json else { return Ok(()) };
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        // In one call: guests beside each other keep theirs in the same file.
        file.and_then(|mut file| file.write_all(format!("{row}\n").as_bytes())).map_err(at(path))
    }
}

/// Names with commas between them, each one of `all`.
fn several(
    arg: &str,
    value: &str,
    all: &[&'static str],
) -> std::result::Result<Vec<&'static str>, String> {
    let one = |name: &str| {
        let found = all.iter().copied().find(|known| *known == name);
        found.ok_or_else(|| format!("{arg}: no '{name}'; there are {}", all.join(" ")))
    };
    value.split(',').map(one).collect()
}

fn scenarios() -> Vec<&'static str> {
    // That one is for disks that fail, not for cuts.
    lab_load::SCENARIOS.iter().map(|one| one.name).filter(|name| *name != "fault").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[&str] = &[
        "--kernel",
        "--fs",
        "--scenario",
        "--case",
        "--way",
        "--points",
        "--seconds",
        "--disk",
        "--blocks",
        "--full",
        "--repeats",
        "--setting",
    ];

    fn of(line: &str) -> Result<Choice> {
        Choice::of(ALL, &line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn what_is_chosen_is_taken() {
        let choice = of("--kernel 5.10 --fs f2fs --scenario direct,pins --way no-sync --points 7 \
                         --case hang,kill --disk sd --json x");
        let choice = choice.unwrap();
        assert_eq!((choice.kernels[0].name, choice.disks[0].name), ("5.10", "sd"));
        assert_eq!((choice.fs, choice.scenarios), (vec!["f2fs"], vec!["direct", "pins"]));
        assert_eq!((choice.way, choice.points), (Way::NoSync, 7));
        assert_eq!(choice.cases, [Case::Kill, Case::Hang]);
        let pairs =
            of("--kernel 5.10,6.1 --disk sd,emmc --blocks 4K,100M --repeats 3 --seconds 90 \
                        --setting uncut")
            .unwrap();
        assert_eq!((pairs.kernels.len(), pairs.disks.len(), pairs.repeats), (2, 2, 3));
        assert_eq!(pairs.settings, ["uncut"]);
        assert_eq!((pairs.blocks, pairs.measure_for.as_secs()), (vec![4096, 100 << 20], 90));
        assert_eq!(of("--full").unwrap().blocks.len(), 4);
        let all = of("").unwrap();
        assert_eq!((all.fs.len(), all.cases.len(), all.scenarios.len()), (2, 5, scenarios().len()));
        assert!(scenarios().len() >= 9);
    }

    #[test]
    fn what_is_none_is_an_error_of_usage() {
        for line in [
            "--kernel 2.6",
            "--fs xfs",
            "--scenario direct,none",
            "--case fire",
            "--way home",
            "--points many",
            "--kernel",
            "--seed 1",
            "direct",
            "--disk tape",
            "--disk sd,",
            "--blocks 1",
            "--blocks 200M",
        ] {
            assert!(matches!(of(line), Err(Trouble::Usage(_))), "{line}");
        }
    }
}
