//! `baro trace install`: the unit, what is left alone, and that the unit's rights are enough.
//!
//! There is no systemd where tests run, so the unit is checked by systemd's offline tools, and its
//! command runs with the rights that it has there.
#![allow(clippy::disallowed_methods, reason = "test code looks at what was written")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

mod calls;
mod loop_device;
mod place;

use baro_trace::file::TraceFile;
use baro_trace::timeline::{Limits, Timeline};
use calls::{run, stderr, text};
use loop_device::LoopDevice;
use place::Folder;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BARO: &str = env!("CARGO_BIN_EXE_baro");

/// A unit for a program that it would not see is refused, so there is nothing to try.
fn is_hidden() -> bool {
    let hidden = ["/tmp", "/var/tmp"].iter().any(|dir| Path::new(BARO).starts_with(dir));
    if hidden {
        println!("skipped: the program is below /tmp, which the unit hides");
    }
    hidden
}

fn unit(root: &Folder) -> PathBuf {
    root.0.join("etc/systemd/system/barograph-trace.service")
}

fn install(root: &Folder, more: &[&str]) -> std::process::Output {
    run(&[&["trace", "install", "--root", root.0.to_str().unwrap()], more].concat())
}

/// All files below, without folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[test]
fn a_service_is_written_again_and_removed() {
    if is_hidden() {
        return;
    }
    let root = Folder::new("trace-install");
    let said = text(&install(&root, &[]), 0);
    for call in ["daemon-reload", "enable barograph-trace", "restart barograph-trace"] {
        assert!(said.contains(&format!("systemctl {call}")), "{said}");
    }
    let first = std::fs::read_to_string(unit(&root)).unwrap();
    let command =
        "trace --ring 60s --over 500ms --keep 10 --out /var/lib/barograph-traces\n".to_owned();
    for line in [
        &format!("ExecStart={BARO} {command}")[..],
        "\nRestart=always\n",
        "\nRestartSec=10\n",
        "\nMemoryMax=512M\n",
        "\nReadWritePaths=/var/lib/barograph-traces\n",
        "\nWantedBy=multi-user.target\n",
    ] {
        assert!(first.contains(line), "{line}: {first}");
    }
    assert!(!first.contains("\nProtectKernelTunables="), "tracefs could not be written");
    let traces = root.0.join("var/lib/barograph-traces");
    assert_eq!(traces.metadata().unwrap().permissions().mode() & 0o7777, 0o750);

    // Again: with other options, in place of our own.
    let trace = traces.join("baro-20260101T000000.trace");
    std::fs::write(&trace, "kept").unwrap();
    let more = ["--over", "1.5s", "--ring", "2m", "--keep", "3"];
    text(&install(&root, &more), 0);
    let second = std::fs::read_to_string(unit(&root)).unwrap();
    assert!(second.contains("trace --ring 2m --over 1.5s --keep 3 --out /var"), "{second}");
    assert_eq!(files(&root.0).len(), 2, "the unit and the trace");
    assert_eq!(text(&install(&root, &[&more[..], &["--print"]].concat()), 0), second);

    let said = text(&install(&root, &["--remove"]), 0);
    assert!(said.contains("disable --now barograph-trace.service"), "{said}");
    assert!(said.contains("the traces stay"), "{said}");
    assert_eq!(files(&root.0), std::slice::from_ref(&trace));
    std::fs::remove_file(&trace).unwrap();
    let said = text(&install(&root, &["--remove"]), 0);
    assert!(said.contains("not there"), "{said}");
    assert!(!traces.exists(), "a folder of nothing");
}

#[test]
fn a_unit_of_somebody_else_stays() {
    if is_hidden() {
        return;
    }
    let root = Folder::new("trace-foreign");
    let path = unit(&root);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "[Service]\nExecStart=/bin/true\n").unwrap();
    for more in [&[][..], &["--remove"]] {
        let refused = install(&root, more);
        assert!(text(&refused, 1).is_empty() && stderr(&refused).contains("--replace"));
        assert_eq!(std::fs::read(&path).unwrap(), b"[Service]\nExecStart=/bin/true\n");
        assert_eq!(files(&root.0).len(), 1);
    }
    text(&install(&root, &["--replace"]), 0);
    assert!(std::fs::read_to_string(&path).unwrap().contains("trace --ring"));
    // A unit that is masked is a link.
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    assert_eq!(install(&root, &[]).status.code(), Some(1));
    assert_eq!(std::fs::read_link(&path).unwrap(), Path::new("/dev/null"));
}

#[test]
fn what_cannot_be_installed_is_told() {
    let root = Folder::new("trace-wrong");
    for usage in [
        &["--over", "soon"][..],
        &["--ring", "0s"],
        &["--keep", "0"],
        &["--remove", "--print"],
        &["--over", "1s\nExecStart=/bin/sh"],
    ] {
        assert_eq!(install(&root, usage).status.code(), Some(2), "{usage:?}");
    }
    for folder in ["traces", "/a b", "/a%b", "/a\nb"] {
        let refused = install(&root, &["--folder", folder]);
        assert!(text(&refused, 1).is_empty() && stderr(&refused).contains("--folder: expected"));
    }
    assert_eq!(files(&root.0), Vec::<PathBuf>::new());
    if !baro_sys::schedule::is_root() {
        assert!(stderr(&run(&["trace", "install"])).contains("needs root"));
        return;
    }
    // As somebody who may read the program and write nothing.
    let program = root.0.join("baro");
    // By another program: a file that this one has open for writing, and with it any child that another
    // test is just starting, cannot be executed.
    let copied = Command::new("cp").arg(BARO).arg(&program).status().unwrap();
    assert!(copied.success());
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "trace", "install"];
    let user = [&user[..3], &[program.to_str().unwrap()], &user[3..]].concat();
    match Command::new("setpriv").args(user).output() {
        Err(reason) => println!("skipped: setpriv: {reason}"),
        Ok(refused) => {
            assert!(text(&refused, 1).is_empty() && stderr(&refused).contains("needs root"));
        }
    }
}

#[test]
fn what_the_service_would_not_see_is_refused() {
    let copy = std::env::temp_dir().join(format!("baro-hidden-{}", std::process::id()));
    let program = std::fs::canonicalize(std::env::temp_dir()).unwrap();
    if !["/tmp", "/var/tmp"].iter().any(|dir| program.starts_with(dir)) {
        println!("skipped: temporary files are elsewhere here");
        return;
    }
    assert!(Command::new("cp").arg(BARO).arg(&copy).status().unwrap().success());
    let refused = Command::new(&copy).args(["trace", "install", "--print"]).output().unwrap();
    std::fs::remove_file(&copy).unwrap();
    let said = stderr(&refused);
    assert!(text(&refused, 1).is_empty(), "{said}");
    assert!(said.contains("PrivateTmp") && said.contains("/usr/local/bin"), "{said}");
    if is_hidden() {
        return;
    }
    for folder in ["/tmp/traces", "/var/tmp/traces", "/dev/shm/traces"] {
        let refused = run(&["trace", "install", "--print", "--folder", folder]);
        assert!(text(&refused, 1).is_empty() && stderr(&refused).contains(folder));
    }
}

#[test]
fn systemd_reads_the_unit_as_it_is_meant() {
    if is_hidden() {
        return;
    }
    let root = Folder::new("trace-unit");
    let path = root.path("barograph-trace.service");
    std::fs::write(&path, text(&run(&["trace", "install", "--print"]), 0)).unwrap();
    let analyze = |arguments: &[&str]| {
        let call = [arguments, &[&path]].concat();
        match Command::new("systemd-analyze").args(call).output() {
            Ok(output) => Some(output),
            Err(reason) => {
                println!("skipped: systemd-analyze: {reason}");
                None
            }
        }
    };
    let Some(found) = analyze(&["verify", "--man=no"]) else { return };
    let said = stderr(&found);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("barograph")).collect();
    assert_eq!(ours, Vec::<&str>::new(), "{said}");
    let arguments = ["security", "--offline=true", "--no-pager", "--threshold=25"];
    let Some(found) = analyze(&arguments) else { return };
    let said = String::from_utf8_lossy(&found.stdout).into_owned() + &stderr(&found);
    if said.contains("Unknown") || said.contains("unrecognized option") {
        println!("skipped: systemd-analyze has no security --offline here");
        return;
    }
    // Exposure of at most 2.5 of 10.
    assert!(found.status.success(), "{said}");
}

#[test]
fn a_ring_needs_no_more_than_its_unit_grants() {
    if is_hidden() {
        return;
    }
    let unit = text(&run(&["trace", "install", "--print"]), 0);
    let capabilities = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let granted: Vec<String> = capabilities
        .unwrap()
        .split(' ')
        .map(|name| format!(",+{}", name.strip_prefix("CAP_").unwrap().to_lowercase()))
        .collect();
    if !baro_sys::schedule::is_root() || !Path::new("/sys/kernel/tracing/instances").is_dir() {
        println!("skipped: needs root and a mounted tracefs");
        return;
    }
    let folder = Folder::new("trace-rights");
    // As below a folder of the recorder's user.
    let (above, traces) = (folder.0.join("barograph"), folder.0.join("barograph/traces"));
    std::fs::create_dir_all(&traces).unwrap();
    std::fs::set_permissions(&above, PermissionsExt::from_mode(0o750)).unwrap();
    std::os::unix::fs::chown(&above, Some(65534), Some(65534)).unwrap();
    let program = folder.0.join("baro");
    // By another program: a file that this one has open for writing, and with it any child that another
    // test is just starting, cannot be executed.
    let copied = Command::new("cp").arg(BARO).arg(&program).status().unwrap();
    assert!(copied.success());
    let bounding = format!("--bounding-set=-all{}", granted.concat());
    let mut call = Command::new("setpriv");
    call.args(["--no-new-privs", &bounding, "--inh-caps=-all"]).arg(&program);
    call.args(["trace", "--ring", "5s", "--over", "300ms", "--keep", "2", "--out"]).arg(&traces);
    call.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = call.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("recording to") {
        let count = said.read_line(&mut lines).unwrap();
        assert!(count > 0, "{lines}");
    }
    // SIGINT: what was kept is written.
    baro_sys::termination::send(child.id(), 2).unwrap();
    said.read_to_string(&mut lines).unwrap();
    let code = child.wait().unwrap().code();
    assert!(code == Some(0) || code == Some(3), "{lines}");
    let written = files(&traces);
    assert_eq!(written.len(), 1, "{written:?} {lines}");
    assert!(written[0].metadata().unwrap().len() > 0);
}

/// Thaws a file system, also when a test fails.
struct Thaw(String);

impl Drop for Thaw {
    fn drop(&mut self) {
        let thawed = Command::new("fsfreeze").arg("-u").arg(&self.0).status();
        println!("thawed: {}", thawed.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_ring_writes_while_a_call_hangs_and_again_when_it_ends() {
    if !baro_sys::schedule::is_root() || !Path::new("/sys/kernel/tracing/instances").is_dir() {
        println!("skipped: needs root and a mounted tracefs");
        return;
    }
    let folder = Folder::new("trace-hangs");
    let device = match LoopDevice::mounted(&folder.0, "rw") {
        Ok(device) => device,
        Err(why) => return println!("skipped: {why}"),
    };
    let (traces, memory) = (folder.0.join("traces"), Path::new("/dev/shm"));
    let memory = memory.join(format!("baro-test-hangs-{}", std::process::id()));
    std::fs::create_dir(&traces).unwrap();
    std::fs::create_dir(&memory).unwrap();
    std::fs::set_permissions(&memory, PermissionsExt::from_mode(0o700)).unwrap();
    let file = format!("{}/new", device.mount_dir());
    let mut victim = Command::new("sh");
    victim.args(["-c", &format!("echo; read go; echo > {file}")]);
    let mut victim = victim.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It has been executed: that too can be slow.
    let mut ready = String::new();
    BufReader::new(victim.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let mut call = Command::new(BARO);
    // A memory of nothing, so that it is said. One process is watched: on a busy machine others are slow too.
    call.args(["trace", "--ring", "1h", "--ring-memory", "2MiB", "--over", "300ms"]);
    call.args(["--pid", &victim.id().to_string(), "--out"]).arg(&traces);
    call.env("RUNTIME_DIRECTORY", &memory).stdin(Stdio::null());
    let mut child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut lines = String::new();
    let mut until = |words: &str| {
        while !lines.contains(words) {
            let count = said.read_line(&mut lines).unwrap();
            assert!(count > 0, "{lines}");
        }
        lines.clone()
    };
    let begin = until("--ring-memory");
    assert!(begin.contains(&format!("recording to {}", memory.display())), "{begin}");
    let frozen = Command::new("fsfreeze").arg("-f").arg(device.mount_dir()).status().unwrap();
    assert!(frozen.success());
    let thaw = Thaw(device.mount_dir());
    drop(victim.stdin.take());
    let told = until("has not ended");
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    // Written, while the call hangs.
    while !first.contains("baro explain") {
        assert!(shown.read_line(&mut first).unwrap() > 0, "{told}");
    }
    let while_hanging = files(&traces).len();
    drop(thaw);
    assert!(victim.wait().unwrap().success());
    let end = until("waits no more");
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    let code = child.wait().unwrap().code();
    assert!(code == Some(0) || code == Some(3), "{end}");
    assert_eq!((while_hanging, files(&traces).len()), (1, 2), "{end}{first}{rest}");
    assert_eq!(files(&memory), Vec::<PathBuf>::new(), "{end}");
    std::fs::remove_dir(&memory).unwrap();
}

/// A ring that is told to end is written for a call that hangs, though it was not slow yet, and for one that was
/// slow while the ring only noted so.
#[test]
fn what_hangs_or_was_slow_when_a_ring_is_told_to_end_is_kept() {
    if !baro_sys::schedule::is_root() || !Path::new("/sys/kernel/tracing/instances").is_dir() {
        println!("skipped: needs root and a mounted tracefs");
        return;
    }
    let folder = Folder::new("trace-told");
    let device = match LoopDevice::mounted(&folder.0, "rw") {
        Ok(device) => device,
        Err(why) => return println!("skipped: {why}"),
    };
    let file = format!("{}/new", device.mount_dir());
    let freeze = || {
        let frozen = Command::new("fsfreeze").arg("-f").arg(device.mount_dir()).status().unwrap();
        assert!(frozen.success());
        Thaw(device.mount_dir())
    };
    let until = |from: &mut dyn BufRead, words: &str| {
        let mut lines = String::new();
        while !lines.contains(words) {
            assert!(from.read_line(&mut lines).unwrap() > 0, "{words}: {lines}");
        }
    };
    // (--over, how many stalls come before the one at whose end or in which it is told to end)
    // 6s: a fifth of it is slow enough to be kept, and a busy machine may take seconds until it is told to end.
    for (over, before) in [("6s", 0), ("300ms", 1)] {
        let traces = folder.0.join(format!("traces-{before}"));
        std::fs::create_dir(&traces).unwrap();
        let mut victim = Command::new("sh");
        victim
            .args(["-c", &format!("while read go; do echo > {file}; done")])
            .stdin(Stdio::piped());
        let mut victim = victim.spawn().unwrap();
        let mut input = victim.stdin.take().unwrap();
        let mut go = || std::io::Write::write_all(&mut input, b"go\n").unwrap();
        let mut call = Command::new(BARO);
        // The second of two is in the time in which slow calls are only noted: a quarter of what is kept.
        call.args(["trace", "--ring", "60s", "--over", over, "--keep", "4"]);
        call.args(["--pid", &victim.id().to_string(), "--out"]).arg(&traces).stdin(Stdio::null());
        let mut child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut shown = BufReader::new(child.stdout.take().unwrap());
        until(&mut said, "recording to");
        for _ in 0..before {
            let thaw = freeze();
            go();
            std::thread::sleep(std::time::Duration::from_millis(600));
            drop(thaw);
            until(&mut shown, "baro explain");
            until(&mut said, "recording to");
        }
        let thaw = freeze();
        go();
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        if before > 0 {
            drop(thaw);
            std::thread::sleep(std::time::Duration::from_millis(300));
            baro_sys::termination::send(child.id(), 15).unwrap();
        } else {
            baro_sys::termination::send(child.id(), 15).unwrap();
            until(&mut said, "has not ended");
            drop(thaw);
        }
        let code = child.wait().unwrap().code();
        assert!(code == Some(0) || code == Some(3), "{code:?}");
        drop(input);
        assert!(victim.wait().unwrap().success());
        assert_eq!(files(&traces).len(), before + 1, "{over}");
    }
}

#[test]
fn a_ring_that_keeps_some_traces_goes_on() {
    if !baro_sys::schedule::is_root() || !Path::new("/sys/kernel/tracing/instances").is_dir() {
        println!("skipped: needs root and a mounted tracefs");
        return;
    }
    let folder = Folder::new("trace-goes-on");
    let device = match LoopDevice::mounted(&folder.0, "rw") {
        Ok(device) => device,
        Err(why) => return println!("skipped: {why}"),
    };
    let traces = folder.0.join("traces");
    std::fs::create_dir(&traces).unwrap();
    let file = format!("{}/new", device.mount_dir());
    let mut victim = Command::new("sh");
    victim.args(["-c", &format!("while read go; do echo > {file}; done")]).stdin(Stdio::piped());
    let mut victim = victim.spawn().unwrap();
    let mut call = Command::new(BARO);
    call.args(["trace", "--ring", "4s", "--over", "300ms", "--keep", "2"]);
    call.args(["--pid", &victim.id().to_string(), "--out"]).arg(&traces).stdin(Stdio::null());
    let mut child = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let until = |from: &mut dyn BufRead, words: &str| {
        let mut lines = String::new();
        while !lines.contains(words) {
            assert!(from.read_line(&mut lines).unwrap() > 0, "{words}: {lines}");
        }
    };
    // Three stalls, two of which are kept.
    for _ in 0..3 {
        until(&mut said, "recording to");
        let frozen = Command::new("fsfreeze").arg("-f").arg(device.mount_dir()).status().unwrap();
        assert!(frozen.success());
        let thaw = Thaw(device.mount_dir());
        std::io::Write::write_all(victim.stdin.as_mut().unwrap(), b"go\n").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(600));
        drop(thaw);
        until(&mut shown, "baro explain");
    }
    // SIGTERM: no call was slow since.
    until(&mut said, "recording to");
    baro_sys::termination::send(child.id(), 15).unwrap();
    let code = child.wait().unwrap().code();
    assert!(code == Some(0) || code == Some(3), "{code:?}");
    drop(victim.stdin.take());
    assert!(victim.wait().unwrap().success());
    let mut written = files(&traces);
    assert_eq!(written.len(), 2, "{written:?}");
    // Nothing is between them: the second began while the first recorded.
    written.sort();
    let [first, second] = [0, 1].map(|index| {
        let bytes = std::fs::read(&written[index]).unwrap();
        let mut trace = TraceFile::open(std::io::Cursor::new(bytes)).unwrap();
        let began = trace.facts()["hangs"].lines().next().and_then(|line| line.strip_prefix("at "));
        let began_ns: u64 = began.unwrap().parse().unwrap();
        (began_ns, Timeline::of(&mut trace, Limits::default()).unwrap().end_ns)
    });
    assert!(first.0 < second.0 && second.0 < first.1 && first.1 < second.1, "{first:?} {second:?}");
    // On a busy machine others' processors may have been waited for as well, and events lost, which ends with 3.
    let explained = |trace: &PathBuf| {
        let output = run(&["explain", trace.to_str().unwrap(), "--over", "300ms"]);
        let is_part =
            String::from_utf8_lossy(&output.stdout).contains("were lost before they were read");
        text(&output, if is_part { 3 } else { 0 })
    };
    let told: Vec<String> = written.iter().map(explained).collect();
    assert!(told.iter().any(|told| told.contains("for the file system to be thawed")), "{told:?}");
}

#[test]
fn no_time_at_all_is_not_recorded() {
    for wrong in [
        &["trace", "--for", "0s"][..],
        &["trace", "--ring", "0s"],
        &["trace", "waits", "--for", "0ms"],
    ] {
        let output = run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(stderr(&output).contains("expected a time above 0"), "{}", stderr(&output));
    }
}
