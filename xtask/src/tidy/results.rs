//! Check of `results/`: a number without the command and the machine it came from is a rumour; a
//! page that can be made of the numbers again is not kept.

use super::Finding;
use super::tree::Tree;
use std::collections::BTreeSet;

/// What a results README must name, beside a command in a code block.
const FACTS: &[&str] = &["machine", "kernel", "cpu"];

pub(super) fn results(tree: &Tree) -> Vec<Finding> {
    let folders: BTreeSet<&str> = tree
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("results/")?.split_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    let pages = tree.iter().filter(|(p, _)| p.starts_with("results/") && p.ends_with(".html"));
    let message =
        "a page is made of its measurement: keep that, and the command that makes the page";
    let mut findings: Vec<Finding> =
        pages.map(|(path, _)| Finding::error("results", path, message)).collect();
    findings.extend(folders.into_iter().flat_map(|folder| folder_findings(tree, folder)));
    findings
}

fn folder_findings(tree: &Tree, folder: &str) -> Vec<Finding> {
    let path = format!("results/{folder}/README.md");
    let mut findings = Vec::new();
    let mut missing = |what: String| findings.push(Finding::error("results", &path, what));
    if !begins_with_date(folder) {
        missing(format!("'{folder}' is not named <year>-<month>-<day>-<machine>"));
    }
    let Some(text) = tree.text(&path) else {
        missing("does not exist; it names the command, the machine and the versions".to_owned());
        return findings;
    };
    if !text.contains("```") {
        missing("no code block with the command that repeats it".to_owned());
    }
    let lower = text.to_lowercase();
    for fact in FACTS.iter().filter(|fact| !lower.contains(**fact)) {
        missing(format!("does not name the {fact}"));
    }
    findings
}

/// `2026-05-31-name`
fn begins_with_date(folder: &str) -> bool {
    let date = folder.get(..11).unwrap_or_default();
    date.char_indices().count() == 11
        && date.char_indices().all(|(at, c)| match at {
            4 | 7 | 10 => c == '-',
            _ => c.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Machine\nKernel 6.1, CPU: 2 cores\n```\nbaro bench\n```\n";

    #[test]
    fn a_result_names_its_command_and_machine() {
        let tree = Tree::of(&[
            ("results/README.md", ""),
            ("results/2026-05-31-board/README.md", GOOD),
            ("results/2026-05-31-board/raw.csv", "1"),
            ("results/2026-05-31-board/page.html", "<p>"),
            ("results/2026-06-01-board/raw.csv", "1"),
            ("results/new/README.md", GOOD),
            ("results/2026-06-02-board/README.md", "On my machine it was fast."),
        ]);
        let found: Vec<_> = results(&tree).iter().map(ToString::to_string).collect();
        let expected = [
            "2026-05-31-board/page.html: a page is made of its measurement",
            "2026-06-01-board/README.md: does not exist",
            "2026-06-02-board/README.md: no code block",
            "2026-06-02-board/README.md: does not name the kernel",
            "2026-06-02-board/README.md: does not name the cpu",
            "new/README.md: 'new' is not named",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        found.iter().zip(expected).for_each(|(f, e)| assert!(f.contains(e), "{f} / {e}"));
    }
}
