//! Which tests run when: each push, or in full runs before something is handed out.
//!
//! Tests that moved to the full tier stand in one list, each with why. What no list names runs with
//! each push, so a new test is never forgotten; a name in the list that no program has fails the run.

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

/// The tests that moved to the full tier, by program (`package:target`).
#[derive(Debug, Default)]
pub(crate) struct Moved {
    tests: BTreeMap<String, Vec<String>>,
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
            if reason.is_none() {
                return wrong("a test without a reason: put one in [brackets] above it");
            }
            moved.tests.entry(program.to_owned()).or_default().push(test.trim().to_owned());
        }
        Ok(moved)
    }

    /// The tests of `program` that moved.
    pub(crate) fn tests(&self, program: &str) -> Vec<&str> {
        self.tests.get(program).into_iter().flatten().map(String::as_str).collect()
    }

    /// True if `program` has something to run in `tier`.
    pub(crate) fn has_any(&self, program: &str, tier: Tier) -> bool {
        tier == Tier::Push || self.tests.contains_key(program)
    }

    /// Programs that moved tests are of.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        self.tests.keys().map(String::as_str)
    }

    /// True if a test function of this name moved.
    pub(crate) fn has(&self, function: &str) -> bool {
        self.functions().any(|moved| moved == function)
    }

    /// Names of functions, without their modules.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.tests.values().flatten().filter_map(|path| path.rsplit("::").next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_test_has_a_reason_and_a_program() {
        let moved =
            Moved::parse("# list\n[two minutes]\nbaro-x:lib a::b\nbaro-x:real c\n").unwrap();
        assert_eq!(moved.tests("baro-x:lib"), ["a::b"]);
        assert!(moved.has("b") && moved.has("c") && !moved.has("a"));
        assert!(moved.has_any("other", Tier::Push) && !moved.has_any("other", Tier::Full));
        for wrong in ["baro-x:lib a", "[]\nbaro-x:lib a", "[why]\nalone"] {
            assert!(Moved::parse(wrong).is_err(), "{wrong}");
        }
    }
}
