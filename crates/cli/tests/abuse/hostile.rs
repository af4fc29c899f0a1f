//! A store made by somebody else, with what is no file where a file should be.

use super::calls::{baro, feed, run, stderr};
use super::ended;
use super::place::Folder;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What stands for the one run that there is.
const RUN: &str = "runs/RUN";
const KEPT: &str = "kept/00000000000000ff.seg";

const NAMES: [&str; 14] = [
    "store",
    "lock",
    "catalog",
    "dictionary",
    "runs/manifest",
    "runs/lock",
    "log/00000000.seg",
    "log/00000001.seg",
    "pins/0000000000000001.pin",
    "pins/0000000000000002.ask",
    RUN,
    KEPT,
    "kept",
    "runs",
];

/// A whole store with a run and a dictionary.
fn store(path: &str) {
    let lines: String = (1..2_000_u64)
        .map(|i| format!("{},temp,{i}\n", 1_700_000_000_000_000_000 + i * 1_000_000_000))
        .collect();
    assert_eq!(run(&["init", path, "--size", "4M"]).status.code(), Some(0));
    let fed = feed(&["record", path, "--stdin", "csv", "--no-settle"], lines.as_bytes());
    assert_eq!(fed.status.code(), Some(0), "{}", stderr(&fed));
    assert_eq!(run(&["settle", path, "--all"]).status.code(), Some(0));
    std::fs::create_dir_all(Path::new(path).join("pins")).unwrap();
}

/// Every verb of this program that opens a store; those behind `recover` write into it. What serves over a
/// network opens it as `info` and `record` do.
fn verbs(store: &str, aside: &str) -> Vec<Vec<String>> {
    let of = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        of(&["info", store]),
        of(&["list", store]),
        of(&["verify", store]),
        of(&["cat", store]),
        of(&["query", store, "temp", "--last"]),
        of(&["du", store]),
        of(&["top", store]),
        of(&["watch", store, "--every", "10ms", "--count", "1"]),
        of(&["rings", store]),
        of(&["pin", store, "--list"]),
        of(&["export", store, &format!("{aside}/out.csv")]),
        of(&["backup", store, &format!("{aside}/backup")]),
        of(&["recover", store, &format!("{aside}/recovered")]),
        of(&["rings", store, "--adopt"]),
        of(&["delete", store, "temp", "--to", "1700000001.0"]),
        of(&["init", store, "--when-full", "recycle"]),
        of(&["settle", store]),
        of(&["pin", store, "--before", "1s"]),
        of(&["import", store, &format!("{aside}/in.csv")]),
        of(&["record", store, "--stdin", "csv"]),
    ]
}

fn call(verb: &[String]) -> Output {
    let words: Vec<&str> = verb.iter().map(String::as_str).collect();
    let child = baro(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    ended(child, &verb.join(" "))
}

/// Puts something in the place of each name, one after another, and calls every verb.
fn with_each_name(test: &str, put: impl Fn(&Path, &Path), judge: impl Fn(&str, &str, &Output)) {
    let folder = Folder::new(test);
    let whole = folder.path("whole");
    store(&whole);
    let precious = folder.0.join("precious");
    std::fs::write(folder.0.join("in.csv"), "time,series,value\n1000,temp,1\n").unwrap();
    for name in NAMES {
        let path = folder.path("store");
        let _ = std::fs::remove_dir_all(&path);
        Command::new("cp").args(["-a", &whole, &path]).status().unwrap();
        std::fs::write(&precious, "precious").unwrap();
        let mut at = Path::new(&path).join(name);
        if name == RUN {
            let files = std::fs::read_dir(at.parent().unwrap()).unwrap();
            let mut files = files.map(|file| file.unwrap().path());
            at = files.find(|path| path.extension().is_some_and(|end| end == "run")).unwrap();
        }
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&at);
        let _ = std::fs::remove_dir_all(&at);
        put(&at, &precious);
        let _ = std::fs::remove_file(folder.0.join("out.csv"));
        for made in ["recovered", "backup"] {
            let _ = std::fs::remove_dir_all(folder.0.join(made));
        }
        for verb in verbs(&path, folder.0.to_str().unwrap()) {
            let output = call(&verb);
            let said = format!("{name}: {}", verb.join(" "));
            assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{said}: {output:?}");
            assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious", "{said}");
            judge(name, &verb[0], &output);
        }
    }
}

/// A reader that needs this file says that it is none.
fn refused(name: &str, verb: &str, output: &Output, found: &str) {
    let needs = match name {
        "store" => verb != "recover",
        "log/00000000.seg" => matches!(verb, "verify" | "cat" | "record"),
        "lock" => matches!(verb, "record" | "settle"),
        "runs/lock" => verb == "settle",
        RUN => matches!(verb, "verify" | "query"),
        KEPT => verb == "verify",
        "kept" | "runs" => matches!(verb, "verify" | "query" | "backup"),
        _ => false,
    };
    if needs {
        let said = stderr(output) + &String::from_utf8_lossy(&output.stdout);
        assert_ne!(output.status.code(), Some(0), "{name} {verb}");
        let of_folder =
            ["expected a folder, found a symbolic link", "expected a folder, found something else"];
        let is_of_folder = of_folder.iter().any(|one| said.contains(one));
        let found = if matches!(name, "kept" | "runs") && is_of_folder { "" } else { found };
        assert!(said.contains(found), "{name} {verb}: {said}");
    }
}

#[test]
fn a_pipe_in_a_store_is_refused_by_every_verb() {
    let pipe = |at: &Path, _: &Path| {
        assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
    };
    with_each_name("abuse-pipe", pipe, |name, verb, output| {
        refused(name, verb, output, "expected a regular file, found a pipe");
    });
}

#[test]
fn a_link_in_a_store_is_followed_by_no_verb() {
    let link = |at: &Path, precious: &Path| std::os::unix::fs::symlink(precious, at).unwrap();
    with_each_name("abuse-link", link, |name, verb, output| {
        refused(name, verb, output, "found a symbolic link");
    });
}
