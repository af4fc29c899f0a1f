//! Which tests run when: each push, or in full runs before something is handed out.
//!
//! Tests that moved to the full tier stand in one list, each with why. What no list names runs with
//! each push, so a new test is never forgotten; a name in the list that no program has fails the run.
//! A test that is listed under `[some seeds: ...]` runs in both: with each push it takes some of its
//! seeds, as the environment tells it (`TIER_VARIABLE`), and all of them in the full tier.

use crate::shell;
use std::collections::BTreeMap;

/// When a check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// `make test`.
    Push,
    /// `make test-full`.
    Full,
}

/// Tells tests with seeds that they run with each push.
pub(crate) const TIER_VARIABLE: (&str, &str) = ("BARO_TEST_TIER", "push");

/// How reasons of tests begin that run in both tiers.
const SOME: &str = "some seeds:";

/// A test in the list.
#[derive(Debug)]
struct Listed {
    /// With its modules.
    test: String,
    /// Runs with each push too, with some of its seeds.
    in_both: bool,
}

/// The tests of the full tier, by program (`package:target`).
#[derive(Debug, Default)]
pub(crate) struct Moved {
    tests: BTreeMap<String, Vec<Listed>>,
}

impl Moved {
    /// The list: a reason in square brackets, then lines `program test`.
    pub(crate) const FILE: &'static str = "xtask/full-tests.txt";

    pub(crate) fn read() -> Result<Moved, String> {
        let text = std::fs::read_to_string(shell::root().join(Moved::FILE))
            .map_err(|e| format!("{}: {e}", Moved::FILE))?;
        Moved::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Moved, String> {
        let (mut moved, mut reason) = (Moved::default(), None);
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let wrong = |what: &str| Err(format!("{}:{}: {what}", Moved::FILE, index + 1));
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(why) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                reason = Some(why.trim()).filter(|why| !why.is_empty());
                continue;
            }
            let Some((program, test)) = line.split_once(' ') else {
                return wrong("expected `package:target path::of::test`");
            };
            let Some(reason) = reason else {
                return wrong("a test without a reason: put one in [brackets] above it");
            };
            let listed = Listed { test: test.trim().to_owned(), in_both: reason.starts_with(SOME) };
            moved.tests.entry(program.to_owned()).or_default().push(listed);
        }
        Ok(moved)
    }

    /// The tests of `program` that do not run with each push.
    pub(crate) fn left_out(&self, program: &str) -> Vec<&str> {
        let listed = self.tests.get(program).into_iter().flatten();
        listed.filter(|listed| !listed.in_both).map(|listed| listed.test.as_str()).collect()
    }

    /// The tests of `program` that the full tier runs.
    pub(crate) fn in_full(&self, program: &str) -> Vec<&str> {
        let listed = self.tests.get(program).into_iter().flatten();
        listed.map(|listed| listed.test.as_str()).collect()
    }

    /// True if `program` has something to run in `tier`.
    pub(crate) fn has_any(&self, program: &str, tier: Tier) -> bool {
        tier == Tier::Push || self.tests.contains_key(program)
    }

    /// Programs that moved tests are of.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        self.tests.keys().map(String::as_str)
    }

    /// In which tiers a test function of this name runs: with each push, in full runs.
    pub(crate) fn tiers(&self, function: &str) -> (bool, bool) {
        let listed = self.listed().find(|listed| name(listed) == function);
        (listed.is_none_or(|listed| listed.in_both), listed.is_some())
    }

    /// Names of functions, without their modules.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.listed().map(name)
    }

    fn listed(&self) -> impl Iterator<Item = &Listed> {
        self.tests.values().flatten()
    }
}

fn name(listed: &Listed) -> &str {
    listed.test.rsplit("::").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_test_has_a_reason_and_a_program() {
        let list = "# list\n[two minutes]\nbaro-x:lib a::b\n[some seeds: many]\nbaro-x:lib c\n";
        let moved = Moved::parse(list).unwrap();
        assert_eq!(
            (moved.left_out("baro-x:lib"), moved.in_full("baro-x:lib")),
            (vec!["a::b"], vec!["a::b", "c"])
        );
        let tiers = ["b", "c", "other"].map(|name| moved.tiers(name));
        assert_eq!(tiers, [(false, true), (true, true), (true, false)]);
        assert!(moved.has_any("other", Tier::Push) && !moved.has_any("other", Tier::Full));
        for wrong in ["baro-x:lib a", "[]\nbaro-x:lib a", "[why]\nalone"] {
            assert!(Moved::parse(wrong).is_err(), "{wrong}");
        }
    }
}
