//! What is said of mistakes: what was expected, what was found, and what to do.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{baro, feed, run, stderr};
use place::Folder;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// What a call says that ends with this code.
fn said(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_mistake_says_what_to_do() {
    let folder = Folder::new("mistakes-said");
    let store = folder.path("store");
    assert_eq!(run(&["init", &store, "--grow-to", "64M"]).status.code(), Some(0));
    let file = folder.path("file");
    std::fs::write(&file, "root:x:0:0").unwrap();
    for (arguments, code, wanted) in [
        (&["explain", &file][..], 1, "expected a trace that baro trace has recorded"),
        (&["verify", &file], 1, "expected a store, which is a folder, found a file"),
        (&["info", &folder.path("none")], 1, "make one with: baro init"),
        (&["tune", "check", &folder.path("none")], 1, "make a store with baro init"),
        (&["export", &store, &folder.path("no/such/x.csv")], 1, "there is no folder"),
        (&["query", &store, "-o", &folder.path("none/x.csv")], 1, "there is no folder"),
        (&["record", &store], 2, "--stdin"),
        (&["query", &store, "--nosuch"], 2, "baro: unexpected argument '--nosuch'"),
        (&["record", &store, "--generate", "--for", "1"], 2, "with its unit, such as 1s"),
        (&["init", &folder.path("new"), "--size", "banana"], 2, "a size such as 64M"),
    ] {
        let found = said(arguments, code);
        assert!(found.contains(wanted) && found.starts_with("baro: "), "{arguments:?}: {found}");
    }
    let config = folder.path("c.toml");
    std::fs::write(&config, format!("[record]\nstore = \"{store}\"\n")).unwrap();
    let found = said(&["record", "--config", &config], 2);
    assert!(found.contains("proc = true"), "{found}");
    let no_value = stderr(&feed(&["record", &store, "--stdin", "json"], b"{\"series\":\"q\"}\n"));
    assert!(no_value.contains("expected \"value\" beside \"series\""), "{no_value}");
    let nothing = said(&["cat", &store], 0);
    assert!(nothing.contains("nothing of this was recorded"), "{nothing}");
    let taken = feed(&["record", &store, "--stdin", "csv"], b",temp,1.5\n");
    assert_eq!(taken.status.code(), Some(0), "{}", stderr(&taken));
    let alone = said(&["pin", &store, "--after", "10s", "--before", "1s"], 0);
    assert!(alone.contains("nobody records into this store"), "{alone}");
}

#[test]
fn a_check_names_every_mistake_and_touches_nothing() {
    let folder = Folder::new("mistakes-check");
    let (config, store) = (folder.path("c.toml"), folder.path("s"));
    let check = |text: &str, code: i32| {
        std::fs::write(&config, format!("[record]\nstore = \"{store}\"\nproc = true\n{text}"))
            .unwrap();
        let output = run(&["record", "--config", &config, "--check"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let places: Vec<String> = (4..8).map(|line| format!("{config}:{line}: ")).collect();
        let said = stderr(&output);
        places.iter().filter(|place| said.contains(*place)).count()
    };
    assert_eq!(check("init = \"16M\"\nring = \"1M\"\n", 0), 0);
    // Of grammar, of names, of values.
    assert!(check("init = \nring = \n", 2) >= 1);
    assert_eq!(check("inti = \"16M\"\nring = \"1X\"\nkeep = 3\n", 2), 3);
    // What only the store, the recorder and the sources know.
    let text = "init = \"10\"\nring = \"1K\"\nudp = [\"0.0.0.0:9000\"]\n";
    assert_eq!(check(text, 2), 3);
    let none = run(&["record", "--config", &config, "--check", "--udp-network", "--ring", "1M"]);
    assert!(stderr(&none).contains("c.toml:4: init: ") && !stderr(&none).contains("udp"));
    check("", 2);
    assert!(!std::path::Path::new(&store).exists());
    let names: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["c.toml"]);
}

#[test]
fn whose_a_store_is_and_what_it_needs_is_said() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, to be another user");
        return;
    }
    let folder = Folder::new("mistakes-users");
    let store = folder.path("store");
    assert_eq!(run(&["init", &store, "--size", "8M"]).status.code(), Some(0));
    std::fs::set_permissions(&folder.0, PermissionsExt::from_mode(0o755)).unwrap();
    let program = folder.path("baro");
    std::fs::copy(env!("CARGO_BIN_EXE_baro"), &program).unwrap();
    let nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups", &program]).args(arguments);
        command.stdin(Stdio::null()).output().unwrap()
    };
    for call in [&["query", &store][..], &["record", &store, "--generate", "--for", "10ms"]] {
        let output = nobody(call);
        let found = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{found}");
        assert!(found.contains("belongs to user 0, this is user 65534"), "{found}");
    }
    // A disk that is too small.
    let small = folder.path("small");
    std::fs::create_dir(&small).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=20M", "none", &small];
    if !Command::new("mount").args(mount).status().unwrap().success() {
        println!("skipped: no tmpfs can be mounted");
        return;
    }
    let output = baro(&["init", &format!("{small}/s"), "--size", "64M"]).output().unwrap();
    Command::new("umount").arg(&small).status().unwrap();
    let found = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{found}");
    assert!(
        found.contains("needs 66 MiB free") && found.contains("; 20.0 MiB were free"),
        "{found}"
    );
}
