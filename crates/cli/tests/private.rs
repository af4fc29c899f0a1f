//! Who can read what was recorded: its owner, whatever the umask, until he lets others.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{run, stderr};
use place::Folder;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// As a shell of this umask calls it, with `input` on stdin.
fn under(umask: &str, input: &str, arguments: &[&str]) -> Output {
    let script = format!("umask {umask}; printf '{input}' | \"$0\" \"$@\"");
    let shell = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_baro")])
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(shell.status.code(), Some(0), "{arguments:?}: {}", stderr(&shell));
    shell
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

/// All below a folder, itself too, with their rights.
fn modes(path: &Path, found: &mut BTreeMap<String, u32>) {
    found.insert(path.to_str().unwrap().to_owned(), mode(path));
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|one| modes(&one.unwrap().path(), found));
    }
}

fn chmod(change: &str, path: &str) {
    assert!(Command::new("chmod").args(["-R", change, path]).status().unwrap().success());
}

/// Makes a store, with samples in the log and in a run, a pin and a dictionary, and exports it.
fn fill(folder: &Folder, umask: &str) -> String {
    let store = folder.path("store");
    under(umask, "", &["init", &store, "--size", "8M"]);
    under(umask, "1,a,1\\n2,a,2\\n", &["record", &store, "--stdin", "csv", "--no-settle"]);
    more(&store, umask);
    store
}

fn more(store: &str, umask: &str) {
    under(umask, "3,a,3\\n4,b,4\\n", &["record", store, "--stdin", "csv", "--no-settle"]);
    under(umask, "", &["settle", store, "--all"]);
    under(umask, "", &["pin", store, "--before", "1s", "--name", "one"]);
}

#[test]
fn what_is_recorded_is_private_until_its_owner_shares_it() {
    for umask in ["0", "022"] {
        let folder = Folder::new(&format!("private-{umask}"));
        let store = fill(&folder, umask);
        let mut found = BTreeMap::new();
        modes(Path::new(&store), &mut found);
        let (mut files, mut runs) = (0, 0);
        for (path, mode) in &found {
            let expected = if Path::new(path).is_dir() { 0o700 } else { 0o600 };
            assert_eq!(*mode, expected, "{umask}: {path}: {mode:o}");
            files += usize::from(expected == 0o600);
            runs += usize::from(path.contains("/runs/"));
        }
        assert!(files > 5 && runs > 1, "{found:?}");
        for name in ["x.csv", "x.parquet", "x.arrow", "x.mcap"] {
            let file = folder.path(name);
            under(umask, "", &["export", &store, &file]);
            assert_eq!(mode(Path::new(&file)), 0o600, "{umask}: {name}");
        }
        let rows = folder.path("rows.txt");
        under(umask, "", &["query", &store, "a", "-o", &rows]);
        assert_eq!(mode(Path::new(&rows)), 0o600);
    }
}

#[test]
fn a_store_that_others_may_read_stays_one() {
    for (change, files, folders) in [("g+rX", 0o640, 0o750), ("go+rX", 0o644, 0o755)] {
        let folder = Folder::new(&format!("shared-{files:o}"));
        let store = fill(&folder, "022");
        chmod(change, &store);
        let mut before = BTreeMap::new();
        modes(Path::new(&store), &mut before);
        more(&store, "022");
        let mut after = BTreeMap::new();
        modes(Path::new(&store), &mut after);
        assert!(after.keys().any(|path| !before.contains_key(path)), "{after:?}");
        for (path, mode) in &after {
            // Who may read a lock may hold it.
            let expected = match Path::new(path) {
                path if path.is_dir() => folders,
                path if path.ends_with("lock") || path.ends_with("runs/manifest.lock") => 0o600,
                _ => files,
            };
            assert_eq!(*mode, expected, "{change}: {path}: {mode:o}");
        }
    }
}

#[test]
fn a_trace_is_private() {
    let folder = Folder::new("private-trace");
    let trace = folder.path("x.trace");
    let tried = run(&["trace", "--for", "1ms", "--out", &folder.path("try.trace")]);
    if tried.status.code() != Some(0) {
        println!("skipped: nothing can be traced here: {}", stderr(&tried).trim());
        return;
    }
    under("0", "", &["trace", "--for", "50ms", "--out", &trace]);
    assert_eq!(mode(Path::new(&trace)), 0o600);
    let page = folder.path("x.html");
    under("0", "", &["explain", &trace, "--html", &page]);
    assert_eq!(mode(Path::new(&page)), 0o600);
}

/// A local user may call a store what he likes, and root's verbs meet it.
#[test]
fn a_path_that_is_no_text_is_shown_by_every_verb() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("no-text");
    let store = folder.0.join(std::ffi::OsStr::from_bytes(b"s\xff\x1b[2J"));
    let file = store.with_extension("csv");
    let baro = |words: &[&str], paths: &[&std::path::Path], input: &[u8]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baro"));
        let (verb, rest) = words.split_first().unwrap();
        command.arg(verb).args(paths).args(rest);
        command.stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input);
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(0), "{words:?}: {said}");
        assert!(!said.contains('\x1b'), "{words:?}: {said:?}");
        if words.contains(&"json") {
            let lines = String::from_utf8(done.stdout).unwrap();
            assert!(lines.contains("s\u{fffd}") || *verb == "list", "{words:?}: {lines}");
        }
    };
    baro(&["init", "--size", "2M", "--format", "json"], &[&store], b"");
    let record = ["record", "--ring", "256K", "--stdin", "csv", "--format", "json"];
    baro(&record, &[&store], b"1,a,1\n");
    for verb in ["info", "list"] {
        baro(&[verb, "--format", "json"], &[&store], b"");
    }
    for verb in ["verify", "settle", "du"] {
        baro(&[verb], &[&store], b"");
    }
    baro(&["export", "--format", "json"], &[&store, &file], b"");
    baro(&["export", "--format", "json"], &[&store, &store.with_extension("parquet")], b"");
    baro(&["init", "--when-full", "recycle", "--format", "json"], &[&store], b"");
    baro(&["rings"], &[], b"");
}
