//! Check of ARCHITECTURE.md: the map of the code is short, names every package and every file of code, and
//! every file and folder that it names is there. A map that is out of date is worse than none.

use super::Finding;
use super::tree::{Tree, is_test_data};
use std::collections::BTreeSet;

pub(super) const CHECK: &str = "map";

const MAP: &str = "ARCHITECTURE.md";
/// What is read in one sitting.
const LINES_MAX: usize = 199;
/// The map says once what these are for.
const UNNAMED: [&str; 3] = ["lib.rs", "error.rs", "tests.rs"];

/// Files stand between backquotes: from the root, or from the folders that the heading above names
/// between backquotes, or from the `src` in these.
pub(super) fn map(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(MAP) else {
        return vec![Finding::error(CHECK, MAP, "does not exist")];
    };
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > LINES_MAX {
        let message = format!("{lines} lines; at most {LINES_MAX}, details go to docs/");
        findings.push(Finding::error(CHECK, MAP, message));
    }
    for (path, _) in tree.texts(&["/Cargo.toml"]).filter(|(path, _)| !is_test_data(path)) {
        let folder = path.trim_end_matches("/Cargo.toml");
        let named = quoted(text).any(|name| name == folder || name.starts_with(&within(folder)));
        if !named {
            let message = format!("the package in {folder} is not named");
            findings.push(Finding::error(CHECK, MAP, message));
        }
    }
    let mut folders: Vec<&str> = Vec::new();
    let mut named = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            folders = quoted(line).collect();
        }
        for name in quoted(line).filter(|name| is_path(name)) {
            let below = folders.iter().flat_map(|f| [within(f), format!("{f}/src/")]);
            let places = below.chain([String::new()]).map(|place| place + name);
            // Sections of several packages have some names twice.
            let there: Vec<String> = places.filter(|place| tree.has(place)).collect();
            if there.is_empty() {
                let message = format!("{name} does not exist, nor below the heading's folder");
                findings.push(Finding::error(CHECK, format!("{MAP}:{}", index + 1), message));
            }
            named.extend(there);
        }
    }
    for (path, _) in tree.texts(&[".rs"]).filter(|(path, _)| is_code(path)) {
        if !named.contains(path) {
            findings.push(Finding::error(CHECK, path, format!("{MAP} does not name it")));
        }
    }
    findings
}

/// Whether the map is to say what stands in the file: not tests and data for them.
fn is_code(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let is_source = path.split('/').any(|part| part == "src");
    is_source
        && !is_test_data(path)
        && !within(folder).contains("/tests/")
        && !UNNAMED.contains(&name)
}

fn within(folder: &str) -> String {
    format!("{folder}/")
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `a/b.rs`, `b.rs`, `a/`; not a command, a type or a path of the machine.
fn is_path(name: &str) -> bool {
    let known = name.contains('/') || name.ends_with(".rs");
    known && !name.starts_with('/') && !name.contains([' ', '<', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = [
            (MAP, text),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/one.rs", ""),
            ("crates/a/src/one/tests/three.rs", ""),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/tests/two.rs", ""),
            ("lab/b/Cargo.toml", ""),
            ("testdata/old/Cargo.toml", ""),
        ];
        map(&Tree::of(&files)).iter().map(|f| format!("{}: {}", f.place, f.message)).collect()
    }

    #[test]
    fn what_is_named_is_there_and_every_package_is_named() {
        let whole = "### `crates/a`\n`one.rs`, `tests/two.rs`, `tests/`, `/proc/stat`, `cargo x/y`\n\
            ## Others\n`lab/b/Cargo.toml`\n";
        assert_eq!(found(whole), [""; 0]);
        let wrong = "### `crates/a`\n`two.rs`\n### Others\n`one.rs`\n";
        let expected = [
            "ARCHITECTURE.md: the package in lab/b is not named",
            "ARCHITECTURE.md:2: two.rs does not exist, nor below the heading's folder",
            "ARCHITECTURE.md:4: one.rs does not exist, nor below the heading's folder",
            "crates/a/src/one.rs: ARCHITECTURE.md does not name it",
        ];
        assert_eq!(found(wrong), expected);
    }

    #[test]
    fn a_map_is_short_and_there() {
        let long = format!("`crates/a/src/one.rs` `lab/b`\n{}", "\n".repeat(LINES_MAX));
        let expected = ["ARCHITECTURE.md: 200 lines; at most 199, details go to docs/"];
        assert_eq!(found(&long), expected);
        assert_eq!(map(&Tree::default())[0].message, "does not exist");
    }
}
