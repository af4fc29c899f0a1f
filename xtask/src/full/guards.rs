//! The hash of what a step guards: names and contents of the files below some paths, as they lie in
//! the work tree. Git makes it, so that no library does; what git ignores does not count.

use crate::shell::{self, Cmd};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Hash of all files below `paths`, relative to the root; the error says why there is none.
pub(super) fn hash(paths: &[&str]) -> Result<String, String> {
    let list = paths
        .iter()
        .fold(Cmd::new("git ls-files --cached --others --exclude-standard --"), |cmd, path| {
            cmd.arg(path)
        })
        .output()?;
    let mut files: Vec<&str> =
        list.lines().filter(|file| shell::root().join(file).is_file()).collect();
    files.sort_unstable();
    files.dedup();
    let is_there = |path: &&str| files.iter().any(|file| file.starts_with(path));
    if let Some(path) = paths.iter().find(|path| !is_there(path)) {
        return Err(format!("nothing is at {path}, which a full step guards"));
    }
    let contents = git("hash-object --stdin-paths", &files.join("\n"))?;
    let named: Vec<_> =
        files.iter().zip(contents.lines()).map(|(f, h)| format!("{h} {f}")).collect();
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
