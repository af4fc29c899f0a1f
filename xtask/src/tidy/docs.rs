//! Checks of documents: links lead to files and headings that exist, the table of invariants names
//! every check and only tests that exist, and has a part for each crate.

use super::Finding;
use super::tree::{Tree, is_test_data};
use std::collections::BTreeSet;

pub(super) const CHECK: &str = "architecture";

/// The table of invariants and their checks.
pub(super) const INVARIANTS: &str = "docs/invariants.md";

/// In the invariant table a check of tidy is written `tidy NAME`, a test `test NAME`, both in
/// backquotes: the first must be complete, the second must exist.
pub(super) fn architecture(tree: &Tree, checks: &[&str]) -> Vec<Finding> {
    let Some(text) = tree.text(INVARIANTS) else {
        return vec![Finding::error(CHECK, INVARIANTS, "does not exist")];
    };
    let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let mut findings = Vec::new();
    for check in checks.iter().filter(|check| !quoted.contains(&format!("tidy {check}").as_str())) {
        let message = format!("the invariant table does not mention `tidy {check}`");
        findings.push(Finding::error(CHECK, INVARIANTS, message));
    }
    let functions: BTreeSet<&str> = tree
        .texts(&[".rs"])
        .flat_map(|(_, text)| text.split("fn ").skip(1))
        .filter_map(|behind| Some(behind.split_once('(')?.0))
        .collect();
    for name in quoted.iter().filter_map(|quoted| quoted.strip_prefix("test ")) {
        if !functions.contains(name) {
            findings.push(Finding::error(CHECK, INVARIANTS, format!("no test `{name}` exists")));
        }
    }
    let folders = tree.texts(&["/Cargo.toml"]).filter_map(|(p, _)| p.strip_suffix("/Cargo.toml"));
    for folder in folders.filter(|folder| folder.starts_with("crates/")) {
        let named = format!("`{folder}`");
        let mut sections = text.split("\n## ").skip(1);
        let section = sections.find(|s| s.lines().next().is_some_and(|line| line.contains(&named)));
        if !section.is_some_and(|section| section.contains("\n|---")) {
            let message = format!("no section of {folder} with its rules and their checks");
            findings.push(Finding::error(CHECK, INVARIANTS, message));
        }
    }
    findings
}

pub(super) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts(&[".md"]).filter(|(path, _)| !is_test_data(path)) {
        let mut in_code = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            for target in targets(&without_code(line)).into_iter().filter(|t| is_ours(t)) {
                let Some(what) = missing(tree, path, target) else { continue };
                let place = format!("{path}:{}", index + 1);
                let message = format!("link to {target}, {what}");
                findings.push(Finding::error("links", place, message));
            }
        }
    }
    findings
}

/// The line without what is in backquotes, where nothing is a link.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// What is in the round brackets of `[text](target)`, and of `src="target"` in HTML.
fn targets(line: &str) -> Vec<&str> {
    let after = |open: &'static str, close: &'static [char]| {
        line.split(open).skip(1).filter_map(move |rest| rest.split(close).next())
    };
    after("](", &[')', ' ']).chain(after("src=\"", &['"'])).collect()
}

fn is_ours(target: &str) -> bool {
    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
}

/// What is wrong with a link: its file, or its heading, is not there.
fn missing(tree: &Tree, from: &str, target: &str) -> Option<&'static str> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { Some(from.to_owned()) } else { resolve(from, file) };
    let Some(path) = path.filter(|path| tree.has(path)) else {
        return Some("which does not exist");
    };
    let text = tree.text(&path).filter(|_| path.ends_with(".md") && !heading.is_empty())?;
    let is_there = headings(text).any(|found| found == heading);
    (!is_there).then_some("whose heading does not exist")
}

/// The names by which links reach the headings of a page: small letters, digits, `-` and `_`, blanks
/// as `-`.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').strip_prefix(' ')?.trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
    };
    text.lines().filter(|line| line.starts_with('#')).filter_map(heading)
}

/// The path from the root that `target` means in the file `from`; `None` if it leaves the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The index of `docs/`, by reader.
const INDEX: &str = "docs/README.md";

/// Each page of `docs/` says before its first section for whom it is, and the index leads to it.
pub(super) fn pages(tree: &Tree) -> Vec<Finding> {
    let index = tree.text(INDEX).unwrap_or_default();
    let linked: Vec<&str> = index.lines().flat_map(targets).collect();
    let mut findings = Vec::new();
    for (path, text) in tree.texts(&[".md"]) {
        let Some(name) = path.strip_prefix("docs/").filter(|_| path != INDEX) else { continue };
        let head = text.split("\n## ").next().unwrap_or_default();
        if !head.lines().any(|line| line.starts_with("*For ")) {
            let message = "says nowhere at its head for whom it is: *For people who ..*";
            findings.push(Finding::error("pages", path, message));
        }
        if !linked.contains(&name) {
            findings.push(Finding::error("pages", path, format!("{INDEX} does not link to it")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_for_whom_it_is_and_is_in_the_index() {
        let tree = Tree::of(&[
            (INDEX, "# Pages\n- [a](a.md), [c](c.md)\n"),
            ("docs/a.md", "# A\n\n*For everybody.* Text.\n## B\n"),
            ("docs/b.md", "# B\n\n*For everybody.*\n"),
            ("docs/c.md", "# C\n\nText.\n\n## D\n*For everybody.*\n"),
            ("CHANGELOG.md", "# Changes\n"),
        ]);
        let found: Vec<_> =
            pages(&tree).iter().map(|f| format!("{}: {}", f.place, f.message)).collect();
        let expected = [
            "docs/b.md: docs/README.md does not link to it",
            "docs/c.md: says nowhere at its head for whom it is: *For people who ..*",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn each_crate_has_its_rules_with_their_checks() {
        let text = "# I\n\n## `crates/a` and `crates/b`\n\n| x | y | z |\n|---|---|---|\n\n\
                    ## `crates/c`\n\n- a rule\n";
        let tree = Tree::of(&[
            (INVARIANTS, text),
            ("crates/a/Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            ("crates/c/Cargo.toml", ""),
            ("crates/c/d/Cargo.toml", ""),
            ("lab/Cargo.toml", ""),
        ]);
        let found: Vec<_> = architecture(&tree, &[]).into_iter().map(|f| f.message).collect();
        let of = |folder| format!("no section of {folder} with its rules and their checks");
        assert_eq!(found, [of("crates/c"), of("crates/c/d")]);
    }

    #[test]
    fn dead_links_are_found() {
        let readme = "# X\n[a](docs/a.md#the-part-2-of-it) [b](docs) [web](https://a.org/x) [here](#x)\n\
            ![gone](docs/gone.svg) <img src=\"gone.png\">\n```\n[code](nowhere)\n```\n[no part](docs/a.md#part) [nor here](#y)\n";
        let deep = "[`up`](../README.md) [out](../../x) `[no](link)`\n## The part 2, of `it`!\n";
        let tree = Tree::of(&[("README.md", readme), ("docs/a.md", deep)]);
        let found: Vec<_> = links(&tree).iter().map(ToString::to_string).collect();
        let expected = [
            "README.md:3: link to docs/gone.svg",
            "README.md:3: link to gone.png",
            "README.md:7: link to docs/a.md#part, whose heading",
            "README.md:7: link to #y, whose heading",
            "docs/a.md:1: link to ../../x",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        expected.iter().zip(&found).for_each(|(e, f)| assert!(f.contains(e), "{f}"));
    }

    #[test]
    fn the_table_is_complete_and_names_real_tests() {
        let table = "| small files | `tidy size` |\n| recovery | `test recovers`, `test gone` |\n";
        let tree = Tree::of(&[(INVARIANTS, table), ("a.rs", "fn recovers() {}")]);
        let found: Vec<_> = architecture(&tree, &["size", "util"]);
        let messages: Vec<_> = found.iter().map(|f| f.message.as_str()).collect();
        let missing = "the invariant table does not mention `tidy util`";
        assert_eq!(messages, [missing, "no test `gone` exists"]);
        assert_eq!(architecture(&Tree::default(), &[])[0].message, "does not exist");
    }
}
