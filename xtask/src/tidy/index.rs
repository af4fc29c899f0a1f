//! `docs/files.md`: every file with code, by its package, written by `cargo xtask tidy --bless`. Who
//! looks for a place has the names that there are before him, and no sentence about them can be out
//! of date. It stands beside ARCHITECTURE.md, which is a map because it is short.

use super::tree::{Tree, is_test_data};
use std::collections::BTreeMap;
use std::fmt::Write;

const FILE: &str = "docs/files.md";
const HEAD: &str = "# Every file

*For people who look for a place in the code.* Written by `cargo xtask tidy --bless`: files of Rust below `src`, \
without those of tests alone. What stands in braces is in the folder named before them. What they are for is in \
[ARCHITECTURE.md](../ARCHITECTURE.md).

```text
";

/// Longer lines are broken between files.
const COLUMNS: usize = 118;

/// A folder of modules: its files, and what is below each name.
#[derive(Default)]
struct Folder(BTreeMap<String, Folder>);

/// `docs/files.md` as the tree has it.
pub(super) fn generated_file(tree: &Tree) -> (String, String) {
    (
        FILE.to_owned(),
        format!(
            "{HEAD}{}```
",
            index(tree)
        ),
    )
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
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/b.rs", ""),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/b/tests.rs", ""),
            ("crates/a/tests/d.rs", ""),
            ("lab/e/src/main.rs", ""),
        ];
        let (path, text) = generated_file(&Tree::of(&files));
        assert_eq!(path, FILE);
        assert!(text.ends_with("```text\ncrates/a: b{c} lib\nlab/e: main\n```\n"), "{text}");
    }
}
