//! Check of tiers: each row of the table of invariants says when its checks run, and says it right;
//! each test that moved to the full tier exists.

use super::Finding;
use super::docs::INVARIANTS;
use super::tree::Tree;
use crate::tiers::Moved;

pub(super) const CHECK: &str = "tiers";

/// Commands that only full steps run.
const FULL: &[&str] = &[
    "cargo xtask lab test",
    "cargo xtask boards",
    "cargo xtask deb test",
    "cargo xtask dist",
    "cargo xtask full python",
];

pub(super) fn tiers(tree: &Tree) -> Vec<Finding> {
    let moved = match tree.text(Moved::FILE).map(Moved::parse) {
        Some(Ok(moved)) => moved,
        Some(Err(why)) => return vec![Finding::error(CHECK, Moved::FILE, why)],
        None => return vec![Finding::error(CHECK, Moved::FILE, "does not exist")],
    };
    let mut findings = Vec::new();
    for function in moved.functions() {
        let text = format!("fn {function}(");
        if !tree.texts(&[".rs"]).any(|(_, code)| code.contains(&text)) {
            findings.push(Finding::error(
                CHECK,
                Moved::FILE,
                format!("no test `{function}` exists"),
            ));
        }
    }
    let rows = tree.text(INVARIANTS).unwrap_or_default().lines().enumerate();
    for (index, line) in rows.filter(|(_, line)| is_row(line)) {
        let mut cells = line.trim_matches('|').rsplit(" | ").map(str::trim);
        let (said, checks) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let expected = tiers_of(checks, &moved);
        if said != expected {
            let message = format!("its tier is '{expected}', found '{said}'");
            findings.push(Finding::error(CHECK, format!("{INVARIANTS}:{}", index + 1), message));
        }
    }
    findings
}

/// A row of the table, not its head.
fn is_row(line: &str) -> bool {
    line.starts_with('|') && !line.starts_with("|---") && !line.starts_with("| invariant |")
}

/// `push`, `full`, or both: what the checks in backquotes of a row are.
fn tiers_of(checks: &str, moved: &Moved) -> String {
    let tiers = |check: &str| match check.strip_prefix("test ") {
        Some(test) => moved.tiers(test),
        // What no tier runs by itself (`cargo xtask results`) is in none.
        None => {
            let by_hand = check.starts_with("cargo xtask") && !check.starts_with("cargo xtask ci");
            (!by_hand, FULL.contains(&check))
        }
    };
    let checks = checks.split('`').skip(1).step_by(2).map(tiers);
    let (push, full) = checks.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1));
    let names = [("push", !push), ("full", !full)];
    let names: Vec<_> = names.iter().filter(|(_, empty)| !empty).map(|(name, _)| *name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_in_which_tier_its_checks_are() {
        let list = "[long]\nbaro-x:lib a::slow\nbaro-x:lib gone\n";
        let table = "| invariant | check | tier |\n|---|---|---|\n\
            | one | `test quick` | push |\n\
            | two | `test quick`, `test slow` | push, full |\n\
            | three | `cargo xtask boards` | push |\n\
            | four | `test slow` |\n";
        let code = "fn quick() {} fn slow() {}";
        let tree = Tree::of(&[(Moved::FILE, list), (INVARIANTS, table), ("a.rs", code)]);
        let found: Vec<_> = tiers(&tree).iter().map(|found| found.message.clone()).collect();
        assert_eq!(
            found,
            [
                "no test `gone` exists",
                "its tier is 'full', found 'push'",
                "its tier is '', found '`test slow`'"
            ]
        );
    }
}
