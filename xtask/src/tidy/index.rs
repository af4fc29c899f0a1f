//! The last section of ARCHITECTURE.md: every file with code, by its package, written by
//! `cargo xtask tidy --bless`. Who looks for a place has the names that there are before him, and no
//! sentence about them can be out of date.

use super::tree::{Tree, is_test_data};
use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) const MAP: &str = "ARCHITECTURE.md";
/// Where the section begins; it is the last.
pub(super) const BEGIN: &str = "## Every file\n";
const HEAD: &str = "\nWritten by `cargo xtask tidy --bless`: files of Rust below `src`, without those of tests alone. \
What stands in braces is in the folder named before them.\n\n```text\n";

/// Longer lines are broken between files.
const COLUMNS: usize = 118;

/// A folder of modules: its files, and what is below each name.
#[derive(Default)]
struct Folder(BTreeMap<String, Folder>);

/// ARCHITECTURE.md with the section as the tree has it.
pub(super) fn generated_file(tree: &Tree) -> (String, String) {
    let text = tree.text(MAP).unwrap_or_default();
    let map = text.split(BEGIN).next().unwrap_or_default().trim_end();
    (MAP.to_owned(), format!("{map}\n\n{BEGIN}{HEAD}{}```\n", index(tree)))
}

fn index(tree: &Tree) -> String {
    let mut packages: BTreeMap<&str, Folder> = BTreeMap::new();
    for (path, _) in tree.texts(&[".rs"]).filter(|(path, _)| !is_test_data(path)) {
        let Some((package, below)) = path.split_once("/src/") else { continue };
        let names: Vec<&str> = below.trim_end_matches(".rs").split('/').collect();
        if names.contains(&"tests") {
            continue;
        }
        let mut folder = packages.entry(package).or_default();
        for name in names {
            folder = folder.0.entry(name.to_owned()).or_default();
        }
    }
    let mut text = String::new();
    for (package, folder) in packages {
        let mut line = format!("{package}:");
        for word in folder.told().split(' ') {
            if line.len() + 1 + word.len() > COLUMNS {
                let _ = writeln!(text, "{line}");
                line = " ".to_owned();
            }
            let _ = write!(line, " {word}");
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

impl Folder {
    fn told(&self) -> String {
        let one = |(name, folder): (&String, &Folder)| match folder.0.is_empty() {
            true => name.clone(),
            false => format!("{name}{{{}}}", folder.told()),
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_stands_in_its_folder_once() {
        let files = [
            (MAP, "# Map\n\nwords\n\n## Every file\n\nof before\n"),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/b.rs", ""),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/b/tests.rs", ""),
            ("crates/a/tests/d.rs", ""),
            ("lab/e/src/main.rs", ""),
        ];
        let (path, text) = generated_file(&Tree::of(&files));
        let (map, rest) = text.split_once(BEGIN).unwrap();
        assert_eq!((path.as_str(), map), (MAP, "# Map\n\nwords\n\n"));
        assert!(rest.ends_with("```text\ncrates/a: b{c} lib\nlab/e: main\n```\n"), "{rest}");
    }
}
