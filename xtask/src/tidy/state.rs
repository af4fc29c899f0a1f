//! Files of a state go through one door: `baro_sys::state::StateFolder`.
//!
//! A path says where a file is at this moment, not whose it is. What root or a service reads, locks,
//! replaces or removes is therefore opened below a folder that was checked. Here that is a rule: in the
//! code below `SHUT` none of the functions is named that do the same by a path. A place that is not
//! about a state says so in `OPEN`, with the reason; there are few, and each is one function of one file.
//! Files of the kernel (`write_setting`, `read_text`, `list`) are no state. A folder with all that is in it
//! is removed by nobody but those named in `TREES`.
//!
//! Tests are left out: modules named `tests`, which come last in a file.

use super::Finding;
use super::tree::Tree;

pub(super) const CHECK: &str = "state";

/// Crates and verbs that keep a state for root, or whose files a more privileged program reads, maps or
/// removes: rings, stores, secrets, traces.
const SHUT: &[&str] = &[
    "crates/tune/src/",
    "crates/share/src/",
    "crates/cli/src/commands/share.rs",
    "crates/cli/src/commands/share/",
    "crates/cli/src/commands/tune.rs",
    "crates/cli/src/commands/tune/",
    "crates/cli/src/commands/trace/",
    "crates/cli/src/commands/queue.rs",
    "crates/cli/src/commands/units.rs",
    "crates/cli/src/commands/rings.rs",
    "crates/cli/src/commands/backup.rs",
    "crates/recorder/src/",
    "crates/store/src/",
    "crates/log/src/",
    "crates/runs/src/",
    "crates/net/src/",
    "crates/listen/src/",
    "crates/serve/src/",
    "crates/lake/src/",
    "crates/trace/src/collect/",
    "crates/bench/src/papers/recorder/flusher.rs",
];

/// What opens, makes, replaces, locks or removes by a path. Shared memory has no such function.
const BY_PATH: &[&str] = &[
    "files::create",
    "files::create_new",
    "files::make_folder",
    "files::make_folder_with",
    "files::make_folders",
    "files::open",
    "files::open_append",
    "files::open_to_write",
    "files::remove",
    "files::remove_empty_folder",
    "files::remove_if_empty",
    "files::rename",
    "files::write",
    "LockFile::holder",
    "LockFile::said",
    "LockFile::take",
    "PacedOutput::create",
];

/// File, function, and why it is none of a state.
const OPEN: &[(&str, &str, &str)] = &[
    ("crates/tune/src/probe.rs", "files::create_new", "writes beside a store, as its user"),
    ("crates/tune/src/probe.rs", "files::remove", "the name of that file at once"),
    ("crates/share/src/cgroup.rs", "files::make_folder", "a control group: the kernel's"),
    ("crates/share/src/cgroup.rs", "files::remove_empty_folder", "a control group: the kernel's"),
    ("crates/cli/src/commands/trace/live.rs", "files::make_folder_with", "new, 0700, for one run"),
    ("crates/cli/src/commands/tune/here.rs", "files::open", "a block device"),
    ("crates/trace/src/collect/symbols.rs", "files::open", "a file of the kernel"),
    ("crates/trace/src/collect/session.rs", "files::create_new", TRACE),
    ("crates/trace/src/collect/session.rs", "files::open", TRACE),
    ("crates/trace/src/collect/session.rs", "files::remove", TRACE),
    ("crates/trace/src/collect/session.rs", "files::rename", TRACE),
    ("crates/lake/src/place.rs", "files::make_folder_with", "a table, where its user keeps it"),
];

const TRACE: &str =
    "the file that its user names; what the installed tracer keeps has a checked folder";

const TREE: &str = "files::remove_tree";
/// Who removes whole folders, each of which it has just made by a name that was not there.
const TREES: &[(&str, &str)] = &[
    ("crates/bench/", "stores that a measurement made"),
    ("crates/cli/src/commands/demo/place.rs", "the tour's folder, made by it"),
    ("crates/cli/src/commands/trace/live.rs", "a folder 0700 of this run"),
    ("lab/", "measures, and is no part of the product"),
];

pub(super) fn state(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.texts(&[".rs"]).filter(|(path, _)| is_product(path)) {
        let code = without_tests(tree.code(path));
        let shut = SHUT.iter().any(|shut| path.starts_with(shut));
        for (index, line) in code.lines().enumerate() {
            let place = || format!("{path}:{}", index + 1);
            if shut && takes_functions(line) {
                let message = "name these functions with `files::`, so that this rule finds them";
                findings.push(Finding::error(CHECK, place(), message));
            }
            let is_open =
                |name: &str| OPEN.iter().any(|(at, what, _)| *at == path && *what == name);
            for name in BY_PATH.iter().filter(|name| shut && has(line, name) && !is_open(name)) {
                let message =
                    format!("{name} goes by a path: go through baro_sys::state::StateFolder");
                findings.push(Finding::error(CHECK, place(), message));
            }
            if has(line, TREE) && !TREES.iter().any(|(folder, _)| path.starts_with(folder)) {
                let message = format!("{TREE}: remove by name what was made here");
                findings.push(Finding::error(CHECK, place(), message));
            }
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let test = |part: &str| ["tests", "tests.rs", "examples", "testdata"].contains(&part);
    !path.starts_with("crates/sys/") && !path.split('/').any(test)
}

/// The code before the tests of a file, which come last.
fn without_tests(code: &str) -> String {
    let tests = code.find("\nmod tests {").or(code.find("\nmod tests\n{"));
    code.get(..tests.unwrap_or(code.len())).unwrap_or_default().to_owned()
}

/// Whether functions of `baro_sys::files` are taken in by their bare names.
fn takes_functions(line: &str) -> bool {
    let names = line.split_once("use baro_sys::files::").map(|(_, names)| names);
    let is_function = |name: &str| {
        let name = name.trim();
        name != "self" && name.starts_with(|c: char| c.is_lowercase() || c == '*')
    };
    names.is_some_and(|names| names.split(['{', '}', ',', ';']).any(is_function))
}

/// Whether this function is named: not one whose name only begins so.
fn has(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let after = line.get(at + name.len()..).unwrap_or_default().chars().next();
        let before = line.get(..at).unwrap_or_default().chars().next_back();
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !word(after) && !word(before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        state(&Tree::of(files)).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn functions_that_are_taken_in_by_name_are_found() {
        for (line, found) in [
            ("use baro_sys::files::{self, PacedOutput};", false),
            ("use baro_sys::files::PacedOutput;", false),
            ("use baro_sys::files::{self, remove};", true),
            ("use baro_sys::files::remove;", true),
            ("use baro_sys::files::*;", true),
            ("use baro_sys::{clock, files};", false),
        ] {
            assert_eq!(takes_functions(line), found, "{line}");
        }
    }

    #[test]
    fn a_state_by_a_path_is_found_where_it_is_shut() {
        let text = "//!\nfn a() {\n files::write(p, b);\n files::write_setting(p, b);\n // files::write(\n \
                    baro_sys::files::remove(p);\n LockFile::take(p);\n LockFile::take_open(f);\n}\n\
                    #[cfg(test)]\nmod tests {\n files::write(p, b);\n}\n";
        let expected = ["a.rs:3", "a.rs:6", "a.rs:7"].map(|at| format!("crates/tune/src/{at}"));
        assert_eq!(
            places(&[("crates/tune/src/a.rs", text), ("crates/export/src/a.rs", text)]),
            expected
        );
        assert!(
            places(&[("crates/tune/src/a/tests.rs", text), ("crates/tune/tests/a.rs", text)])
                .is_empty()
        );
        let imported = "//!\nuse baro_sys::files::{self, write};\n";
        assert_eq!(places(&[("crates/share/src/a.rs", imported)]), ["crates/share/src/a.rs:2"]);
    }

    #[test]
    fn what_is_open_is_open_for_that_file_and_function() {
        let text = "//!\nfiles::create_new(p);\nfiles::create(p);\n";
        assert_eq!(places(&[("crates/tune/src/probe.rs", text)]), ["crates/tune/src/probe.rs:3"]);
        assert_eq!(places(&[("crates/tune/src/queue.rs", text)]).len(), 2);
    }

    #[test]
    fn trees_are_removed_by_nobody_else() {
        let text = "//!\nfiles::remove_tree(p);\n";
        let files =
            [("crates/store/src/a.rs", text), ("lab/a.rs", text), ("crates/bench/src/a.rs", text)];
        assert_eq!(places(&files), ["crates/store/src/a.rs:2"]);
    }
}
