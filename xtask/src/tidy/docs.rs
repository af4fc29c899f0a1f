//! Checks of documents: links lead somewhere, the table of invariants names every check and only
//! tests that exist.

use super::Finding;
use super::tree::{Tree, is_test_data};

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
    for name in quoted.iter().filter_map(|quoted| quoted.strip_prefix("test ")) {
        let function = format!("fn {name}(");
        if !tree.texts(&[".rs"]).any(|(_, text)| text.contains(&function)) {
            findings.push(Finding::error(CHECK, INVARIANTS, format!("no test `{name}` exists")));
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
            for target in targets(&without_code(line)).into_iter().filter(|t| is_file(t)) {
                let resolved = resolve(path, target);
                if !resolved.as_deref().is_some_and(|file| tree.has(file)) {
                    let place = format!("{path}:{}", index + 1);
                    let message = format!("link to {target}, which does not exist");
                    findings.push(Finding::error("links", place, message));
                }
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

fn is_file(target: &str) -> bool {
    !target.is_empty()
        && !target.starts_with('#')
        && !target.contains("://")
        && !target.starts_with("mailto:")
}

/// The path from the root that `target` means in the file `from`; `None` if it leaves the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    let target = target.split('#').next().unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found() {
        let readme = "[a](docs/a.md#part) [b](docs) [web](https://a.org/x) [here](#x)\n\
            ![gone](docs/gone.svg) <img src=\"gone.png\">\n```\n[code](nowhere)\n```\n";
        let deep = "[`up`](../README.md) [out](../../x) `[no](link)`\n";
        let tree = Tree::of(&[("README.md", readme), ("docs/a.md", deep)]);
        let found: Vec<_> = links(&tree).iter().map(ToString::to_string).collect();
        let expected = ["README.md:2: link to docs/gone.svg", "README.md:2: link to gone.png"];
        assert_eq!(found.len(), 3, "{found:#?}");
        expected.iter().zip(&found).for_each(|(e, f)| assert!(f.contains(e), "{f}"));
        assert!(found[2].contains("docs/a.md:1: link to ../../x"));
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
