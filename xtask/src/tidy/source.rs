//! Checks of source files: size, names, first line, `unsafe`, forgotten markers.
//!
//! The words looked for are spelled in two halves, else this file would find itself.

use super::Finding;
use super::rust_text::lines_with_word;
use super::tree::{Tree, is_test_data};

const LINES_MAX: usize = 1_000;
const LINES_WARN: usize = 500;

/// Written by people and read by people; a longer one has more than one subject.
const SIZED: &[&str] = &[".rs", ".md", ".sh", ".py", ".c", ".h", ".toml"];

/// The packages that may hold `unsafe`; `clippy` sees to it that each has a SAFETY comment.
/// Of the Python module one file: Arrow's C interfaces are pointers.
const UNSAFE_ALLOWED: &[&str] = &[
    "crates/sys/",
    "crates/bench/sys/",
    "crates/capi/",
    "crates/python/src/arrow_c.rs",
    "crates/share/preload/",
];

fn rust(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts(&[".rs"]).filter(|(path, _)| !is_test_data(path))
}

pub(super) fn size(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts(SIZED).filter(|(path, _)| !is_test_data(path)) {
        let lines = text.lines().count();
        if lines > LINES_MAX {
            let message = format!("{lines} lines; at most {LINES_MAX}, one subject a file");
            findings.push(Finding::error("size", path, message));
        } else if lines > LINES_WARN && path.ends_with(".rs") {
            let message = format!("{lines} lines; look again whether this is one subject");
            findings.push(Finding::warning("size", path, message));
        }
    }
    findings
}

pub(super) fn util(tree: &Tree) -> Vec<Finding> {
    const NAMES: [&str; 4] = ["util", "utils", "helpers", "misc"];
    let message = "a module is named after what it is about";
    let mut findings = Vec::new();
    for (path, _) in rust(tree) {
        if path.trim_end_matches(".rs").split('/').any(|part| NAMES.contains(&part)) {
            findings.push(Finding::error("util", path, message));
        }
        for (index, line) in tree.code(path).lines().enumerate() {
            let inline = line.split_once("mod ").and_then(|(_, rest)| rest.split_once('{'));
            if inline.is_some_and(|(name, _)| NAMES.contains(&name.trim())) {
                findings.push(Finding::error("util", at(path, index + 1), message));
            }
        }
    }
    findings
}

pub(super) fn unsafe_code(tree: &Tree) -> Vec<Finding> {
    let word = concat!("un", "safe");
    let message = format!("`{word}` outside of {}", UNSAFE_ALLOWED.join(", "));
    rust(tree)
        .filter(|(path, _)| !UNSAFE_ALLOWED.iter().any(|folder| path.starts_with(folder)))
        .flat_map(|(path, _)| {
            let lines = lines_with_word(tree.code(path), word);
            lines.into_iter().map(move |line| at(path, line))
        })
        .map(|place| Finding::error("unsafe", place, &message))
        .collect()
}

pub(super) fn header(tree: &Tree) -> Vec<Finding> {
    let message = "must begin with `//!`: what it is, why so, which invariant it keeps";
    let mut findings: Vec<Finding> = rust(tree)
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| Finding::error("header", path, message))
        .collect();
    // The module of a public item may be private, and its page then says nothing.
    for (path, text) in rust(tree).filter(|(path, _)| !path.contains("/tests/")) {
        for (index, _) in text.match_indices(concat!("/// See", " the module")) {
            let before = &text[..index];
            let mut item = text[index..].lines().map(str::trim_start);
            let item = item.find(|line| !line.starts_with("///") && !line.starts_with("#["));
            if item.is_some_and(|item| item.starts_with("pub ")) {
                let place = at(path, before.lines().count() + 1);
                let message = "a public item says itself what it is: its module may be private";
                findings.push(Finding::error("header", place, message));
            }
        }
    }
    findings
}

pub(super) fn markers(tree: &Tree) -> Vec<Finding> {
    let in_code = [concat!("to", "do!("), concat!("un", "implemented!("), concat!("#[", "ignore")];
    let anywhere = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("TO", "DO")];
    let mut findings = Vec::new();
    for (path, text) in tree.texts(&[".rs", ".sh", ".py", ".c", ".h", ".toml", "Makefile"]) {
        if is_test_data(path) {
            continue;
        }
        for word in anywhere {
            for line in lines_with_word(text, word) {
                let message =
                    format!("{word}: do it, or write down what is missing where users see it");
                findings.push(Finding::error("markers", at(path, line), message));
            }
        }
        if !path.ends_with(".rs") {
            continue;
        }
        for (index, line) in tree.code(path).lines().enumerate() {
            for word in in_code.iter().filter(|word| line.contains(**word)) {
                let message = format!("{word}..: a test that cannot run prints `skipped: why`");
                findings.push(Finding::error("markers", at(path, index + 1), message));
            }
        }
    }
    findings
}

fn at(path: &str, line: usize) -> String {
    format!("{path}:{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|f| f.place.as_str()).collect()
    }

    #[test]
    fn long_files_are_found() {
        let (long, longer) = ("//!\n".repeat(501), "//!\n".repeat(1001));
        let tree = Tree::of(&[
            ("a.rs", &long),
            ("b.rs", &longer),
            ("c.md", &long),
            ("d.md", &longer),
            ("testdata/e.rs", &longer),
            ("f.csv", &longer),
        ]);
        let found = size(&tree);
        assert_eq!(places(&found), ["a.rs", "b.rs", "d.md"]);
        assert_eq!(found.iter().map(|f| f.fatal).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn modules_without_a_subject_are_found() {
        let tree = Tree::of(&[
            ("crates/a/src/util.rs", "//!"),
            ("crates/a/src/utils/x.rs", "//!"),
            ("crates/a/src/utility_power.rs", "//!"),
            ("crates/a/src/b.rs", "//!\nmod misc {\n}\nmod mischief {}\n"),
        ]);
        let expected = ["crates/a/src/b.rs:2", "crates/a/src/util.rs", "crates/a/src/utils/x.rs"];
        assert_eq!(places(&util(&tree)), expected);
    }

    #[test]
    fn only_sys_capi_and_preload_may_be_unsafe() {
        let text = format!("//! unsafe\n#![deny(unsafe_code)]\n{} {{}}\n", concat!("un", "safe"));
        let tree = Tree::of(&[("crates/sys/src/a.rs", &text), ("crates/recorder/src/a.rs", &text)]);
        assert_eq!(places(&unsafe_code(&tree)), ["crates/recorder/src/a.rs:3"]);
    }

    #[test]
    fn every_file_says_what_it_is() {
        let tree = Tree::of(&[("a.rs", "//! A.\n"), ("b.rs", "// B.\n"), ("c.rs", "")]);
        assert_eq!(places(&header(&tree)), ["b.rs", "c.rs"]);
        let says = concat!("/// See", " the module.\n#[derive(Debug)]\n");
        let text = format!("//! A.\n{says}pub struct A;\n{says}pub(crate) struct B;\n");
        assert_eq!(places(&header(&Tree::of(&[("a.rs", &text)]))), ["a.rs:2"]);
    }

    #[test]
    fn markers_are_found_in_code_and_comments() {
        let code = format!(
            "//!\n{}());\n// {}: later\nlet a = \"{}x)\";\n{}]\n",
            concat!("to", "do!("),
            concat!("FIX", "ME"),
            concat!("un", "implemented!("),
            concat!("#[", "ignore"),
        );
        let script = format!("mktemp a.{x}{x}\n# {x}\n", x = concat!("XX", "X"));
        let tree = Tree::of(&[("a.rs", &code), ("b.sh", &script)]);
        assert_eq!(places(&markers(&tree)), ["a.rs:3", "a.rs:2", "a.rs:5", "b.sh:2"]);
    }
}
