//! The hash of what a step guards: names and contents of the files of some packages, of all that
//! these depend on, and below some further paths, as they lie in the work tree. Which packages depend
//! on which is asked of cargo, so that none is forgotten. Git makes the hash, so that no library does;
//! what git ignores does not count.

use crate::shell::{self, Cmd};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

/// What each step guards: compiler, settings of the build, versions of foreign crates.
const ALWAYS: &[&str] = &["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];

/// The folders of `packages` and of all packages of ours that they depend on, relative to the root.
/// `metadata` is what `cargo metadata --no-deps` says.
fn folders(metadata: &Value, packages: &[&str]) -> Result<BTreeSet<String>, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let root = text(&metadata["workspace_root"]);
    let all = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let folder = |package: &Value| text(&package["manifest_path"]).replace("/Cargo.toml", "");
    let mut found = BTreeSet::new();
    let mut left = Vec::new();
    for name in packages {
        let package = all.iter().find(|package| package["name"] == *name);
        left.push(package.ok_or_else(|| format!("there is no package {name} to guard"))?);
    }
    while let Some(package) = left.pop() {
        let place = folder(package);
        let below = place.strip_prefix(&root).unwrap_or(&place).trim_start_matches('/').to_owned();
        if !found.insert(below) {
            continue;
        }
        let ours = package["dependencies"].as_array().into_iter().flatten();
        for path in ours.map(|dependency| text(&dependency["path"])).filter(|path| !path.is_empty())
        {
            left.extend(all.iter().filter(|package| folder(package) == path));
        }
    }
    Ok(found)
}

/// Hash of the files of `packages`, of what they depend on, and below `paths`, relative to the root;
/// the error says why there is none.
pub(super) fn hash_of(packages: &[&str], paths: &[&str]) -> Result<String, String> {
    let metadata = Cmd::new("cargo metadata --no-deps --offline --format-version 1").output()?;
    let metadata = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let folders = folders(&metadata, packages)?;
    let paths = folders
        .iter()
        .map(String::as_str)
        .chain(paths.iter().copied())
        .chain(ALWAYS.iter().copied());
    hash(&paths.collect::<Vec<_>>())
}

/// Hash of all files below `paths`: name, contents, and whether each may be executed.
fn hash(paths: &[&str]) -> Result<String, String> {
    let list = Cmd::new("git ls-files -z --cached --others --exclude-standard --");
    let list = paths.iter().fold(list, |cmd, path| cmd.arg(path)).output()?;
    let mut files = BTreeMap::new();
    for file in list.split('\0').filter(|file| !file.is_empty()) {
        // One that was deleted and not yet committed is in git's list; a link is no file of ours.
        if let Ok(found) = std::fs::symlink_metadata(shell::root().join(file))
            && found.is_file()
        {
            files.insert(file, found.permissions().mode() & 0o111 != 0);
        }
    }
    let is_there = |path: &&str| {
        let below = |file: &&str| {
            file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        files.keys().any(below)
    };
    if let Some(path) = paths.iter().find(|path| !is_there(path)) {
        return Err(format!("nothing is at {path}, which a full step guards"));
    }
    let names: Vec<_> = files.keys().copied().collect();
    if let Some(odd) = names.iter().find(|name| name.contains('\n')) {
        return Err(format!("{odd:?} has the end of a line in its name"));
    }
    let contents = git("hash-object --stdin-paths", &names.join("\n"))?;
    let named = files.iter().zip(contents.lines());
    let named: Vec<_> = named.map(|((file, runs), hash)| format!("{hash} {runs} {file}")).collect();
    Ok(git("hash-object --stdin", &named.join("\n"))?.trim().to_owned())
}

/// Runs git at the root with `input`.
fn git(line: &str, input: &str) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("git {line}: {error}");
    let mut child = Command::new("git")
        .args(line.split(' '))
        .current_dir(shell::root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let stdin = child.stdin.take();
    let input = format!("{input}\n");
    // In a thread of its own: git answers while it reads, and both pipes are bounded.
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(failed(&output.status)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_depends_on_is_guarded_with_it() {
        let package = |name: &str, depends: &str| {
            let path =
                if depends.is_empty() { Value::Null } else { format!("/r/{depends}").into() };
            serde_json::json!({"name": name, "manifest_path": format!("/r/{name}/Cargo.toml"),
                "dependencies": [{"name": "serde", "path": null}, {"name": depends, "path": path}]})
        };
        let packages = [package("a", "b"), package("b", "c"), package("c", ""), package("d", "a")];
        let metadata = serde_json::json!({"workspace_root": "/r", "packages": packages});
        assert_eq!(
            folders(&metadata, &["a"]).unwrap().into_iter().collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert!(folders(&metadata, &["x"]).unwrap_err().contains('x'));
    }

    #[test]
    fn a_hash_is_of_the_files_named_and_of_nothing_else() {
        if Cmd::new("git rev-parse").quiet().output().is_err() {
            println!("skipped: this is no git checkout");
            return;
        }
        let one = hash(&["Makefile"]).unwrap();
        assert_eq!(one, hash(&["Makefile"]).unwrap());
        assert_ne!(one, hash(&["Makefile", "clippy.toml"]).unwrap());
        assert!(hash(&["no-such-folder"]).unwrap_err().contains("no-such-folder"));
    }
}
