//! What is said of mistakes: `mistakes.tsv` has them as people type them, and what must be told of
//! each: what is wrong, and what to do.
//!
//! `MISTAKES_TABLE=FILE cargo test -p baro-cli --test mistakes` also writes what was said, as a table
//! for the results.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{run, stderr};
use place::Folder;
use std::fmt::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A row of the table.
struct Mistake<'a> {
    needs: &'a str,
    code: i32,
    typed: &'a str,
    told: [&'a str; 2],
}

fn table() -> Vec<Mistake<'static>> {
    let lines = include_str!("mistakes.tsv").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let [needs, code, typed, wrong, next] = *line.split('\t').collect::<Vec<_>>() else {
            panic!("expected five columns: {line}");
        };
        Mistake { needs, code: code.parse().unwrap(), typed, told: [wrong, next] }
    };
    lines.map(row).collect()
}

/// The folder in which everything is typed, with what the rows speak of.
fn furnished() -> Folder {
    let folder = Folder::in_memory("mistakes", 256 << 20);
    let write = |name: &str, text: &str| std::fs::write(folder.0.join(name), text).unwrap();
    write("one.csv", "2026-01-01T00:00:00Z,temp,1.5\n");
    write("bad.csv", "a,b\n");
    write("c.toml", "[record]\nstore = \"s\"\n");
    write("d.toml", "[record]\nrnig = \"1M\"\n");
    write("text", "words");
    for name in ["bin", "open", "small"] {
        std::fs::create_dir(folder.0.join(name)).unwrap();
    }
    let program = folder.0.join("bin/baro");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_baro"), &program).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_baro"), &program).unwrap();
    }
    let made = [
        "chmod 755 .; chmod 777 open",
        "baro init s --grow-to 64M",
        "baro record s --stdin csv < one.csv",
        "baro query s -o hour.parquet",
        "baro record ch --init 4M --generate --interval 1ms --for 10ms",
        "baro init f --size 2M",
        "baro pin s --before 1s --name dup",
        "baro pin s --before 1s --name dup",
        "mkdir kept; echo kept > kept/notes",
        "cp -r ch gone; rm gone/store",
        // As an init leaves it that was stopped.
        "cp -r f stopped; rm stopped/store",
        "cp -r f hurt; printf words | dd of=hurt/store conv=notrunc",
    ];
    for line in made {
        let output = typed(&folder, "-", line).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    }
    folder
}

/// The line in a shell, as nobody if it needs that.
fn typed(folder: &Folder, needs: &str, line: &str) -> Command {
    let nobody: &[&str] = &["setpriv", "--reuid=65534", "--clear-groups"];
    let mut command = Command::new("env");
    command.args(if needs == "nobody" { nobody } else { &[] });
    let path = format!("{}:{}", folder.path("bin"), std::env::var("PATH").unwrap());
    command.args(["sh", "-c", line]).env("PATH", path).env("COLUMNS", "400");
    command.current_dir(&folder.0).stdin(Stdio::null());
    command
}

/// What a row needs beside the folder; dropped when its rows are typed.
enum Beside {
    Nothing,
    Recorder(Child),
    Mount(String),
}

impl Beside {
    /// Or why it cannot be had.
    fn make(needs: &str, folder: &Folder) -> Result<Self, &'static str> {
        if ["nobody", "small", "tracer"].contains(&needs) && !baro_sys::schedule::is_root() {
            return Err("needs root");
        }
        Ok(match needs {
            "tracer" if !Path::new("/sys/kernel/tracing/events").exists() => {
                return Err("no tracefs is mounted");
            }
            "small" => {
                let small = folder.path("small");
                let mount = ["-t", "tmpfs", "-o", "size=20M", "none", &small];
                if !Command::new("mount").args(mount).status().unwrap().success() {
                    return Err("no tmpfs can be mounted");
                }
                Beside::Mount(small)
            }
            "recorder" => {
                let mut command = typed(folder, needs, "exec baro record s --generate");
                let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                let beside = Beside::Recorder(child);
                // Ends when the recorder has the store.
                let wait = "until baro settle s 2>&1 | grep -q process; do sleep 0.02; done";
                typed(folder, needs, wait).status().unwrap();
                beside
            }
            _ => Beside::Nothing,
        })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        match self {
            Beside::Nothing => {}
            Beside::Recorder(child) => {
                let _ = child.kill().and_then(|()| child.wait());
            }
            Beside::Mount(place) => {
                let _ = Command::new("umount").arg(place).status();
            }
        }
    }
}

#[test]
fn a_mistake_says_what_is_wrong_and_what_to_do() {
    let (folder, rows) = (furnished(), table());
    assert!(rows.len() >= 75, "{} rows", rows.len());
    let (mut said, mut helpless) = (String::new(), String::new());
    for needs in ["-", "nobody", "small", "recorder", "tracer"] {
        let group: Vec<_> = rows.iter().filter(|row| row.needs == needs).collect();
        let _beside = match Beside::make(needs, &folder) {
            Ok(beside) => beside,
            Err(why) => {
                println!("skipped: {} mistakes of {needs}: {why}", group.len());
                continue;
            }
        };
        for row in group {
            let output = typed(&folder, needs, row.typed).output().unwrap();
            let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
            let code = output.status.code();
            if code != Some(row.code) || row.told.iter().any(|words| !told.contains(words)) {
                let (typed, wanted) = (row.typed, (row.code, row.told));
                let _ = writeln!(helpless, "{typed}\n  wanted {wanted:?}\n  found {code:?} {told}");
            }
            let lines = told.lines().filter(|line| row.told.iter().any(|told| line.contains(told)));
            let told = lines.collect::<Vec<_>>().join(" ").replace('|', "\\|");
            let (typed, code) = (row.typed.replace('|', "\\|"), row.code);
            let _ = writeln!(said, "| `{typed}` | {needs} | {code} | {told} |");
        }
    }
    if let Ok(file) = std::env::var("MISTAKES_TABLE") {
        std::fs::write(file, said).unwrap();
    }
    assert!(helpless.is_empty(), "\n{helpless}");
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
    assert!(!Path::new(&store).exists());
    let names: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["c.toml"]);
}
