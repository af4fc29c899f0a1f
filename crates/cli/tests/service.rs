//! The service from outside: the shipped unit and settings, and what a service manager is told.
//!
//! There is no systemd in most places where tests run, so the unit is checked by systemd's own
//! offline tools, and its command runs under what the unit grants, with a listener in the
//! manager's place.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use serde_json::Value;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const BARO: &str = env!("CARGO_BIN_EXE_baro");
const UNIT: &str = include_str!("../../../packaging/systemd/barograph.service");
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/barograph.toml");

/// The user that owns nothing.
const NOBODY: u32 = 65534;

impl Folder {
    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(reason) => {
            println!("skipped: {program}: {reason}");
            None
        }
    }
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// The unit with this build's program in it, where systemd's tools find it.
fn unit(folder: &Folder) -> String {
    let path = folder.join("barograph.service");
    std::fs::write(&path, UNIT.replace("/usr/bin/baro ", &format!("{BARO} "))).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let folder = Folder::new("service-verify");
    let Some(found) = run("systemd-analyze", &["verify", "--man=no", &unit(&folder)]) else {
        return;
    };
    let said = text(&found);
    // What other units of this machine lack is not ours.
    let ours: Vec<_> = said.lines().filter(|line| line.contains("barograph")).collect();
    assert_eq!(ours, Vec::<&str>::new(), "{said}");
}

#[test]
fn the_unit_is_closed_but_for_what_a_recorder_needs() {
    for needed in [
        "\nType=notify\n",
        "\nLimitMEMLOCK=infinity\n",
        "\nLimitRTPRIO=99\n",
        "\nRuntimeDirectoryPreserve=yes\n",
        "\nCapabilityBoundingSet=\n",
    ] {
        assert!(UNIT.contains(needed), "{needed}");
    }
    assert!(!UNIT.contains("\nRestrictRealtime"), "it would take SCHED_FIFO away");
    let folder = Folder::new("service-security");
    let arguments = ["security", "--offline=true", "--no-pager", "--threshold=20", &unit(&folder)];
    let Some(found) = run("systemd-analyze", &arguments) else { return };
    let said = text(&found);
    if said.contains("Unknown") || said.contains("unrecognized option") {
        println!("skipped: systemd-analyze has no security --offline here");
        return;
    }
    let last = said.lines().last().unwrap_or_default();
    println!("{last}");
    // Exposure of at most 2.0 of 10; nothing of what is left open but real time can be closed.
    assert!(found.status.success(), "{said}");
}

/// A recording by the shipped settings, but for places and rates.
fn start(folder: &Folder, program: &[&str], listener: Option<&Path>) -> Child {
    let (first, rest) = program.split_first().unwrap();
    let mut command = Command::new(first);
    command.args(rest).arg("record").arg(folder.join("store"));
    command.args(["--config", CONFIG, "--init", "8M", "--proc-interval", "10ms"]);
    command.args(["--format", "json"]).stdin(Stdio::null());
    if let Some(listener) = listener {
        command.env("NOTIFY_SOCKET", listener).env("WATCHDOG_USEC", "400000");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn stop(child: Child) -> Value {
    baro_sys::termination::send(child.id(), 15).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_manager_is_told_when_it_is_ready_how_it_goes_and_when_it_stops() {
    let folder = Folder::new("service-notify");
    let path = folder.join("socket");
    let listener = UnixDatagram::bind(&path).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let child = start(&folder, &[BARO], Some(&path));
    let mut bytes = [0; 4096];
    let mut next = || {
        let count = listener.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..count].to_vec()).unwrap()
    };
    assert_eq!(next(), "READY=1\nSTATUS=recording");
    let (mut alive, mut status) = (0, Vec::new());
    while alive < 5 || status.len() < 2 {
        let said = next();
        if said == "WATCHDOG=1" {
            alive += 1;
        } else {
            status.push(said);
        }
    }
    for said in &status {
        assert!(said.starts_with("STATUS=") && said.contains("/s, lost 0, push to"), "{said}");
    }
    let report = stop(child);
    assert_eq!((&report["lost"], &report["left_in_rings"]), (&0.into(), &0.into()));
    let mut last = next();
    while !last.starts_with("STOPPING=1\n") {
        last = next();
    }
}

/// A small ext4 of the test's own that can be frozen; thawed and taken down on drop.
struct Freezer(PathBuf);

impl Freezer {
    fn new(folder: &Folder) -> Option<Self> {
        if !baro_sys::schedule::is_root() {
            println!("skipped: needs root, for a file system to freeze");
            return None;
        }
        let (image, at) = (folder.join("image"), folder.join("mnt"));
        std::fs::create_dir_all(&at).unwrap();
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let (image, path) = (image.to_str().unwrap(), at.to_str().unwrap());
        for command in
            [&["mkfs.ext4", "-q", "-F", image][..], &["mount", "-o", "loop", image, path]]
        {
            let made = run(command[0], &command[1..])?;
            if !made.status.success() {
                println!("skipped: {}: {}", command[0], text(&made).trim());
                return None;
            }
        }
        Some(Freezer(at))
    }

    fn set(&self, option: &str) -> bool {
        let found = run("fsfreeze", &[option, self.0.to_str().unwrap()]);
        found.is_some_and(|found| found.status.success())
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.set("--unfreeze");
        let _ = run("umount", &[self.0.to_str().unwrap()]);
    }
}

#[test]
fn a_writer_that_cannot_write_gives_no_sign_of_life_until_it_can() {
    let folder = Folder::new("service-frozen");
    let Some(freezer) = Freezer::new(&folder) else { return };
    let path = folder.join("socket");
    let listener = UnixDatagram::bind(&path).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let inside = Folder(freezer.0.clone());
    let mut child = start(&inside, &[BARO], Some(&path));
    let mut bytes = [0; 4096];
    // What comes until the next status: how many signs of life.
    let mut signs = || {
        let mut signs = 0;
        loop {
            let count = listener.recv(&mut bytes).unwrap();
            match &bytes[..count] {
                b"WATCHDOG=1" => signs += 1,
                said if said.starts_with(b"STATUS=") => return signs,
                _ => {}
            }
        }
    };
    signs();
    assert!(signs() > 0, "it writes");
    assert!(freezer.set("--freeze"));
    // What was on its way when it froze may end.
    signs();
    signs();
    let frozen = [signs(), signs()];
    assert!(freezer.set("--unfreeze"));
    signs();
    let thawed = signs();
    baro_sys::termination::send(child.id(), 15).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((frozen, status.code()), ([0, 0], Some(0)));
    assert!(thawed > 0, "it writes again");
}

#[test]
fn the_machine_is_checked_and_left_as_it_is() {
    let folder = Folder::new("service-check");
    let at = folder.0.to_str().unwrap();
    let found = run(BARO, &["tune", "check", at, "--format", "json"]).unwrap();
    let report: Value = serde_json::from_slice(&found.stdout).unwrap();
    let needs = report["needs"].as_array().unwrap();
    let change = needs.iter().filter(|need| need["verdict"] == "change").count();
    assert_eq!(report["to_change"], change);
    assert_eq!(found.status.code(), Some(if change > 0 { 3 } else { 0 }));
    for need in needs {
        assert!(need["verdict"] != "change" || need["command"].is_string(), "{need:#}");
    }
    assert!(needs.iter().any(|need| need["name"] == "RLIMIT_MEMLOCK"));
    let lines = run(BARO, &["tune", "check", at]).unwrap();
    assert!(text(&lines).contains("RLIMIT_RTPRIO"), "{}", text(&lines));
    assert_eq!(run(BARO, &["tune", "check", "/no such folder"]).unwrap().status.code(), Some(1));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn settings_of_the_environment_and_of_the_file_are_used() {
    let folder = Folder::new("service-settings");
    let socket = folder.join("socket");
    let listener = UnixDatagram::bind(&socket).unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let child = start(&folder, &["env", "BARO_GENERATE=1", BARO], Some(&socket));
    // Before it is ready a signal just ends it.
    let mut bytes = [0; 4096];
    let count = listener.recv(&mut bytes).unwrap();
    assert!(bytes[..count].starts_with(b"READY=1"));
    let report = stop(child);
    let sources = report["sources"].as_array().unwrap();
    let names: Vec<_> = sources.iter().map(|source| source["source"].as_str().unwrap()).collect();
    assert_eq!(names, ["proc", "generate"]);
    let store = folder.join("store");
    let info = run(BARO, &["info", store.to_str().unwrap(), "--format", "json"]).unwrap();
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((&info["log_bytes"], &info["when_full"]), (&(8 << 20).into(), &"recycle".into()));
    // The place is judged alike by who looks and by who records.
    for promised in info["promises"].as_array().unwrap() {
        let name = promised["promise"].as_str().unwrap();
        let holds = promised["holds"].as_str().unwrap();
        let recorded = promise(&report, name).0;
        assert!(name == "real-time" || holds == recorded || holds == "unknown", "{promised:#}");
        assert!(holds == "yes" || !promised["why"].as_str().unwrap().is_empty(), "{promised:#}");
    }
    let bad = folder.join("bad.toml");
    std::fs::write(&bad, "[record]\nstore = \"x\"\nproc = true\ndurable = \"1s\"\n").unwrap();
    let bad = bad.to_str().unwrap();
    let refused = run(BARO, &["record", "--config", bad]).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = "bad.toml:4: durable: no such setting; the nearest is durable-within\n";
    assert!(text(&refused).ends_with(said), "{}", text(&refused));
}

/// A short recording by a user without capabilities, started by `prefix`: its report.
fn as_nobody(name: &str, prefix: &[&str]) -> Option<Value> {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, to become another user");
        return None;
    }
    // The folder of that user's rings is one.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Folder::new(name);
    // Another user can neither see the build's folder nor write into this one.
    let program = folder.join("baro");
    // By a process of its own: children of other tests would hold a copy of ours open for writing.
    assert!(Command::new("cp").arg(BARO).arg(&program).status().unwrap().success());
    std::os::unix::fs::chown(&folder.0, Some(NOBODY), Some(NOBODY)).unwrap();
    let config = folder.join("barograph.toml");
    std::fs::copy(CONFIG, &config).unwrap();
    let store = folder.join("store");
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
    let rights = ["--bounding-set=-all", "--inh-caps=-all"];
    let record = [program.to_str().unwrap(), "record", store.to_str().unwrap()];
    let options = ["--init=8M", "--for=300ms", "--format=json", "--config"];
    let (first, rest) = prefix.split_first().unwrap();
    let arguments = [rest, &user, &rights, &record, &options, &[config.to_str().unwrap()]].concat();
    let found = run(first, &arguments)?;
    let _ = std::fs::remove_dir_all(format!("/dev/shm/barograph-{NOBODY}"));
    let said = text(&found);
    if said.starts_with("prlimit: ") && said.contains("not permitted") {
        println!("skipped: needs CAP_SYS_RESOURCE, to raise limits: {}", said.trim());
        return None;
    }
    Some(serde_json::from_slice(&found.stdout).unwrap_or_else(|_| panic!("{said}")))
}

fn promise<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str) {
    let promises = report["promises"].as_array().unwrap();
    let found = promises.iter().find(|promise| promise["promise"] == name).unwrap();
    (found["holds"].as_str().unwrap(), found["remedy"].as_str().unwrap_or_default())
}

#[test]
fn without_capabilities_the_limits_of_the_unit_grant_priority_and_locking() {
    let limits = ["prlimit", "--memlock=unlimited:unlimited", "--rtprio=99:99", "setpriv"];
    let Some(report) = as_nobody("rights", &limits) else { return };
    assert_eq!(report["fifo_priority"], 50, "{report:#}");
    for name in ["never-waits", "survives-processes", "real-time"] {
        assert_eq!(promise(&report, name), ("yes", ""), "{report:#}");
    }
}

#[test]
fn without_rights_it_records_and_says_how_to_grant_them() {
    let limits = ["prlimit", "--memlock=65536:65536", "--rtprio=0:0", "setpriv"];
    let Some(report) = as_nobody("poor", &limits) else { return };
    assert!(report["records"].as_u64().unwrap() > 0 && report["lost"] == 0, "{report:#}");
    let (holds, remedy) = promise(&report, "never-waits");
    assert!(holds == "no" && remedy.contains("LimitMEMLOCK=infinity"), "{report:#}");
    let (holds, remedy) = promise(&report, "real-time");
    assert!(holds == "no" && remedy.contains("LimitRTPRIO=99"), "{report:#}");
}
