//! Files of a state go through one door: `baro_sys::state::StateFolder`.
//!
//! A path says where a file is at this moment, not whose it is. What root or a service reads, locks,
//! replaces or removes is therefore opened below a folder that was checked. Here that is a rule: all of
//! `crates/` is shut, but for those that are the door (`DOORS`), and none of the functions is named there that
//! do the same by a path, neither ours nor those of the standard library. A place that is not about a
//! state says so in `open.rs`, with the reason; a row that excuses nothing any more is an error too. A folder
//! with all that is in it is removed by nobody but those named in `TREES`. No other name is given to any of
//! them, since it would not be found.
//!
//! Tests are left out: modules named `tests`, which come last in a file, and the files in `TESTS`.

mod open;

use super::Finding;
use super::tree::Tree;
use open::OPEN;

pub(super) const CHECK: &str = "state";

/// The door itself, and the calls that measurements make.
const DOORS: &[&str] = &["crates/sys/", "crates/bench/sys/"];

/// Files of tests that are not called so.
const TESTS: &[&str] = &[
    "crates/cli/src/pages.rs",
    "crates/lake/src/scene.rs",
    "crates/recorder/src/recorder/broken.rs",
];

/// What opens, makes, replaces, locks, removes or reads by a path. Shared memory has no such function. A
/// setting of the kernel's is written by `write_setting`, which makes no file.
const BY_PATH: &[&str] = &[
    "files::create",
    "files::create_new",
    "files::is_held",
    "files::list",
    "files::make_folder",
    "files::make_folder_with",
    "files::make_folders",
    "files::open",
    "files::open_append",
    "files::open_direct_to_write",
    "files::open_regular",
    "files::open_to_write",
    "files::read_text",
    "files::remove",
    "files::remove_empty_folder",
    "files::remove_if_empty",
    "files::rename",
    "files::rename_to_new",
    "files::replace",
    "files::size_bytes",
    "files::write",
    "LockFile::holder",
    "LockFile::said",
    "LockFile::take",
    "PacedOutput::create",
    "PacedOutput::replace",
    // Of the standard library, beside what clippy.toml forbids: an `allow` lets nobody through here.
    ".canonicalize()",
    ".read_dir()",
    "DirBuilder::new",
    "File::create",
    "File::create_new",
    "File::open",
    "File::options",
    "OpenOptions::new",
];

/// Whose other names would hide what is done by them.
const NO_ALIAS: &[&str] =
    &["files", "fs", "LockFile", "PacedOutput", "File", "OpenOptions", "DirBuilder"];

const TREE: &str = "files::remove_tree";
/// Who removes whole folders, each of which it has just made by a name that was not there.
const TREES: &[(&str, &str)] = &[
    ("crates/bench/", "what a measurement made, root only where nobody else decides"),
    ("crates/cli/src/commands/demo/place.rs", "the tour's folder, made by it in the same way"),
    ("crates/cli/src/commands/trace/live.rs", "a folder 0700 of this run"),
    ("lab/", "measures, and is no part of the product"),
];

pub(super) fn state(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = vec![false; OPEN.len()];
    for (path, _) in tree.texts(&[".rs"]).filter(|(path, _)| is_product(path)) {
        let code = without_tests(tree.code(path));
        let shut = path.starts_with("crates/") && !DOORS.iter().any(|door| path.starts_with(door));
        if shut {
            findings.extend(aliases(path, &code));
        }
        for (index, line) in code.lines().enumerate() {
            let mut finding = |message: String| {
                let place = format!("{path}:{}", index + 1);
                findings.push(Finding::error(CHECK, place, message));
            };
            for name in by_path(line).into_iter().filter(|_| shut) {
                let row = OPEN.iter().position(|(at, what, _)| is_at(path, at) && *what == name);
                match row {
                    Some(row) => used[row] = true,
                    None => finding(format!(
                        "{name} goes by a path: go through baro_sys::state::StateFolder"
                    )),
                }
            }
            if has(line, TREE) && !TREES.iter().any(|(folder, _)| path.starts_with(folder)) {
                finding(format!("{TREE}: remove by name what was made here"));
            }
        }
    }
    let is_there =
        |at: &str| tree.texts(&[".rs"]).any(|(path, _)| is_product(path) && is_at(path, at));
    for ((at, name, _), _) in OPEN.iter().zip(used).filter(|(row, used)| !used && is_there(row.0)) {
        findings.push(Finding::error(CHECK, *at, format!("{name} is open there and not used")));
    }
    findings
}

fn is_product(path: &str) -> bool {
    let test = |part: &str| ["tests", "tests.rs", "examples", "testdata"].contains(&part);
    !path.starts_with("crates/sys/") && !TESTS.contains(&path) && !path.split('/').any(test)
}

/// Whether a row is about this file.
fn is_at(path: &str, at: &str) -> bool {
    path == at || at.ends_with('/') && path.starts_with(at)
}

/// The code before the tests of a file, which come last.
fn without_tests(code: &str) -> String {
    let tests = code.find("\nmod tests {").or(code.find("\nmod tests\n{"));
    code.get(..tests.unwrap_or(code.len())).unwrap_or_default().to_owned()
}

/// What a line names that goes by a path. Those of `std::fs` are all its functions.
fn by_path(line: &str) -> Vec<String> {
    let of_std = line.match_indices("fs::").filter_map(|(at, _)| {
        let before = line.get(..at)?.chars().next_back();
        let name = line.get(at + "fs::".len()..)?;
        let end = name.find(|c: char| !is_word(c)).unwrap_or(name.len());
        let is_function = !before.is_some_and(is_word) && name.starts_with(char::is_lowercase);
        is_function.then(|| format!("fs::{}", name.get(..end).unwrap_or_default()))
    });
    let is_import = line.trim_start().trim_start_matches("pub ").starts_with("use ");
    let ours = BY_PATH.iter().filter(|name| has(line, name)).map(|name| (*name).to_owned());
    ours.chain(of_std).filter(|_| !is_import).collect()
}

/// Other names, and functions that are taken in without the `files::` or `fs::` by which they are found.
fn aliases(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut line = 1;
    // What stands between two of these is no more than one import or alias.
    for part in code.split_inclusive(';') {
        let begins = |word: &str| part.rfind(word).filter(|at| is_first(part, *at));
        let imports = begins("use ").map(|at| imported(part.get(at + 4..).unwrap_or_default()));
        for name in imports.unwrap_or_default().iter().filter(|name| hides(name)) {
            let message =
                format!("{name}: keep its name, so that this rule finds what is done by it");
            let at = line
                + part.get(..begins("use ").unwrap_or(0)).unwrap_or_default().matches('\n').count();
            findings.push(Finding::error(CHECK, format!("{path}:{at}"), message));
        }
        if let Some(at) = begins("type ") {
            let named = part.rsplit(|c: char| !is_word(c)).find(|word| !word.is_empty());
            if part.get(at..).is_some_and(|text| text.contains('='))
                && named.is_some_and(|name| NO_ALIAS.contains(&name))
            {
                let message = "no other name for it, so that this rule finds what is done by it";
                let at = line + part.get(..at).unwrap_or_default().matches('\n').count();
                findings.push(Finding::error(CHECK, format!("{path}:{at}"), message));
            }
        }
        line += part.matches('\n').count();
    }
    findings
}

/// Whether a word is the first of its line, but for `pub` and the like.
fn is_first(text: &str, at: usize) -> bool {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default().trim();
    line.is_empty() || line == "pub" || line.starts_with("pub(") && line.ends_with(')')
}

/// The paths of an import, each whole: `a::{b, c as d}` is `a::b` and `a::c as d`.
fn imported(tree: &str) -> Vec<String> {
    let tree = tree.trim().trim_end_matches(';').trim();
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = rest.trim_end().trim_end_matches('}');
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| imported(part)).map(|part| format!("{head}{part}")).collect()
}

/// Whether what is done by this import would not be found.
fn hides(import: &str) -> bool {
    let (whole, other) = import.split_once(" as ").map_or((import, None), |(a, b)| (a, Some(b)));
    let whole = whole.trim_end_matches("::self");
    let (module, name) = whole.rsplit_once("::").unwrap_or(("", whole));
    let of_std = module == "std::fs" || module == "std::os::unix::fs" || module == "fs";
    let of_ours = module.ends_with("files");
    let listed = BY_PATH.contains(&format!("files::{name}").as_str());
    let function = name.starts_with(char::is_lowercase) && !name.contains(' ');
    other.is_some_and(|other| other.trim() != "_" && NO_ALIAS.contains(&name))
        || of_std && (function || name == "*")
        || of_ours && (listed || name == "*" || name == "remove_tree")
}

/// Whether this function is named: not one whose name only begins so.
fn has(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let after = line.get(at + name.len()..).unwrap_or_default().chars().next();
        let before = line.get(..at).unwrap_or_default().chars().next_back();
        let is_method = name.starts_with('.');
        !after.is_some_and(is_word) && (is_method || !before.is_some_and(is_word))
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        state(&Tree::of(files)).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn other_names_and_functions_that_are_taken_in_are_found() {
        for (import, found) in [
            ("use baro_sys::files::{self, PacedOutput};", false),
            ("use baro_sys::files::PacedOutput;", false),
            ("use baro_sys::{clock, files};", false),
            ("pub use baro_sys::files::{allocate, write_back};", false),
            ("use std::fs::{self, File, Permissions};", false),
            ("use std::os::unix::fs::{MetadataExt, OpenOptionsExt};", false),
            ("use std::io::Write as _;", false),
            ("use crate::{a::{b, c}, d as e};", false),
            ("type Files = Vec<String>;", false),
            ("use baro_sys::files::{self, remove};", true),
            ("use baro_sys::files::remove;", true),
            ("use baro_sys::files::*;", true),
            ("use baro_sys::{clock, files::{remove_tree}};", true),
            ("use baro_sys::{\n    clock,\n    files as f,\n};", true),
            ("use baro_sys::files as f;", true),
            ("use baro_sys::files::{self as f};", true),
            ("pub(crate) use baro_sys::lock::LockFile as L;", true),
            ("use baro_sys::files::PacedOutput as Output;", true),
            ("use std::fs as f;", true),
            ("use std::fs::File as Handle;", true),
            ("use std::fs::remove_dir_all;", true),
            ("use std::os::unix::fs::{MetadataExt, symlink};", true),
            ("type L = baro_sys::lock::LockFile;", true),
            ("pub type F = std::fs::File;", true),
        ] {
            let text = format!("//!\nuse a::b;\n\nmod c {{\n{import}\n}}\n");
            let at = places(&[("crates/export/src/a.rs", &text)]);
            assert_eq!(!at.is_empty(), found, "{import}: {at:?}");
            if found {
                assert_eq!(at, ["crates/export/src/a.rs:5"], "{import}");
            }
        }
    }

    #[test]
    fn a_state_by_a_path_is_found_in_every_crate() {
        let text = "//!\nfn a() {\n files::write(p, b);\n files::write_setting(p, b);\n // files::write(\n \
                    baro_sys::files::remove(p);\n LockFile::take(p);\n LockFile::take_open(f);\n}\n\
                    #[cfg(test)]\nmod tests {\n files::write(p, b);\n}\n";
        let files = ["store/src/a.rs", "export/src/a.rs", "capi/src/a.rs", "cli/src/commands/a.rs"];
        let files = files.map(|file| format!("crates/{file}"));
        for file in &files {
            let expected = [3, 6, 7].map(|line| format!("{file}:{line}"));
            assert_eq!(places(&[(file.as_str(), text)]), expected);
        }
        let elsewhere = [
            "crates/tune/src/a/tests.rs",
            "crates/tune/tests/a.rs",
            "crates/sys/src/a.rs",
            "xtask/src/a.rs",
        ];
        assert!(elsewhere.iter().all(|file| places(&[(file, text)]).is_empty()));
    }

    #[test]
    fn each_way_by_a_path_is_found_and_no_other() {
        let found = |line: &str| {
            let text = format!("//!\nfn a() {{\n    {line};\n}}\n");
            !places(&[("crates/export/src/a.rs", &text)]).is_empty()
        };
        for line in [
            "std::fs::remove_dir_all(path)",
            "std::fs::remove_dir(path)",
            "std::fs::create_dir(path)",
            "fs::copy(from, to)",
            "std::fs::hard_link(from, to)",
            "std::fs::set_permissions(path, rights)",
            "std::os::unix::fs::symlink(from, to)",
            "std::os::unix::fs::chown(path, None, None)",
            "std::fs::canonicalize(path)",
            "path.canonicalize()",
            "File::create_new(path)",
            "std::fs::File::open(path)",
            "OpenOptions::new().read(true).open(path)",
            "std::fs::DirBuilder::new().create(path)",
            "PacedOutput::replace(path)",
            "files::rename_to_new(file, from, to)",
            "files::open_regular(path)",
            "files::open_direct_to_write(path)",
            "files::is_held(path)",
            "files::size_bytes(path)",
            "paths.iter().try_for_each(files::remove)",
        ] {
            assert!(found(line), "{line}");
        }
        for line in [
            "files::write_setting(path, text)",
            "files::exists(path)",
            "files::remove_all(path)",
            "my_files::remove(path)",
            "folder.create_file(name, 0o600)",
            "TraceFile::open(input)",
            "let rights: std::fs::Permissions = mode",
            "\"std::fs::remove_file\".len()",
        ] {
            assert!(!found(line), "{line}");
        }
    }

    #[test]
    fn what_is_open_is_open_for_that_file_and_function_and_is_used() {
        let uses = "//!\nfiles::create_new(p);\nfiles::remove(p);\nfiles::create(p);\n\
                    files::list(p);\nfiles::read_text(p, 1);\n";
        assert_eq!(places(&[("crates/tune/src/probe.rs", uses)]), ["crates/tune/src/probe.rs:4"]);
        let uses = uses.replace("files::remove(p);", "");
        let found = places(&[("crates/tune/src/probe.rs", uses.as_str())]);
        assert_eq!(found, ["crates/tune/src/probe.rs:4", "crates/tune/src/probe.rs"]);
    }

    #[test]
    fn trees_are_removed_by_nobody_else() {
        let text = "//!\nfiles::remove_tree(p);\n";
        let files =
            [("crates/store/src/a.rs", text), ("lab/a.rs", text), ("crates/bench/src/a.rs", text)];
        assert_eq!(places(&files), ["crates/store/src/a.rs:2"]);
    }
}
